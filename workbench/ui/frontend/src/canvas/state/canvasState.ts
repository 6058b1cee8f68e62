// The state of the canvas: the fields that Python sends, and what only this view knows. It knows
// neither the page nor the link to Python.

import { createStore } from "zustand/vanilla";
import type { Sheet } from "../../lib/contactSheet";
import type {
  CanvasFields,
  CardEntry,
  CardsHeader,
  DetailHeader,
  EdgeEntry,
  NodeEntry,
} from "../../payloads";
import { isOutput, type Point } from "../layout/geometry";
import { shownScope } from "../layout/nestedLayout";
import type { Linking } from "./edgeDrag";
import type { Group } from "../layout/groups";

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
  | { kind: "snippet"; nodes: readonly string[] }
) & {
  at?: Point;
  /** What had the focus, where that was outside of the canvas. */
  opener?: HTMLElement;
};

/** The fields of Python that the state follows, with their values until Python sends one. */
export const FIELDS = {
  /** Number of the opened graph. */
  graph_number: 0,
  nodes: [],
  edges: [],
  /** The blocks around the body that is shown, from outside in; empty for the graph itself. */
  breadcrumb: [],
  positions: {},
  frames: [],
  notes: [],
  operators: [],
  /** Of operators, in the order of a palette. */
  categories: [],
  blocks: [],
  templates: [],
  /** Templates that the person saved. */
  snippets: [],
  recipes: [],
  /** Arguments of the inspected node. */
  arguments: [],
  recent_folders: [],
  unread_masks: false,
  connect_targets: {},
  compatible_ops: {},
  /** Ids of nodes; the last is the inspected one. */
  selected: [],
  /** The sample that the cards show. */
  sample: 0,
  /** Why the cards' pictures are not of the present graph; empty if they are. */
  stale: "",
  /** The nodes whose pictures are those of the present graph nevertheless. */
  unchanged: [],
  /** The node whose details are open; empty if none are. */
  detail_of: "",
} satisfies Partial<CanvasFields>;

export type FieldName = keyof typeof FIELDS;
type ReadOnly<T> = T extends (infer Item)[] ? readonly Item[] : Readonly<T>;
export type Fields = { readonly [Name in FieldName]: ReadOnly<CanvasFields[Name]> };

/** What only this view knows. */
interface ViewState {
  /** Ids of edges; an output's pill and its edge have the same. */
  readonly picked: ReadonlySet<string>;
  /** Where nodes are while they are dragged, and until Python has their places. */
  readonly moved: ReadonlyMap<string, Point> | null;
  readonly dragging: boolean;
  /** How often a new layout was requested. */
  readonly arranged: number;
  readonly linking: Linking | null;
  readonly popup: Popup | null;
  readonly renaming: string;
  /** The edge under the pointer, or under a node that is dragged into it. */
  readonly hovered: string;
  /** What a screen reader is to say. */
  readonly said: string;
  /** The pictures of all cards, of one sample. */
  readonly sheet: Sheet<CardsHeader> | null;
  /** What they say of each node; an entry that did not change stays the same object. */
  readonly cards: ReadonlyMap<string, CardEntry>;
  readonly detail: Sheet<DetailHeader> | null;
  /** The chains that are drawn as one card each. */
  readonly groups: readonly Group[];
  /** Whether chains are cards and saved positions are ignored, because the canvas is small. */
  readonly crowded: boolean;
  /** Whether the palette is open. */
  readonly palette: boolean;
  /** Whether the map is asked for; null: where something is out of sight and there is room. */
  readonly map: boolean | null;
}

export type State = Fields & ViewState;

export const NONE: ReadonlySet<string> = new Set();

const START: State = {
  ...FIELDS,
  picked: NONE,
  moved: null,
  dragging: false,
  arranged: 0,
  linking: null,
  popup: null,
  renaming: "",
  hovered: "",
  said: "",
  sheet: null,
  cards: new Map(),
  detail: null,
  groups: [],
  crowded: false,
  palette: false,
  map: null,
};

export class CanvasState {
  private readonly state = createStore<State>(() => START);
  readonly get = this.state.getState;
  /** Calls a function after each change. Returns what ends it. */
  readonly watch = this.state.subscribe;

  /** Changes some parts; notifies nobody if all of them are what they were. */
  set(change: Partial<State>): void {
    const now = this.get();
    const names = Object.keys(change) as (keyof State)[];
    if (names.some((name) => !Object.is(now[name], change[name]))) this.state.setState(change);
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
    return shownScope(this.get().breadcrumb);
  }

  node(id: string): NodeEntry | undefined {
    return this.get().nodes.find((node) => node.id === id);
  }

  edge(id: string): EdgeEntry | undefined {
    return this.get().edges.find((edge) => edge.id === id);
  }
}
