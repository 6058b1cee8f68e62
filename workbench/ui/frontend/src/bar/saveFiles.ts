// Where to write: the graph to save, the script to export.

import { h } from "../lib/dom";
import { download } from "../lib/files";
import { popover } from "../lib/popover";

interface PathButton {
  label: string;
  /** What the path is for. */
  field: string;
  look: "wb-link" | "wb-btn";
  path: () => string;
  save: (path: string) => void;
  /** The content, where it can be had as a download too. */
  copy?: () => string;
  /** What else can be done, below. */
  more?: HTMLElement[];
}

/** A button that asks where to write, with the usual name filled in. */
export function pathButton(options: PathButton): { parts: HTMLElement[]; open: () => void; close: () => void } {
  const name = options.label.toLowerCase();
  const button = h(
    "button",
    { class: options.look, type: "button", "data-wb": name },
    options.label,
  );
  const input = h("input", {
    class: "wb-val",
    type: "text",
    spellcheck: "false",
    autofocus: true,
    "aria-label": options.field,
    "data-wb": `${name}-path`,
  });
  const form = h(
    "form",
    {
      class: "wb-ask",
      onsubmit: (event: Event) => {
        event.preventDefault();
        const path = input.value.trim();
        if (!path) return input.focus();
        pop.hidePopover();
        options.save(path);
      },
    },
    input,
    h("button", { class: "wb-btn", type: "submit", "data-wb": `${name}-now` }, options.label),
  );
  const { copy } = options;
  if (copy) {
    const onclick = (): void => {
      pop.hidePopover();
      download(input.value.trim() || options.path(), copy(), "application/json");
    };
    form.append(h("button", { class: "wb-quiet", type: "button", onclick }, "Download"));
  }
  const pop = popover(
    button,
    {
      label: options.field,
      align: "end",
      opening: () => (input.value ||= options.path()),
      opened: () => input.setSelectionRange(0, input.value.lastIndexOf(".")),
    },
    h("div", { class: "wb-ask-head" }, options.field),
    form,
    ...(options.more ?? []),
  );
  return { parts: [button, pop], open: () => pop.showPopover(), close: () => pop.hidePopover() };
}
