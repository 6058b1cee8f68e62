// Small buttons with a glyph.

import { h } from "./dom";

/** A glyph that says on hover what it does, and is called so. */
export function iconButton(
  label: string,
  name: string,
  shape: Node,
  run: () => void,
): HTMLButtonElement {
  return h(
    "button",
    {
      class: "wb-ico",
      type: "button",
      "aria-label": label,
      "data-tip": label,
      "data-wb": name,
      onclick: run,
    },
    shape,
  );
}

/** Words, and a glyph before them. */
export function wordButton(
  words: string,
  name: string,
  shape: Node | null,
  run: () => void,
): HTMLButtonElement {
  const el = h("button", { class: "wb-quiet", type: "button", "data-wb": name, onclick: run });
  if (shape) el.append(shape, " ");
  el.append(words);
  return el;
}
