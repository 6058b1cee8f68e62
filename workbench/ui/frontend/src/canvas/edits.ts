// What a key, a button or a drop asks of Python.

import { NONE, type Desk, type Place } from "./desk";
import { isOutput } from "./geometry";
import type { Feed } from "./linking";

/** `own` is the edge whose end was moved there; empty for a new one. */
export function connectTo(desk: Desk, feed: Feed, own: string): void {
  if (own === `${feed.target}:${feed.input}` && desk.edge(own)?.source === feed.source) {
    if (desk.edge(own)?.output === feed.output) return;
  }
  desk.link.ask("connect", { ...feed, edge: own });
  const to = feed.target
    ? `${feed.target}.${feed.input}`
    : feed.input
      ? `output ${feed.input}`
      : "a new output";
  desk.say(`${feed.source}.${feed.output} now feeds ${to}`);
}

/** Opens the search for behind the inspected node, or for the end. */
export function search(desk: Desk): void {
  const after = desk.node(desk.inspected)?.generator ? "" : desk.inspected;
  desk.set({ popup: { kind: "search", place: { do: "add", after } satisfies Place } });
}

export function remove(desk: Desk): void {
  const { selected, picked } = desk.get();
  if (!selected.length && !picked.size) return;
  desk.link.ask("remove", { nodes: [...selected], edges: [...picked] });
  const what = [...selected, ...picked].map((id) => (isOutput(id) ? `output ${id.slice(1)}` : id));
  desk.say(`${what.join(", ")} removed`);
  desk.set({ picked: NONE }); // what is selected then, Python says
}

export function duplicate(desk: Desk): void {
  const { selected } = desk.get();
  if (selected.length) desk.link.ask("duplicate", { nodes: [...selected] });
}

export function move(desk: Desk, by: -1 | 1): void {
  const node = desk.node(desk.inspected);
  if (node?.movable) desk.link.ask("move", { node: node.id, by });
  else if (node) desk.say(`${node.id} keeps its place`);
}

/** Shows a folded generator as a node, or folds one back into the node that it feeds. */
export function unfold(desk: Desk): void {
  const node = desk.node(desk.inspected);
  if (!node) return;
  if (node.generator) desk.link.ask("fold", { node: node.id });
  else if (node.draws.length === 1)
    desk.link.ask("unfold", { node: node.id, arg: node.draws[0]!.arg });
  else if (node.draws.length) desk.set({ popup: { kind: "draws", node: node.id } });
  else desk.say(`${node.id} draws nothing`);
}

export function connect(desk: Desk): void {
  const node = desk.node(desk.inspected);
  if (!node) return;
  const output = node.outputs.length === 1 ? node.outputs[0]!.name : "";
  desk.set({ popup: { kind: "connect", node: node.id, output } });
}
