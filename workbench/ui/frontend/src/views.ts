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

/** A file that is there already where one is to be saved; empty texts: there is none. */
export interface OverwriteQuestion {
  number: number;
  do: string;
  path: string;
  message: string;
}

/** A file that was made for the browser to keep. */
export interface TextFile {
  number: number;
  text: string;
}

export interface RecipeEntry {
  name: string;
  line: string;
  picture: string;
}

/** A session that was kept. */
export interface RecentEntry {
  owner: string;
  name: string;
  when: string;
  data: string;
  picture: string;
  open: boolean;
}

/** What was restored, as long as it is to be said. */
export interface RestoredEntry {
  text?: string;
}

/** The present graph as the code of a cell; empty where there is no notebook. */
export interface CellEntry {
  after?: string;
  source?: string;
  asked?: number;
}

/** One reason why the graph cannot run. */
export interface FaultEntry {
  node: string;
  arg: string;
  message: string;
  remedy: string;
  fixes: string[];
}

/** One input or output of a node. */
export interface PortEntry {
  name: string;
  kind: string;
  argument: boolean;
  fed: boolean;
  optional: boolean;
  flows: string;
}

/** A random argument whose generator is folded into the node. */
export interface DrawEntry {
  arg: string;
  text: string;
}

/** One body of a region. */
export interface BodyEntry {
  name: string;
  scope: string;
  nodes: number;
  faulty: boolean;
}

/** One body of a region on the way into the body that is shown. */
export interface ScopeBody {
  name: string;
  scope: string;
  shown: boolean;
}

/** One region on the way from the graph into the body that is shown. */
export interface ScopeEntry {
  region: string;
  op: string;
  bodies: ScopeBody[];
}

/** One box of the canvas. Inside a region the first is what the body takes in. */
export interface NodeEntry {
  id: string;
  op: string;
  title: string;
  label: string;
  device: "cpu" | "gpu" | "mixed";
  output: string;
  draws: DrawEntry[];
  inputs: PortEntry[];
  outputs: PortEntry[];
  fault: string;
  movable: boolean;
  generator: boolean;
  known: boolean;
  twin: boolean;
  note: string;
  bodies: BodyEntry[];
}

/** One edge, to a node or to an output of the graph. */
export interface EdgeEntry {
  id: string;
  source: string;
  output: string;
  target: string;
  input: string;
  kind: string;
  argument: boolean;
  crosses: string;
}

/** What the output of a node may feed, as ``connect_targets`` was asked. */
export interface ConnectTargets {
  source: string;
  reasons: Record<string, string>;
}

/** Which operators may be added at a place, as ``compatible_ops`` was asked. */
export interface CompatibleOps {
  place: string;
  kind: string;
  reasons: Record<string, string>;
}

/** One operator in the search. */
export interface OperatorEntry {
  name: string;
  label: string;
  category: string;
  summary: string;
  devices: string[];
  unusable: string;
  words: string;
  inputs: string[];
  outputs: string[];
}

/** A random argument. */
export interface RandomView {
  op: string;
  args: Record<string, Json>;
  node: string;
  shared: string[];
}

/** One argument in the inspector. */
export interface ArgRow {
  name: string;
  label: string;
  unit: string;
  doc: string;
  kind: string;
  editor: "check" | "choice" | "number" | "text" | "texts" | "numbers" | "fields" | "each" | "colour" | "range" | "matrix" | "shown";
  parts: string[];
  mode: "fixed" | "random" | "linked";
  value: Json;
  random?: RandomView;
  link?: string;
  links: string[];
  low: number | null;
  high: number | null;
  step: number | null;
  minimum: number | null;
  maximum: number | null;
  choices: Json[];
  default: Json;
  changed: boolean;
  tensor: boolean;
  fixed_only: string;
  distributions: string[];
  off: string;
  locked: string;
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
  devices: string[];
  device_set: string;
  follows: string;
  known: boolean;
  feeds: string[];
  selected: number;
  errors: string[];
  ports: Record<string, string>;
  rows: ArgRow[];
  condition: string;
  condition_node: string;
  bodies: BodyEntry[];
}

/** What a graph may be exported to. */
export interface TargetEntry {
  name: string;
  about: string;
}

/** One file of an export. */
export interface CodeFile {
  path: string;
  text: string;
}

/** Why the present graph cannot go to the target; empty texts where it can. */
export interface CodeFault {
  message: string;
  node: string;
}

/** Something that a check found in a file. */
export interface FileFinding {
  file: string;
  level: "bad" | "damaged" | "unusual";
  kind: string;
  reason: string;
}

/** One parameter of the graph's program that names data. */
export interface DataParameter {
  name: string;
  about: string;
  reads: string;
  error: string;
}

/** The data: a folder, or a list of files. */
export interface DataView {
  root: string;
  kind: string;
  parameters: DataParameter[];
  error: string;
  refused: string;
  count: number;
  classes: string[];
  class_counts: number[];
  megabytes: number;
  formats: Record<string, number>;
  sizes: string;
  checked: boolean;
  checking: boolean;
  bad: number;
  damaged: number;
  findings: FileFinding[];
}

/** One sample of the preview. Rectangles are [x, y, w, h] in pixels of the sheet. */
export interface TileEntry {
  index: number;
  file: string;
  label: string;
  shape: string;
  draws: string[];
  notes: string[];
  error: string;
  warning: string;
  original: number[];
  augmented: number[][];
}

/** Bytes that the worker keeps between changes, and may keep; ``resident`` is all it takes. */
export interface MemoryEntry {
  host: number;
  host_budget: number;
  gpu: number;
  gpu_budget: number;
  resident: number;
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
  of: number;
  repeat: number;
  baseline: string[];
  reran: string[];
  tile: number;
  memory?: MemoryEntry;
}

/** Whether the preview is what the exported script gives, bit for bit. */
export interface VerifiedEntry {
  state: "none" | "running" | "identical" | "different" | "failed" | "stopped";
  text: string;
  detail: string[];
  share: number;
  stale: boolean;
}

/** A draw that was kept. */
export interface SavedDrawEntry {
  text: string;
  note: string;
  whole: boolean;
  shown: boolean;
}

/** One channel of a batch: the bins of its histogram, and figures of its finite values. */
export interface ChannelStatistics {
  counts: number[];
  mean: number | null;
  deviation: number | null;
  smallest: number | null;
  largest: number | null;
  not_finite: number;
}

/** The values of one image output of a batch; ``low`` and ``high`` are the axis' ends. */
export interface StatisticsEntry {
  output: string;
  dtype: string;
  low: number;
  high: number;
  channels: ChannelStatistics[];
  samples: number;
  hint: string;
}

/** The JSON header in front of one sample's picture at its own size, a PNG. */
export interface CloseupHeader {
  index: number;
  of: string;
  choices: string[];
  size: number[];
  full: number[];
  note: string;
  error: string;
}

/** The JSON header in front of the values of a region, row by row, channels last. ``store`` says how they are written, little-endian: ``f4``, ``u1``, ...; ``dtype`` what they are in the pipeline. ``x``, ``y`` and ``region`` ([width, height]) are in pixels of the sample. Where there is an ``error``, the region is empty and ``x``, ``y`` the pixel that was asked for. */
export interface ValuesHeader {
  index: number;
  of: string;
  x: number;
  y: number;
  region: number[];
  channels: number;
  store: "u1" | "i1" | "u2" | "i2" | "u4" | "i4" | "f4" | "f8";
  dtype: string;
  error: string;
}

/** What one output of a node holds for the sample. */
export interface StepOutputEntry {
  name: string;
  kind: string;
  shape: string;
  dtype: string;
  layout: string;
  device: "cpu" | "gpu";
  values: string;
  box: number[];
  note: string;
  text: string;
}

/** One node. */
export interface StepEntry {
  node: string;
  op: string;
  device: "cpu" | "gpu" | "mixed";
  outputs: StepOutputEntry[];
  draws: string[];
  drawn: boolean;
  milliseconds: number | null;
  untimed: string;
}

/** The JSON header in front of the pictures of one sample's way through the graph. */
export interface StepsHeader {
  mime: string;
  sheet: number[];
  steps: StepEntry[];
  index: number;
  samples: number;
  batch: number;
  file: string;
  error: string;
  warning: string;
  timing: string;
  floor: number | null;
}

/** A name and a value, both for reading. */
export interface SpeedFact {
  name: string;
  value: string;
}

/** What a record was measured on: the line under its figure, and the rest on demand. */
export interface MeasuredOn {
  id: string;
  name: string;
  line: string;
  facts: SpeedFact[];
  quality_flags: string[];
  quick: string;
  earlier: string;
}

/** One measured configuration. */
export interface SpeedBar {
  kind: "cpu" | "mixed" | "peer";
  label: string;
  group: string;
  source: string;
  median: number | null;
  low: number | null;
  high: number | null;
  rounds: number[];
  settings: string;
  reason: string;
  flags: string[];
  notes: string[];
  facts: SpeedFact[];
}

/** How many times as fast one is as the other, with the interval. */
export interface RatioEntry {
  group: string;
  text: string;
  median: number;
  low: number;
  high: number;
  level: number;
}

/** A configuration that two records have: the second over the first. */
export interface PairEntry {
  name: string;
  first: number;
  second: number;
  ratio: number;
  low: number;
  high: number;
  verdict: string;
  differs: string[];
}

/** Two records side by side. */
export interface ComparisonView {
  first: MeasuredOn;
  second: MeasuredOn;
  pairs: PairEntry[];
  only: string[];
  warnings: string[];
}

/** CPU against mixed decoding; also the peers. Without ``on`` nothing has been measured. */
export interface CompareView {
  on: MeasuredOn[];
  bars: SpeedBar[];
  ratios: RatioEntry[];
  notes: string[];
}

/** One stage; milliseconds for a batch, null where they were not measured. */
export interface StageEntry {
  name: string;
  op: string;
  kind: string;
  device: string;
  adds: number | null;
  low: number | null;
  high: number | null;
  alone: number | null;
  node: string;
}

/** Where the time of a batch goes. */
export interface StagesView {
  on: MeasuredOn[];
  stages: StageEntry[];
  total: number;
  rate: number;
  low: number;
  high: number;
  remainder: number | null;
  ceiling: number | null;
  bottleneck: string;
  advice: string;
}

/** One setting. ``rate`` is null where it failed (``reason``) or was not tried. */
export interface HeatCell {
  threads: number;
  batch: number;
  rate: number | null;
  reason: string;
  best: boolean;
  own: boolean;
  now: boolean;
}

/** Threads (rows) by batch size (columns) at one prefetch and one hw_decoder_load. */
export interface HeatPanel {
  title: string;
  threads: number[];
  batches: number[];
  cells: HeatCell[];
}

/** What a sweep or the tuner found. */
export interface TuneView {
  on: MeasuredOn[];
  panels: HeatPanel[];
  most: number;
  best: string;
  median: number;
  low: number;
  high: number;
  gain: string;
  tried: string;
  notes: string[];
  adopted: boolean;
  running: boolean;
}

/** So many threads or processes; rates in imgs/s, null where they were not measured. */
export interface ScalingPoint {
  count: number;
  median: number | null;
  low: number | null;
  high: number | null;
  speedup: number | null;
  efficiency: number | null;
  reason: string;
  flags: string[];
}

/** How imgs/s grow. */
export interface ScalingView {
  on: MeasuredOn[];
  unit: string;
  kind: "cpu" | "mixed";
  points: ScalingPoint[];
}

/** One run that was made or opened. */
export interface RecordEntry {
  id: string;
  name: string;
  kind: string;
  part: string;
  graph: string;
  when: string;
  machine: string;
  best: number | null;
  shown: boolean;
  elsewhere: boolean;
}

/** What this machine cannot do, and what may be tried. */
export interface SpeedLimits {
  mixed: string;
  command: string;
  hint: string;
  workers: string;
  peers: SpeedFact[];
  grid: Record<string, string>;
  now: string;
}

/** Before the bytes of a file that ``export`` made, for the browser to offer. */
export interface FileHeader {
  name: string;
  mime: string;
  view: string;
  n: number;
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
  script: Partial<TextFile>;
  save_folder: string;
  overwrite: Partial<OverwriteQuestion>;
  shared: Bytes;
  tab: string;
  restored: Partial<RestoredEntry>;
  opened: number;
  recent: RecentEntry[];
  cell: Partial<CellEntry>;
}

export interface BarActions {
  new: {};
  recipe: { name: string };
  open: { text: string };
  open_picture: { data: string };
  attach: { tab: string; kept?: (Record<string, Json>)[] };
  start_afresh: {};
  dismiss_restored: {};
  shown: { opened: number };
  list_recent: {};
  open_recent: { owner: string };
  describe_cell: {};
  title: { name: string };
  share: {};
  save: { path: string; overwrite?: boolean };
  fix: { node: string; arg: string; fix: string };
  export: { path: string; overwrite?: boolean };
  download_script: {};
  select: { node: string };
  undo: {};
  redo: {};
}

/** The nodes and what joins them. */
export interface CanvasFields {
  nodes: NodeEntry[];
  edges: EdgeEntry[];
  breadcrumb: ScopeEntry[];
  positions: Record<string, number[]>;
  operators: OperatorEntry[];
  selected: string[];
  fragment: string;
  connect_targets: Partial<ConnectTargets>;
  compatible_ops: Partial<CompatibleOps>;
}

export interface CanvasActions {
  add: { op: string; after: string };
  add_on: { op: string; edge: string };
  branch: { op: string; node: string; output: string };
  connect: { source: string; output: string; target: string; input: string; edge: string };
  disconnect: { edges: string[] };
  splice: { node: string; edge: string };
  move: { node: string; by: number };
  remove: { nodes?: string[]; edges?: string[] };
  duplicate: { nodes: string[] };
  paste: { text: string; x: number; y: number };
  rename: { node: string; to: string };
  place: { positions: Record<string, number[]> };
  wrap: { nodes: string[]; op: string };
  unwrap: { node: string; body: string };
  arrange: {};
  unfold: { node: string; arg: string };
  fold: { node: string };
  open_scope: { scope: string };
  connect_targets: { node: string; output: string; edge: string };
  compatible_ops: { node: string; output: string; edge: string };
  undo: {};
  redo: {};
}

/** The arguments of the selected node. */
export interface InspectorFields {
  node: Partial<InspectorView>;
}

export interface InspectorActions {
  set: { node: string; arg: string; value: Json; group?: string };
  reset: { node: string; arg: string };
  link: { node: string; arg: string; source: string; output: string };
  device: { node: string; device: string };
  randomise: { node: string; arg: string; op: string; args?: Record<string, Json> | null };
  own: { node: string; arg: string };
  fix: { node: string; arg: string };
  set_random: { node: string; arg: string; key: string; value: Json; group?: string };
  unwrap: { node: string; body: string };
  open_scope: { scope: string };
  select: { node: string };
  undo: {};
  redo: {};
}

/** Which of the lower panels is open. */
export interface TabsFields {
  tab: "preview" | "steps" | "speed" | "code" | "data";
}

export interface TabsActions {}

/** A batch, original and augmented. */
export interface PreviewFields {
  picture: Bytes;
  mode: "original" | "augmented" | "both" | "difference";
  show_original: boolean;
  baseline: string;
  baselines: string[];
  batch: number;
  seed: number;
  pinned: boolean;
  repeat: number;
  tiles: number;
  tile_size: number;
  lossless: boolean;
  limits: Record<string, number>;
  stale: string;
  retryable: boolean;
  shuffles: boolean;
  verification: Partial<VerifiedEntry>;
  saved_draws: SavedDrawEntry[];
  show_statistics: boolean;
  statistics: StatisticsEntry[];
  statistics_pending: boolean;
  statistics_error: string;
  closeup: Bytes;
  values: Bytes;
}

export interface PreviewActions {
  save_draw: { sample: number };
  replay_draw: { draw: number };
  delete_draw: { draw: number };
  open_closeup: { index: number; of: string };
  probe_pixel: { x: number; y: number };
  show_steps: { index: number };
  verify: {};
  stop_verification: {};
  retry: {};
  undo: {};
  redo: {};
}

/** One sample through every node. */
export interface StepsFields {
  sheet: Bytes;
  sample: number;
  in_view: boolean;
  selected: string[];
  folded: string[];
  stale: string;
  retryable: boolean;
}

export interface StepsActions {
  select: { node: string };
  retry: {};
  undo: {};
  redo: {};
}

/** The speed lab: CPU against mixed, stages, tuner, scaling, peers, records. */
export interface SpeedFields {
  part: "compare" | "stages" | "tune" | "scaling" | "peers" | "records";
  effort: "quick" | "usual";
  batch_size: number;
  threads: number;
  running: boolean;
  what: string;
  progress: number;
  message: string;
  failed: boolean;
  compare: Partial<CompareView>;
  stages: Partial<StagesView>;
  tune: Partial<TuneView>;
  scaling: Partial<ScalingView>;
  peers: Partial<CompareView>;
  records: RecordEntry[];
  overlay: string;
  selected_records: string[];
  comparison: Partial<ComparisonView>;
  limits: Partial<SpeedLimits>;
  file: Bytes;
}

export interface SpeedActions {
  measure: { what: string };
  tune: { search: string; threads: string; batches: string; prefetch: string; loads: string; memory: string };
  cancel: {};
  open: { text: string; name: string };
  view: { record: string };
  rename: { record: string; to: string };
  delete: { record: string };
  export: { kind: string; ids: string[]; view?: string };
  adopt: { record: string };
  select: { node: string };
  undo: {};
  redo: {};
}

/** The graph as code for a target, live. */
export interface CodeFields {
  target: string;
  targets: TargetEntry[];
  in_view: boolean;
  files: CodeFile[];
  highlighted: Record<string, number[]>;
  fault: Partial<CodeFault>;
  archive: Bytes;
  note: string;
  message: string;
  save_folder: string;
  overwrite: Partial<OverwriteQuestion>;
}

export interface CodeActions {
  save: { path: string; overwrite?: boolean };
  select: { node: string };
}

/** What is read: counts, sizes, formats, what a check of the files found. */
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
  preview: { fields: PreviewFields; both: "mode" | "show_original" | "baseline" | "batch" | "seed" | "pinned" | "repeat" | "tiles" | "tile_size" | "lossless" | "show_statistics"; actions: PreviewActions };
  steps: { fields: StepsFields; both: "sample" | "in_view"; actions: StepsActions };
  speed: { fields: SpeedFields; both: "part" | "effort" | "batch_size" | "threads" | "overlay" | "selected_records"; actions: SpeedActions };
  code: { fields: CodeFields; both: "target" | "in_view"; actions: CodeActions };
  data: { fields: DataFields; both: never; actions: DataActions };
}

/** The lower panels, in order. */
export const TABS = ["preview", "steps", "speed", "code", "data"] as const;
