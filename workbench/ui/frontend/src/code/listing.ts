// One file with numbered and coloured lines, some of them highlighted.

import { attr, h } from "../lib/dom";
import { tokenise, type Token } from "./python";

export class Listing {
  readonly el = h("pre", { tabindex: 0, role: "region", "data-wb": "source" });
  private highlighted = new Set<number>();
  private open = false;
  private observer: ResizeObserver;

  constructor() {
    // While its panel is closed nothing has a place: the highlighted lines are looked for when it opens.
    this.observer = new ResizeObserver(() => {
      if (this.el.clientHeight > 0 && !this.open) this.highlight([...this.highlighted]);
      this.open = this.el.clientHeight > 0;
    });
    this.observer.observe(this.el);
  }

  /** Lines that stay as they are keep their elements. */
  show(path: string, source: string): void {
    attr(this.el, "aria-label", path ? `Source of ${path}` : "Source");
    const other = this.el.dataset["path"] !== path;
    this.el.dataset["path"] = path;
    const lines = source ? tokenise(source.trimEnd()) : [];
    lines.forEach((tokens, index) => {
      const of = JSON.stringify(tokens);
      const old = this.el.children[index] as HTMLElement | undefined;
      if (old?.dataset["of"] === of) return;
      const line = drawn(tokens, index + 1, of);
      if (old) old.replaceWith(line);
      else this.el.append(line);
    });
    while (this.el.children.length > lines.length) this.el.lastElementChild!.remove();
    if (other) this.el.scrollTop = 0;
  }

  highlight(numbers: readonly number[]): void {
    this.highlighted = new Set(numbers);
    let first: HTMLElement | null = null;
    [...this.el.children].forEach((line, index) => {
      attr(line, "data-highlighted", this.highlighted.has(index + 1) ? "true" : null);
      if (this.highlighted.has(index + 1)) first ??= line as HTMLElement;
    });
    if (first) this.reveal(first);
  }

  end(): void {
    this.observer.disconnect();
  }

  /** Scrolls the source, never the page. */
  private reveal(line: HTMLElement): void {
    const { el } = this;
    const top = line.offsetTop - el.offsetTop;
    const seen = top >= el.scrollTop && top < el.scrollTop + el.clientHeight - 20;
    if (!seen) el.scrollTop = Math.max(0, top - el.clientHeight / 3);
  }
}

function drawn(tokens: Token[], number: number, of: string): HTMLElement {
  const words = tokens.map(({ kind, text }) =>
    kind ? h("span", { class: `wb-${kind}` }, text) : text,
  );
  const code = h("code", {}, ...words, "\n");
  return h("div", { class: "wb-line", "data-line": number, "data-of": of }, code);
}
