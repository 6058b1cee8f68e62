// The card of keys that `?` shows.

import { h } from "../lib/dom";
import { popover } from "../lib/popover";

const KEYS: [string, string][] = [
  ["/", "add an operator after the selected one"],
  ["← →", "select the one before or after"],
  ["Alt ← →", "move it"],
  ["Delete", "remove it"],
  ["Ctrl Z", "undo"],
  ["Ctrl Shift Z", "redo"],
  ["Ctrl S", "save the graph"],
  ["?", "these keys"],
];

export function keysCard(): { button: HTMLElement; card: HTMLElement } {
  const button = h("button", { type: "button", "data-wb": "keys" }, h("kbd", {}, "?"), " keys");
  const rows = KEYS.flatMap(([keys, what]) => [
    h("dt", {}, ...keys.split(" ").flatMap((key) => [h("kbd", {}, key), " "])),
    h("dd", {}, what),
  ]);
  return {
    button,
    card: popover(button, { label: "Keys" }, h("dl", { class: "wb-keys" }, ...rows)),
  };
}
