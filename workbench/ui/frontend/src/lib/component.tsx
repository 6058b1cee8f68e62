// Shared by all components: root with style, theme and keys, and the link to Python.

import { render, type ComponentType } from "preact";
import type { Components } from "../payloads";
import { recoverFocus } from "./focus";
import { keepKeys } from "./keyboard";
import { Link, type Host } from "./link";
import { Offline } from "./offline";
import { followTheme } from "./theme";
import { Tips } from "./tooltip";

interface Widget {
  render(context: { model: Host; el: HTMLElement }): () => void;
}

export interface PanelProps<N extends keyof Components> {
  link: Link<N>;
  root: HTMLElement;
}

/** Default export of an anywidget module: renders `Panel` in the component's root. */
export function component<N extends keyof Components>(
  name: N,
  css: string,
  Panel: ComponentType<PanelProps<N>>,
  look = "",
): Widget {
  return {
    render({ model, el }) {
      const link = new Link<N>(name, model);
      const style = document.createElement("style");
      style.textContent = css;
      const root = document.createElement("div");
      root.className = `wb wb-${name} ${look}`.trim();
      root.dataset["wb"] = name;
      // In the element, not in the document's head: works the same in a shadow root.
      el.append(style, root);
      const endTheme = followTheme(root);
      keepKeys(root);
      const endRecovery = recoverFocus(root);
      render(
        <>
          <Tips root={root} />
          <Offline root={root} link={link} />
          <Panel root={root} link={link} />
        </>,
        root,
      );
      return () => {
        render(null, root);
        endTheme();
        endRecovery();
        link.dispose();
      };
    },
  };
}
