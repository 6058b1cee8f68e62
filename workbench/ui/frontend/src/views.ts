// Written by `python -m workbench.ui.typescript` from views.py and components.py. Do not edit.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Bytes as a host hands them over. */
export type Bytes = ArrayBuffer | ArrayBufferView;

/** One side of the CPU / mixed switch. */
export interface DeviceChoice {
  id: string;
  label: string;
  disabled: string;
}

/** The chip at the top right. */
export interface Status {
  state: "ready" | "busy" | "fault" | "dead";
  text: string;
}

export interface RecipeEntry {
  name: string;
  line: string;
}

/** One reason why the graph cannot run. */
export interface FaultEntry {
  node: string;
  arg: string;
  message: string;
  remedy: string;
}

/** One row of the node list (one box of the canvas). */
export interface NodeEntry {
  id: string;
  op: string;
  label: string;
  device: "cpu" | "gpu" | "mixed";
  output: string;
  draws: string[];
  fault: string;
  movable: boolean;
}

/** One operator in the search. */
export interface OperatorEntry {
  name: string;
  label: string;
  category: string;
  summary: string;
  devices: string[];
  unusable: string;
}

/** A random argument. */
export interface RandomView {
  op: string;
  args: Record<string, Json>;
}

/** One argument in the inspector. */
export interface ArgRow {
  name: string;
  label: string;
  unit: string;
  doc: string;
  kind: string;
  mode: "fixed" | "random" | "linked";
  value: Json;
  random?: RandomView;
  link?: string;
  low: number | null;
  high: number | null;
  step: number | null;
  choices: Json[];
  default: Json;
  changed: boolean;
  tensor: boolean;
  distributions: string[];
  required: boolean;
  advanced: boolean;
  deprecated: string;
  error: string;
}

/** The selected node; ``id`` is empty where none is. */
export interface InspectorView {
  id: string;
  op: string;
  label: string;
  doc: string;
  device: string;
  rows: ArgRow[];
}

/** One sample of the preview. Rectangles are [x, y, w, h] in pixels of the sheet. */
export interface TileEntry {
  index: number;
  file: string;
  label: string;
  shape: string;
  draws: string[];
  error: string;
  warning: string;
  original: number[];
  augmented: number[][];
}

/** The JSON header in front of the picture's bytes. */
export interface SheetHeader {
  mime: string;
  sheet: number[];
  tiles: TileEntry[];
  outputs: string[];
  note: string;
  batch: number;
  milliseconds: number;
}

/** One measured configuration. */
export interface SpeedRow {
  device: "cpu" | "mixed";
  label: string;
  median: number | null;
  low: number | null;
  high: number | null;
  rounds: number[];
  settings: string;
  machine: string;
  reason: string;
}

export interface UnreadableFile {
  file: string;
  reason: string;
}

/** The data folder. */
export interface DataView {
  root: string;
  error: string;
  count: number;
  classes: string[];
  megabytes: number;
  formats: Record<string, number>;
  sizes: string;
  checked: boolean;
  unreadable: UnreadableFile[];
}

/** Title, data, device switch, undo and redo, state of the worker, files. */
export interface BarFields {
  title: string;
  folder: string;
  device: "cpu" | "mixed";
  devices: DeviceChoice[];
  can_undo: boolean;
  can_redo: boolean;
  status: Partial<Status>;
  recipes: RecipeEntry[];
  faults: FaultEntry[];
  message: string;
  saved: string;
}

export interface BarActions {
  undo: {};
  redo: {};
  recipe: { name: string };
  open: { text: string };
  save: { path: string };
  select: { node: string };
  export: { path: string };
}

/** The nodes. For now an ordered list. */
export interface CanvasFields {
  nodes: NodeEntry[];
  operators: OperatorEntry[];
  selected: string;
}

export interface CanvasActions {
  add: { op: string; after: string };
  move: { node: string; by: number };
  remove: { node: string };
  undo: {};
  redo: {};
}

/** The arguments of the selected node. */
export interface InspectorFields {
  node: Partial<InspectorView>;
}

export interface InspectorActions {
  set: { node: string; arg: string; value: Json; group: string };
  reset: { node: string; arg: string };
  randomise: { node: string; arg: string; op: string };
  fix: { node: string; arg: string };
  set_random: { node: string; arg: string; key: string; value: Json; group: string };
  undo: {};
  redo: {};
}

/** Which of the lower panels is open. */
export interface TabsFields {
  tab: "preview" | "speed" | "code" | "data";
}

export interface TabsActions {}

/** A batch, original and augmented. */
export interface PreviewFields {
  picture: Bytes;
  mode: "original" | "augmented" | "both";
  batch: number;
  seed: number;
  tiles: number;
  stale: string;
}

export interface PreviewActions {}

/** imgs/s, CPU against mixed decoding. */
export interface SpeedFields {
  running: boolean;
  progress: number;
  message: string;
  rows: SpeedRow[];
  batch_size: number;
  threads: number;
}

export interface SpeedActions {
  measure: {};
  cancel: {};
}

/** The exported script, live. */
export interface CodeFields {
  source: string;
  lit: number[];
  message: string;
}

export interface CodeActions {
  save: { path: string };
}

/** The folder: counts, sizes, formats, unreadable files. */
export interface DataFields {
  summary: Partial<DataView>;
}

export interface DataActions {
  open: { path: string };
  check: {};
}

/** Every component: `both` may be set from here. */
export interface Components {
  bar: { fields: BarFields; both: "device"; actions: BarActions };
  canvas: { fields: CanvasFields; both: "selected"; actions: CanvasActions };
  inspector: { fields: InspectorFields; both: never; actions: InspectorActions };
  tabs: { fields: TabsFields; both: "tab"; actions: TabsActions };
  preview: { fields: PreviewFields; both: "mode" | "batch" | "seed" | "tiles"; actions: PreviewActions };
  speed: { fields: SpeedFields; both: "batch_size" | "threads"; actions: SpeedActions };
  code: { fields: CodeFields; both: never; actions: CodeActions };
  data: { fields: DataFields; both: never; actions: DataActions };
}
