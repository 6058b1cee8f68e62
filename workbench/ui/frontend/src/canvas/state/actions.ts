// What a key, a button or a drop asks of Python.

import { NONE, type Place } from "./canvasState";
import type { CanvasStore } from "./canvasStore";
import { shownScope } from "../layout/nestedLayout";
import { isOutput, outputOf, type Point } from "../layout/geometry";
import type { NodeEntry } from "../../payloads";
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

/** Opens the search for behind the inspected node, or for the end; or for everything there is. */
export function search(store: CanvasStore, everything = false, opener?: HTMLElement): void {
  const place: Place = { do: "add", after: inspectedOperator(store) };
  store.set({ popup: { kind: "search", place, everything, ...(opener ? { opener } : {}) } });
}

/** The inspected node, behind which one is added; empty where an operator cannot stand there. */
export function inspectedOperator(store: CanvasStore): string {
  const node = store.node(store.inspected);
  return node && !node.generator ? node.id : "";
}

/** The output behind which an operator is added: the picture's, where there is one. */
export function imageOf(store: CanvasStore, id: string): string {
  const outputs = store.node(id)?.outputs ?? [];
  return (outputs.find(({ kind }) => kind === "image") ?? outputs[0])?.name ?? "";
}

/** Opens the search for the first operator of a new branch of the inspected node. */
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
  store.set({ picked: NONE }); // what is selected then, Python says
}

/** Has everything laid out automatically. */
export function arrange(store: CanvasStore): void {
  store.link.ask("arrange", {});
  store.set({ arranged: store.get().arranged + 1 });
}

/** Asks for the name under which the selected nodes are kept. */
export function saveSnippet(store: CanvasStore): void {
  const nodes = store.get().selected.filter((id) => store.node(id)?.op);
  if (!nodes.length) return store.say("Select the nodes to save as a snippet");
  store.set({ popup: { kind: "snippet", nodes } });
}

export function duplicate(store: CanvasStore): void {
  const { selected } = store.get();
  if (selected.length) store.link.ask("duplicate", { nodes: [...selected] });
}

/** Shows a body of a block; empty: the graph itself. */
export function openScope(store: CanvasStore, scope: string): void {
  if (scope === store.scope) return;
  store.link.ask("open_scope", { scope });
  store.say(scope ? `inside ${scope}` : "the graph");
}

/** Draws a block as a card, or as a frame with what stands in it. */
export function collapse(store: CanvasStore, node: NodeEntry, collapsed: boolean): void {
  store.link.ask("collapse", { node: node.id, collapsed });
  store.say(`${node.id} ${collapsed ? "collapsed" : "expanded"}`);
}

/** Opens the first body of the inspected block. Returns whether it is one. */
export function enter(store: CanvasStore): boolean {
  const first = store.node(store.inspected)?.bodies[0];
  if (first) openScope(store, first.scope);
  return !!first;
}

/** Shows what is around the body that is shown. Returns whether one is. */
export function leave(store: CanvasStore): boolean {
  const { breadcrumb } = store.get();
  if (breadcrumb.length) openScope(store, shownScope(breadcrumb.slice(0, -1)));
  return breadcrumb.length > 0;
}

/** Leaves the selected nodes out of what runs; where all are, lets them run again. */
export function mute(store: CanvasStore): void {
  const chosen = store.get().nodes.filter(({ id, op }) => op && store.get().selected.includes(id));
  if (!chosen.length) return store.say("Select the nodes to mute");
  const muted = !chosen.every((node) => node.muted);
  const nodes = chosen.map(({ id }) => id);
  store.link.ask("mute", { nodes, muted });
  store.say(`${nodes.join(", ")} ${muted ? "muted" : "runs again"}`);
}

/** What is to be written in as soon as Python has made it. */
export const NEW = { frame: "+frame", note: "+note" } as const;

/** Draws a frame around the selected nodes, whose title is then written. */
export function frame(store: CanvasStore): void {
  const nodes = store.get().selected.filter((id) => store.node(id)?.op);
  if (!nodes.length) return store.say("Select the nodes to frame");
  if (store.link.ask("frame", { title: "Frame", nodes, frame: "" })) {
    store.set({ renaming: NEW.frame });
  }
  store.say(`${nodes.join(", ")} framed`);
}

/** Puts a note there, whose text is then written. */
export function note(store: CanvasStore, { x, y }: Point): void {
  const at = { x: Math.round(x), y: Math.round(y) };
  if (store.link.ask("note", { text: "Note", ...at, note: "" })) store.set({ renaming: NEW.note });
}

/** Puts the selected nodes into a block: an `if` on a coin flip or a `condition`, or as options. */
export function wrap(store: CanvasStore, op = "if", together = false, condition = ""): void {
  const { selected } = store.get();
  if (!selected.length) return store.say("Select what is to run for some samples only");
  store.link.ask("wrap", { nodes: [...selected], op, together, condition });
  store.say(`${selected.join(", ")} put into ${op}`);
}

/** Draws targets over pictures and cards, or leaves them out. */
export function showTargets(store: CanvasStore): void {
  const shown = !store.link.get("show_targets", true);
  store.link.set("show_targets", shown);
  store.say(shown ? "Targets are shown" : "Targets are hidden");
}

/** Lets one of the selected nodes run for each sample; a single one beside nothing at all. */
export function chooseOneOf(store: CanvasStore): void {
  wrap(store, "one_of");
}

/** Lets all of the selected nodes run as one option, beside one that changes nothing. */
export function chooseChain(store: CanvasStore): void {
  wrap(store, "one_of", true);
}

/** Lets some of the selected nodes run for each sample, one after another. */
export function chooseSomeOf(store: CanvasStore): void {
  wrap(store, "some_of");
}

/** Lets the selected nodes run again and again. */
export function repeat(store: CanvasStore): void {
  wrap(store, "repeat");
}

/** Replaces the inspected block by what stands in its first body. */
export function unwrap(store: CanvasStore): void {
  const node = store.node(store.inspected);
  if (!node?.bodies[0]) return;
  store.link.ask("unwrap", { node: node.id, body: node.bodies[0].name });
  store.say(`${node.id} taken apart`);
}

/** Asks a second condition where that of the inspected `if` does not hold. */
export function addElif(store: CanvasStore): void {
  const node = store.node(store.inspected);
  if (node?.op !== "if") return store.say("Select an if: it gets the elif");
  store.link.ask("add_elif", { node: node.id });
  store.say(`elif added to ${node.id}`);
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

/** Asks for the lines of the selected nodes, or of all where none is. */
export function copyCode(store: CanvasStore): void {
  const nodes = store.get().selected.filter((id) => store.node(id)?.op);
  store.wantsCode = store.link.ask("copy_code", { nodes });
}
