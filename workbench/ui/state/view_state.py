"""What the view-model holds besides the history, and what is known of a graph before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from workbench.catalog.extra_operators.auto_augment import AUTO_AUGMENT
from workbench.catalog.spec import Catalog
from workbench.emit.core.code import Code
from workbench.emit.script import script_of
from workbench.engine.resources.machine import Machine
from workbench.engine.resources.missing_gpu import gpu_faults, on_cpu
from workbench.engine.resources.root_guard import NAMED_IN_DATA, located_paths
from workbench.errors import OUTSIDE, DataError, WorkbenchError, WorkerLostError
from workbench.graph.edits.edit import chain, is_movable, set_arg
from workbench.graph.fixes import Fix, fixes
from workbench.graph.model import Graph, Port, block_of
from workbench.graph.model.faults import DATA_WARNINGS, Fault
from workbench.graph.model.node_order import ancestors
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.snippets import Snippet
from workbench.graph.storage.layout import Document
from workbench.graph.types.tensor_type import type_text
from workbench.graph.types.typed_graph import TypedGraph
from workbench.preview import PreviewRequest, PreviewResult
from workbench.roots import Roots
from workbench.sources import DataFacts, Datasets
from workbench.ui.contract.encoding import empty
from workbench.ui.contract.payloads import (
    CompatibleOps,
    ConnectTargets,
    OverwriteQuestion,
    TextFile,
)
from workbench.ui.inspector.argument_rows import random_view
from workbench.ui.state.closeup import CloseupSample

Mode = Literal["original", "augmented", "both", "difference", "compare"]
_SHOWN = {"compare": "augmented"}
"""What is shown of the present graph itself, where that is not called as the mode."""
MOST_BATCH = 999
"""The reader runs through every batch before the one that is shown: some seconds for a thousand."""
MOST_COUNTED = 10_000
"""Batches over which branches are counted: some seconds where draws decide."""
MOST_TILES = 64
FILTERED_TILE = 160
"""Pixels of a tile's side where some samples alone are shown, out of ``MOST_TILES``."""
MOST_TILE = 512
"""Pixels of a tile's side."""
MOST_FIXED = 20
"""Faults for which remedies are looked for: each is tried out on the graph."""
MOST_TRIED = 4000
"""Nodes that are checked anew for remedies, in all graphs in which they are tried out: a large
graph gets fewer remedies, so that the time for them does not grow with its square."""


@dataclass(frozen=True)
class Checked:
    """A graph, why it cannot run here, and its script where it is sound.

    A graph that is sound and wants a GPU that is not here has a fault and a script.
    """

    whole: ResolvedGraph
    running: ResolvedGraph
    """What of it runs, without muted and loose nodes. It may have faults."""
    faults: tuple[Fault, ...]
    loose_faults: tuple[Fault, ...]
    """Of nodes that no output depends on: they stop nothing."""
    sound: bool
    flows: dict[Port, str]
    """What each output port will give, as far as it is known without running."""
    fixes: Mapping[Fault, tuple[Fix, ...]]
    """What can be done about a fault, those of loose nodes included."""

    @cached_property
    def source(self) -> Code | None:
        """The script of a sound graph, written once it is asked for: a picture does not wait."""
        return script_of(self.running) if self.sound else None

    @property
    def graph(self) -> Graph:
        """All of the graph."""
        return self.whole.graph

    @property
    def active(self) -> Graph:
        """The graph without muted and loose nodes."""
        return self.running.graph


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the last request gave no picture; ``dead`` where the worker process ended."""

    faults: tuple[Fault]
    dead: bool
    fixes: tuple[Fix, ...] = ()
    """What can be done about it, in the graph ``of``."""
    of: Graph | None = None


@dataclass(slots=True)
class ViewState:
    """One screen. The graph in ``checked`` is the history's present one."""

    checked: Checked
    selected: list[str] = field(default_factory=list)
    """Ids of the selected nodes; the last is inspected."""
    scope: str = ""
    """The body that the canvas shows; empty: the graph itself."""
    connect_targets: ConnectTargets = field(default_factory=lambda: empty(ConnectTargets))
    compatible_ops: CompatibleOps = field(default_factory=lambda: empty(CompatibleOps))
    compatible_ops_of: tuple[Graph, str, str, str] | None = None
    """Graph, scope, action and place that they are about."""
    recent_folders: list[str] = field(default_factory=list)
    tab: str = "preview"
    speed_part: str = "compare"
    """The open part of the speed panel, as it is kept with the session."""
    mode: Mode = "both"
    batch: int = 0
    tiles: int = 16
    tile_size: int = 0
    """Side of a tile in pixels; 0: as many as look good."""
    show_original: bool = False
    """Whether the originals are shown while a key is held."""
    baseline: str = ""
    """Id of the node that a difference compares with; empty: the first that fits."""
    baselines: list[str] = field(default_factory=list)
    """The nodes that it may compare with; empty while no difference is shown."""
    against: str = "last"
    """What is compared with: the id of a choice of ``ComparedGraphs``."""
    lossless: bool = False
    repeat: int = -1
    """The photo at this place of the batch is to stand at every place; -1: each at its own."""
    shown_classes: list[str] = field(default_factory=list)
    """Names of the classes whose samples alone are shown; empty: all."""
    shown_branches: list[str] = field(default_factory=list)
    """Scopes of the bodies whose samples alone are shown; see ``present_shown_branches``."""
    shown_augmentations: list[str] = field(default_factory=list)
    """Keys of the augmentations whose samples alone are shown; see
    ``present_shown_augmentations``."""
    pinned: bool = False
    """Whether seed and batch stay as they are."""
    show_statistics: bool = False
    """Whether the statistics of the batch are wanted."""
    show_targets: bool = True
    """Whether targets are drawn over pictures and cards."""
    branch_batches: int | None = None
    """Over how many batches branches are counted; None: as many as are usual."""
    closeup: CloseupSample | None = None
    probe: tuple[int, int] | None = None
    """The pixel (x, y) of the close-up about which the values are wanted."""
    sample: int = 0
    """The one that the cards of the canvas show."""
    marked: list[int] = field(default_factory=list)
    """Places in the batch of the samples that are marked in the preview."""
    canvas_in_view: bool = False
    """Whether the canvas is on the screen."""
    detail_of: str = ""
    """Id of the node whose outputs are looked at; empty: none."""
    effect_open: bool = False
    """Whether the effect of arguments of the inspected node is wanted."""
    effect_args: list[str] = field(default_factory=list)
    """The one or two that are varied, of nodes that have them; else the first of a node."""
    policy_rows: list[int] = field(default_factory=list)
    """The sub-policies of the inspected node that are on the screen."""
    history_in_view: bool = False
    """Whether the list of steps is on the screen."""
    message: str = ""
    code_message: str = ""
    preview: PreviewResult | None = None
    """The last picture of the open data."""
    pictured: int = 0
    """Number of the graph (``History.opens``) that ``preview`` is of."""
    started: bool = False
    """Whether there was a picture, of these or other data."""
    picture: bytes = b""
    warnings: tuple[Fault, ...] = ()
    """What ``warnings_before_run`` found."""
    failure: Failure | None = None
    slow: bool = True
    silent: bool = False
    """Whether the worker gives no sign of life."""
    making: str = ""
    """What is being made of a graph that takes long to build."""
    waits_for: str = ""
    """What memory a worker that is to start waits for."""
    target: str = "script"
    """What the code panel shows the graph as."""
    refusals: dict[str, str] = field(default_factory=dict)
    """Targets that cannot hold the graph of ``refusals_of``, and why."""
    refusals_of: Checked | None = None
    target_number: int = 1
    """One more with each choice of a target."""
    code_from_top: bool = True
    """Whether no node was selected since a graph was opened or a target chosen."""
    unread: Fault | None = None
    """Why the graph cannot read the data that are open."""
    unread_fixes: tuple[Fix, ...] = ()
    """Fixes for ``unread``."""
    code_in_view: bool = False
    """Whether the code is on the screen."""
    skip_bad: bool = False
    """Whether the code reads a list of the files that the last check found good."""
    shared: bytes = b""
    """The picture to share, of ``shared_of``."""
    shared_of: Document | None = None
    snippets: tuple[Snippet, ...] = ()
    """Those that the person saved."""
    copied_code: TextFile = field(default_factory=lambda: empty(TextFile))
    """The lines that were last asked for, to be put onto the clipboard."""
    script: TextFile = field(default_factory=lambda: empty(TextFile))
    """The last that was to be downloaded."""
    overwrite: dict[str, OverwriteQuestion] = field(default_factory=dict)
    """What the bar and the code panel ask before they overwrite a file."""
    savable: tuple[object, ...] = ()
    """Graph, target and data that ``code_message`` and ``overwrite`` are about."""

    @property
    def present_shown_branches(self) -> tuple[str, ...]:
        """Those of ``shown_branches`` that the graph which runs has; empty: all are shown."""
        whole = self.checked.active
        return tuple(
            scope
            for scope in self.shown_branches
            if whole.has(block := block_of(scope))
            and scope.removeprefix(f"{block}.") in whole.node(block).bodies
        )

    @property
    def present_shown_augmentations(self) -> tuple[str, ...]:
        """Those of ``shown_augmentations`` whose node runs; empty: all are shown."""
        whole = self.checked.active
        return tuple(
            key
            for key in self.shown_augmentations
            if whole.has(node := key.rpartition(".")[0]) and whole.node(node).op in AUTO_AUGMENT
        )

    @property
    def is_filtered(self) -> bool:
        """Whether samples of some classes, branches or augmentations alone are shown."""
        return bool(
            self.shown_classes or self.present_shown_branches or self.present_shown_augmentations
        )

    def tell(self, component: str, said: str) -> None:
        """Let the user read what became of an action of a component."""
        if component == "code":
            self.code_message = said
        else:
            self.message = said

    def follow_savable(self, *present: object) -> None:
        """Clear what was said and asked about a file if it is about another graph or target."""
        before, self.savable = self.savable, present
        if before and any(old is not new for old, new in zip(before, present, strict=True)):
            self.code_message, self.overwrite = "", {}

    def show(self, sample: int) -> None:
        """Show enough tiles to see a sample."""
        self.tiles = min(MOST_TILES, max(self.tiles, sample + 1))

    def repeated(self, batch_size: int) -> int | None:
        """Index of the sample that is repeated in the whole batch; None if the batch is smaller."""
        return self.repeat if 0 <= self.repeat < batch_size else None

    @property
    def inspected(self) -> str:
        """Id of the node in the inspector, or empty."""
        return self.selected[-1] if self.selected else ""


def check_before_run(
    graph: Graph, catalog: Catalog, machine: Machine, roots: Roots | None = None
) -> Checked:
    """Every fault of a graph, the lack of a GPU and files outside the roots included."""
    whole = ResolvedGraph(graph, catalog)
    faults, loose, running = whole.stopping_faults, whole.loose_faults, whole.running
    if roots is not None:
        faults = (*faults, *root_faults(running.graph, roots))
    sound = not faults
    if sound and graph.settings.device == "mixed" and machine.no_gpu:
        reason = f"images are decoded on the GPU (mixed), and {machine.no_gpu}"
        faults = (Fault("", "device", reason, "Choose CPU to preview here."),)
    elif sound:
        faults = tuple(gpu_faults(running, machine))
    types = {**whole.types, **running.types}
    flows = {port: type_text(flow) for port, flow in types.items()}
    fixed = min(MOST_FIXED, MOST_TRIED // max(1, len(graph.nodes)))
    moved = on_cpu(whole) if sound and faults else None
    to_cpu = (Fix("Run everything on the CPU", moved),) if moved is not None else ()
    remedies = {
        fault: to_cpu if sound and fault in faults else fixes(whole, fault)
        for fault in (*faults, *loose)[:fixed]
    }
    return Checked(whole, running, faults, loose, sound, flows, remedies)


def initial_selection(graph: Graph, catalog: Catalog) -> list[str]:
    """The node to select first: one that draws something, else one that can be moved."""
    nodes, typed = chain(graph, catalog), TypedGraph(graph, catalog)
    drawing = [
        node.id for node in nodes if any(random_view(typed, port) for port in node.inputs.values())
    ]
    movable = [node.id for node in nodes if is_movable(node, catalog)]
    return [*drawing, *movable, *(node.id for node in nodes)][:1]


def shuffles_files(graph: Graph) -> bool:
    """Whether a reader draws the order of its files, which follows the seed."""
    names = ("random_shuffle", "shuffle_after_epoch")
    sources = graph.sources
    return any(node.args.get(name) or name in node.inputs for node in sources for name in names)


def request_of(state: ViewState, data: Datasets) -> PreviewRequest:
    """What to render for a state."""
    graph = state.checked.active
    return PreviewRequest(
        graph,
        data,
        state.batch,
        MOST_TILES if state.is_filtered else state.tiles,
        state.tile_size or (FILTERED_TILE if state.is_filtered else usual_size(state.tiles)),
        "original" if state.show_original else _SHOWN.get(state.mode, state.mode),
        state.lossless,
        state.repeated(graph.settings.batch_size),
        state.baseline if state.baseline in state.baselines else "",
        raw=state.lossless,
    )


def usual_size(tiles: int) -> int:
    """Side of a tile in pixels. More tiles are smaller: the sheet stays below 4 megapixels."""
    return 224 if tiles <= 16 else 160 if tiles <= 32 else 112


def baselines_of(running: ResolvedGraph) -> list[str]:
    """The nodes whose images the image outputs come from: what a difference may compare with."""
    outputs = list(running.images.values())
    before = ancestors(running.graph, outputs) - {port.node for port in outputs}
    return [
        node.id
        for node in running.nodes
        if node.id in before
        and any(
            running.kind(Port(node.id, output.name)) == "image"
            for output in running.spec(node).outputs
        )
    ]


def failure_of(
    error: WorkbenchError,
    graph: Graph | None = None,
    catalog: Catalog | None = None,
    *,
    undoable: bool = False,
) -> Failure:
    """An error of a preview as a fault at its node, with what can be done about it.

    ``undoable``: whether undo leads back to the last picture.
    """
    dead = isinstance(error, WorkerLostError)
    node = getattr(error, "node", None)
    message = str(error)
    if node and message.startswith(f"{node}: "):
        message = message.removeprefix(f"{node}: ")
    if not node or dead or "Out of memory" in message:  # says itself what to do
        return Failure((Fault(node or "", "", message, ""),), dead)
    undo = "; undo leads back to the last picture" if undoable else ""
    remedy = f"Change a value of {node} or what feeds it{undo}."
    offers: tuple[Fix, ...] = ()
    if OUTSIDE in message and graph is not None and catalog is not None and graph.has(node):
        body = graph.at_scope(graph.scope_of(node))
        if "out_of_bounds_policy" in catalog[body.node(node).op].args:
            padded = set_arg(body, catalog, node, "out_of_bounds_policy", "pad").whole
            offers = (Fix("Pad outside the image", padded),)
    return Failure((Fault(node, "", message.rstrip("."), remedy),), dead, offers, graph)


def known_fixes(
    checked: Checked,
    unread: Fault | None,
    unread_fixes: tuple[Fix, ...],
    failure: Failure | None,
    warnings: Sequence[Fault],
) -> dict[Fault, tuple[Fix, ...]]:
    """What can be done at a click about each fault and warning of a state."""
    known = {**checked.fixes, **{each: fixes(checked.whole, each) for each in warnings}}
    if unread is not None:
        known[unread] = unread_fixes
    if failure is not None and failure.of == checked.graph:
        known[failure.faults[0]] = failure.fixes
    return known


def warnings_of(state: ViewState) -> tuple[Fault, ...]:
    """The warnings about the graph, and those that the last preview has about the data.

    The latter are about nodes that the graph still has.
    """
    known = {(each.node, each.arg, each.code) for each in state.warnings}
    found = [
        each
        for each in (state.preview.warnings if state.preview else ())
        if each.code in DATA_WARNINGS
        and (each.node, each.arg, each.code) not in known
        and state.checked.graph.has(each.node)
    ]
    return (*state.warnings, *found) if found else state.warnings


def warnings_before_run(checked: Checked, facts: Mapping[str, DataFacts]) -> tuple[Fault, ...]:
    """The warnings about a graph that can run, by what is known of its data so far."""
    return checked.running.on_data(facts).warnings if checked.sound else ()


def unread_fault(graph: Graph, error: DataError) -> Fault:
    """The reason why a graph cannot read the open data, as a fault at its source."""
    node, _, reason = str(error).partition(": ")
    if not graph.has(node):
        node, reason = "", str(error)
    return Fault(node, "", reason.rstrip("."), "Open other data, or change the graph.")


def blocking_faults(state: ViewState) -> tuple[Fault, ...]:
    """What is known to keep the graph from running on the open data."""
    unread = () if state.unread is None else (state.unread,)
    return state.checked.faults or unread


def faults_of(state: ViewState) -> tuple[Fault, ...]:
    """What is wrong now: what is known before a run, else what the last run met."""
    failed = () if state.failure is None else state.failure.faults
    return blocking_faults(state) or failed


# Faults of a graph that names files itself, where the web app may not open them.


def root_faults(graph: Graph, roots: Roots) -> Iterator[Fault]:
    """One fault for each argument that leads out of the roots, or may."""
    for node in graph.walk():
        if node.op == NAMED_IN_DATA:
            yield Fault(
                node.id,
                "filepaths",
                "it may open any file, and pages read what lies below the roots alone",
                "Open the graph in JupyterLab, in Python or from a shell.",
            )
    for source in graph.sources:
        told: set[str] = set()
        for arg, text, path in located_paths(source):
            if arg not in told and (reason := roots.refusal(path)):
                told.add(arg)
                yield Fault(
                    source.id,
                    arg,
                    f"{text!r} cannot be opened: {reason}",
                    "Remove it, and open the folder in the Data panel.",
                )
