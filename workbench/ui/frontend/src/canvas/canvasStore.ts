// What the canvas holds: what Python shows, and what only this view knows.

import { focused } from "../lib/dom";
import type { Link } from "../lib/link";
import { jsonEqual, reuseUnchanged } from "../lib/jsonEquality";
import { Store } from "../lib/store";
import type {
  EdgeEntry,
  CompatibleOps,
  NodeEntry,
  ConnectTargets,
  OperatorEntry,
  ScopeEntry,
} from "../views";
import { isOutput, type Point } from "./geometry";
import type { Linking } from "./edgeDrag";

/** Where the operator search adds what is chosen. */
export type Place =
  | { do: "add"; after: string }
  | { do: "add_on"; edge: string }
  | { do: "branch"; node: string; output: string };

/** A list that is open over the canvas, and the pointer's place where it was opened by one. */
export type Popup = (
  | { kind: "search"; place: Place }
  | { kind: "connect"; node: string; output: string }
  | { kind: "drop"; node: string; linking: Linking }
  | { kind: "edges"; node: string }
  | { kind: "draws"; node: string }
) & { at?: Point };

export interface State {
  nodes: readonly NodeEntry[];
  edges: readonly EdgeEntry[];
  /** The regions around the body that is shown, from outside in; empty for the graph itself. */
  breadcrumb: readonly ScopeEntry[];
  positions: Record<string, number[]>;
  operators: readonly OperatorEntry[];
  connectTargets: Partial<ConnectTargets>;
  compatibleOps: Partial<CompatibleOps>;
  /** Ids of nodes; the last is the inspected one. */
  selected: readonly string[];
  /** Ids of edges; an output's pill and its edge have the same. */
  picked: ReadonlySet<string>;
  /** Where nodes are while they are dragged, and until Python has their places. */
  moved: ReadonlyMap<string, Point> | null;
  dragging: boolean;
  linking: Linking | null;
  popup: Popup | null;
  renaming: string;
  /** The edge under the pointer, or under a node that is dragged into it. */
  hovered: string;
  /** What a screen reader is to say. */
  said: string;
}

export const NONE: ReadonlySet<string> = new Set();
/** Milliseconds in which an edit that was asked for and told is on the canvas. */
const OWN = 1000;

export class CanvasStore extends Store<State> {
  private saidAt = -Infinity;
  /** Which nodes and edges there are since the edit that is told of; empty until it is answered. */
  private told = "";

  constructor(
    readonly link: Link<"canvas">,
    readonly root: HTMLElement,
  ) {
    super({
      nodes: [],
      edges: [],
      breadcrumb: [],
      positions: {},
      operators: [],
      connectTargets: {},
      compatibleOps: {},
      selected: [],
      picked: NONE,
      moved: null,
      dragging: false,
      linking: null,
      popup: null,
      renaming: "",
      hovered: "",
      said: "",
    });
    const shown = [
      "nodes",
      "edges",
      "breadcrumb",
      "positions",
      "operators",
      "connect_targets",
      "compatible_ops",
      "selected",
    ] as const;
    link.watch([...shown], () => this.adopt());
    link.on("ack", () => queueMicrotask(() => this.settle()));
  }

  /** Nodes and edges arrive one after the other, and the answer to an edit after both. */
  private settle(): void {
    const { link } = this;
    if (!this.told && !link.waiting) this.told = ids(link.get("nodes", []), link.get("edges", []));
  }

  /** Takes what Python shows, and keeps the objects of what did not change. */
  private adopt(): void {
    const { link } = this;
    const old = this.get();
    const positions = link.get("positions", {});
    const selected = link.get("selected", []);
    const placed = jsonEqual(old.positions, positions);
    const nodes = reuseUnchanged(old.nodes, link.get("nodes", []));
    const edges = reuseUnchanged(old.edges, link.get("edges", []));
    // The words were about the graph before, unless this is the very edit that they tell of.
    const own = link.waiting || performance.now() - this.saidAt < OWN;
    const other = !own || (this.told !== "" && this.told !== ids(nodes, edges));
    const outdated = other && (nodes !== old.nodes || edges !== old.edges);
    this.set({
      nodes,
      edges,
      breadcrumb: jsonEqual(old.breadcrumb, link.get("breadcrumb", [])) ? old.breadcrumb : link.get("breadcrumb", []),
      said: outdated ? "" : old.said,
      positions: placed ? old.positions : positions,
      moved: placed ? old.moved : null,
      operators: link.get("operators", []),
      connectTargets: link.get("connect_targets", {}),
      compatibleOps: link.get("compatible_ops", {}),
      selected: jsonEqual(old.selected, selected) ? old.selected : selected,
    });
    this.root.dataset["nodes"] = String(this.get().nodes.length);
  }

  /** The node whose arguments the inspector shows. */
  get inspected(): string {
    return this.get().selected.at(-1) ?? "";
  }

  /** What the keys are about: the inspected node, else an output that is picked. */
  get current(): string {
    return this.inspected || [...this.get().picked].find(isOutput) || "";
  }

  /** The body that is shown; empty for the graph itself. */
  get scope(): string {
    return scopeOf(this.get().breadcrumb);
  }

  node(id: string): NodeEntry | undefined {
    return this.get().nodes.find((node) => node.id === id);
  }

  edge(id: string): EdgeEntry | undefined {
    return this.get().edges.find((edge) => edge.id === id);
  }

  select(selected: readonly string[], picked: ReadonlySet<string> = NONE): void {
    if (!jsonEqual(this.get().selected, selected)) this.link.set("selected", [...selected]);
    this.set({ selected, picked });
  }

  say(said: string): void {
    this.saidAt = performance.now();
    this.told = "";
    this.settle();
    // A no-break space makes it another text, so that it is said again.
    this.set({ said: this.get().said === said ? `${said}\u00a0` : said });
  }

  element(id: string): HTMLElement | null {
    return this.root.querySelector<HTMLElement>(`[data-focus="${CSS.escape(id)}"]`);
  }

  /** The box that has the focus, by its id. */
  get focusedId(): string {
    const el = focused(this.root);
    return el instanceof HTMLElement && this.root.contains(el) ? (el.dataset["focus"] ?? "") : "";
  }

  /** Gives the focus to a box, or to the canvas where there is none. */
  focus(id: string): void {
    const el = this.element(id) ?? this.root.querySelector<HTMLElement>(".wb-canvas-box");
    el?.focus({ preventScroll: true });
  }
}

export function scopeOf(breadcrumb: readonly ScopeEntry[]): string {
  return breadcrumb.at(-1)?.bodies.find((body) => body.shown)?.scope ?? "";
}

function ids(nodes: readonly NodeEntry[], edges: readonly EdgeEntry[]): string {
  return JSON.stringify([nodes.map((node) => node.id), edges.map(({ id, source }) => [id, source])]);
}
