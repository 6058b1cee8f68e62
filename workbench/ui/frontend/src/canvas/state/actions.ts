// Requests to Python from keys, buttons and drops.

import { NONE, type Place } from "./canvasState";
import type { CanvasStore } from "./canvasStore";
import { shownScope } from "../layout/nestedLayout";
import { isOutput, outputOf, type Point } from "../layout/geometry";
import type { NodeEntry } from "../../payloads";
import type { Feed } from "./edgeDrag";

/** Request a connection. `own` is the edge whose end was moved; empty for a new edge. */
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
  store.say(`${feed.source}.${feed.output} connected to ${to}`);
}

/** Open the search for an operator after the inspected node or at the end; or for everything. */
export function search(store: CanvasStore, everything = false, opener?: HTMLElement): void {
  const place: Place = { do: "add", after: inspectedOperator(store) };
  store.set({ popup: { kind: "search", place, everything, ...(opener ? { opener } : {}) } });
}

/** Return the inspected node after which an operator can be added, or "". */
export function inspectedOperator(store: CanvasStore): string {
  const node = store.node(store.inspected);
  return node && !node.generator ? node.id : "";
}

/** Return the output after which an operator is added: the image output if there is one. */
export function imageOf(store: CanvasStore, id: string): string {
  const outputs = store.node(id)?.outputs ?? [];
  return (outputs.find(({ kind }) => kind === "image") ?? outputs[0])?.name ?? "";
}

/** Open the search for the first operator of a new branch of the inspected node. */
export function branch(store: CanvasStore): void {
  const output = imageOf(store, store.inspected);
  if (!output) return store.say("Select the node to branch from");
  const place: Place = { do: "branch", node: store.inspected, output };
  store.set({ popup: { kind: "search", place } });
}

export function remove(store: CanvasStore): void {
  const { selected, picked } = store.get();
  if (!selected.length && !picked.size) return;
  store.link.ask("remove", { nodes: [...selected], edges: [...picked] });
  const what = [...selected, ...picked].map((id) => (isOutput(id) ? `output ${outputOf(id).name}` : id));
  store.say(`${what.join(", ")} removed`);
  store.set({ picked: NONE }); // Python sets the next selection
}

/** Discard manual positions, so that the layout is automatic. */
export function arrange(store: CanvasStore): void {
  store.link.ask("arrange", {});
  store.set({ arranged: store.get().arranged + 1 });
}

/** Ask for the name of a snippet of the selected nodes. */
export function saveSnippet(store: CanvasStore): void {
  const nodes = store.get().selected.filter((id) => store.node(id)?.op);
  if (!nodes.length) return store.say("Select the nodes to save as a snippet");
  store.set({ popup: { kind: "snippet", nodes } });
}

export function duplicate(store: CanvasStore): void {
  const { selected } = store.get();
  if (selected.length) store.link.ask("duplicate", { nodes: [...selected] });
}

/** Show a body of a block; empty for the whole graph. */
export function openScope(store: CanvasStore, scope: string): void {
  if (scope === store.scope) return;
  store.link.ask("open_scope", { scope });
  store.say(scope ? `inside ${scope}` : "whole graph");
}

/** Show a block as a card, or as a frame with its nodes. */
export function collapse(store: CanvasStore, node: NodeEntry, collapsed: boolean): void {
  store.link.ask("collapse", { node: node.id, collapsed });
  store.say(`${node.id} ${collapsed ? "collapsed" : "expanded"}`);
}

/** Open the first body of the inspected block. Returns false if it is not a block. */
export function enter(store: CanvasStore): boolean {
  const first = store.node(store.inspected)?.bodies[0];
  if (first) openScope(store, first.scope);
  return !!first;
}

/** Leave the visible body. Returns false if the whole graph is visible. */
export function leave(store: CanvasStore): boolean {
  const { breadcrumb } = store.get();
  if (breadcrumb.length) openScope(store, shownScope(breadcrumb.slice(0, -1)));
  return breadcrumb.length > 0;
}

/** Mute the selected nodes; if all are muted, unmute them. */
export function mute(store: CanvasStore): void {
  const chosen = store.get().nodes.filter(({ id, op }) => op && store.get().selected.includes(id));
  if (!chosen.length) return store.say("Select the nodes to mute");
  const muted = !chosen.every((node) => node.muted);
  const nodes = chosen.map(({ id }) => id);
  store.link.ask("mute", { nodes, muted });
  store.say(`${nodes.join(", ")} ${muted ? "muted" : "unmuted"}`);
}

/** Ids of a new group and note that are edited once Python has created them. */
export const NEW = { frame: "+frame", note: "+note" } as const;

/** Group the selected nodes, and edit the title of the group. */
export function frame(store: CanvasStore): void {
  const nodes = store.get().selected.filter((id) => store.node(id)?.op);
  if (!nodes.length) return store.say("Select the nodes to group");
  if (store.link.ask("frame", { title: "Group", nodes, frame: "" })) {
    store.set({ renaming: NEW.frame });
  }
  store.say(`${nodes.join(", ")} framed`);
}

/** Add a note and edit its text. */
export function addNote(store: CanvasStore, { x, y }: Point): void {
  const at = { x: Math.round(x), y: Math.round(y) };
  if (store.link.ask("note", { text: "Note", ...at, note: "" })) store.set({ renaming: NEW.note });
}

/** Wrap the selected nodes in a block: an `if` with a coin flip or a `condition`, or as options. */
export function wrap(store: CanvasStore, op = "if", together = false, condition = ""): void {
  const { selected } = store.get();
  if (!selected.length) return store.say("Select the nodes that should run only for some samples");
  store.link.ask("wrap", { nodes: [...selected], op, together, condition });
  store.say(`${selected.join(", ")} wrapped in ${op}`);
}

/** Show or hide annotations on pictures and cards. */
export function showTargets(store: CanvasStore): void {
  const shown = !store.link.get("show_targets", true);
  store.link.set("show_targets", shown);
  store.say(shown ? "Annotations shown" : "Annotations hidden");
}

/** Run one of the selected nodes for each sample; if one is selected, that node or none. */
export function chooseOneOf(store: CanvasStore): void {
  wrap(store, "one_of");
}

/** Run all selected nodes or none for each sample. */
export function chooseChain(store: CanvasStore): void {
  wrap(store, "one_of", true);
}

/** Run some of the selected nodes for each sample, one after another. */
export function chooseSomeOf(store: CanvasStore): void {
  wrap(store, "some_of");
}

/** Run the selected nodes several times. */
export function repeat(store: CanvasStore): void {
  wrap(store, "repeat");
}

/** Replace the inspected block with the nodes of its first body. */
export function unwrap(store: CanvasStore): void {
  const node = store.node(store.inspected);
  if (!node?.bodies[0]) return;
  store.link.ask("unwrap", { node: node.id, body: node.bodies[0].name });
  store.say(`${node.id} unwrapped`);
}

/** Add a second condition to the inspected `if`, used if the first is false. */
export function addElif(store: CanvasStore): void {
  const node = store.node(store.inspected);
  if (node?.op !== "if") return store.say("Select an if to add an elif");
  store.link.ask("add_elif", { node: node.id });
  store.say(`elif added to ${node.id}`);
}

export function move(store: CanvasStore, by: -1 | 1): void {
  const node = store.node(store.inspected);
  if (node?.movable) store.link.ask("move", { node: node.id, by });
  else if (node) store.say(`${node.id} cannot be moved: it is a reader, decoder or block`);
}

/** Show a hidden generator as a node, or hide it in the node that it feeds. */
export function unfold(store: CanvasStore): void {
  const node = store.node(store.inspected);
  if (!node) return;
  if (node.generator) store.link.ask("fold", { node: node.id });
  else if (node.draws.length === 1)
    store.link.ask("unfold", { node: node.id, arg: node.draws[0]!.arg });
  else if (node.draws.length) store.set({ popup: { kind: "draws", node: node.id } });
  else store.say(`${node.id} has no random values`);
}

export function connect(store: CanvasStore): void {
  const node = store.node(store.inspected);
  if (!node) return;
  const output = node.outputs.length === 1 ? node.outputs[0]!.name : "";
  store.set({ popup: { kind: "connect", node: node.id, output } });
}

/** Request the code of the selected nodes, or of all if none is selected. */
export function copyCode(store: CanvasStore): void {
  const nodes = store.get().selected.filter((id) => store.node(id)?.op);
  store.wantsCode = store.link.ask("copy_code", { nodes });
}
