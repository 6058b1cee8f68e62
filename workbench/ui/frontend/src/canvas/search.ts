// The operator search: a field, and what it finds.

import type { OperatorEntry } from "../views";
import { attr, h, Keyed, text } from "../lib/dom";
import { score } from "../lib/fuzzy";
import { icon } from "../lib/icons";

const SHOWN = 60;
let instances = 0;

export class Search {
  readonly el: HTMLElement;
  private input: HTMLInputElement;
  private where = h("small");
  private found = h("ul", { role: "listbox", "aria-label": "Operators found" });
  private nothing = h("p", { class: "wb-search-none", hidden: true });
  private list: Keyed<OperatorEntry>;
  private operators: readonly OperatorEntry[] = [];
  private results: OperatorEntry[] = [];
  private at = 0;
  private after = "";
  private prefix = `wb-search-${++instances}`;

  constructor(
    private add: (op: string, after: string) => void,
    closed: () => void,
  ) {
    attr(this.found, "id", `${this.prefix}-list`);
    this.input = h("input", {
      type: "text",
      role: "combobox",
      spellcheck: "false",
      autocomplete: "off",
      placeholder: "Find an operator",
      "aria-label": "Find an operator",
      "aria-expanded": "true",
      "aria-autocomplete": "list",
      "aria-controls": `${this.prefix}-list`,
      "data-wb": "search",
      oninput: () => this.find(),
      onkeydown: (event: KeyboardEvent) => this.key(event),
    });
    this.el = h(
      "div",
      {
        class: "wb-pop wb-search",
        popover: "auto",
        role: "dialog",
        "aria-label": "Add an operator",
      },
      h("div", { class: "wb-search-head" }, icon("search", 15), this.input, this.where),
      this.found,
      this.nothing,
    );
    this.el.addEventListener("beforetoggle", (event) => {
      const closing = (event as ToggleEvent).newState === "closed";
      if (closing && this.input.matches(":focus")) closed();
    });
    this.list = new Keyed<OperatorEntry>(
      this.found,
      (op) => op.name,
      (op) => this.make(op),
      (el, op, index) => this.update(el, op, index),
    );
  }

  /** Opens over `box`. An empty `after` adds at the end. */
  open(operators: readonly OperatorEntry[], after: string, box: DOMRect): void {
    this.operators = operators;
    this.after = after;
    text(this.where, after ? `after ${after}` : "at the end");
    this.input.value = "";
    const wide = Math.min(440, innerWidth - 24);
    const left = box.left + (box.width - wide) / 2;
    this.el.style.width = `${wide}px`;
    this.el.style.left = `${Math.max(12, Math.min(left, innerWidth - wide - 12))}px`;
    const top = Math.max(12, Math.min(box.top + 14, innerHeight - 330));
    this.el.style.top = `${top}px`;
    this.el.showPopover();
    this.find();
    this.input.focus();
  }

  private find(): void {
    const query = this.input.value.trim();
    const ranked = this.operators.map((op) => ({ op, rank: this.rank(query, op) }));
    if (query) ranked.sort((a, b) => b.rank - a.rank);
    else ranked.sort((a, b) => Number(!!a.op.unusable) - Number(!!b.op.unusable));
    this.results = ranked
      .filter(({ rank }) => rank > 0)
      .map(({ op }) => op)
      .slice(0, SHOWN);
    this.at = Math.max(
      0,
      this.results.findIndex((op) => !op.unusable),
    );
    this.draw();
    this.found.scrollTop = 0;
  }

  private rank(query: string, op: OperatorEntry): number {
    const rank = score(query, [
      { text: op.name, weight: 10 },
      { text: op.label, weight: 8 },
      { text: op.category, weight: 4 },
      { text: op.summary, weight: 2, prose: true },
    ]);
    return op.unusable ? rank / 2 : rank;
  }

  private draw(): void {
    this.list.draw(this.results);
    this.nothing.hidden = this.results.length > 0;
    text(this.nothing, `No operator is like “${this.input.value}”.`);
    const active = this.results.length ? `${this.prefix}-${this.at}` : null;
    attr(this.input, "aria-activedescendant", active);
  }

  private make(op: OperatorEntry): HTMLElement {
    const take = (): void => this.take(op);
    return h(
      "li",
      { role: "option", "data-wb": "operator", "data-op": op.name, onclick: take },
      h("b", {}, op.name),
      h("span", { class: "wb-chip" }, op.category),
      h("small", {}, op.unusable ? op.unusable : op.summary || op.label),
    );
  }

  private update(el: HTMLElement, op: OperatorEntry, index: number): void {
    attr(el, "id", `${this.prefix}-${index}`);
    attr(el, "aria-selected", String(index === this.at));
    attr(el, "aria-disabled", op.unusable ? "true" : null);
  }

  private key(event: KeyboardEvent): void {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 6, PageUp: -6 }[event.key];
    if (by && this.results.length) {
      event.preventDefault();
      this.at = Math.min(Math.max(this.at + by, 0), this.results.length - 1);
      this.draw();
      this.found.children[this.at]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      const op = this.results[this.at];
      if (op) this.take(op);
    }
    event.stopPropagation();
  }

  private take(op: OperatorEntry): void {
    if (op.unusable) return;
    this.el.hidePopover();
    this.add(op.name, this.after);
  }
}
