// Contents of the palette: operators by category, then templates, blocks and recipes. Pure
// functions, tested without a browser.

import { rank } from "../../lib/ranking";
import type { State } from "../state/canvasState";
import { operatorItems, recipeItems, blockItems, snippetItems, templateItems, type Item } from "./searchItems";

export interface PaletteGroup {
  name: string;
  items: readonly Item[];
}

export type PaletteState = Pick<
  State,
  "operators" | "categories" | "templates" | "snippets" | "blocks" | "recipes" | "selected"
>;

const EVERYWHERE = {};

function titled(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function byName(items: readonly Item[]): Item[] {
  const key = ({ name }: Item): string => name.replace(/^experimental\./, "");
  return [...items].sort((a, b) => key(a).localeCompare(key(b)));
}

/** Return the groups of items, without unusable items, which only a filter lists. */
export function paletteGroups(state: PaletteState): PaletteGroup[] {
  const { operators, categories, templates, snippets, blocks, recipes, selected } = state;
  const usable = operators.filter((op) => !op.unusable);
  const names = [...new Set([...categories, ...usable.map((op) => op.category)])];
  const groups = names.map((name) => ({
    name: titled(name),
    items: byName(operatorItems(usable.filter((op) => op.category === name), EVERYWHERE, "")),
  }));
  return [
    ...groups,
    { name: "Snippets", items: snippetItems(snippets) },
    { name: "Templates", items: byName(templateItems(templates, EVERYWHERE, "", selected.length === 2)) },
    { name: "Blocks", items: blockItems(blocks, selected) },
    { name: "Recipes", items: recipeItems(recipes) },
  ].filter(({ items }) => items.length > 0);
}

/** Return the items that match a query, best first. */
export function paletteFinds(state: PaletteState, query: string): Item[] {
  const { operators, templates, snippets, blocks, recipes, selected } = state;
  return rank(
    [
      ...operatorItems(operators, EVERYWHERE, ""),
      ...templateItems(templates, EVERYWHERE, "", selected.length === 2),
      ...snippetItems(snippets),
      ...blockItems(blocks, selected),
      ...recipeItems(recipes),
    ],
    query,
  );
}
