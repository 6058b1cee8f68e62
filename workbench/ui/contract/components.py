"""The components: a struct for each, whose fields both hosts and TypeScript are made from.

``ui/notebook/notebook_part.py`` makes traitlets of the fields, ``ui/web.py`` makes params, and
``ui/typescript.py`` types. A component is one ES module, ``frontend/src/<name>.tsx``.

A field has one of four directions:

show      Python sets it, the browser draws it (types in ``payloads.py``).
Both      either side sets it; the last one wins.
Picture   bytes: u32 little-endian header length, a JSON header (``SheetHeader`` and the like), the
          image. Pixels and what they mean travel in one field because Panel does not update several
          atomically.
Python    Python sets it for cells to read and observe; it is not sent.

Besides these every component has those of ``Link``. By two the browser asks for an edit:

``outbox``  list of ``{"n": 1, "do": "set_arg", ...}``, numbered from 1 up; the browser appends,
``ack``     the highest ``n`` that Python has carried out; the browser then drops up to it.

A list with an acknowledgement, and not one field for the last edit, because a host may merge two
quick changes of one field into one. Numbers start at a random high value for each view, so a
reloaded page is not mistaken for an old one (``n`` at or below the last seen of the same
``view`` is ignored). By the others it knows whether Python is there (``page_heartbeat.py``).
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
"""The value before there is one."""

Tab = Literal["preview", "speed", "code", "data"]
Mode = Literal["original", "augmented", "both", "difference", "compare"]
TABS: tuple[Tab, ...] = get_args(Tab)


def _default(value: T) -> T:
    """A default that is a dict."""
    made: T = msgspec.field(default_factory=lambda: value)
    return made


class Fields(msgspec.Struct, kw_only=True):
    """The fields of a component with their defaults; its name is that of the class."""


class Link(Fields):
    """What every component has besides its own."""

    outbox: Both[list[Any]] = []
    """Edits that the browser asks for."""
    ack: int = 0
    """The last of them that was carried out."""
    workbench: str = ""
    """Which workbench the component is a part of."""
    watched: Both[int] = 0
    """A heartbeat: pages that are visible change it repeatedly."""
    beat: int = 0
    """A heartbeat of Python while a page is visible."""


class Bar(Fields):
    """Title, data, device switch, undo and redo, state of the worker, files."""

    title: str = ""
    """Name of the graph."""
    folder: str = ""
    """``samples/ · 96 images``."""
    folders: data_payloads.FolderListing | Empty = {}
    recent_folders: list[str] = []
    """As ``list_folders`` found them."""
    data: payloads.OpenedData | Empty = {}
    device: Both[Literal["cpu", "mixed"]] = "cpu"
    """Where images are decoded."""
    devices: list[payloads.DeviceChoice] = []
    can_undo: bool = False
    """Whether there is an edit to undo."""
    can_redo: bool = False
    """Whether there is an edit to redo."""
    undo_label: str = ""
    """What undo takes back; empty: nothing."""
    redo_label: str = ""
    """What redo makes again; empty: nothing."""
    history: list[payloads.HistoryEntry] = []
    """Undo and redo labels, oldest first; empty while the history is closed."""
    history_in_view: Both[bool] = False
    """Whether the history is looked at."""
    status: payloads.Status | Empty = _default(payloads.Status(state="busy", text="starting"))
    recipes: list[payloads.RecipeEntry] = []
    faults: list[payloads.FaultEntry] = []
    import_report: payloads.ImportEntry | Empty = {}
    message: str = ""
    """What the last action did or why it failed."""
    saved: str = ""
    """The graph's JSON, for the browser to offer as a file."""
    target: str = "script"
    """What the Code panel shows the graph as."""
    unread: list[data_payloads.OtherReading] = []
    """Targets of the data that the graph does not read."""
    refusals: dict[str, str] = {}
    """Targets that cannot hold the graph, and why; empty until asked for."""
    targets: list[payloads.TargetEntry] = []
    save_folder: str = ""
    """Where files with a plain name are saved."""
    overwrite: payloads.OverwriteQuestion | Empty = {}
    shared: bytes = b""
    """The PNG that ``share`` requested; empty until it is ready."""
    tab: str = ""
    """Owner of what is kept (``owner.py``). A page remembers it for its tab and hands it in by
    ``attach`` when it is loaded anew. Empty: nothing is kept, or a notebook is the owner."""
    restored: payloads.RestoredEntry | Empty = {}
    graph_number: int = 0
    """Changes whenever another graph is opened."""
    opened: int = 0
    """Number of the graph that is to be confirmed by ``shown``."""
    recent: list[payloads.RecentEntry] = []
    cell: payloads.CellEntry | Empty = {}


class Canvas(Fields):
    """The nodes and their edges."""

    graph_number: int = 0
    """Number of the opened graph; edits do not change it."""
    nodes: list[payloads.NodeEntry] = []
    edges: list[payloads.EdgeEntry] = []
    breadcrumb: list[payloads.ScopeEntry] = []
    """Blocks from the graph into the body that is shown. Empty: the graph itself is."""
    positions: dict[str, list[float]] = {}
    """Where nodes were put by hand: id (``:name`` for an output) -> [x, y]. Empty: all are laid out
    automatically."""
    frames: list[payloads.FrameEntry] = []
    notes: list[payloads.NoteEntry] = []
    operators: list[payloads.OperatorEntry] = []
    blocks: list[payloads.OperatorEntry] = []
    """The same of blocks."""
    categories: list[str] = []
    """Of operators, in the order of a palette."""
    templates: list[payloads.TemplateEntry] = []
    snippets: list[payloads.TemplateEntry] = []
    """What the person saved."""
    recipes: list[payloads.RecipeLine] = []
    arguments: list[payloads.ArgumentSearchEntry] = []
    """Of the inspected node."""
    unread_masks: bool = False
    """Whether the data have masks that the graph does not read."""
    recent_folders: list[str] = []
    """As ``list_folders`` found them."""
    selected: Both[list[str]] = []
    """Ids of the selected nodes; the last is inspected."""
    fragment: str = ""
    """The selected nodes as text, to be copied."""
    copied_code: payloads.TextFile | Empty = _default(empty(payloads.TextFile))
    """The Python lines that ``copy_code`` requested."""
    connect_targets: payloads.ConnectTargets | Empty = _default(
        payloads.ConnectTargets(source="", reasons={})
    )
    compatible_ops: payloads.CompatibleOps | Empty = _default(
        payloads.CompatibleOps(place="", kind="", reasons={}, tried=[], fixes={})
    )
    pictures: Picture = b""
    """The cards' pictures: ``CardsHeader`` and JPEG."""
    sample: Both[int] = 0
    """Which sample of the batch the cards show, from 0."""
    show_targets: Both[bool] = True
    """Whether targets are drawn over the cards."""
    in_view: Both[bool] = False
    """Whether it is on the screen: only then pictures are made."""
    stale: str = ""
    """Why the pictures are not of the present graph."""
    unchanged: list[str] = []
    """Nodes whose pictures are those of the present graph nevertheless; empty while none is stale.
    """
    detail_of: Both[str] = ""
    """Id of the node that is looked at; empty: none."""
    detail: Picture = b""
    """What it gave: ``DetailHeader`` and picture."""


class Inspector(Fields):
    """The arguments of the selected node."""

    node: inspector_payloads.InspectorView | Empty = {}
    classes: list[str] = []
    """Names of the classes of the data."""
    start: payloads.StartEntry | Empty = {}
    """A recipe to start from. Empty: the graph is the user's own, and has nodes."""
    warnings: list[str] = []
    """Errors of rows and of the node that stop nothing."""
    fused_speed: speed_payloads.FusedSpeedEntry | Empty = {}
    """An if against one operator."""
    shares: preview_payloads.InspectedSharesEntry | Empty = {}
    """How often the bodies of the shown block ran."""
    effect_open: Both[bool] = False
    """Whether the effect of arguments is wanted."""
    effect_choices: list[str] = []
    """Arguments whose effect can be seen."""
    effect_remark: str = ""
    """What cannot be varied, and why; may be empty."""
    effect_args: Both[list[str]] = []
    """The one or two that are varied."""
    effect: Picture = b""
    """One sample varied: ``EffectHeader`` and JPEG."""
    effect_stale: bool = False
    """Whether it is not of the present graph."""
    effect_blocked: str = ""
    """Why it cannot be computed; empty: it can."""
    policy_rows: Both[list[int]] = []
    """Sub-policies on the screen, from 0."""
    policy_pictures: Picture = b""
    """One sample after each: ``PolicyHeader``."""
    augmentations: dict[str, bool] = {}
    """Names that a policy may have: whether they take a magnitude."""
    policies: list[str] = []
    """Names of the learnt policies."""


class Tabs(Fields):
    """Which of the lower panels is open."""

    tab: Both[Tab] = "preview"
    """The open one."""
    work: list[payloads.RunningWork] = []


class Preview(Fields):
    """A batch, original and augmented."""

    picture: Picture = b""
    """The contact sheet: ``SheetHeader`` and image."""
    mode: Both[Mode] = "both"
    """What is shown."""
    show_original: Both[bool] = False
    """Whether the originals are shown while a key is held."""
    baseline: Both[str] = ""
    """Node that a difference compares with; empty: the first."""
    baselines: list[str] = []
    """Nodes that it may compare with."""
    against: Both[str] = "last"
    """What the graph is compared with: an id."""
    comparison_choices: list[preview_payloads.ComparisonChoice] = []
    """What it may be compared with; empty while it is not compared."""
    comparison: preview_payloads.ComparisonEntry | Empty = {}
    compared: Picture = b""
    """The other graph's sheet: ``SheetHeader``, image."""
    batch: Both[int] = 0
    """Index of the batch, from 0."""
    seed: Both[int] = 42
    """The graph's seed."""
    pinned: Both[bool] = False
    """Whether seed and batch stay as they are."""
    repeat: Both[int] = -1
    """Index of the photo that is shown in every tile; -1: none."""
    tiles: Both[int] = 16
    """How many samples are shown, 4 to 64."""
    tile_size: Both[int] = 0
    """Side of a tile in pixels; 0: as it fits."""
    lossless: Both[bool] = False
    """Exact pixels in place of JPEG."""
    limits: dict[str, int] = {}
    """Largest batch and seed."""
    classes: list[str] = []
    """Names of the classes of the data."""
    shown_classes: Both[list[str]] = []
    """Names of the classes whose samples alone are shown; empty: all."""
    shown_branches: Both[list[str]] = []
    """Scopes of the bodies of blocks whose samples alone are shown; empty: all."""
    shown_augmentations: Both[list[str]] = []
    """Keys of the augmentations, node.name, whose samples alone are shown; empty: all."""
    stale: str = ""
    """Why the picture is not of the present graph; empty if it is."""
    rendering: bool = False
    """Whether the picture is of the graph before, and the one of the graph just opened follows."""
    fault: payloads.FaultEntry | Empty = {}
    """What ``stale`` says, with what mends it; empty where that is no fault of the graph."""
    retryable: bool = False
    """Whether trying again may help."""
    shuffles: bool = False
    """Whether another seed also means other photos."""
    verification: preview_payloads.VerifiedEntry | Empty = _default(
        empty(preview_payloads.VerifiedEntry)
    )
    saved_draws: list[preview_payloads.SavedDrawEntry] = []
    show_targets: Both[bool] = True
    """Whether targets are drawn over pictures."""
    show_statistics: Both[bool] = False
    """Whether the statistics are wanted."""
    statistics: list[OutputStatistics] = []
    statistics_pending: bool = False
    """Whether they are of other values than the picture."""
    statistics_error: str = ""
    """Why there are none; empty where nothing went wrong."""
    branch_shares: preview_payloads.BranchSharesEntry | Empty = {}
    """Empty while no statistics are shown."""
    sample: int = 0
    """The one that the cards of the canvas show."""
    marked: Both[list[int]] = []
    """Indices of the marked samples in the batch."""
    selected: Python[SelectedSamples] = SelectedSamples()
    """The samples marked, else the one on the cards: files, labels, draws."""
    closeup: Picture = b""
    """One sample: ``CloseupHeader`` and PNG."""
    compared_closeup: Picture = b""
    """The sample in the other graph: ``CloseupHeader`` and PNG; empty: not compared."""
    values: Picture = b""
    """``ValuesHeader`` and the values of a region."""


class Speed(Fields):
    """The speed lab: CPU against mixed, stages, rewrites, tuner, scaling, peers, records."""

    part: Both[speed_payloads.SpeedPart] = "compare"
    """Which part is open."""
    effort: Both[speed_payloads.Effort] = "usual"
    """Precision of the measurement."""
    batch_size: Both[int] = 64
    """Samples in a batch."""
    threads: Both[int] = 4
    """Threads of a pipeline."""
    pipelines: Both[int] = 1
    """Pipelines side by side."""
    running: bool = False
    """Whether a measurement runs."""
    what: str = ""
    """The part that it is of, or that the last one was of."""
    progress: float = 0.0
    """0 to 1."""
    message: str = ""
    """The running step, or the last one."""
    failed: bool = False
    """Whether the message is an error."""
    compare: speed_payloads.CompareView | Empty = {}
    stages: speed_payloads.StagesView | Empty = {}
    rewrites: speed_payloads.RewritesView | Empty = {}
    tune: speed_payloads.TuneView | Empty = {}
    scaling: speed_payloads.ScalingView | Empty = {}
    peers: speed_payloads.CompareView | Empty = {}
    records: list[speed_payloads.RecordEntry] = []
    overlay: Both[str] = ""
    """Record whose bars are shown in a comparison."""
    selected_records: Both[list[str]] = []
    """Two records, to be set side by side."""
    comparison: speed_payloads.ComparisonView | Empty = {}
    limits: speed_payloads.SpeedLimits | Empty = {}
    file: Picture = b""
    """``FileHeader`` and a file that ``export`` made."""


class Code(Fields):
    """The graph as code for a target, live."""

    source: Python[str] = ""
    """The script for any data; empty: the graph has faults."""
    target: Both[str] = "script"
    """What the graph is shown as."""
    from_top: int = 1
    """Another number with each choice of a target, whose code is then shown from its top; 0 once a
    node is selected, whose lines are then shown."""
    script: payloads.TextFile | Empty = {}
    """What ``download`` made."""
    refusals: dict[str, str] = {}
    """As the bar's."""
    targets: list[payloads.TargetEntry] = []
    in_view: Both[bool] = False
    """Whether it is on the screen: only then it is sent."""
    skip_bad: Both[bool] = False
    """Whether the code reads a list of the good files."""
    files: list[payloads.CodeFile] = []
    """What the target last gave, the main file first."""
    highlighted: dict[str, list[int]] = {}
    """File -> line numbers, from 1, that the selected node made."""
    fault: payloads.CodeFault | Empty = {}
    """Where there is one, there are no files."""
    download: bytes = b""
    """The file to download, or a ZIP of several."""
    notes: list[str] = []
    """What the files do otherwise than the graph."""
    note: str = ""
    """What running the code on these data meets, or empty."""
    lists_files: bool = False
    """Whether a check has determined which files can be used."""
    graph_number: int = 0
    """As the bar's."""
    message: str = ""
    """Where it was saved, or why not."""
    save_folder: str = ""
    """Where files with a plain name are saved."""
    overwrite: payloads.OverwriteQuestion | Empty = {}


class Data(Fields):
    """The data set: counts, sizes, formats, and the result of a check of its files."""

    summary: data_payloads.DataView | Empty = {}
    shown_classes: list[str] = []
    """As the preview's."""
    folders: data_payloads.FolderListing | Empty = {}
    recent_folders: list[str] = []
    """As ``list_folders`` found them."""
    report: payloads.TextFile | Empty = _default(empty(payloads.TextFile))
    """The report of a check, a web page."""


class Status(Fields):
    """The line below: faults, the last measured speed of the graph, whether edits are kept."""

    faults: list[payloads.FaultEntry] = []
    """As the bar's."""
    speeds: list[payloads.LastSpeed] = []
    """Of this very graph; empty: none."""
    kept: payloads.KeptState | Empty = {}


# What the hosts and the generator of TypeScript make of a struct.


@dataclass(frozen=True, slots=True)
class Field:
    """One synchronised field."""

    name: str
    direction: Direction
    default: Any
    doc: str
    type: Any

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that it may have; empty: any of its type."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()


@dataclass(frozen=True, slots=True)
class Component:
    """One component: an ES module of the same name, and its fields."""

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
    """Class -> field -> the text below the field in this module."""
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
    Bar, Canvas, Inspector, Tabs, Preview, Speed, Code, Data, Status,
)  # fmt: skip
COMPONENTS = tuple(map(_component, _STRUCTS))
LINK_FIELDS = _component(Link).fields

STATIC = Path(__file__).parents[1] / "static"


def bundle_path(component: Component) -> Path:
    """The component's bundle. Raises WorkbenchError where the front end was not built."""
    path = STATIC / f"{component.name}.js"
    if not path.is_file():
        raise WorkbenchError(
            f"{path} is missing: the front end was not built. Install the package again "
            "(pip install -e .), or run `npm ci && npm run build` in workbench/ui/frontend."
        )
    return path
