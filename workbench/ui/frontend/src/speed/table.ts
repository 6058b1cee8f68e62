// Figures as a table: for who wants the numbers, and for who does not see the picture.

import { h, type Child } from "../lib/dom";

/** The first cell of each line is its head. */
export function table(
  caption: string,
  heads: readonly string[],
  lines: readonly (readonly Child[])[],
): HTMLTableElement {
  return h(
    "table",
    { class: "wb-speed-table" },
    h("caption", { class: "wb-hidden" }, caption),
    h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
    h(
      "tbody",
      {},
      ...lines.map(([first, ...rest]) =>
        h("tr", {}, h("th", { scope: "row" }, first), ...rest.map((cell) => h("td", {}, cell))),
      ),
    ),
  );
}

/** A region that scrolls sideways where the panel is narrow, by key too. */
export function wide(label: string, ...children: HTMLElement[]): HTMLElement {
  return h("div", { class: "wb-speed-wide", tabindex: 0, role: "region", "aria-label": label }, ...children);
}

/** A table behind a word; it stays open where the figure is drawn anew. */
export class Folded {
  readonly el: HTMLDetailsElement;
  private inner = h("div");

  constructor(words: string) {
    this.el = h("details", { class: "wb-speed-fold", "data-wb": "table" }, h("summary", {}, words), this.inner);
  }

  draw(content: HTMLElement): void {
    this.inner.replaceChildren(content);
  }
}
