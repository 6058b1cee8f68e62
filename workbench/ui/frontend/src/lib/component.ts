// What every component has: its root with style, theme, tips and keys, and the link to Python.

import type { Components } from "../views";
import { h } from "./dom";
import { keepKeys } from "./keyboard";
import { Link, type Host } from "./link";
import { offline } from "./offline";
import { followTheme } from "./theme";
import { tips } from "./tooltip";

interface Widget {
  render(context: { model: Host; el: HTMLElement }): () => void;
}

/** An anywidget module's default export. `draw` may return what is to be done at the end. */
export function component<N extends keyof Components>(
  name: N,
  css: string,
  draw: (root: HTMLElement, link: Link<N>) => void | (() => void),
): Widget {
  return {
    render({ model, el }) {
      const link = new Link<N>(name, model);
      const root = h("div", { class: `wb wb-${name}`, "data-wb": name });
      // In the element, not in the document's head: the same in a shadow root and without one.
      el.append(h("style", {}, css), root);
      const endTheme = followTheme(root);
      const endTips = tips(root);
      keepKeys(root);
      const endOffline = offline(root, link);
      const end = draw(root, link);
      return () => {
        end?.();
        endOffline();
        endTips();
        endTheme();
        link.dispose();
      };
    },
  };
}
