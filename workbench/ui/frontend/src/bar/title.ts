// The graph's name: a click turns it into a field.

import { attr, h, show, text } from "../lib/dom";

export function editableTitle(rename: (name: string) => void): {
  el: HTMLElement;
  draw(name: string): void;
} {
  let name = "";
  const button = h("button", { type: "button", "data-wb": "title", "data-tip": "Rename" });
  const input = h("input", {
    class: "wb-val",
    type: "text",
    spellcheck: "false",
    maxlength: 200,
    hidden: true,
    "aria-label": "Name of the graph",
    "data-wb": "title-field",
  });
  const edit = (on: boolean): void => {
    show(input, on);
    show(button, !on);
  };
  const commit = (): void => {
    if (input.hidden) return;
    const wanted = input.value.trim();
    edit(false);
    if (wanted && wanted !== name) rename(wanted);
  };
  button.addEventListener("click", () => {
    input.value = name;
    edit(true);
    input.focus();
    input.select();
  });
  input.addEventListener("blur", commit);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Escape") input.value = name;
    commit();
    button.focus();
  });
  return {
    el: h("div", { class: "wb-bar-title" }, button, input),
    draw(given) {
      name = given;
      text(button, given || "untitled");
      attr(button, "aria-label", `${given || "untitled"}, rename`);
    },
  };
}
