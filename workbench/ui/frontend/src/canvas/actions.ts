// What a key, a button or a drop asks of Python.

import { NONE, type CanvasStore, type Place } from "./canvasStore";
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
