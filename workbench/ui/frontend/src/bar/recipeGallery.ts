// Graphs to start from: an empty one, and the recipes with their pictures.

import type { RecipeEntry } from "../views";
import { h, Keyed } from "../lib/dom";
import { icon } from "../lib/icons";
import { popover } from "../lib/popover";

export function recipeGallery(
  choose: (recipe: string) => void,
  startEmpty: () => void,
): { parts: HTMLElement[]; draw(recipes: RecipeEntry[]): void } {
  const button = h("button", { class: "wb-link", type: "button", "data-wb": "recipes" }, "Recipes");
  const close = (then: () => void) => (): void => {
    pop.hidePopover();
    then();
  };
  const empty = h(
    "button",
    { type: "button", autofocus: true, "data-wb": "new", onclick: close(startEmpty) },
    h("span", { class: "wb-bar-nothing" }, icon("plus", 18)),
    h("b", {}, "Empty graph"),
    h("small", {}, "Start from nothing: add operators one by one."),
  );
  const grid = h("div", { class: "wb-bar-gallery" });
  const pop = popover(button, { label: "Recipes", align: "end" }, grid);
  grid.addEventListener("keydown", (event) => {
    const cards = [...grid.querySelectorAll("button")];
    const at = cards.findIndex((card) => card.matches(":focus"));
    const across = cards.filter((card) => card.offsetTop === cards[0]?.offsetTop).length;
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? -1 : by && at + by;
    if (to === undefined || to >= cards.length || (by && to < 0)) return;
    event.preventDefault();
    cards.at(to)?.focus();
  });

  const list = new Keyed<RecipeEntry | null>(
    grid,
    (recipe) => (recipe ? `recipe ${recipe.name} ${recipe.line}` : "empty"),
    (recipe) => (recipe ? card(recipe, close(() => choose(recipe.name))) : empty),
  );
  return { parts: [button, pop], draw: (recipes) => list.draw([null, ...recipes]) };
}

function card(recipe: RecipeEntry, onclick: () => void): HTMLElement {
  return h(
    "button",
    { type: "button", "data-wb": "recipe", "data-name": recipe.name, onclick },
    recipe.picture && h("img", { src: recipe.picture, alt: "", width: 384, height: 96 }),
    h("b", {}, recipe.name),
    h("small", {}, recipe.line),
  );
}
