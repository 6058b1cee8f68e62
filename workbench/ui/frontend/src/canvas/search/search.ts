// Search: items available at a place, and what happens when one is selected.

import { siblingOf } from "../../lib/siblings";
import { wrap } from "../state/actions";
import type { Place, State } from "../state/canvasState";
import type { CanvasStore } from "../state/canvasStore";
import { commandsNow, runCommand } from "./commands";
import { addTo, otherOf } from "./operatorSearch";
import {
  argumentItems,
  snippetItems,
  commandItems,
  fixOf,
  folderItems,
  nodeItems,
  operatorItems,
  PREFIXES,
  recipeItems,
  blockItems,
  templateItems,
  type Item,
} from "./searchItems";

/** Parts of the state that are searched. */
export const SOURCES = [
  "operators",
  "templates",
  "snippets",
  "blocks",
  "recipes",
  "nodes",
  "arguments",
  "recent_folders",
  "selected",
  "compatible_ops",
] as const satisfies readonly (keyof State)[];
type Source = (typeof SOURCES)[number];

/** Return the items that can be added at a place; with `everything`, also all other items. */
export function searchItems(
  store: CanvasStore,
  sources: Pick<State, Source>,
  place: Place,
  everything: boolean,
  asked: string,
): Item[] {
  const { operators, templates, snippets, blocks, recipes, nodes, selected } = sources;
  const compatibleOps = sources.compatible_ops;
  const empty = !nodes.length;
  const wrapped = place.do === "add" && !empty ? blockItems(blocks, selected) : [];
  const fitting = [
    ...operatorItems(operators, compatibleOps, asked),
    ...(place.do === "add" || empty ? recipeItems(recipes, empty) : []),
    ...templateItems(templates, compatibleOps, asked, otherOf(store, place) !== ""),
    ...snippetItems(snippets),
    ...wrapped,
    ...(everything ? [] : commandItems(commandsNow(store).filter(({ firstFor }) => firstFor))),
  ].sort((a, b) => (b.weight ?? 0) - (a.weight ?? 0));
  if (!everything) return fitting;
  return [
    ...argumentItems(store.inspected, sources.arguments),
    ...commandItems(commandsNow(store)),
    ...nodeItems(nodes.filter(({ op }) => op)),
    ...folderItems(sources.recent_folders),
    ...fitting,
  ];
}

const SNIPPET = `${PREFIXES.template}snippet:`;

/** Return the operator or template that an item adds to the graph; null for other items. */
export function insertedName(item: Item): string | null {
  const { id } = fixOf(item);
  if (id.startsWith(SNIPPET)) return null;
  if (id.startsWith(PREFIXES.template)) return id.slice(PREFIXES.template.length);
  return Object.values(PREFIXES).some((prefix) => id.startsWith(prefix)) ? null : id;
}

export function chooseItem(store: CanvasStore, place: Place, item: Item): void {
  const { id } = item;
  const after = (prefix: string): string => id.slice(prefix.length);
  if (id.startsWith(PREFIXES.block)) wrap(store, after(PREFIXES.block));
  else if (id.startsWith(PREFIXES.argument)) editArgument(store, after(PREFIXES.argument));
  else if (id.startsWith(PREFIXES.command)) runCommand(store, after(PREFIXES.command));
  else if (id.startsWith(PREFIXES.recipe)) store.link.ask("recipe", { name: after(PREFIXES.recipe) });
  else if (id.startsWith(PREFIXES.folder)) store.link.ask("open", { path: after(PREFIXES.folder) });
  else if (id.startsWith(PREFIXES.node)) {
    store.select([after(PREFIXES.node)]);
    store.dom.focus(after(PREFIXES.node));
  } else {
    addTo(store, place, item);
    store.say(`${item.name} added`);
  }
}

/** Selectors of controls in a row, in the order in which they are focused: values first. */
const CONTROLS = ["input", "select, textarea", "[data-wb=source], [data-wb=dice]", "button"];

/** Focus the row of an argument in the inspector, even if the row is collapsed. */
function editArgument(store: CanvasStore, name: string): void {
  const inspector = siblingOf(store.dom.root, "inspector");
  if (!inspector) return;
  const row = (): HTMLElement | null =>
    inspector.querySelector<HTMLElement>(`[data-arg="${CSS.escape(name)}"]`);
  const lead = (): void => {
    row()?.scrollIntoView({ block: "nearest" });
    const found = CONTROLS.map((control) => row()?.querySelector<HTMLElement>(control));
    found.find((control) => control?.getClientRects().length)?.focus();
  };
  if (row()?.getClientRects().length) return lead();
  inspector.querySelector<HTMLElement>("[data-wb=more]")?.click();
  requestAnimationFrame(lead);
}
