// State of the canvas: fields from Python, and state of this view. Independent of the page and of
// the link to Python.

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

/** Where the operator search adds the selected item. */
export type Place =
  | { do: "add"; after: string }
  | { do: "add_on"; edge: string }
  | { do: "branch"; node: string; output: string };

/** A list open over the canvas, and the position of the pointer that opened it. */
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
  /** Focused element outside the canvas before the list was opened. */
  opener?: HTMLElement;
};

/** Fields of Python with their initial values. */
export const FIELDS = {
  /** Number of the opened graph. */
  graph_number: 0,
  nodes: [],
  edges: [],
  /** Blocks around the visible body, outermost first; empty for the graph itself. */
  breadcrumb: [],
  positions: {},
  frames: [],
  notes: [],
  operators: [],
  /** Categories of operators in the order of the palette. */
  categories: [],
  blocks: [],
  templates: [],
  /** Templates saved by the user. */
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
  /** Index of the sample on the cards. */
  sample: 0,
  /** Reason why the cards' pictures do not show the current graph; empty if they do. */
  stale: "",
  /** Ids of the nodes whose pictures are still up to date while `stale` is set. */
  unchanged: [],
  /** Node whose details are open; empty if there is none. */
  detail_of: "",
} satisfies Partial<CanvasFields>;

export type FieldName = keyof typeof FIELDS;
type ReadOnly<T> = T extends (infer Item)[] ? readonly Item[] : Readonly<T>;
export type Fields = { readonly [Name in FieldName]: ReadOnly<CanvasFields[Name]> };

/** State of this view only. */
interface ViewState {
  /** Ids of selected edges; an output's pill and its edge have the same id. */
  readonly picked: ReadonlySet<string>;
  /** Positions of nodes while they are dragged, and until Python has them. */
  readonly moved: ReadonlyMap<string, Point> | null;
  readonly dragging: boolean;
  /** Number of times that a new layout was requested. */
  readonly arranged: number;
  readonly linking: Linking | null;
  readonly popup: Popup | null;
  readonly renaming: string;
  /** Edge under the pointer, or under a node that is dragged onto it. */
  readonly hovered: string;
  /** Text for screen readers. */
  readonly said: string;
  /** Pictures of all cards for one sample. */
  readonly sheet: Sheet<CardsHeader> | null;
  /** Text and values of the cards; unchanged entries stay the same objects. */
  readonly cards: ReadonlyMap<string, CardEntry>;
  readonly detail: Sheet<DetailHeader> | null;
  /** Chains that are shown as one card each. */
  readonly groups: readonly Group[];
  /** True if chains are cards and saved positions are ignored, because the canvas is small. */
  readonly crowded: boolean;
  /** Whether the palette is open. */
  readonly palette: boolean;
  /**
   * Whether the minimap is shown; null: automatically, if nodes are out of view and there is
   * space.
   */
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
  /** Call a function after each change. Returns a function that stops this. */
  readonly watch = this.state.subscribe;

  /** Change parts of the state. If nothing differs, no callback is called. */
  set(change: Partial<State>): void {
    const now = this.get();
    const names = Object.keys(change) as (keyof State)[];
    if (names.some((name) => !Object.is(now[name], change[name]))) this.state.setState(change);
  }

  /** Id of the node in the inspector. */
  get inspected(): string {
    return this.get().selected.at(-1) ?? "";
  }

  /** Target of keyboard shortcuts: the inspected node, or a selected output. */
  get current(): string {
    return this.inspected || [...this.get().picked].find(isOutput) || "";
  }

  /** The visible body; empty for the whole graph. */
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
