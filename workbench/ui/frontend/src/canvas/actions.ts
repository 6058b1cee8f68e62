// What a key, a button or a drop asks of Python.

import { NONE, scopeOf, type CanvasStore, type Place } from "./canvasStore";
import { isOutput } from "./geometry";
import type { Feed } from "./edgeDrag";

/** `own` is the edge whose end was moved there; empty for a new one. */
export function connectTo(store: CanvasStore, feed: Feed, own: string): void {
  if (own === `${feed.target}:${feed.input}` && store.edge(own)?.source === feed.source) {
    if (store.edge(own)?.output === feed.output) return;
  }
  store.link.ask("connect", { ...feed, edge: own });
  const to = feed.target
    ? `${feed.target}.${feed.input}`
    : feed.input
      ? `output ${feed.input}`
      : "a new output";
  store.say(`${feed.source}.${feed.output} now feeds ${to}`);
}

/** Opens the search for behind the inspected node, or for the end. */
export function search(store: CanvasStore): void {
  const after = store.node(store.inspected)?.generator ? "" : store.inspected;
  store.set({ popup: { kind: "search", place: { do: "add", after } satisfies Place } });
}

export function remove(store: CanvasStore): void {
  const { selected, picked } = store.get();
  if (!selected.length && !picked.size) return;
  store.link.ask("remove", { nodes: [...selected], edges: [...picked] });
  const what = [...selected, ...picked].map((id) => (isOutput(id) ? `output ${id.slice(1)}` : id));
  store.say(`${what.join(", ")} removed`);
  store.set({ picked: NONE }); // what is selected then, Python says
}

export function duplicate(store: CanvasStore): void {
  const { selected } = store.get();
  if (selected.length) store.link.ask("duplicate", { nodes: [...selected] });
}

/** Shows a body of a region; empty: the graph itself. */
export function openScope(store: CanvasStore, scope: string): void {
  if (scope === store.scope) return;
  store.link.ask("open_scope", { scope });
  store.say(scope ? `inside ${scope}` : "the graph");
}

/** Opens the first body of the inspected region. Returns whether it is one. */
export function enter(store: CanvasStore): boolean {
  const first = store.node(store.inspected)?.bodies[0];
  if (first) openScope(store, first.scope);
  return !!first;
}

/** Shows what is around the body that is shown. Returns whether one is. */
export function leave(store: CanvasStore): boolean {
  const { breadcrumb } = store.get();
  if (breadcrumb.length) openScope(store, scopeOf(breadcrumb.slice(0, -1)));
  return breadcrumb.length > 0;
}

/** Puts the selected nodes into an `if`. */
export function wrap(store: CanvasStore): void {
  const { selected } = store.get();
  if (!selected.length) return store.say("Select what is to run for some samples only");
  store.link.ask("wrap", { nodes: [...selected], op: "if" });
  store.say(`${selected.join(", ")} put into an if`);
}

/** Replaces the inspected region by what stands in its first body. */
export function unwrap(store: CanvasStore): void {
  const node = store.node(store.inspected);
  if (!node?.bodies[0]) return;
  store.link.ask("unwrap", { node: node.id, body: node.bodies[0].name });
  store.say(`${node.id} taken apart`);
}

export function move(store: CanvasStore, by: -1 | 1): void {
  const node = store.node(store.inspected);
  if (node?.movable) store.link.ask("move", { node: node.id, by });
  else if (node) store.say(`${node.id} keeps its place`);
}

/** Shows a folded generator as a node, or folds one back into the node that it feeds. */
export function unfold(store: CanvasStore): void {
  const node = store.node(store.inspected);
  if (!node) return;
  if (node.generator) store.link.ask("fold", { node: node.id });
  else if (node.draws.length === 1)
    store.link.ask("unfold", { node: node.id, arg: node.draws[0]!.arg });
  else if (node.draws.length) store.set({ popup: { kind: "draws", node: node.id } });
  else store.say(`${node.id} draws nothing`);
}

export function connect(store: CanvasStore): void {
  const node = store.node(store.inspected);
  if (!node) return;
  const output = node.outputs.length === 1 ? node.outputs[0]!.name : "";
  store.set({ popup: { kind: "connect", node: node.id, output } });
}
