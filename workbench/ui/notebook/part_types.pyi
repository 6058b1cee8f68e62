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
    """Name and size of the data: ``samples/ · 96 images``."""
    folders: dict[str, Any]
    recent_folders: list[str]
    """Recent data folders, after ``list_folders``."""
    data: dict[str, Any]
    device: Literal['cpu', 'mixed']
    """Decoding device."""
    devices: list[dict[str, Any]]
    can_undo: bool
    """Whether there is an edit to undo."""
    can_redo: bool
    """Whether there is an edit to redo."""
    undo_label: str
    """Label of the edit to undo; empty: none."""
    redo_label: str
    """Label of the edit to redo; empty: none."""
    history: list[dict[str, Any]]
    """Undo and redo labels, oldest first; empty while the history is not displayed."""
    history_in_view: bool
    """Whether the history is displayed."""
    status: dict[str, Any]
    recipes: list[dict[str, Any]]
    faults: list[dict[str, Any]]
    import_report: dict[str, Any]
    message: str
    """Result or error of the last action."""
    saved: str
    """JSON of the graph for download."""
    target: str
    """Export target shown in the Code panel."""
    unread: list[dict[str, Any]]
    """Annotations in the data that the graph does not read."""
    refusals: dict[str, Any]
    """Targets that cannot represent the graph, with reasons; empty until requested."""
    targets: list[dict[str, Any]]
    save_folder: str
    """Folder in which files without a path are saved."""
    overwrite: dict[str, Any]
    shared: bytes
    """PNG requested by ``share``; empty until it is ready."""
    tab: str
    """Owner of the stored session (``owner.py``). A page stores it for its tab and sends it with ``attach`` after a reload. Empty: nothing is stored, or the owner is a notebook."""
    restored: dict[str, Any]
    graph_number: int
    """Changes whenever another graph is opened."""
    opened: int
    """Number of the graph that the page must confirm with ``shown``."""
    recent: list[dict[str, Any]]
    cell: dict[str, Any]

class Canvas(Widget):
    """Nodes and edges."""
    graph_number: int
    """Changes whenever another graph is opened; edits do not change it."""
    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    breadcrumb: list[dict[str, Any]]
    """Blocks that contain the visible body, outermost first; empty for the whole graph."""
    positions: dict[str, Any]
    """Manual position [x, y] by id (``:name`` for an output); empty for automatic layout."""
    frames: list[dict[str, Any]]
    notes: list[dict[str, Any]]
    operators: list[dict[str, Any]]
    blocks: list[dict[str, Any]]
    """Blocks that can be added."""
    categories: list[str]
    """Categories of operators in the order of the palette."""
    templates: list[dict[str, Any]]
    snippets: list[dict[str, Any]]
    """Snippets saved by the user."""
    recipes: list[dict[str, Any]]
    arguments: list[dict[str, Any]]
    """Arguments of the inspected node."""
    unread_masks: bool
    """Whether the data has masks that the graph does not read."""
    recent_folders: list[str]
    """Recent data folders, after ``list_folders``."""
    selected: list[str]
    """Ids of the selected nodes; the last is in the inspector."""
    fragment: str
    """The selected nodes as text, to be copied."""
    copied_code: dict[str, Any]
    """Python code requested by ``copy_code``."""
    connect_targets: dict[str, Any]
    compatible_ops: dict[str, Any]
    pictures: bytes
    """Pictures on the node cards: ``CardsHeader`` and JPEG."""
    sample: int
    """Index in the batch of the sample shown on the cards."""
    show_targets: bool
    """Whether annotations are drawn on the node cards."""
    in_view: bool
    """Whether the canvas is visible; pictures are only computed then."""
    stale: str
    """Why the pictures do not show the current graph; empty if they do."""
    unchanged: list[str]
    """Ids of the nodes whose pictures are up to date although ``stale`` is set."""
    detail_of: str
    """Id of the node whose output is shown in detail; empty for none."""
    detail: bytes
    """Output of that node: ``DetailHeader`` and picture."""

class Inspector(Widget):
    """Arguments of the selected node."""
    node: dict[str, Any]
    classes: list[str]
    """Class names of the data."""
    start: dict[str, Any]
    """Recipe to start from; empty after the user has opened a graph with nodes."""
    warnings: list[str]
    """Warnings about arguments and the node, which do not stop the graph."""
    fused_speed: dict[str, Any]
    """Speed of an ``if`` block and of an equivalent operator."""
    shares: dict[str, Any]
    """How often the bodies of the inspected block ran."""
    effect_open: bool
    """Whether the effect sheet is open."""
    effect_choices: list[str]
    """Arguments that can be varied."""
    effect_remark: str
    """Arguments that cannot be varied, with the reason; may be empty."""
    effect_args: list[str]
    """Names of the one or two varied arguments."""
    effect: bytes
    """Effect sheet of one sample: ``EffectHeader`` and JPEG."""
    effect_stale: bool
    """Whether the effect sheet belongs to an earlier graph."""
    effect_blocked: str
    """Why the effect sheet cannot be computed; empty if it can."""
    policy_rows: list[int]
    """Indices of the visible sub-policies."""
    policy_pictures: bytes
    """One sample after each sub-policy: ``PolicyHeader`` and JPEG."""
    augmentations: dict[str, Any]
    """Whether each augmentation of a policy has a magnitude, by name."""
    policies: list[str]
    """Names of the learned policies."""

class Tabs(Widget):
    """Tabs of the lower panels."""
    tab: Literal['preview', 'speed', 'code', 'data', 'results']
    """The open panel."""
    work: list[dict[str, Any]]

class Preview(Widget):
    """A batch, original and augmented."""
    picture: bytes
    """Contact sheet: ``SheetHeader`` and image."""
    mode: Literal['original', 'augmented', 'both', 'difference', 'compare']
    """Pictures that are shown."""
    show_original: bool
    """Whether originals are shown while a key is held."""
    baseline: str
    """Id of the node that a difference is compared with; empty for the first suitable node."""
    baselines: list[str]
    """Ids of the nodes that a difference can be compared with."""
    against: str
    """Id of the graph to compare with."""
    comparison_choices: list[dict[str, Any]]
    """Graphs to compare with; empty in other modes."""
    comparison: dict[str, Any]
    compared: bytes
    """The other graph's sheet: ``SheetHeader`` and image."""
    batch: int
    """Index of the batch, from 0."""
    seed: int
    """The graph's seed."""
    pinned: bool
    """Whether seed and batch are fixed."""
    repeat: int
    """Index of the photo that is repeated in every tile; -1: none."""
    tiles: int
    """Maximum number of samples shown, 4 to 64."""
    tile_size: int
    """Side of a tile in pixels; 0: automatic."""
    lossless: bool
    """Exact pixels instead of JPEG."""
    limits: dict[str, Any]
    """Maximum batch and seed."""
    classes: list[str]
    """Class names of the data."""
    shown_classes: list[str]
    """Show only samples of these classes; empty: all."""
    shown_branches: list[str]
    """Show only samples that ran these block bodies (``branch.then``); empty for all."""
    shown_augmentations: list[str]
    """Show only samples with these augmentations (node.name); empty: all."""
    stale: str
    """Why the picture does not show the current graph; empty if it does."""
    rendering: bool
    """Whether the picture still shows the previous graph, because that of the opened graph is pending."""
    fault: dict[str, Any]
    """Fault described by ``stale``, with its fixes; empty if it is not a fault of the graph."""
    retryable: bool
    """Whether a retry may help."""
    shuffles: bool
    """Whether another seed also changes the photos."""
    verification: dict[str, Any]
    saved_draws: list[dict[str, Any]]
    show_targets: bool
    """Whether annotations are drawn on pictures."""
    show_statistics: bool
    """Whether statistics are shown."""
    statistics: list[Any]
    statistics_pending: bool
    """Whether the statistics are older than the picture."""
    statistics_error: str
    """Why there are no statistics; empty if there are."""
    branch_shares: dict[str, Any]
    """How often each block body ran; empty unless statistics are shown."""
    sample: int
    """Index in the batch of the sample shown on the cards of the canvas."""
    marked: list[int]
    """Indices in the batch of the marked samples."""
    @property
    def selected(self) -> SelectedSamples: ...
    @selected.setter
    def selected(self, value: SelectedSamples | Sequence[int]) -> None: ...
    closeup: bytes
    """Close-up of a sample: ``CloseupHeader`` and PNG."""
    compared_closeup: bytes
    """Close-up of the other graph: ``CloseupHeader`` and PNG; empty if nothing is compared."""
    values: bytes
    """Pixel values of a region: ``ValuesHeader`` and the values."""

class Speed(Widget):
    """Measurements: CPU and mixed decoding, stages, rewrites, tuner, scaling, peers, records."""
    part: Literal['compare', 'stages', 'rewrites', 'tune', 'scaling', 'peers', 'records']
    """Part of the panel that is open."""
    effort: Literal['quick', 'usual']
    """Precision of the measurement."""
    batch_size: int
    """Batch size."""
    threads: int
    """Threads per pipeline."""
    pipelines: int
    """Number of pipelines."""
    running: bool
    """Whether a measurement is running."""
    what: str
    """Part of the panel that the running or last measurement belongs to."""
    progress: float
    """Progress, 0 to 1."""
    message: str
    """Text of the current or last step."""
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
    """Record whose bars are added to a comparison."""
    selected_records: list[str]
    """Two records to compare."""
    comparison: dict[str, Any]
    limits: dict[str, Any]
    file: bytes
    """``FileHeader`` and a file created by ``export``."""

class Code(Widget):
    """The graph as code for a target, updated with every edit."""
    source: str
    """Script for any data; empty if the graph has faults."""
    target: str
    """Export target."""
    from_top: int
    """Changes when a target is selected; its code is then shown from the first line. 0 after a node is selected; the lines of that node are then shown."""
    script: dict[str, Any]
    """File created by ``download``."""
    refusals: dict[str, Any]
    """Targets that cannot represent the graph, with reasons; empty until requested."""
    targets: list[dict[str, Any]]
    in_view: bool
    """Whether the panel is visible; code is only sent then."""
    skip_bad: bool
    """Whether the code reads a list of the good files."""
    files: list[dict[str, Any]]
    """Files of the last export, main file first."""
    highlighted: dict[str, Any]
    """Line numbers, from 1, that belong to the selected node, by file."""
    fault: dict[str, Any]
    """Why there are no files."""
    download: bytes
    """The file to download, or a ZIP of several."""
    notes: list[str]
    """Differences between the files and the graph."""
    note: str
    """Problems that the code would have with this data; empty if there are none."""
    lists_files: bool
    """Whether a file check has found out which files can be used."""
    graph_number: int
    """Changes whenever another graph is opened; edits do not change it."""
    message: str
    """Where the code was saved, or why it could not be saved."""
    save_folder: str
    """Folder in which files without a path are saved."""
    overwrite: dict[str, Any]

class Data(Widget):
    """The data: counts, sizes, formats, and the result of the file check."""
    summary: dict[str, Any]
    shown_classes: list[str]
    """Classes to which the preview is limited; empty for all."""
    folders: dict[str, Any]
    recent_folders: list[str]
    """Recent data folders, after ``list_folders``."""
    report: dict[str, Any]
    """Report of a check, an HTML page."""

class Results(Widget):
    """Results of tools: a list, and the result that is shown."""
    entries: list[dict[str, Any]]
    """The newest first."""
    shown: dict[str, Any]
    message: str
    """Why a file could not be opened."""

class Status(Widget):
    """Status line: faults, last measured speed of the graph, autosave state."""
    faults: list[dict[str, Any]]
    """Faults and warnings of the graph."""
    speeds: list[dict[str, Any]]
    """Last measured speeds of the current graph; empty if there are none."""
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
    results: Results
    status: Status
