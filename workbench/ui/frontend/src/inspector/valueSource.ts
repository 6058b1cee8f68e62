// Where an argument's value comes from: fixed, drawn for each sample, or another node's output.

import type { ArgRow } from "../views";
import { attr, h, show } from "../lib/dom";
import { dice, icon } from "../lib/icons";
import { wordOf } from "./randomControls";

export interface AskSource {
  fix(): void;
  /** With an empty text, from what it was drawn from last. */
  randomise(op: string): void;
  link(port: string): void;
}

const FIXED = "fixed";
const LINK = "link:";

/** The dice, a menu of every source, and where there is none, a sign that says why. */
export class ValueSource {
  readonly el: HTMLElement;
  private dice: HTMLButtonElement;
  private menu: HTMLSelectElement;
  private caret: HTMLElement;
  private only = h("span", { class: "wb-only", role: "img" }, icon("same", 12));
  private offered = "";
  private row: ArgRow | null = null;

  constructor(name: string, ask: AskSource) {
    this.dice = h("button", { class: "wb-dice", type: "button", "data-wb": "dice" });
    this.dice.addEventListener("click", () => {
      if (this.row?.mode === "fixed") ask.randomise("");
      else ask.fix();
    });
    this.menu = h("select", { "aria-label": `${name}, value from`, "data-wb": "source" });
    this.menu.addEventListener("change", () => {
      const to = this.menu.value;
      if (to === FIXED) ask.fix();
      else if (to.startsWith(LINK)) ask.link(to.slice(LINK.length));
      else ask.randomise(to);
    });
    this.caret = h("span", { class: "wb-caret" }, icon("down", 9), this.menu);
    this.el = h("div", { class: "wb-source" }, this.dice, this.caret, this.only);
    attr(this.dice, "aria-label", `${name} random`);
  }

  /** `ports` has words for the outputs that the row names. */
  draw(row: ArgRow, ports: Record<string, string>): void {
    const before = this.row?.mode;
    this.row = row;
    const { mode } = row;
    if (before !== mode) this.dice.replaceChildren(mode === "linked" ? icon("link", 14) : dice());
    const drawable = row.tensor && (row.distributions.length > 0 || mode !== "fixed");
    show(this.dice, drawable);
    attr(this.dice, "aria-pressed", String(mode !== "fixed"));
    attr(
      this.dice,
      "data-tip",
      { fixed: "Draw it anew for each sample", random: "Make it fixed", linked: "Cut the link" }[mode],
    );
    show(this.caret, !row.fixed_only);
    show(this.only, row.fixed_only !== "");
    attr(this.only, "aria-label", row.fixed_only || null);
    attr(this.only, "data-tip", row.fixed_only || null);
    if (row.tensor) this.offer(row, ports);
  }

  private offer(row: ArgRow, ports: Record<string, string>): void {
    const present = row.link && !row.links.includes(row.link) ? [row.link] : [];
    const links = [...present, ...row.links].map((port) => ({
      value: LINK + port,
      word: ports[port] ?? port,
    }));
    const op = row.random?.op;
    const drawn = op && !row.distributions.includes(op) ? [op] : [];
    const random = [...drawn, ...row.distributions].map((o) => ({ value: o, word: wordOf(o) }));
    const offered = JSON.stringify([random, links]);
    if (offered !== this.offered) {
      this.offered = offered;
      this.menu.replaceChildren(
        h("option", { value: FIXED }, "a fixed value"),
        group("drawn for each sample", random, "no generator draws such values"),
        group("linked to", links, "no node here gives such numbers"),
      );
    }
    this.menu.value = row.link ? LINK + row.link : (op ?? FIXED);
  }
}

function group(
  label: string,
  options: readonly { value: string; word: string }[],
  none: string,
): HTMLOptGroupElement {
  const items = options.map(({ value, word }) => h("option", { value }, word));
  return h("optgroup", { label }, ...(items.length ? items : [h("option", { disabled: true }, none)]));
}
