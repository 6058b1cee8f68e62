// Insertion of search results, and suggestions of what can be inserted.

import type { NodeEntry } from "../../payloads";
import { imageOf } from "../state/actions";
import type { Place } from "../state/canvasState";
import type { CanvasStore } from "../state/canvasStore";
import { fixOf, PREFIXES, type Item } from "./searchItems";

/**
 * Request from Python what fits a place, and whether the items in `tried` would cause a fault.
 * Returns the name of the place in the response.
 */
export function askCompatibleOps(
  store: CanvasStore,
  place: Place,
  tried: readonly string[],
): string {
  const about = { how: place.do, tried: [...tried], other: otherOf(store, place) };
  if (place.do === "add_on") {
    store.link.ask("compatible_ops", { node: "", output: "", edge: place.edge, ...about });
    return place.edge;
  }
  const node = place.do === "add" ? place.after : place.node;
  const output = place.do === "add" ? imageOf(store, place.after) : place.output;
  store.link.ask("compatible_ops", { node, output, edge: "", ...about });
  return node ? `${node}.${output}` : "";
}

/** Add the operator or template of an item; Python refuses additions that cause a fault. */
export function addTo(store: CanvasStore, place: Place, item: Item): void {
  const { link } = store;
  const { id, fix } = fixOf(item);
  const how = { sound: true, fix };
  if (id.startsWith(PREFIXES.template)) {
    const { do: _, ...where } = place;
    const template = id.slice(PREFIXES.template.length);
    link.ask("add_template", { template, ...where, other: otherOf(store, place), ...how });
  } else if (place.do === "add") link.ask("add", { op: id, after: place.after, ...how });
  else if (place.do === "add_on") link.ask("add_on", { op: id, edge: place.edge, ...how });
  else link.ask("branch", { op: id, node: place.node, output: place.output, ...how });
}

/**
 * Return the node with the second image of a mix. If two nodes in one body are selected, it is the
 * one that is not the place; otherwise it is the only other unconnected output or, for an
 * unconnected place, the image output.
 */
export function otherOf(store: CanvasStore, place: Place): string {
  const { selected, nodes, edges } = store.get();
  const scopes = new Set(selected.map((id) => store.node(id)?.scope));
  if (selected.length === 2 && scopes.size === 1) {
    const after = (place.do === "add" && place.after) || selected[1];
    return selected.find((id) => id !== after)!;
  }
  if (place.do !== "add" || !place.after || selected.length > 1) return "";
  const feeding = new Set(edges.map(({ source }) => source));
  const scope = store.node(place.after)?.scope;
  const image = ({ outputs }: NodeEntry): boolean => outputs.some(({ kind }) => kind === "image");
  const beside = nodes.filter((each) => each.scope === scope && each.op && image(each));
  const given = (id: string): boolean => edges.some(({ source, target }) => source === id && !target);
  const leads = feeding.has(place.after);
  const ends = beside.filter(({ id }) => (leads ? !feeding.has(id) : given(id)) && id !== place.after);
  return ends.length === 1 ? ends[0]!.id : "";
}

export function placeText(store: CanvasStore, place: Place): string {
  if (!store.get().nodes.length) return "into an empty graph";
  if (place.do === "add") return place.after ? `after ${place.after}` : "at the end";
  if (place.do === "branch") return place.node ? `from ${place.node}.${place.output}` : "unconnected";
  const edge = store.edge(place.edge);
  return edge ? `between ${edge.source} and ${edge.target || `output ${edge.input}`}` : "";
}
