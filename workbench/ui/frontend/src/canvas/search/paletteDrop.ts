// Drop targets of the palette.

import type { NodeEntry } from "../../payloads";
import type { CanvasStore } from "../state/canvasStore";
import { edgeUnder } from "../edges/edgeUnderNode";
import { drawnInputs, inputSocket, isOutput, outputSocket, type Point } from "../layout/geometry";
import type { LayoutCache } from "../layout/layoutCache";
import { addTo, placeText } from "./operatorSearch";
import { PREFIXES, type Item } from "./searchItems";

export type Drop =
  | { do: "add"; after: string }
  | { do: "add_on"; edge: string }
  | { do: "branch"; node: string; output: string; at?: number[] }
  | { do: "add_into"; node: string; input: string };

/** Maximum distance from a port's centre for a drop on the port, at zoom 1. */
const REACH = 11;

type Places = Pick<LayoutCache, "boxes" | "nodes" | "settled" | "routes">;

/** Return the drop target at a point of the canvas: a port, a card, an edge, or none. */
export function dropAt({ boxes, nodes, settled, routes }: Places, point: Point): Drop {
  for (const node of nodes) {
    const at = node.group ? undefined : settled.get(node.id);
    const port = at && portAt(node, { x: point.x - at.x, y: point.y - at.y });
    if (port) return port;
  }
  for (const { id, node, width, height } of boxes) {
    const at = node?.group ? undefined : settled.get(id);
    const inside =
      at && point.x >= at.x && point.x <= at.x + width && point.y >= at.y && point.y <= at.y + height;
    if (inside) return isOutput(id) ? { do: "add_on", edge: id } : { do: "add", after: id };
  }
  const edge = edgeUnder(routes, point, () => false);
  if (edge) return { do: "add_on", edge };
  return { do: "branch", node: "", output: "", at: [Math.round(point.x), Math.round(point.y)] };
}

function portAt(node: NodeEntry, { x, y }: Point): Drop | null {
  const near = (at: Point): boolean => Math.hypot(at.x - x, at.y - y) <= REACH;
  const input = drawnInputs(node).find(({ name }) => near(inputSocket(node, name)));
  if (input) return { do: "add_into", node: node.id, input: input.name };
  const output = node.outputs.find(({ name }) => near(outputSocket(node, name)));
  return output ? { do: "branch", node: node.id, output: output.name } : null;
}

/** Return the text next to the pointer that describes the drop. */
export function previewPaletteDrop(store: CanvasStore, { id }: Item, drop: Drop): string {
  if (id.startsWith(PREFIXES.recipe)) return "opens the recipe";
  if (id.startsWith(PREFIXES.block)) return "around the selected nodes";
  if (drop.do === "add_into") return `into ${drop.node}.${drop.input}`;
  if (isLoose(drop) && id.startsWith(PREFIXES.template)) return "at the end";
  return placeText(store, drop);
}

/** Add an operator or template. Python reports why an addition is refused. */
export function addDropped(store: CanvasStore, item: Item, drop: Drop): void {
  const { id } = item;
  const template = id.startsWith(PREFIXES.template);
  if (drop.do === "add_into") {
    const edge = `${drop.node}:${drop.input}`;
    if (template) addTo(store, { do: "add_on", edge }, item);
    else store.link.ask("add_into", { op: id, node: drop.node, input: drop.input, sound: true });
  } else if (!isLoose(drop)) addTo(store, drop, item);
  else if (template) addTo(store, { do: "add", after: "" }, item);
  // An operator without connections may lack inputs, which the user connects later.
  else store.link.ask("branch", { op: id, node: "", output: "", ...(drop.at && { at: drop.at }) });
}

function isLoose(drop: Drop): drop is Extract<Drop, { do: "branch" }> {
  return drop.do === "branch" && !drop.node;
}
