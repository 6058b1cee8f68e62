# Written by `python -m workbench.ui.notebook.part_stubs`; not by hand.
from collections.abc import Sequence
from typing import Any, Literal, Self

import traitlets

from workbench.graph.model import Graph
from workbench.ui.contract.selected_samples import SelectedSamples
from workbench.ui.state.graph_argument import GraphLike

class Widget(traitlets.HasTraits):
    """What is used of ``ipywidgets.Widget``."""

    layout: Any
    comm: Any
    model_id: str
    def close(self) -> None: ...
    def add_class(self, className: str) -> Self: ...
    def remove_class(self, className: str) -> Self: ...
    def send(self, content: Any, buffers: Any = None) -> None: ...
    def on_msg(self, callback: Any, remove: bool = False) -> None: ...
    def _repr_mimebundle_(self, **kwargs: Any) -> Any: ...

class VBox(Widget):
    children: tuple[Any, ...]
    def __init__(self, children: Sequence[Any] = (), **kwargs: Any) -> None: ...

class Bar(Widget):
    """Title, data, device switch, undo and redo, state of the worker, files."""
    title: str
    """Name of the graph."""
    folder: str
    """``samples/ · 96 images``."""
    folders: dict[str, Any]
    recent_folders: list[str]
    """As ``list_folders`` found them."""
    data: dict[str, Any]
    device: Literal['cpu', 'mixed']
    """Where images are decoded."""
    devices: list[dict[str, Any]]
    can_undo: bool
    """Whether there is an edit to undo."""
    can_redo: bool
    """Whether there is an edit to redo."""
    undo_label: str
    """What undo takes back; empty: nothing."""
    redo_label: str
    """What redo makes again; empty: nothing."""
    history: list[dict[str, Any]]
    """Undo and redo labels, oldest first; empty while the history is closed."""
    history_in_view: bool
    """Whether the history is looked at."""
    status: dict[str, Any]
    recipes: list[dict[str, Any]]
    faults: list[dict[str, Any]]
    import_report: dict[str, Any]
    message: str
    """What the last action did or why it failed."""
    saved: str
    """The graph's JSON, for the browser to offer as a file."""
    target: str
    """What the Code panel shows the graph as."""
    unread: list[dict[str, Any]]
    """Targets of the data that the graph does not read."""
    refusals: dict[str, Any]
    """Targets that cannot hold the graph, and why; empty until asked for."""
    targets: list[dict[str, Any]]
    save_folder: str
    """Where files with a plain name are saved."""
    overwrite: dict[str, Any]
    shared: bytes
    """The PNG that ``share`` requested; empty until it is ready."""
    tab: str
    """Owner of what is kept (``owner.py``). A page remembers it for its tab and hands it in by ``attach`` when it is loaded anew. Empty: nothing is kept, or a notebook is the owner."""
    restored: dict[str, Any]
    graph_number: int
    """Changes whenever another graph is opened."""
    opened: int
    """Number of the graph that is to be confirmed by ``shown``."""
    recent: list[dict[str, Any]]
    cell: dict[str, Any]

class Canvas(Widget):
    """The nodes and their edges."""
    graph_number: int
    """Number of the opened graph; edits do not change it."""
    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    breadcrumb: list[dict[str, Any]]
    """Blocks from the graph into the body that is shown. Empty: the graph itself is."""
    positions: dict[str, Any]
    """Where nodes were put by hand: id (``:name`` for an output) -> [x, y]. Empty: all are laid out automatically."""
    frames: list[dict[str, Any]]
    notes: list[dict[str, Any]]
    operators: list[dict[str, Any]]
    blocks: list[dict[str, Any]]
    """The same of blocks."""
    categories: list[str]
    """Of operators, in the order of a palette."""
    templates: list[dict[str, Any]]
    snippets: list[dict[str, Any]]
    """What the person saved."""
    recipes: list[dict[str, Any]]
    arguments: list[dict[str, Any]]
    """Of the inspected node."""
    unread_masks: bool
    """Whether the data have masks that the graph does not read."""
    recent_folders: list[str]
    """As ``list_folders`` found them."""
    selected: list[str]
    """Ids of the selected nodes; the last is inspected."""
    fragment: str
    """The selected nodes as text, to be copied."""
    copied_code: dict[str, Any]
    """The Python lines that ``copy_code`` requested."""
    connect_targets: dict[str, Any]
    compatible_ops: dict[str, Any]
    pictures: bytes
    """The cards' pictures: ``CardsHeader`` and JPEG."""
    sample: int
    """Which sample of the batch the cards show, from 0."""
    show_targets: bool
    """Whether targets are drawn over the cards."""
    in_view: bool
    """Whether it is on the screen: only then pictures are made."""
    stale: str
    """Why the pictures are not of the present graph."""
    detail_of: str
    """Id of the node that is looked at; empty: none."""
    detail: bytes
    """What it gave: ``DetailHeader`` and picture."""

class Inspector(Widget):
    """The arguments of the selected node."""
    node: dict[str, Any]
    classes: list[str]
    """Names of the classes of the data."""
    start: dict[str, Any]
    """A recipe to start from. Empty: the graph is the user's own, and has nodes."""
    warnings: list[str]
    """Errors of rows and of the node that stop nothing."""
    fused_speed: dict[str, Any]
    """An if against one operator."""
    shares: dict[str, Any]
    """How often the bodies of the shown block ran."""
    effect_open: bool
    """Whether the effect of arguments is wanted."""
    effect_choices: list[str]
    """Arguments whose effect can be seen."""
    effect_remark: str
    """What cannot be varied, and why; may be empty."""
    effect_args: list[str]
    """The one or two that are varied."""
    effect: bytes
    """One sample varied: ``EffectHeader`` and JPEG."""
    effect_stale: bool
    """Whether it is not of the present graph."""
    effect_blocked: str
    """Why it cannot be computed; empty: it can."""
    policy_rows: list[int]
    """Sub-policies on the screen, from 0."""
    policy_pictures: bytes
    """One sample after each: ``PolicyHeader``."""
    augmentations: dict[str, Any]
    """Names that a policy may have: whether they take a magnitude."""
    policies: list[str]
    """Names of the learnt policies."""

class Tabs(Widget):
    """Which of the lower panels is open."""
    tab: Literal['preview', 'speed', 'code', 'data']
    """The open one."""
    work: list[dict[str, Any]]

class Preview(Widget):
    """A batch, original and augmented."""
    picture: bytes
    """The contact sheet: ``SheetHeader`` and image."""
    mode: Literal['original', 'augmented', 'both', 'difference', 'compare']
    """What is shown."""
    show_original: bool
    """Whether the originals are shown while a key is held."""
    baseline: str
    """Node that a difference compares with; empty: the first."""
    baselines: list[str]
    """Nodes that it may compare with."""
    against: str
    """What the graph is compared with: an id."""
    comparison_choices: list[dict[str, Any]]
    """What it may be compared with; empty while it is not compared."""
    comparison: dict[str, Any]
    compared: bytes
    """The other graph's sheet: ``SheetHeader``, image."""
    batch: int
    """Index of the batch, from 0."""
    seed: int
    """The graph's seed."""
    pinned: bool
    """Whether seed and batch stay as they are."""
    repeat: int
    """Index of the photo that is shown in every tile; -1: none."""
    tiles: int
    """How many samples are shown, 4 to 64."""
    tile_size: int
    """Side of a tile in pixels; 0: as it fits."""
    lossless: bool
    """Exact pixels in place of JPEG."""
    limits: dict[str, Any]
    """Largest batch and seed."""
    classes: list[str]
    """Names of the classes of the data."""
    shown_classes: list[str]
    """Names of the classes whose samples alone are shown; empty: all."""
    shown_branches: list[str]
    """Scopes of the bodies of blocks whose samples alone are shown; empty: all."""
    shown_augmentations: list[str]
    """Keys of the augmentations, node.name, whose samples alone are shown; empty: all."""
    stale: str
    """Why the picture is not of the present graph; empty if it is."""
    rendering: bool
    """Whether the picture is of the graph before, and the one of the graph just opened follows."""
    fault: dict[str, Any]
    """What ``stale`` says, with what mends it; empty where that is no fault of the graph."""
    retryable: bool
    """Whether trying again may help."""
    shuffles: bool
    """Whether another seed also means other photos."""
    verification: dict[str, Any]
    saved_draws: list[dict[str, Any]]
    show_targets: bool
    """Whether targets are drawn over pictures."""
    show_statistics: bool
    """Whether the statistics are wanted."""
    statistics: list[Any]
    statistics_pending: bool
    """Whether they are of other values than the picture."""
    statistics_error: str
    """Why there are none; empty where nothing went wrong."""
    branch_shares: dict[str, Any]
    """Empty while no statistics are shown."""
    sample: int
    """The one that the cards of the canvas show."""
    marked: list[int]
    """Indices of the marked samples in the batch."""
    @property
    def selected(self) -> SelectedSamples: ...
    @selected.setter
    def selected(self, value: SelectedSamples | Sequence[int]) -> None: ...
    closeup: bytes
    """One sample: ``CloseupHeader`` and PNG."""
    compared_closeup: bytes
    """The sample in the other graph: ``CloseupHeader`` and PNG; empty: not compared."""
    values: bytes
    """``ValuesHeader`` and the values of a region."""

class Speed(Widget):
    """The speed lab: CPU against mixed, stages, rewrites, tuner, scaling, peers, records."""
    part: Literal['compare', 'stages', 'rewrites', 'tune', 'scaling', 'peers', 'records']
    """Which part is open."""
    effort: Literal['quick', 'usual']
    """Precision of the measurement."""
    batch_size: int
    """Samples in a batch."""
    threads: int
    """Threads of a pipeline."""
    pipelines: int
    """Pipelines side by side."""
    running: bool
    """Whether a measurement runs."""
    what: str
    """The part that it is of, or that the last one was of."""
    progress: float
    """0 to 1."""
    message: str
    """The running step, or the last one."""
    failed: bool
    """Whether the message is an error."""
    compare: dict[str, Any]
    stages: dict[str, Any]
    rewrites: dict[str, Any]
    tune: dict[str, Any]
    scaling: dict[str, Any]
    peers: dict[str, Any]
    records: list[dict[str, Any]]
    overlay: str
    """Record whose bars are shown in a comparison."""
    selected_records: list[str]
    """Two records, to be set side by side."""
    comparison: dict[str, Any]
    limits: dict[str, Any]
    file: bytes
    """``FileHeader`` and a file that ``export`` made."""

class Code(Widget):
    """The graph as code for a target, live."""
    source: str
    """The script for any data; empty: the graph has faults."""
    target: str
    """What the graph is shown as."""
    from_top: int
    """Another number with each choice of a target, whose code is then shown from its top; 0 once a node is selected, whose lines are then shown."""
    script: dict[str, Any]
    """What ``download`` made."""
    refusals: dict[str, Any]
    """As the bar's."""
    targets: list[dict[str, Any]]
    in_view: bool
    """Whether it is on the screen: only then it is sent."""
    skip_bad: bool
    """Whether the code reads a list of the good files."""
    files: list[dict[str, Any]]
    """What the target last gave, the main file first."""
    highlighted: dict[str, Any]
    """File -> line numbers, from 1, that the selected node made."""
    fault: dict[str, Any]
    """Where there is one, there are no files."""
    download: bytes
    """The file to download, or a ZIP of several."""
    notes: list[str]
    """What the files do otherwise than the graph."""
    note: str
    """What running the code on these data meets, or empty."""
    lists_files: bool
    """Whether a check has determined which files can be used."""
    graph_number: int
    """As the bar's."""
    message: str
    """Where it was saved, or why not."""
    save_folder: str
    """Where files with a plain name are saved."""
    overwrite: dict[str, Any]

class Data(Widget):
    """The data set: counts, sizes, formats, and the result of a check of its files."""
    summary: dict[str, Any]
    shown_classes: list[str]
    """As the preview's."""
    folders: dict[str, Any]
    recent_folders: list[str]
    """As ``list_folders`` found them."""
    report: dict[str, Any]
    """The report of a check, a web page."""

class Status(Widget):
    """The line below: faults, the last measured speed of the graph, whether edits are kept."""
    faults: list[dict[str, Any]]
    """As the bar's."""
    speeds: list[dict[str, Any]]
    """Of this very graph; empty: none."""
    kept: dict[str, Any]

class TypedWorkbench(VBox):
    """The attributes of a workbench that no code declares."""

    target: str
    @property
    def graph(self) -> Graph: ...
    @graph.setter
    def graph(self, value: GraphLike) -> None: ...
    bar: Bar
    canvas: Canvas
    inspector: Inspector
    tabs: Tabs
    preview: Preview
    speed: Speed
    code: Code
    data: Data
    status: Status
