// Recipes to start from; graphs to open and save; the script to export.

import type { RecipeEntry } from "../views";
import { h, Keyed } from "../lib/dom";
import { download } from "../lib/files";
import { focusFirst, menu as newMenu, popover } from "../lib/popover";

export function recipesButton(
  choose: (name: string) => void,
): HTMLElement[] & { draw(recipes: RecipeEntry[]): void } {
  const button = h("button", { class: "wb-link", type: "button", "data-wb": "recipes" }, "Recipes");
  const menu = newMenu();
  const opening = (): void => focusFirst(menu);
  const pop = popover(button, { label: "Recipes", align: "end", opening }, menu);
  const list = new Keyed<RecipeEntry>(
    menu,
    (recipe) => `${recipe.name} ${recipe.line}`,
    (recipe) =>
      h(
        "button",
        {
          type: "button",
          "data-wb": "recipe",
          "data-name": recipe.name,
          onclick: () => {
            pop.hidePopover();
            choose(recipe.name);
          },
        },
        h("span", {}, recipe.name),
        h("small", {}, recipe.line),
      ),
  );
  return Object.assign([button, pop], { draw: (recipes: RecipeEntry[]) => list.draw(recipes) });
}

export function openButton(read: (content: string) => void): HTMLElement[] {
  const input = h("input", {
    type: "file",
    accept: ".json,application/json",
    hidden: true,
    "aria-label": "Graph file to open",
    "data-wb": "open-file",
  });
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    // Emptied, so that the same file can be opened again.
    void file
      ?.text()
      .then(read)
      .finally(() => (input.value = ""));
  });
  const button = h(
    "button",
    { class: "wb-link", type: "button", "data-wb": "open", onclick: () => input.click() },
    "Open",
  );
  return [button, input];
}

interface PathButton {
  label: string;
  /** What the path is for. */
  field: string;
  look: "wb-link" | "wb-btn";
  path: () => string;
  save: (path: string) => void;
  /** The content, where it can be had as a download too. */
  copy?: () => string;
}

/** A button that asks where to write, with the usual name filled in. */
export function pathButton(options: PathButton): { parts: HTMLElement[]; open: () => void } {
  const name = options.label.toLowerCase();
  const button = h(
    "button",
    { class: options.look, type: "button", "data-wb": name },
    options.label,
  );
  const input = h("input", {
    class: "wb-val",
    type: "text",
    spellcheck: "false",
    autofocus: true,
    "aria-label": options.field,
    "data-wb": `${name}-path`,
  });
  const form = h(
    "form",
    {
      class: "wb-ask",
      onsubmit: (event: Event) => {
        event.preventDefault();
        const path = input.value.trim();
        if (!path) return input.focus();
        pop.hidePopover();
        options.save(path);
      },
    },
    input,
    h("button", { class: "wb-btn", type: "submit", "data-wb": `${name}-now` }, options.label),
  );
  const { copy } = options;
  if (copy) {
    const onclick = (): void => {
      pop.hidePopover();
      download(input.value.trim() || options.path(), copy(), "application/json");
    };
    form.append(h("button", { class: "wb-quiet", type: "button", onclick }, "Download"));
  }
  const pop = popover(
    button,
    {
      label: options.field,
      align: "end",
      opening: () => (input.value ||= options.path()),
      opened: () => input.setSelectionRange(0, input.value.lastIndexOf(".")),
    },
    h("div", { class: "wb-ask-head" }, options.field),
    form,
  );
  return { parts: [button, pop], open: () => pop.showPopover() };
}
