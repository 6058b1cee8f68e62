// A line that says what was restored, and undoes it.

import { h, show, text } from "../lib/dom";
import { icon } from "../lib/icons";

export function restoredLine(
  startAfresh: () => void,
  dismiss: () => void,
): { el: HTMLElement; draw(words: string): void } {
  const words = h("span");
  const el = h(
    "p",
    { class: "wb-bar-restored", role: "status", hidden: true, "data-wb": "restored" },
    icon("reset", 14),
    words,
    h(
      "button",
      {
        class: "wb-link",
        type: "button",
        "data-wb": "start-afresh",
        "data-tip": "Show what was given; undo leads back",
        onclick: startAfresh,
      },
      "Start afresh",
    ),
    h(
      "button",
      { class: "wb-ico", type: "button", "aria-label": "Keep it", "data-wb": "dismiss", onclick: dismiss },
      icon("close", 13),
    ),
  );
  return {
    el,
    draw(said) {
      text(words, said);
      show(el, said !== "");
    },
  };
}
