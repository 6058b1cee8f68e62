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
    """Top bar: title, data, device, undo and redo, state of the worker, and files."""
    title: str
    """Name of the graph."""
    folder: str
    """Name and size of the data: ``samples/ · 96 images``."""
    folders: dict[str, Any]
    recent_folders: list[str]
    """Recent data folders; filled by ``list_folders``."""
    data: dict[str, Any]
    device: Literal['cpu', 'mixed']
    """Decoding device."""
    devices: list[dict[str, Any]]
    can_undo: bool
    """True if there is an edit to undo."""
    can_redo: bool
    """True if there is an edit to redo."""
    undo_label: str
    """Label of the edit to undo; empty if there is none."""
    redo_label: str
    """Label of the edit to redo; empty if there is none."""
    history: list[dict[str, Any]]
    """Undo and redo labels, oldest first; empty while the history is not displayed."""
    history_in_view: bool
    """True while the history is displayed."""
    status: dict[str, Any]
    recipes: list[dict[str, Any]]
    faults: list[dict[str, Any]]
    import_report: dict[str, Any]
    message: str
    """Result or error of the last action."""
    saved: str
    """The graph as JSON, for download."""
    target: str
    """Export target selected in the Code panel."""
    unread: list[dict[str, Any]]
    """Annotations in the data that the graph does not read."""
    refusals: dict[str, Any]
    """Reason why a target cannot represent the graph, by target; empty until requested."""
    targets: list[dict[str, Any]]
    save_folder: str
    """Default folder for saved files."""
    overwrite: dict[str, Any]
    shared: bytes
    """Picture requested by ``share``, as PNG; empty until it is ready."""
    tab: str
    """Owner of the stored session (``owner.py``). A page stores it for its tab and sends it with ``attach`` after a reload. Empty if nothing is stored, or if the owner is a notebook cell."""
    restored: dict[str, Any]
    graph_number: int
    """Number that changes whenever another graph is opened."""
    opened: int
    """Number of the opened graph, which the page must report with ``shown`` once it is rendered."""
    recent: list[dict[str, Any]]
    cell: dict[str, Any]

class Canvas(Widget):
    """Canvas: the nodes and edges of the graph."""
    graph_number: int
    """Number that changes whenever another graph is opened, but not with edits."""
    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    breadcrumb: list[dict[str, Any]]
    """Blocks that contain the visible body, outermost first; empty for the whole graph."""
    positions: dict[str, Any]
    """Manual position [x, y] by node id (``:name`` for an output); empty for automatic layout."""
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
    """True if the data set has masks that the graph does not read."""
    recent_folders: list[str]
    """Recent data folders; filled by ``list_folders``."""
    selected: list[str]
    """Ids of the selected nodes. The inspector shows the last."""
    fragment: str
    """Text form of the selected nodes, to be copied."""
    copied_code: dict[str, Any]
    """Python code requested by ``copy_code``."""
    connect_targets: dict[str, Any]
    compatible_ops: dict[str, Any]
    pictures: bytes
    """Pictures on the node cards: ``CardsHeader`` and a JPEG."""
    sample: int
    """Index in the batch of the sample shown on the cards."""
    show_targets: bool
    """True to draw annotations on the node cards."""
    in_view: bool
    """True while the canvas is visible. Pictures are only computed then."""
    stale: str
    """Reason why the pictures do not show the current graph; empty if they do."""
    unchanged: list[str]
    """Ids of the nodes whose pictures are still up to date while ``stale`` is set."""
    detail_of: str
    """Id of the node whose output is shown in detail; empty for none."""
    detail: bytes
    """Output of node ``detail_of``: ``DetailHeader`` and an image."""

class Inspector(Widget):
    """Inspector: the arguments of the selected node."""
    node: dict[str, Any]
    classes: list[str]
    """Class names of the data."""
    start: dict[str, Any]
    """Recipe to start from; empty once the user has opened a graph with nodes."""
    warnings: list[str]
    """Warnings about the node and its arguments, which do not stop the graph."""
    fused_speed: dict[str, Any]
    """Speed of the ``if`` block, and of the single operator that could replace it."""
    shares: dict[str, Any]
    """How often each body of the inspected block ran."""
    effect_open: bool
    """True while the effect sheet is open."""
    effect_choices: list[str]
    """Arguments that the effect sheet can vary."""
    effect_remark: str
    """Text about arguments that cannot be varied or have no effect; empty if there are none."""
    effect_args: list[str]
    """Names of the one or two arguments that the effect sheet varies."""
    effect: bytes
    """Effect sheet of one sample: ``EffectHeader`` and a JPEG."""
    effect_stale: bool
    """True if the effect sheet was rendered for an earlier graph."""
    effect_blocked: str
    """Reason why the effect sheet cannot be rendered; empty if it can."""
    policy_rows: list[int]
    """Indices of the sub-policies that are scrolled into view."""
    policy_pictures: bytes
    """Effect of each sub-policy on one sample: ``PolicyHeader`` and a JPEG."""
    augmentations: dict[str, Any]
    """Augmentations that a policy can use; the value is True if the augmentation has a magnitude."""
    policies: list[str]
    """Names of the learned policies, such as those of AutoAugment."""

class Tabs(Widget):
    """Tab bar of the lower panels."""
    tab: Literal['preview', 'speed', 'code', 'data', 'results']
    """Name of the open panel."""
    work: list[dict[str, Any]]

class Preview(Widget):
    """Preview: a batch of samples, original and augmented."""
    picture: bytes
    """Contact sheet: ``SheetHeader`` and an image."""
    mode: Literal['original', 'augmented', 'both', 'difference', 'compare']
    """Pictures to show: originals, augmented ones, both, differences or a comparison."""
    show_original: bool
    """True while a key is held to show the originals."""
    baseline: str
    """Id of the node that a difference is computed from; empty for the first suitable node."""
    baselines: list[str]
    """Ids of the nodes that a difference can be computed from."""
    against: str
    """Id of the graph to compare the current graph with."""
    comparison_choices: list[dict[str, Any]]
    """Graphs that can be compared with; empty unless the mode is a comparison."""
    comparison: dict[str, Any]
    compared: bytes
    """Contact sheet of the other graph: ``SheetHeader`` and an image."""
    batch: int
    """Index of the batch, from 0."""
    seed: int
    """The graph's seed."""
    pinned: bool
    """True if seed and batch are fixed."""
    repeat: int
    """Index of the photo to repeat in every tile; -1 for none."""
    tiles: int
    """Maximum number of samples shown, 4 to 64."""
    tile_size: int
    """Side of a tile in pixels; 0 for an automatic size."""
    lossless: bool
    """True for a lossless picture, False for JPEG."""
    limits: dict[str, Any]
    """Maximum values of batch and seed."""
    classes: list[str]
    """Class names of the data."""
    shown_classes: list[str]
    """Classes whose samples are shown; empty for all samples."""
    shown_branches: list[str]
    """Block bodies (``branch.then``) whose samples are shown; empty for all samples."""
    shown_augmentations: list[str]
    """Augmentations (``node.name``) whose samples are shown; empty for all samples."""
    stale: str
    """Reason why the picture does not show the current graph; empty if it does."""
    rendering: bool
    """True while the picture still shows the previous graph, because the opened graph is being rendered."""
    fault: dict[str, Any]
    """Fault described by ``stale``, with its fixes; empty if the graph has no fault."""
    retryable: bool
    """True if a retry may help."""
    shuffles: bool
    """True if another seed also selects other photos."""
    verification: dict[str, Any]
    saved_draws: list[dict[str, Any]]
    show_targets: bool
    """True to draw annotations on the pictures."""
    show_statistics: bool
    """True to show statistics."""
    statistics: list[Any]
    statistics_pending: bool
    """True if the statistics are older than the picture."""
    statistics_error: str
    """Reason why there are no statistics; empty if there are."""
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
    """Close-up of a sample: ``CloseupHeader`` and a PNG."""
    compared_closeup: bytes
    """Close-up of the other graph: ``CloseupHeader`` and a PNG; empty without a comparison."""
    values: bytes
    """Pixel values of an image region: ``ValuesHeader`` and the values."""

class Speed(Widget):
    """Speed panel: CPU and mixed decoding, stages, rewrites, tuner, scaling, peers, records."""
    part: Literal['compare', 'stages', 'rewrites', 'tune', 'scaling', 'peers', 'memory', 'records']
    """Name of the open part of the panel."""
    effort: Literal['quick', 'usual']
    """Precision of the measurement. A more precise measurement takes longer."""
    batch_size: int
    """Batch size."""
    threads: int
    """Threads per pipeline."""
    pipelines: int
    """Number of pipelines."""
    running: bool
    """True while a measurement is running."""
    what: str
    """Name of the panel's part that started the running or last measurement."""
    progress: float
    """Progress of the measurement, from 0 to 1."""
    message: str
    """Text about the current or last step of the measurement."""
    failed: bool
    """True if ``message`` is an error."""
    compare: dict[str, Any]
    stages: dict[str, Any]
    rewrites: dict[str, Any]
    tune: dict[str, Any]
    scaling: dict[str, Any]
    peers: dict[str, Any]
    memory: dict[str, Any]
    decoders: dict[str, Any]
    records: list[dict[str, Any]]
    overlay: str
    """Id of the record whose bars are added to a comparison."""
    selected_records: list[str]
    """Ids of the two records to compare."""
    comparison: dict[str, Any]
    limits: dict[str, Any]
    file: bytes
    """File created by ``export``: ``FileHeader`` and the content."""

class Code(Widget):
    """Code panel: the graph as code for a target, updated with every edit."""
    source: str
    """Script that can read any data; empty if the graph has faults."""
    target: str
    """Selected export target."""
    from_top: int
    """Number that changes with each selected target, so that its code is shown from the first line; 0 to show the lines of the selected node."""
    script: dict[str, Any]
    """File created by ``download``."""
    refusals: dict[str, Any]
    """Reason why a target cannot represent the graph, by target; empty until requested."""
    targets: list[dict[str, Any]]
    in_view: bool
    """True while the panel is visible. Code is only sent then."""
    skip_bad: bool
    """True if the code reads a list of files that excludes bad files."""
    files: list[dict[str, Any]]
    """Files of the last export, main file first."""
    highlighted: dict[str, Any]
    """Line numbers, from 1, of the selected node's code, by file name."""
    fault: dict[str, Any]
    """Reason why there is no code."""
    download: bytes
    """The exported file, or a ZIP archive of several files."""
    notes: list[str]
    """Differences between the exported program and the graph."""
    note: str
    """Problems that the exported program would have with this data; empty if there are none."""
    lists_files: bool
    """True once a check of all files has found which files can be used."""
    graph_number: int
    """Number that changes whenever another graph is opened, but not with edits."""
    message: str
    """Path of the saved code, or the reason why it could not be saved."""
    save_folder: str
    """Default folder for saved files."""
    overwrite: dict[str, Any]
    version: dict[str, Any]
    formats: list[str]
    """Formats of dataset versions."""

class Data(Widget):
    """Data panel: counts, sizes, formats, and the result of the file check."""
    summary: dict[str, Any]
    shown_classes: list[str]
    """Classes to which the preview is limited; empty for all classes."""
    folders: dict[str, Any]
    recent_folders: list[str]
    """Recent data folders; filled by ``list_folders``."""
    report: dict[str, Any]
    """Report of the file check as an HTML page."""

class Results(Widget):
    """Results panel: the list of results, and the selected result."""
    entries: list[dict[str, Any]]
    """List of results, newest first."""
    shown: dict[str, Any]
    message: str
    """Reason why a file could not be opened."""

class Status(Widget):
    """Status line: faults, last measured speed of the graph, autosave state."""
    faults: list[dict[str, Any]]
    """Faults and warnings of the graph."""
    speeds: list[dict[str, Any]]
    """Last measured speeds of the current graph; empty if it was not measured."""
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
