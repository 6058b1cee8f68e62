// What the canvas holds: what Python shows, and what only this view knows.

import { createStore } from "zustand/vanilla";
import { focused } from "../../lib/focus";
import type { Link } from "../../lib/link";
import { jsonEqual, reuseUnchanged } from "../../lib/jsonEquality";
import { Decoder, type Sheet } from "../../lib/contactSheet";
import type {
  ArgumentSearchEntry,
  CardEntry,
  CardsHeader,
  DetailHeader,
  EdgeEntry,
  FrameEntry,
  CompatibleOps,
  NodeEntry,
  NoteEntry,
  ConnectTargets,
  OperatorEntry,
  RecipeLine,
  ScopeEntry,
  TemplateEntry,
} from "../../views";
import { isOutput, type Point } from "../layout/geometry";
import type { Linking } from "./edgeDrag";
import type { LayoutCache } from "../layout/layoutCache";
import { paletteWasOpen } from "./paletteVisibility";

/** Where the operator search adds what is chosen. */
export type Place =
  | { do: "add"; after: string }
  | { do: "add_on"; edge: string }
  | { do: "branch"; node: string; output: string };

/** A list that is open over the canvas, and the pointer's place where it was opened by one. */
export type Popup = (
  | { kind: "search"; place: Place; everything?: boolean }
  | { kind: "connect"; node: string; output: string }
  | { kind: "drop"; node: string; linking: Linking }
  | { kind: "edges"; node: string }
  | { kind: "draws"; node: string }
  | { kind: "align" }
  | { kind: "block"; nodes: readonly string[] }
) & {
  at?: Point;
  /** What had the focus, where that was outside of the canvas. */
  opener?: HTMLElement;
};

export interface State {
  nodes: readonly NodeEntry[];
  edges: readonly EdgeEntry[];
  /** The regions around the body that is shown, from outside in; empty for the graph itself. */
  breadcrumb: readonly ScopeEntry[];
  positions: Record<string, number[]>;
  frames: readonly FrameEntry[];
  notes: readonly NoteEntry[];
  operators: readonly OperatorEntry[];
  /** Of operators, in the order of a palette. */
  categories: readonly string[];
  regions: readonly OperatorEntry[];
  templates: readonly TemplateEntry[];
  /** What the person saved. */
  blocks: readonly TemplateEntry[];
  recipes: readonly RecipeLine[];
  /** Of the inspected node. */
  args: readonly ArgumentSearchEntry[];
  folders: readonly string[];
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
  /** The pictures of all cards, of one sample. */
  sheet: Sheet<CardsHeader> | null;
  /** What they say of each node; an entry that did not change stays the same object. */
  cards: ReadonlyMap<string, CardEntry>;
  /** Which sample they are to show. */
  sample: number;
  /** Why they are not of the present graph; empty where they are. */
  stale: string;
  /** The node that is looked at; empty: none. */
  detailOf: string;
  detail: Sheet<DetailHeader> | null;
  /** Whether the palette is open. */
  palette: boolean;
}

export const NONE: ReadonlySet<string> = new Set();
/** Milliseconds in which an edit that was asked for and told is on the canvas. */
const OWN = 1000;

const EMPTY: State = {
  nodes: [],
  edges: [],
  breadcrumb: [],
  positions: {},
  frames: [],
  notes: [],
  operators: [],
  categories: [],
  regions: [],
  templates: [],
  blocks: [],
  recipes: [],
  args: [],
  folders: [],
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
  sheet: null,
  cards: new Map(),
  sample: 0,
  stale: "",
  detailOf: "",
  detail: null,
  palette: false,
};

export class CanvasStore {
  private readonly state = createStore<State>(() => EMPTY);
  readonly get = this.state.getState;
  readonly watch = this.state.subscribe;
  /** Where everything stands, as it was last drawn. */
  places: LayoutCache | null = null;
  /** Whether the code that Python sends next was asked for here. */
  wantsCode = false;
  private saidAt = -Infinity;
  /** Which nodes and edges there are since the edit that is told of; empty until it is answered. */
  private told = "";

  constructor(
    readonly link: Link<"canvas">,
    readonly root: HTMLElement,
  ) {
    const shown = [
      "nodes",
      "edges",
      "breadcrumb",
      "positions",
      "frames",
      "notes",
      "operators",
      "categories",
      "regions",
      "templates",
      "blocks",
      "recipes",
      "arguments",
      "recent_folders",
      "connect_targets",
      "compatible_ops",
      "selected",
    ] as const;
    link.watch([...shown], () => this.adopt());
    this.set({ palette: paletteWasOpen() });
    link.on("ack", () => queueMicrotask(() => this.answered()));
    const cards = new Decoder<CardsHeader>(
      (sheet) => this.show(sheet),
      tellOfFailure,
      () => this.set({ sheet: null, cards: new Map() }),
    );
    const detail = new Decoder<DetailHeader>(
      (sheet) => this.set({ detail: sheet }),
      tellOfFailure,
      () => this.set({ detail: null }),
    );
    link.watch(["pictures"], () => cards.push(link.get("pictures", NOTHING)));
    link.watch(["detail"], () => detail.push(link.get("detail", NOTHING)));
    link.watch(["sample", "stale", "detail_of"], () => {
      const sample = link.get("sample", 0);
      this.set({ sample, stale: link.get("stale", ""), detailOf: link.get("detail_of", "") });
    });
  }

  private show(sheet: Sheet<CardsHeader>): void {
    const old = [...this.get().cards.values()];
    const cards = reuseUnchanged(old, sheet.header.cards);
    this.set({ sheet, cards: new Map(cards.map((card) => [card.id, card])) });
    this.root.dataset["sample"] = String(sheet.header.index);
    this.root.dataset["sheet"] = String(Number(this.root.dataset["sheet"] ?? 0) + 1);
  }

  /** Shows another sample on the cards. */
  choose(sample: number): void {
    const last = Math.max(0, (this.get().sheet?.header.samples ?? 1) - 1);
    const chosen = Math.min(last, Math.max(0, sample));
    if (chosen === this.get().sample) return;
    this.set({ sample: chosen });
    this.link.set("sample", chosen);
  }

  /** Looks at what a node gives; at nothing where it is looked at already. */
  look(node: string): void {
    const detailOf = node === this.get().detailOf ? "" : node;
    this.set({ detailOf, detail: null });
    this.link.set("detail_of", detailOf);
  }

  /** Sets some of its parts; tells nobody where all of them are what they were. */
  set(change: Partial<State>): void {
    const now = this.get();
    const names = Object.keys(change) as (keyof State)[];
    if (names.some((name) => !Object.is(now[name], change[name]))) this.state.setState(change);
  }

  /** What was moved stands where Python says, also where it refused to have it moved. */
  private answered(): void {
    this.settle();
    if (!this.link.waiting && !this.get().dragging) this.set({ moved: null });
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
      frames: reuseUnchanged(old.frames, link.get("frames", [])),
      notes: reuseUnchanged(old.notes, link.get("notes", [])),
      moved: placed ? old.moved : null,
      operators: link.get("operators", []),
      categories: link.get("categories", []),
      regions: link.get("regions", []),
      templates: link.get("templates", []),
      blocks: link.get("blocks", []),
      recipes: link.get("recipes", []),
      args: link.get("arguments", []),
      folders: link.get("recent_folders", []),
      connectTargets: link.get("connect_targets", {}),
      compatibleOps: link.get("compatible_ops", {}),
      selected: jsonEqual(old.selected, selected) ? old.selected : selected,
    });
    this.root.dataset["nodes"] = String(this.get().nodes.length);
  }

  /** What shows the graph: the component without the palette. */
  get box(): HTMLElement {
    return this.root.querySelector<HTMLElement>(".wb-canvas-box") ?? this.root;
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

const NOTHING = new ArrayBuffer(0);

function tellOfFailure(reason: string): void {
  console.warn(`The pictures of the cards could not be read: ${reason}`);
}

export function scopeOf(breadcrumb: readonly ScopeEntry[]): string {
  return breadcrumb.at(-1)?.bodies.find((body) => body.shown)?.scope ?? "";
}

function ids(nodes: readonly NodeEntry[], edges: readonly EdgeEntry[]): string {
  return JSON.stringify([nodes.map((node) => node.id), edges.map(({ id, source }) => [id, source])]);
}
