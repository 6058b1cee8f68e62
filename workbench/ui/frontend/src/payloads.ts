// Written by `python -m workbench.ui.typescript` from this package. Do not edit.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Bytes as a host hands them over. */
export type Bytes = ArrayBuffer | ArrayBufferView;

/** An augmentation that automatic augmentation may apply. */
export interface Augmentation {
  key: string;
  node: string;
  name: string;
}

/** A body of a block, which is a branch of the graph. */
export interface Branch {
  scope: string;
  block: string;
  body: string;
  text: string;
}

/** Statistics of one channel of a batch. */
export interface ChannelStatistics {
  counts: number[];
  mean: number | null;
  deviation: number | null;
  smallest: number | null;
  largest: number | null;
  not_finite: number;
}

/** One difference between two graphs. */
export interface GraphDifference {
  change: "added" | "removed" | "changed";
  node: string;
  what: string;
  before: string;
  after: string;
}

/** Histograms of an image's channels. ``low`` and ``high`` are the ends of the axis. */
export interface Histogram {
  low: number;
  high: number;
  channels: ChannelStatistics[];
}

/** Memory of a worker in bytes: its caches between calls on host and GPU, and their limits. */
export interface MemoryUse {
  host: number;
  host_budget: number;
  gpu: number;
  gpu_budget: number;
  resident: number;
  threads: number;
}

/** Statistics of one image output of a batch. */
export interface OutputStatistics {
  output: string;
  port: string;
  dtype: string;
  low: number;
  high: number;
  channels: ChannelStatistics[];
  samples: number;
  hint: string;
}

/** Option of the switch between CPU and mixed decoding. */
export interface DeviceChoice {
  id: string;
  label: string;
  disabled: string;
}

/** Status of the graph, shown at the top right. */
export interface Status {
  state: "ready" | "busy" | "fault" | "dead";
  text: string;
}

/** Question whether to overwrite an existing file; all texts are empty if nothing is asked. */
export interface OverwriteQuestion {
  number: number;
  do: string;
  path: string;
  message: string;
}

/** Dataset version that was rendered last, or its proof. */
export interface VersionEntry {
  state: "none" | "running" | "done" | "failed";
  text: string;
  share: number;
  lines: string[];
  provable: boolean;
}

/** Text file for download. */
export interface TextFile {
  number: number;
  text: string;
}

export interface RecipeEntry {
  name: string;
  line: string;
  picture: string;
}

export interface StartEntry {
  name: string;
  line: string;
  picture: string;
  example: boolean;
}

/** The open folder or file, and the reason why another folder or file could not be opened. */
export interface OpenedData {
  path: string;
  refused: string;
  outside: string;
  places: Record<string, string>;
}

/** Measurement, comparison or check in progress, shown on the tab of its panel. */
export interface RunningWork {
  tab: string;
  text: string;
  share: number;
}

/** Stored session in the list of recent work. */
export interface RecentEntry {
  owner: string;
  name: string;
  when: string;
  data: string;
  picture: string;
  open: boolean;
}

/** Report on restored or offered edits, or on data of a shared graph that are not open. */
export interface RestoredEntry {
  text?: string;
  offered?: boolean;
  choose?: boolean;
  outside?: string;
}

/** The current graph as code of a notebook cell; an empty dict outside notebooks. */
export interface CellEntry {
  after?: string;
  source?: string;
  asked?: number;
}

/** Reason why the graph cannot run, or a warning. */
export interface FaultEntry {
  node: string;
  arg: string;
  message: string;
  remedy: string;
  fixes: string[];
  warning: boolean;
}

/** Difference between the imported graph and the original program. */
export interface ImportRow {
  kind: string;
  subject: string;
  place: string;
  why: string;
  node: string;
}

/** Report on the import that created the graph. */
export interface ImportEntry {
  summary: string;
  rows: ImportRow[];
  notes: string[];
}

/** One edit in the history, which can be undone or redone. */
export interface HistoryEntry {
  step: number;
  label: string;
  done: boolean;
}

/** Input or output of a node. */
export interface PortEntry {
  name: string;
  kind: string;
  argument: boolean;
  fed: boolean;
  optional: boolean;
  flows: string;
}

/** Random argument whose generator is shown inside the node's card. */
export interface DrawEntry {
  arg: string;
  text: string;
}

/** Body of a block. */
export interface BodyEntry {
  name: string;
  title: string;
  scope: string;
  nodes: number;
  faulty: boolean;
}

/** Body of a block in the breadcrumb. */
export interface ScopeBody {
  name: string;
  title: string;
  scope: string;
  shown: boolean;
}

/** Block in the breadcrumb, which contains the visible body. */
export interface ScopeEntry {
  block: string;
  op: string;
  bodies: ScopeBody[];
}

/** Card of a node on the canvas. The first card of a body represents the body's inputs. */
export interface NodeEntry {
  id: string;
  scope: string;
  op: string;
  title: string;
  label: string;
  role: "read" | "decode" | "geometry" | "colour" | "arithmetic" | "output" | "other";
  device: "cpu" | "gpu" | "mixed";
  output: string;
  values: string;
  draws: DrawEntry[];
  inputs: PortEntry[];
  outputs: PortEntry[];
  fault: string;
  warned: boolean;
  movable: boolean;
  generator: boolean;
  known: boolean;
  twin: boolean;
  note: string;
  muted: boolean;
  loose: boolean;
  bodies: BodyEntry[];
  expanded: boolean;
}

/** Named group of nodes. */
export interface FrameEntry {
  id: string;
  title: string;
  nodes: string[];
}

/** Note on the canvas. Its position is relative to the corner of ``node`` if that is set. */
export interface NoteEntry {
  id: string;
  text: string;
  x: number;
  y: number;
  node: string;
}

/** Edge to a node or to a graph output. */
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

/** Response to ``connect_targets``: the inputs to which an output can be connected. */
export interface ConnectTargets {
  source: string;
  reasons: Record<string, string>;
}

/** Response to ``compatible_ops``: operators that can be added at a port or on an edge. */
export interface CompatibleOps {
  place: string;
  kind: string;
  reasons: Record<string, string>;
  tried: string[];
  fixes: Record<string, string[]>;
}

/** Operator or block that can be searched for and added. */
export interface OperatorEntry {
  name: string;
  label: string;
  synonyms: string[];
  category: string;
  summary: string;
  devices: string[];
  unusable: string;
  words: string;
  inputs: string[];
  outputs: string[];
}

/** Template that can be searched for and added. */
export interface TemplateEntry {
  name: string;
  label: string;
  synonyms: string[];
  summary: string;
  nodes: string[];
  mixes: boolean;
  first_for: string[];
}

/** Recipe that can be searched for. */
export interface RecipeLine {
  name: string;
  line: string;
}

/** Argument of the inspected node that can be searched for. */
export interface ArgumentSearchEntry {
  name: string;
  label: string;
  summary: string;
}

/** Export target. */
export interface TargetEntry {
  name: string;
  about: string;
}

/** One file of an export. */
export interface CodeFile {
  path: string;
  text: string;
}

/** Reason why the graph cannot be exported to the target; all texts are empty if it can. */
export interface CodeFault {
  message: string;
  node: string;
}

/** Last measured speed of the current graph on this machine. */
export interface LastSpeed {
  device: "cpu" | "mixed";
  figure: string;
  when: string;
  settings: string;
  unstable: boolean;
}

/** State of the autosave, with a label and the reason if edits are not stored. */
export interface AutosaveState {
  state: "kept" | "waiting" | "not kept" | "off";
  text: string;
  reason: string;
}

/** Generator and distribution of a random argument. */
export interface RandomView {
  op: string;
  args: Record<string, Json>;
  node: string;
  shared: string[];
}

/** Row of one argument in the inspector. */
export interface ArgRow {
  name: string;
  label: string;
  unit: string;
  doc: string;
  kind: string;
  editor: "check" | "choice" | "number" | "text" | "texts" | "numbers" | "fields" | "each" | "colour" | "range" | "matrix" | "shown" | "policy";
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

/** Condition of an ``if`` block. */
export interface ConditionEntry {
  kind: string;
  classes: number[];
  measure: string;
  comparison: string;
  value: number | null;
  source: string;
  sources: Record<string, string[]>;
  fused: string;
}

/** Payload about the selected node; ``id`` is empty if no node is selected. */
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
  caution: string;
  selected: number;
  errors: string[];
  muted: boolean;
  augments: boolean;
  ports: Record<string, string>;
  rows: ArgRow[];
  condition: string;
  control: string;
  condition_node: string;
  asks: ConditionEntry | null;
  probability: number | null;
  numbered: boolean;
  weights: number[];
  bodies: BodyEntry[];
}

/** A problem with one file, found by the file check. */
export interface FileFinding {
  file: string;
  level: "bad" | "damaged" | "unusual";
  kind: string;
  reason: string;
}

/** Data parameter of the exported program. */
export interface DataParameter {
  name: string;
  about: string;
  reads: string;
  error: string;
}

/** Folder that can be opened or browsed. Hidden entries are not counted. */
export interface FolderEntry {
  name: string;
  path: string;
  images: number;
  folders: number;
  more: boolean;
}

/** Contents of a folder; empty before the first request. */
export interface FolderListing {
  path: string;
  parent: string;
  places: string[];
  entries: FolderEntry[];
  more: boolean;
  error: string;
}

/** Number of images of a class. */
export interface ClassCount {
  name: string;
  count: number;
}

/** Summary of the data: a folder, or a list of files. */
export interface DataView {
  root: string;
  kind: string;
  noun: string;
  parameters: DataParameter[];
  error: string;
  refused: string;
  outside: string;
  count: number;
  counted: boolean;
  counting: boolean;
  provisional: boolean;
  at_fault: string;
  unusable: boolean;
  pillow_only: string;
  read_all: string;
  also: UnreadAnnotations[];
  classes: string[];
  class_counts: ClassCount[];
  sampled_shares: number[];
  counted_by: string;
  no_classes: string;
  megabytes: number;
  formats: Record<string, number>;
  size_counts: Record<string, number>;
  sizes: string;
  checked: boolean;
  checking: boolean;
  bad: number;
  damaged: number;
  findings: FileFinding[];
}

/** Annotations in the data that the graph does not read, and how to read them. */
export interface UnreadAnnotations {
  place: string;
  words: string;
}

/** Class name drawn on a mask at ``x`` and ``y``, as fractions of the picture's sides. */
export interface NameEntry {
  text: string;
  colour: number;
  x: number;
  y: number;
}

/** Annotation drawn on a picture: box, point (corners are equal), outline or mask. */
export interface MarkEntry {
  corners: number[];
  text: string;
  colour: number;
  mask: string;
  outline: number[];
  left: boolean;
  names: NameEntry[];
}

/** Sample in the preview. Rectangles are [x, y, w, h] in pixels of the contact sheet. */
export interface TileEntry {
  index: number;
  file: string;
  label: string;
  class_name: string;
  shape: string;
  draws: string[];
  notes: string[];
  branches: string[];
  augmentations: string[];
  applied: string[];
  targets: string[];
  error: string;
  warning: string;
  original: number[];
  augmented: number[][];
  marks: MarkEntry[][];
}

/** JSON header before the bytes of a contact sheet. */
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
  branches: Branch[];
  augmentations: Augmentation[];
  memory?: MemoryUse;
}

/** Result of comparing the preview with the exported script, bit for bit. */
export interface VerifiedEntry {
  state: "none" | "running" | "identical" | "different" | "failed" | "stopped";
  text: string;
  detail: string[];
  share: number;
  stale: boolean;
}

/** Graph that the current graph can be compared with. */
export interface ComparisonChoice {
  id: string;
  group: string;
  label: string;
}

/** Comparison of the current graph with another graph. */
export interface ComparisonEntry {
  name: string;
  error: string;
  rows: GraphDifference[];
  more: number;
  remarks: string[];
  distances: string[];
  pending: boolean;
}

/** Sample or batch that the user saved in the graph's file. */
export interface SavedSampleEntry {
  text: string;
  note: string;
  whole: boolean;
  shown: boolean;
}

/** How often a body of a block ran. */
export interface BodyShareEntry {
  body: string;
  text: string;
  count: number;
  share: number | null;
  low: number;
  high: number;
  asked: number | null;
  agrees: boolean;
}

/** How often each body of a block ran, and the number of samples that reached the block. */
export interface BlockSharesEntry {
  block: string;
  scope: string;
  samples: number;
  bodies: BodyShareEntry[];
  in_turns: boolean;
}

/** How often each body of the inspected block ran. */
export interface InspectedSharesEntry {
  shown: Record<string, number>;
  shown_of: number;
  counted: BodyShareEntry[];
  batches: number;
  counting: boolean;
}

/** How often the bodies of all blocks ran in many batches, starting with batch 0. */
export interface BranchSharesEntry {
  blocks: BlockSharesEntry[];
  batches: number;
  samples: number;
  wanted: number;
  reads: boolean;
  counting: boolean;
  error: string;
}

/** JSON header before the PNG of one sample in its original size. */
export interface CloseupHeader {
  index: number;
  of: string;
  choices: string[];
  size: number[];
  full: number[];
  note: string;
  frames: number;
  frame: number;
  error: string;
}

/** JSON header before the pixel values of a region, row by row, channels last. */
export interface ValuesHeader {
  index: number;
  of: string;
  frame: number;
  x: number;
  y: number;
  region: number[];
  channels: number;
  store: "u1" | "i1" | "u2" | "i2" | "u4" | "i4" | "f4" | "f8";
  dtype: string;
  error: string;
}

/** One output of a node for the sample: its picture or value, with shape and type. */
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
  histogram?: Histogram;
}

/** A node and its outputs for the sample. */
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

/** Output of one node for the sample on the cards. */
export interface CardEntry {
  id: string;
  box: number[];
  text: string;
  draws: string[];
  branches: string[];
}

/** JSON header before the pictures of all cards, for one sample of the batch. */
export interface CardsHeader {
  mime: string;
  sheet: number[];
  cards: CardEntry[];
  index: number;
  samples: number;
  file: string;
  error: string;
  warning: string;
}

/** Picture of the sample for one combination of argument values. */
export interface EffectEntry {
  values: Json[];
  shown: Json[];
  box: number[];
  error: string;
}

/** JSON header before the effect sheet: one sample with several values of a node's arguments. */
export interface EffectHeader {
  mime: string;
  sheet: number[];
  node: string;
  args: string[];
  columns: number;
  pictures: EffectEntry[];
  note: string;
  error: string;
}

/** Picture that shows the effect of one sub-policy on the sample on the cards. */
export interface PolicyPicture {
  sub_policy: Json[];
  box: number[];
  error: string;
}

/** JSON header before the pictures of the visible sub-policies. */
export interface PolicyHeader {
  mime: string;
  sheet: number[];
  node: string;
  pictures: PolicyPicture[];
  error: string;
}

/** JSON header before the pictures of one node's outputs for one sample. */
export interface DetailHeader {
  mime: string;
  sheet: number[];
  steps: StepEntry[];
  node: string;
  file: string;
  error: string;
  samples: number;
  timing: string;
  floor: number | null;
}

/** Result in the list of the Results panel. */
export interface ResultEntry {
  id: string;
  kind: string;
  title: string;
  verdict: string;
  created: string;
}

/** Table of a result. All cells are texts. */
export interface ShownTable {
  title: string;
  columns: string[];
  numbers: boolean[];
  rows: string[][];
  more: number;
}

/** Picture of a result. */
export interface ShownPicture {
  caption: string;
  source: string;
}

/** The selected result. */
export interface ShownResult {
  id: string;
  title: string;
  created: string;
  sentences: string[];
  tables: ShownTable[];
  pictures: ShownPicture[];
}

/** Name and value of a fact that is displayed. */
export interface SpeedFact {
  name: string;
  value: string;
}

/** Conditions under which a record was measured, displayed below its chart. */
export interface MeasuredOn {
  id: string;
  name: string;
  line: string;
  facts: SpeedFact[];
  quality_flags: string[];
  quick: string;
  partial: string;
  earlier: string;
}

/** Bar of one measured configuration. */
export interface SpeedBar {
  kind: "cpu" | "mixed" | "peer";
  label: string;
  group: string;
  source: string;
  median: number | null;
  figure: string;
  frame_rate: string;
  interval: string;
  frames: number;
  low: number | null;
  high: number | null;
  rounds: number[];
  settings: string;
  reason: string;
  flags: string[];
  uncertainty: string;
  notes: string[];
  facts: SpeedFact[];
}

/** Speed ratio of two configurations, with its confidence interval. */
export interface RatioEntry {
  group: string;
  text: string;
  interval: string;
}

/** Configuration that is in both records. ``ratio`` is the second rate divided by the first. */
export interface PairEntry {
  name: string;
  first: string;
  second: string;
  ratio: string;
  verdict: string;
  differs: string[];
}

/** Comparison of two records. */
export interface ComparisonView {
  first: MeasuredOn;
  second: MeasuredOn;
  pairs: PairEntry[];
  only: string[];
  warnings: string[];
}

/** Comparison of CPU and mixed decoding, or of peers. ``on`` is empty before a measurement. */
export interface CompareView {
  on: MeasuredOn[];
  bars: SpeedBar[];
  ratios: RatioEntry[];
  advice: string[];
  notes: string[];
}

/** One stage of the pipeline. Times are in milliseconds per batch, null if not measured. */
export interface StageEntry {
  name: string;
  op: string;
  kind: string;
  device: string;
  adds: number | null;
  low: number | null;
  high: number | null;
  exclusive: number | null;
  alone: number | null;
  node: string;
}

/** Time of a batch by stage. */
export interface StagesView {
  on: MeasuredOn[];
  stages: StageEntry[];
  total: number;
  rate: string;
  interval: string;
  remainder: number | null;
  ceiling: string;
  bottleneck: string;
  advice: string;
  functions: string[];
  path: string[];
  notes: string[];
}

/** One setting in a heat map. ``rate`` is null if the setting was not tried or failed. */
export interface HeatCell {
  threads: number;
  batch: number;
  rate: number | null;
  figure: string;
  reason: string;
  best: boolean;
  own: boolean;
  now: boolean;
}

/** Heat map of threads (rows) by batch size (columns), with all other settings fixed. */
export interface HeatPanel {
  title: string;
  threads: number[];
  batches: number[];
  cells: HeatCell[];
}

/** Result of a sweep or of the tuner. */
export interface TuneView {
  on: MeasuredOn[];
  panels: HeatPanel[];
  most: number;
  best: string;
  figure: string;
  interval: string;
  gain: string;
  tried: string;
  notes: string[];
  adopted: boolean;
  running: boolean;
}

/** Result for one number of threads or processes. Rates are in imgs/s, null if not measured. */
export interface ScalingPoint {
  count: number;
  pipelines: number;
  median: number | null;
  low: number | null;
  high: number | null;
  figure: string;
  interval: string;
  speedup: string;
  efficiency: string;
  reason: string;
  flags: string[];
}

/** Speed in imgs/s by number of threads, pipelines, processes or GPUs. */
export interface ScalingView {
  on: MeasuredOn[];
  unit: string;
  kind: "cpu" | "mixed";
  points: ScalingPoint[];
  frames: number;
}

/** Record of a measurement, made in this session or opened from a file. */
export interface RecordEntry {
  id: string;
  name: string;
  kind: string;
  part: string;
  graph: string;
  when: string;
  machine: string;
  best: string;
  shown: boolean;
  elsewhere: boolean;
}

/** Measurements that are not possible on this machine, and allowed values of settings. */
export interface SpeedLimits {
  mixed: string;
  command: string;
  hint: string;
  workers: string;
  peers: SpeedFact[];
  peer_seconds: Record<string, number>;
  grid: Record<string, string>;
  now: string;
  estimates: Record<string, Record<string, string>>;
}

/** Row of a predicted table. */
export interface PredictionRow {
  cells: string[];
  node: string;
}

/** Memory or decoders, predicted from the headers of the data. */
export interface PredictionView {
  state: "running" | "done" | "failed";
  text: string;
  stale: boolean;
  heads: string[];
  rows: PredictionRow[];
  notes: string[];
  warning: string;
}

/** JSON header before a file created by ``export`` for download. */
export interface FileHeader {
  name: string;
  mime: string;
  view: string;
  n: number;
}

/** Speed of the ``if`` block or of the operator that could replace it, in imgs/s. */
export interface FusedRow {
  name: string;
  figure: string;
  interval: string;
}

/** Speed of an ``if`` block, and of the single operator that could replace it. */
export interface FusedSpeedEntry {
  state: string;
  block: string;
  text: string;
  share: number;
  rows: FusedRow[];
  ratio: string;
  stale: boolean;
}

/** Sample with a large pixel difference, and ``data:`` URLs of its pictures before and after. */
export interface WorstSampleEntry {
  name: string;
  before: string;
  after: string;
}

/** Rewrite that the optimiser proposes or rejects. */
export interface RewriteEntry {
  name: string;
  title: string;
  kind: "exact" | "near";
  law: string;
  gain: string;
  low: string;
  pixels: string;
  nodes: string[];
  needs: string[];
  worst: WorstSampleEntry[];
  taken: boolean;
  rejected: string;
}

/** Result of the optimiser. */
export interface RewritesView {
  on: MeasuredOn[];
  rewrites: RewriteEntry[];
  control: string;
  total: string;
  notes: string[];
}

/** Top bar: title, data, device, undo and redo, state of the worker, and files. */
export interface BarFields {
  title: string;
  folder: string;
  folders: Partial<FolderListing>;
  recent_folders: string[];
  data: Partial<OpenedData>;
  device: "cpu" | "mixed";
  devices: DeviceChoice[];
  can_undo: boolean;
  can_redo: boolean;
  undo_label: string;
  redo_label: string;
  history: HistoryEntry[];
  history_in_view: boolean;
  status: Partial<Status>;
  recipes: RecipeEntry[];
  faults: FaultEntry[];
  import_report: Partial<ImportEntry>;
  message: string;
  saved: string;
  target: string;
  unread: UnreadAnnotations[];
  refusals: Record<string, string>;
  targets: TargetEntry[];
  save_folder: string;
  overwrite: Partial<OverwriteQuestion>;
  shared: Bytes;
  tab: string;
  restored: Partial<RestoredEntry>;
  graph_number: number;
  opened: number;
  recent: RecentEntry[];
  cell: Partial<CellEntry>;
}

export interface BarActions {
  new: {};
  recipe: { name: string };
  open: { text: string; file?: string };
  open_picture: { data: string };
  title: { name: string };
  dismiss_report: {};
  attach: { tab: string; kept?: (Record<string, Json>)[] };
  start_afresh: {};
  apply_kept: {};
  open_shared_data: {};
  dismiss_restored: {};
  shown: { opened: number };
  list_recent: {};
  list_folders: {};
  open_recent: { owner: string };
  describe_cell: {};
  share: {};
  go_to: { step: number };
  dismiss: {};
  save: { path: string; overwrite?: boolean };
  export: { target: string };
  find_refusals: {};
  open_folder: { path: string };
  add_root: { path: string };
  browse: { path: string };
  give_masks: {};
  fix: { node: string; arg: string; fix: string };
  select: { node: string };
  undo: {};
  redo: {};
}

/** Canvas: the nodes and edges of the graph. */
export interface CanvasFields {
  graph_number: number;
  nodes: NodeEntry[];
  edges: EdgeEntry[];
  breadcrumb: ScopeEntry[];
  positions: Record<string, number[]>;
  frames: FrameEntry[];
  notes: NoteEntry[];
  operators: OperatorEntry[];
  blocks: OperatorEntry[];
  categories: string[];
  templates: TemplateEntry[];
  snippets: TemplateEntry[];
  recipes: RecipeLine[];
  arguments: ArgumentSearchEntry[];
  unread_masks: boolean;
  recent_folders: string[];
  selected: string[];
  fragment: string;
  copied_code: Partial<TextFile>;
  connect_targets: Partial<ConnectTargets>;
  compatible_ops: Partial<CompatibleOps>;
  pictures: Bytes;
  sample: number;
  show_targets: boolean;
  in_view: boolean;
  stale: string;
  unchanged: string[];
  detail_of: string;
  detail: Bytes;
}

export interface CanvasActions {
  add: { op: string; after: string; sound?: boolean; fix?: string };
  add_on: { op: string; edge: string; sound?: boolean; fix?: string };
  branch: { op: string; node: string; output: string; at?: number[]; sound?: boolean; fix?: string };
  add_into: { op: string; node: string; input: string; sound?: boolean; fix?: string };
  add_template: { template: string; edge?: string; node?: string; output?: string; after?: string; other?: string; sound?: boolean; fix?: string };
  connect: { source: string; output: string; target: string; input: string; edge: string };
  disconnect: { edges: string[] };
  splice: { node: string; edge: string; positions?: Record<string, number[]> };
  move: { node: string; by: number };
  remove: { nodes?: string[]; edges?: string[] };
  mute: { nodes: string[]; muted: boolean };
  duplicate: { nodes: string[] };
  paste: { text: string; x: number; y: number };
  rename: { node: string; to: string };
  place: { positions: Record<string, number[]>; aligned?: string };
  wrap: { nodes: string[]; op: string; together?: boolean; condition?: string };
  unwrap: { node: string; body: string };
  add_elif: { node: string };
  fuse: { node: string };
  arrange: {};
  collapse: { node: string; collapsed: boolean };
  unfold: { node: string; arg: string };
  fold: { node: string };
  frame: { title: string; nodes: string[]; frame?: string };
  remove_frame: { frame: string };
  note: { text: string; x: number; y: number; note?: string };
  save_snippet: { nodes: string[]; name: string };
  remove_snippet: { name: string };
  connect_targets: { node: string; output: string; edge: string };
  compatible_ops: { node: string; output: string; edge: string; how?: string; tried?: string[]; other?: string };
  open_scope: { scope: string };
  copy_code: { nodes: string[] };
  list_folders: {};
  new: {};
  recipe: { name: string };
  open: { path: string };
  give_masks: {};
  verify: {};
  measure: { what: string; peers?: string[]; seconds?: number; objective?: string };
  predict: { what: "memory" | "decoders" };
  undo: {};
  redo: {};
}

/** Inspector: the arguments of the selected node. */
export interface InspectorFields {
  node: Partial<InspectorView>;
  classes: string[];
  start: Partial<StartEntry>;
  warnings: string[];
  fused_speed: Partial<FusedSpeedEntry>;
  shares: Partial<InspectedSharesEntry>;
  effect_open: boolean;
  effect_choices: string[];
  effect_remark: string;
  effect_args: string[];
  effect: Bytes;
  effect_stale: boolean;
  effect_blocked: string;
  policy_rows: number[];
  policy_pictures: Bytes;
  augmentations: Record<string, boolean>;
  policies: string[];
}

export interface InspectorActions {
  set: { node: string; arg: string; value: Json; group?: string };
  reset: { node: string; arg: string };
  randomise: { node: string; arg: string; op: string; args?: Record<string, Json> | null };
  fix: { node: string; arg: string };
  set_random: { node: string; arg: string; key: string; value: Json; group?: string };
  link: { node: string; arg: string; source: string; output: string };
  own: { node: string; arg: string };
  set_condition: { block: string; kind: string; classes?: (number | string)[] | null; measure?: string; comparison?: string; value?: number | string | null; source?: string; group?: string };
  device: { node: string; device: string };
  set_probability: { block: string; probability: number | string; group?: string };
  set_weights: { block: string; weights: (number | string)[] };
  add_option: { block: string };
  remove_option: { block: string; body: string };
  move_option: { block: string; body: string; by: number };
  name_body: { block: string; body: string; title: string };
  own_policy: { node: string; name: string };
  mute: { nodes: string[]; muted: boolean };
  wrap: { nodes: string[]; op: string; together?: boolean; condition?: string };
  unwrap: { node: string; body: string };
  add_elif: { node: string };
  fuse: { node: string };
  count_branches: { batches: number };
  measure_fused: { block: string };
  stop_fused: {};
  new: {};
  recipe: { name: string };
  open: { text: string; file?: string };
  open_picture: { data: string };
  open_scope: { scope: string };
  select: { node: string };
  undo: {};
  redo: {};
}

/** Tab bar of the lower panels. */
export interface TabsFields {
  tab: "preview" | "speed" | "code" | "data" | "results";
  work: RunningWork[];
}

export interface TabsActions {}

/** Preview: a batch of samples, original and augmented. */
export interface PreviewFields {
  picture: Bytes;
  mode: "original" | "augmented" | "both" | "difference" | "compare";
  show_original: boolean;
  baseline: string;
  baselines: string[];
  against: string;
  comparison_choices: ComparisonChoice[];
  comparison: Partial<ComparisonEntry>;
  compared: Bytes;
  batch: number;
  seed: number;
  pinned: boolean;
  repeat: number;
  tiles: number;
  tile_size: number;
  lossless: boolean;
  limits: Record<string, number>;
  classes: string[];
  shown_classes: string[];
  shown_branches: string[];
  shown_augmentations: string[];
  stale: string;
  rendering: boolean;
  fault: Partial<FaultEntry>;
  retryable: boolean;
  shuffles: boolean;
  verification: Partial<VerifiedEntry>;
  saved_draws: SavedSampleEntry[];
  show_targets: boolean;
  show_statistics: boolean;
  statistics: OutputStatistics[];
  statistics_pending: boolean;
  statistics_error: string;
  branch_shares: Partial<BranchSharesEntry>;
  sample: number;
  marked: number[];
  closeup: Bytes;
  compared_closeup: Bytes;
  values: Bytes;
}

export interface PreviewActions {
  save_draw: { sample: number };
  replay_draw: { draw: number };
  delete_draw: { draw: number };
  open_closeup: { index: number; of: string };
  choose_frame: { frame: number };
  probe_pixel: { x: number; y: number };
  choose_sample: { index: number };
  show_class: { name: string };
  count_branches: { batches: number };
  find_batch: { back: boolean };
  compare_with_file: { name: string; text?: string; data?: string };
  verify: {};
  stop_verification: {};
  fix: { node: string; arg: string; fix: string };
  retry: {};
  undo: {};
  redo: {};
}

/** Speed panel: CPU and mixed decoding, stages, rewrites, tuner, scaling, peers, records. */
export interface SpeedFields {
  part: "compare" | "stages" | "rewrites" | "tune" | "scaling" | "peers" | "memory" | "records";
  effort: "quick" | "usual";
  batch_size: number;
  threads: number;
  pipelines: number;
  running: boolean;
  what: string;
  progress: number;
  message: string;
  failed: boolean;
  compare: Partial<CompareView>;
  stages: Partial<StagesView>;
  rewrites: Partial<RewritesView>;
  tune: Partial<TuneView>;
  scaling: Partial<ScalingView>;
  peers: Partial<CompareView>;
  memory: Partial<PredictionView>;
  decoders: Partial<PredictionView>;
  records: RecordEntry[];
  overlay: string;
  selected_records: string[];
  comparison: Partial<ComparisonView>;
  limits: Partial<SpeedLimits>;
  file: Bytes;
}

export interface SpeedActions {
  measure: { what: string; peers?: string[]; seconds?: number; objective?: string };
  tune: { search: string; threads: string; batches: string; prefetch: string; loads: string; pipelines: string; files: string; memory: string; seconds?: number };
  predict: { what: "memory" | "decoders" };
  cancel: {};
  open: { text: string; name: string };
  view: { record: string };
  rename: { record: string; to: string };
  delete: { record: string };
  export: { kind: string; ids: string[]; view?: string };
  adopt: { record: string };
  take_rewrites: { record: string; names: string[] };
  select: { node: string };
  undo: {};
  redo: {};
}

/** Code panel: the graph as code for a target, updated with every edit. */
export interface CodeFields {
  target: string;
  from_top: number;
  script: Partial<TextFile>;
  refusals: Record<string, string>;
  targets: TargetEntry[];
  in_view: boolean;
  skip_bad: boolean;
  files: CodeFile[];
  highlighted: Record<string, number[]>;
  fault: Partial<CodeFault>;
  download: Bytes;
  notes: string[];
  note: string;
  lists_files: boolean;
  graph_number: number;
  message: string;
  save_folder: string;
  overwrite: Partial<OverwriteQuestion>;
  version: Partial<VersionEntry>;
  formats: string[];
}

export interface CodeActions {
  find_refusals: {};
  save: { path: string; overwrite?: boolean };
  download: { file: string };
  save_file_list: { path: string; overwrite?: boolean };
  render_version: { path: string; format: string; copies: number; split: string; quality: number | null; originals: boolean };
  prove_version: {};
  cancel_version: {};
  select: { node: string };
}

/** Data panel: counts, sizes, formats, and the result of the file check. */
export interface DataFields {
  summary: Partial<DataView>;
  shown_classes: string[];
  folders: Partial<FolderListing>;
  recent_folders: string[];
  report: Partial<TextFile>;
}

export interface DataActions {
  open: { path: string };
  open_folder: { path: string };
  add_root: { path: string };
  use_good: {};
  give_masks: {};
  browse: { path: string };
  count: {};
  check: {};
  report: {};
  show_class: { name: string };
  list_folders: {};
}

/** Results panel: the list of results, and the selected result. */
export interface ResultsFields {
  entries: ResultEntry[];
  shown: Partial<ShownResult>;
  message: string;
}

export interface ResultsActions {
  show: { result: string };
  remove: { result: string };
  open: { text: string; name: string };
}

/** Status line: faults, last measured speed of the graph, autosave state. */
export interface StatusFields {
  faults: FaultEntry[];
  speeds: LastSpeed[];
  kept: Partial<AutosaveState>;
}

export interface StatusActions {
  fix: { node: string; arg: string; fix: string };
  select: { node: string };
  undo: {};
  redo: {};
}

/** All components. The browser can set fields in `both`. */
export interface Components {
  bar: { fields: BarFields; both: "device" | "history_in_view"; actions: BarActions };
  canvas: { fields: CanvasFields; both: "selected" | "sample" | "show_targets" | "in_view" | "detail_of"; actions: CanvasActions };
  inspector: { fields: InspectorFields; both: "effect_open" | "effect_args" | "policy_rows"; actions: InspectorActions };
  tabs: { fields: TabsFields; both: "tab"; actions: TabsActions };
  preview: { fields: PreviewFields; both: "mode" | "show_original" | "baseline" | "against" | "batch" | "seed" | "pinned" | "repeat" | "tiles" | "tile_size" | "lossless" | "shown_classes" | "shown_branches" | "shown_augmentations" | "show_targets" | "show_statistics" | "marked"; actions: PreviewActions };
  speed: { fields: SpeedFields; both: "part" | "effort" | "batch_size" | "threads" | "pipelines" | "overlay" | "selected_records"; actions: SpeedActions };
  code: { fields: CodeFields; both: "target" | "in_view" | "skip_bad"; actions: CodeActions };
  data: { fields: DataFields; both: never; actions: DataActions };
  results: { fields: ResultsFields; both: never; actions: ResultsActions };
  status: { fields: StatusFields; both: never; actions: StatusActions };
}

/** The lower panels, in order. */
export const TABS = ["preview", "speed", "code", "data", "results"] as const;
