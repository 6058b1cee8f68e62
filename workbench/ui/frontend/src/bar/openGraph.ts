// Opening a graph: a file, a shared picture, or pasted text.

import { h } from "../lib/dom";
import { icon } from "../lib/icons";
import { popover } from "../lib/popover";
import { readFile, type Incoming } from "./importGraph";

/** `recent` is shown below the other ways; `opening` is called before the card opens. */
export function openButton(
  into: Incoming,
  recent: HTMLElement,
  opening: () => void,
): { parts: HTMLElement[]; close: () => void } {
  const input = h("input", {
    type: "file",
    accept: ".json,.png,application/json,image/png",
    hidden: true,
    "aria-label": "Graph file or shared picture to open",
    "data-wb": "open-file",
  });
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    pop.hidePopover();
    // Emptied, so that the same file can be opened again.
    if (file) void readFile(file, into).finally(() => (input.value = ""));
  });
  const area = h("textarea", {
    class: "wb-val",
    rows: 4,
    spellcheck: "false",
    placeholder: '{"format": "dali-workbench-graph", ...}',
    "aria-label": "Text of a graph",
    "data-wb": "open-text",
  });
  const openText = (event?: Event): void => {
    event?.preventDefault();
    if (!area.value.trim()) return area.focus();
    pop.hidePopover();
    into.text(area.value); // kept, so that a slip in it can be mended
  };
  area.addEventListener("focus", () => area.select());
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) openText(event);
  });
  const button = h("button", { class: "wb-link", type: "button", "data-wb": "open" }, "Open");
  const pop = popover(
    button,
    { label: "Open a graph", align: "end", opening },
    h(
      "form",
      { class: "wb-bar-open", onsubmit: openText },
      h(
        "button",
        {
          class: "wb-quiet",
          type: "button",
          autofocus: true,
          "data-wb": "open-choose",
          onclick: () => input.click(),
        },
        icon("file", 14),
        "Choose a file",
      ),
      h("p", { class: "wb-ask-head" }, "A graph (JSON) or a shared picture (PNG). Or drop one here."),
      area,
      h("button", { class: "wb-btn", type: "submit", "data-wb": "open-now" }, "Open text"),
    ),
    recent,
  );
  return { parts: [button, input, pop], close: () => pop.hidePopover() };
}
