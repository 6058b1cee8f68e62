"""Fields of each component, from which classes for both hosts and TypeScript types are created.

From the fields, ``ui/notebook/notebook_part.py`` creates traitlets, ``ui/web.py`` params, and
``ui/typescript.py`` types. A component is one ES module, ``frontend/src/<name>.tsx``.

A field has one of four directions:

show      set by Python, rendered by the browser (types in ``payloads.py``).
Both      set by either side; the last value wins.
Picture   bytes: u32 little-endian header length, a JSON header (``SheetHeader`` and others), the
          image. Pixels and metadata are in one field because Panel does not update several
          fields atomically.
Python    set by Python for notebook cells to read and observe; not sent to the browser.

All components also have the fields of ``Link``. Two of them carry requests for edits:

``outbox``  list of ``{"n": 1, "do": "set_arg", ...}``, numbered from 1; the browser appends,
``ack``     the highest ``n`` that Python has applied; the browser then removes entries up to it.

Requests are an acknowledged list, not one field, because a host may merge two quick changes of a
field into one. Numbers start at a random high value for each rendered view, so a reloaded page is
not mistaken for an old one: an entry is ignored if its ``n`` is at or below the last one of the
same ``view``. The other fields tell the browser whether Python is alive (``page_heartbeat.py``).
"""

from __future__ import annotations

import ast
import inspect
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Never, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from workbench.errors import WorkbenchError
from workbench.preview.requests.statistics import OutputStatistics
from workbench.ui.contract import (
    data_payloads,
    inspector_payloads,
    payloads,
    preview_payloads,
    results_payloads,
    speed_payloads,
)
from workbench.ui.contract.encoding import empty
from workbench.ui.contract.selected_samples import SelectedSamples

T = TypeVar("T")
Direction = Literal["show", "both", "picture", "python"]
Both = Annotated[T, "both"]
Python = Annotated[T, "python"]
Picture = Annotated[bytes, "picture"]
Empty = dict[str, Never]
"""Type of a payload that is not set: an empty dict."""

Tab = Literal["preview", "speed", "code", "data", "results"]
Mode = Literal["original", "augmented", "both", "difference", "compare"]
TABS: tuple[Tab, ...] = get_args(Tab)


def _default(value: T) -> T:
    made: T = msgspec.field(default_factory=lambda: value)
    return made


class Fields(msgspec.Struct, kw_only=True):
    """Base class of a component's fields. The component is named after the class."""


class Link(Fields):
    """Base class of the fields that link every component to the workbench."""

    outbox: Both[list[Any]] = []
    """Edits requested by the browser."""
    ack: int = 0
    """Number of the last edit that was applied."""
    workbench: str = ""
    """Id of the workbench that the component belongs to."""
    watched: Both[int] = 0
    """Number that visible pages change regularly to request heartbeats."""
    beat: int = 0
    """Number that Python changes regularly while a page is visible."""


class Bar(Fields):
    """Top bar: title, data, device, undo and redo, state of the worker, and files."""

    title: str = ""
    """Name of the graph."""
    folder: str = ""
    """Name and size of the data: ``samples/ · 96 images``."""
    folders: data_payloads.FolderListing | Empty = {}
    recent_folders: list[str] = []
    """Recent data folders; filled by ``list_folders``."""
    data: payloads.OpenedData | Empty = {}
    device: Both[Literal["cpu", "mixed"]] = "cpu"
    """Decoding device."""
    devices: list[payloads.DeviceChoice] = []
    can_undo: bool = False
    """True if there is an edit to undo."""
    can_redo: bool = False
    """True if there is an edit to redo."""
    undo_label: str = ""
    """Label of the edit to undo; empty if there is none."""
    redo_label: str = ""
    """Label of the edit to redo; empty if there is none."""
    history: list[payloads.HistoryEntry] = []
    """Undo and redo labels, oldest first; empty while the history is not displayed."""
    history_in_view: Both[bool] = False
    """True while the history is displayed."""
    status: payloads.Status | Empty = _default(payloads.Status(state="busy", text="starting"))
    recipes: list[payloads.RecipeEntry] = []
    faults: list[payloads.FaultEntry] = []
    import_report: payloads.ImportEntry | Empty = {}
    message: str = ""
    """Result or error of the last action."""
    saved: str = ""
    """The graph as JSON, for download."""
    target: str = "script"
    """Export target selected in the Code panel."""
    unread: list[data_payloads.UnreadAnnotations] = []
    """Annotations in the data that the graph does not read."""
    refusals: dict[str, str] = {}
    """Reason why a target cannot represent the graph, by target; empty until requested."""
    targets: list[payloads.TargetEntry] = []
    save_folder: str = ""
    """Default folder for saved files."""
    overwrite: payloads.OverwriteQuestion | Empty = {}
    shared: bytes = b""
    """Picture requested by ``share``, as PNG; empty until it is ready."""
    tab: str = ""
    """Owner of the stored session (``owner.py``). A page stores it for its tab and sends it with
    ``attach`` after a reload. Empty if nothing is stored, or if the owner is a notebook cell.
    """
    restored: payloads.RestoredEntry | Empty = {}
    graph_number: int = 0
    """Number that changes whenever another graph is opened."""
    opened: int = 0
    """Number of the opened graph, which the page must report with ``shown`` once it is rendered."""
    recent: list[payloads.RecentEntry] = []
    cell: payloads.CellEntry | Empty = {}


class Canvas(Fields):
    """Canvas: the nodes and edges of the graph."""

    graph_number: int = 0
    """Number that changes whenever another graph is opened, but not with edits."""
    nodes: list[payloads.NodeEntry] = []
    edges: list[payloads.EdgeEntry] = []
    breadcrumb: list[payloads.ScopeEntry] = []
    """Blocks that contain the visible body, outermost first; empty for the whole graph."""
    positions: dict[str, list[float]] = {}
    """Manual position [x, y] by node id (``:name`` for an output); empty for automatic layout."""
    frames: list[payloads.FrameEntry] = []
    notes: list[payloads.NoteEntry] = []
    operators: list[payloads.OperatorEntry] = []
    blocks: list[payloads.OperatorEntry] = []
    """Blocks that can be added."""
    categories: list[str] = []
    """Categories of operators in the order of the palette."""
    templates: list[payloads.TemplateEntry] = []
    snippets: list[payloads.TemplateEntry] = []
    """Snippets saved by the user."""
    recipes: list[payloads.RecipeLine] = []
    arguments: list[payloads.ArgumentSearchEntry] = []
    """Arguments of the inspected node."""
    unread_masks: bool = False
    """True if the data set has masks that the graph does not read."""
    recent_folders: list[str] = []
    """Recent data folders; filled by ``list_folders``."""
    selected: Both[list[str]] = []
    """Ids of the selected nodes. The inspector shows the last."""
    fragment: str = ""
    """Text form of the selected nodes, to be copied."""
    copied_code: payloads.TextFile | Empty = _default(empty(payloads.TextFile))
    """Python code requested by ``copy_code``."""
    connect_targets: payloads.ConnectTargets | Empty = _default(
        payloads.ConnectTargets(source="", reasons={})
    )
    compatible_ops: payloads.CompatibleOps | Empty = _default(
        payloads.CompatibleOps(place="", kind="", reasons={}, tried=[], fixes={})
    )
    pictures: Picture = b""
    """Pictures on the node cards: ``CardsHeader`` and a JPEG."""
    sample: Both[int] = 0
    """Index in the batch of the sample shown on the cards."""
    show_targets: Both[bool] = True
    """True to draw annotations on the node cards."""
    in_view: Both[bool] = False
    """True while the canvas is visible. Pictures are only computed then."""
    stale: str = ""
    """Reason why the pictures do not show the current graph; empty if they do."""
    unchanged: list[str] = []
    """Ids of the nodes whose pictures are still up to date while ``stale`` is set."""
    detail_of: Both[str] = ""
    """Id of the node whose output is shown in detail; empty for none."""
    detail: Picture = b""
    """Output of node ``detail_of``: ``DetailHeader`` and an image."""


class Inspector(Fields):
    """Inspector: the arguments of the selected node."""

    node: inspector_payloads.InspectorView | Empty = {}
    classes: list[str] = []
    """Class names of the data."""
    start: payloads.StartEntry | Empty = {}
    """Recipe to start from; empty once the user has opened a graph with nodes."""
    warnings: list[str] = []
    """Warnings about the node and its arguments, which do not stop the graph."""
    fused_speed: speed_payloads.FusedSpeedEntry | Empty = {}
    """Speed of the ``if`` block, and of the single operator that could replace it."""
    shares: preview_payloads.InspectedSharesEntry | Empty = {}
    """How often each body of the inspected block ran."""
    effect_open: Both[bool] = False
    """True while the effect sheet is open."""
    effect_choices: list[str] = []
    """Arguments that the effect sheet can vary."""
    effect_remark: str = ""
    """Text about arguments that cannot be varied or have no effect; empty if there are none."""
    effect_args: Both[list[str]] = []
    """Names of the one or two arguments that the effect sheet varies."""
    effect: Picture = b""
    """Effect sheet of one sample: ``EffectHeader`` and a JPEG."""
    effect_stale: bool = False
    """True if the effect sheet was rendered for an earlier graph."""
    effect_blocked: str = ""
    """Reason why the effect sheet cannot be rendered; empty if it can."""
    policy_rows: Both[list[int]] = []
    """Indices of the sub-policies that are scrolled into view."""
    policy_pictures: Picture = b""
    """Effect of each sub-policy on one sample: ``PolicyHeader`` and a JPEG."""
    augmentations: dict[str, bool] = {}
    """Augmentations that a policy can use; the value is True if the augmentation has a magnitude.
    """
    policies: list[str] = []
    """Names of the learned policies, such as those of AutoAugment."""


class Tabs(Fields):
    """Tab bar of the lower panels."""

    tab: Both[Tab] = "preview"
    """Name of the open panel."""
    work: list[payloads.RunningWork] = []


class Preview(Fields):
    """Preview: a batch of samples, original and augmented."""

    picture: Picture = b""
    """Contact sheet: ``SheetHeader`` and an image."""
    mode: Both[Mode] = "both"
    """Pictures to show: originals, augmented ones, both, differences or a comparison."""
    show_original: Both[bool] = False
    """True while a key is held to show the originals."""
    baseline: Both[str] = ""
    """Id of the node that a difference is computed from; empty for the first suitable node."""
    baselines: list[str] = []
    """Ids of the nodes that a difference can be computed from."""
    against: Both[str] = "last"
    """Id of the graph to compare the current graph with."""
    comparison_choices: list[preview_payloads.ComparisonChoice] = []
    """Graphs that can be compared with; empty unless the mode is a comparison."""
    comparison: preview_payloads.ComparisonEntry | Empty = {}
    compared: Picture = b""
    """Contact sheet of the other graph: ``SheetHeader`` and an image."""
    batch: Both[int] = 0
    """Index of the batch, from 0."""
    seed: Both[int] = 42
    """The graph's seed."""
    pinned: Both[bool] = False
    """True if seed and batch are fixed."""
    repeat: Both[int] = -1
    """Index of the photo to repeat in every tile; -1 for none."""
    tiles: Both[int] = 16
    """Maximum number of samples shown, 4 to 64."""
    tile_size: Both[int] = 0
    """Side of a tile in pixels; 0 for an automatic size."""
    lossless: Both[bool] = False
    """True for a lossless picture, False for JPEG."""
    limits: dict[str, int] = {}
    """Maximum values of batch and seed."""
    classes: list[str] = []
    """Class names of the data."""
    shown_classes: Both[list[str]] = []
    """Classes whose samples are shown; empty for all samples."""
    shown_branches: Both[list[str]] = []
    """Block bodies (``branch.then``) whose samples are shown; empty for all samples."""
    shown_augmentations: Both[list[str]] = []
    """Augmentations (``node.name``) whose samples are shown; empty for all samples."""
    stale: str = ""
    """Reason why the picture does not show the current graph; empty if it does."""
    rendering: bool = False
    """True while the picture still shows the previous graph, because the opened graph is being
    rendered.
    """
    fault: payloads.FaultEntry | Empty = {}
    """Fault described by ``stale``, with its fixes; empty if the graph has no fault."""
    retryable: bool = False
    """True if a retry may help."""
    shuffles: bool = False
    """True if another seed also selects other photos."""
    verification: preview_payloads.VerifiedEntry | Empty = _default(
        empty(preview_payloads.VerifiedEntry)
    )
    saved_draws: list[preview_payloads.SavedSampleEntry] = []
    show_targets: Both[bool] = True
    """True to draw annotations on the pictures."""
    show_statistics: Both[bool] = False
    """True to show statistics."""
    statistics: list[OutputStatistics] = []
    statistics_pending: bool = False
    """True if the statistics are older than the picture."""
    statistics_error: str = ""
    """Reason why there are no statistics; empty if there are."""
    branch_shares: preview_payloads.BranchSharesEntry | Empty = {}
    """How often each block body ran; empty unless statistics are shown."""
    sample: int = 0
    """Index in the batch of the sample shown on the cards of the canvas."""
    marked: Both[list[int]] = []
    """Indices in the batch of the marked samples."""
    selected: Python[SelectedSamples] = SelectedSamples()
    """Files, labels and random values of the marked samples, or of the sample on the cards if no
    sample is marked.
    """
    closeup: Picture = b""
    """Close-up of a sample: ``CloseupHeader`` and a PNG."""
    compared_closeup: Picture = b""
    """Close-up of the other graph: ``CloseupHeader`` and a PNG; empty without a comparison."""
    values: Picture = b""
    """Pixel values of an image region: ``ValuesHeader`` and the values."""


class Speed(Fields):
    """Speed panel: CPU and mixed decoding, stages, rewrites, tuner, scaling, peers, records."""

    part: Both[speed_payloads.SpeedPart] = "compare"
    """Name of the open part of the panel."""
    effort: Both[speed_payloads.Effort] = "usual"
    """Precision of the measurement. A more precise measurement takes longer."""
    batch_size: Both[int] = 64
    """Batch size."""
    threads: Both[int] = 4
    """Threads per pipeline."""
    pipelines: Both[int] = 1
    """Number of pipelines."""
    running: bool = False
    """True while a measurement is running."""
    what: str = ""
    """Name of the panel's part that started the running or last measurement."""
    progress: float = 0.0
    """Progress of the measurement, from 0 to 1."""
    message: str = ""
    """Text about the current or last step of the measurement."""
    failed: bool = False
    """True if ``message`` is an error."""
    compare: speed_payloads.CompareView | Empty = {}
    stages: speed_payloads.StagesView | Empty = {}
    rewrites: speed_payloads.RewritesView | Empty = {}
    tune: speed_payloads.TuneView | Empty = {}
    scaling: speed_payloads.ScalingView | Empty = {}
    peers: speed_payloads.CompareView | Empty = {}
    memory: speed_payloads.PredictionView | Empty = {}
    decoders: speed_payloads.PredictionView | Empty = {}
    records: list[speed_payloads.RecordEntry] = []
    overlay: Both[str] = ""
    """Id of the record whose bars are added to a comparison."""
    selected_records: Both[list[str]] = []
    """Ids of the two records to compare."""
    comparison: speed_payloads.ComparisonView | Empty = {}
    limits: speed_payloads.SpeedLimits | Empty = {}
    file: Picture = b""
    """File created by ``export``: ``FileHeader`` and the content."""


class Code(Fields):
    """Code panel: the graph as code for a target, updated with every edit."""

    source: Python[str] = ""
    """Script that can read any data; empty if the graph has faults."""
    target: Both[str] = "script"
    """Selected export target."""
    from_top: int = 1
    """Number that changes with each selected target, so that its code is shown from the first line;
    0 to show the lines of the selected node.
    """
    script: payloads.TextFile | Empty = {}
    """File created by ``download``."""
    refusals: dict[str, str] = {}
    """Reason why a target cannot represent the graph, by target; empty until requested."""
    targets: list[payloads.TargetEntry] = []
    in_view: Both[bool] = False
    """True while the panel is visible. Code is only sent then."""
    skip_bad: Both[bool] = False
    """True if the code reads a list of files that excludes bad files."""
    files: list[payloads.CodeFile] = []
    """Files of the last export, main file first."""
    highlighted: dict[str, list[int]] = {}
    """Line numbers, from 1, of the selected node's code, by file name."""
    fault: payloads.CodeFault | Empty = {}
    """Reason why there is no code."""
    download: bytes = b""
    """The exported file, or a ZIP archive of several files."""
    notes: list[str] = []
    """Differences between the exported program and the graph."""
    note: str = ""
    """Problems that the exported program would have with this data; empty if there are none."""
    lists_files: bool = False
    """True once a check of all files has found which files can be used."""
    graph_number: int = 0
    """Number that changes whenever another graph is opened, but not with edits."""
    message: str = ""
    """Path of the saved code, or the reason why it could not be saved."""
    save_folder: str = ""
    """Default folder for saved files."""
    overwrite: payloads.OverwriteQuestion | Empty = {}
    version: payloads.VersionEntry | Empty = {}
    formats: list[str] = []
    """Formats of dataset versions."""


class Data(Fields):
    """Data panel: counts, sizes, formats, and the result of the file check."""

    summary: data_payloads.DataView | Empty = {}
    shown_classes: list[str] = []
    """Classes to which the preview is limited; empty for all classes."""
    folders: data_payloads.FolderListing | Empty = {}
    recent_folders: list[str] = []
    """Recent data folders; filled by ``list_folders``."""
    report: payloads.TextFile | Empty = _default(empty(payloads.TextFile))
    """Report of the file check as an HTML page."""


class Results(Fields):
    """Results panel: the list of results, and the selected result."""

    entries: list[results_payloads.ResultEntry] = []
    """List of results, newest first."""
    shown: results_payloads.ShownResult | Empty = {}
    message: str = ""
    """Reason why a file could not be opened."""


class Status(Fields):
    """Status line: faults, last measured speed of the graph, autosave state."""

    faults: list[payloads.FaultEntry] = []
    """Faults and warnings of the graph."""
    speeds: list[payloads.LastSpeed] = []
    """Last measured speeds of the current graph; empty if it was not measured."""
    kept: payloads.AutosaveState | Empty = {}


# Conversion of structs for the hosts and TypeScript


@dataclass(frozen=True, slots=True)
class Field:
    """One synchronised field of a component."""

    name: str
    direction: Direction
    default: Any
    doc: str
    type: Any

    @property
    def choices(self) -> tuple[str, ...]:
        """Allowed values of the field; empty if any value of its type is allowed."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()


@dataclass(frozen=True, slots=True)
class Component:
    """One component: its fields and the name of its ES module."""

    name: str
    doc: str
    fields: tuple[Field, ...]


def _component(struct: type[Fields]) -> Component:
    found, defaults, docs = [], struct(), _field_docs()[struct.__name__]
    for name, hint in get_type_hints(struct, include_extras=True).items():
        kind, direction = get_args(hint) if get_origin(hint) is Annotated else (hint, "show")
        found.append(Field(name, direction, getattr(defaults, name), docs.get(name, ""), kind))
    return Component(struct.__name__.lower(), inspect.getdoc(struct) or "", tuple(found))


@cache
def _field_docs() -> dict[str, dict[str, str]]:
    """Return the docstrings of the fields in this module, by class name and field name."""
    module = ast.parse(inspect.getsource(sys.modules[__name__]))
    docs: dict[str, dict[str, str]] = {}
    for made in module.body:
        if isinstance(made, ast.ClassDef):
            known = docs[made.name] = {}
            for statement, below in zip(made.body, made.body[1:], strict=False):
                match statement, below:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(text))),
                    ):
                        known[name] = " ".join(text.split())
    return docs


_STRUCTS: tuple[type[Fields], ...] = (
    Bar, Canvas, Inspector, Tabs, Preview, Speed, Code, Data, Results, Status,
)  # fmt: skip
COMPONENTS = tuple(map(_component, _STRUCTS))
LINK_FIELDS = _component(Link).fields

STATIC = Path(__file__).parents[1] / "static"


def bundle_path(component: Component) -> Path:
    """Return the path of the component's bundle.

    Raises WorkbenchError if the front end is not built.
    """
    path = STATIC / f"{component.name}.js"
    if not path.is_file():
        raise WorkbenchError(
            f"{path} is missing: the front end was not built. Install the package again "
            "(pip install -e .), or run `npm ci && npm run build` in workbench/ui/frontend."
        )
    return path
