// What stands under every figure: what it was measured on, in a line, and all of it on demand.

import type { MeasuredOn, SpeedFact } from "../views";
import { h } from "../lib/dom";
import { icon } from "../lib/icons";

/** Whether the details are open, so that a figure drawn anew leaves them so. */
const opened = new WeakMap<HTMLElement, Set<string>>();

export function drawOn(el: HTMLElement, all: readonly MeasuredOn[]): void {
  const open = opened.get(el) ?? new Set<string>();
  opened.set(el, open);
  el.replaceChildren(...all.map((on) => one(on, all.length > 1, open)));
}

function one(on: MeasuredOn, named: boolean, open: Set<string>): HTMLElement {
  const details = h(
    "details",
    { class: "wb-on", "data-wb": "measured-on", open: open.has(on.id) },
    h("summary", {}, named && h("b", {}, `${on.name} `), on.line),
    h("dl", {}, ...on.facts.map(fact)),
  );
  details.addEventListener("toggle", () => {
    if (details.open) open.add(on.id);
    else open.delete(on.id);
  });
  return h(
    "div",
    {},
    on.quick && h("p", { class: "wb-speed-fact", "data-wb": "quick" }, on.quick),
    on.earlier &&
      h(
        "p",
        { class: "wb-speed-note", "data-wb": "earlier" },
        icon("warn", 13),
        h("span", {}, named ? `${on.name}: ${on.earlier}` : sentence(on.earlier)),
      ),
    ...on.quality_flags.map((words) =>
      h("p", { class: "wb-speed-note", "data-wb": "quality-flag" }, icon("warn", 13), h("span", {}, words)),
    ),
    details,
  );
}

function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function fact({ name, value }: SpeedFact): HTMLElement {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value));
}
