"""Store the state of a page, except the history, and check a graph before it runs."""

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
from workbench.errors import (
    NO_IMAGE,
    ORIGINAL,
    OUTSIDE,
    DataError,
    WorkbenchError,
    WorkerLostError,
)
from workbench.graph.edits.edit import is_movable, ordered_nodes, set_arg
from workbench.graph.execution.dataset_parameters import is_sampled
from workbench.graph.fixes import Fix, fixes, image_output_fixes
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
"""Mode of the preview request by mode of the panel, where the two differ."""
MOST_BATCH = 999
"""Highest batch index. The reader skips all earlier batches, which takes seconds for 1000
batches.
"""
MOST_COUNTED = 10_000
"""Maximum number of batches for counting branches. Counting takes seconds for random conditions."""
MOST_TILES = 64
FILTERED_TILE = 160
"""Side of a tile in pixels while a filter is set, because ``MOST_TILES`` samples are rendered then.
"""
MOST_TILE = 512
"""Maximum side of a tile in pixels."""
MOST_FIXED = 20
"""Maximum number of faults for which fixes are searched, because each fix is tried on the graph."""
MOST_TRIED = 4000
"""Maximum number of nodes to check while trying fixes, over all candidate graphs. Large graphs get
fewer fixes, so the time does not grow with the square of their size.
"""


@dataclass(frozen=True)
class Checked:
    """A graph with its faults and, if it is valid, its script.

    A valid graph that needs a missing GPU has both a fault and a script.
    """

    whole: ResolvedGraph
    running: ResolvedGraph
    """The graph without muted and unconnected nodes. It may have faults."""
    faults: tuple[Fault, ...]
    loose_faults: tuple[Fault, ...]
    """Faults of unconnected nodes, which do not stop the graph."""
    sound: bool
    flows: dict[Port, str]
    """Type of each output port, as far as it is known without a run."""
    fixes: Mapping[Fault, tuple[Fix, ...]]
    """Fixes by fault, including faults of unconnected nodes."""

    @cached_property
    def source(self) -> Code | None:
        """Script of a valid graph, or None. It is generated on first use, after the picture."""
        return script_of(self.running) if self.sound else None

    @property
    def graph(self) -> Graph:
        return self.whole.graph

    @property
    def active(self) -> Graph:
        """The graph without muted and unconnected nodes."""
        return self.running.graph


@dataclass(frozen=True, slots=True)
class Failure:
    """Reason why the last request failed, and whether the worker process ended."""

    faults: tuple[Fault]
    dead: bool
    fixes: tuple[Fix, ...] = ()
    """Suggested fixes, which are changes to the graph ``of``."""
    of: Graph | None = None


@dataclass(slots=True)
class ViewState:
    """View settings and results of one page. ``checked`` is the current graph of the history."""

    checked: Checked
    selected: list[str] = field(default_factory=list)
    """Ids of the selected nodes. The inspector shows the last."""
    scope: str = ""
    """Body shown on the canvas, such as ``branch.then``; empty for the whole graph."""
    connect_targets: ConnectTargets = field(default_factory=lambda: empty(ConnectTargets))
    compatible_ops: CompatibleOps = field(default_factory=lambda: empty(CompatibleOps))
    compatible_ops_of: tuple[Graph, str, str, str] | None = None
    """Graph, body, action and port of the last request for compatible operators."""
    recent_folders: list[str] = field(default_factory=list)
    tab: str = "preview"
    speed_part: str = "compare"
    """Open part of the Speed panel, which is stored with the session."""
    mode: Mode = "both"
    batch: int = 0
    tiles: int = 16
    tile_size: int = 0
    """Side of a tile in pixels; 0 for an automatic size."""
    show_original: bool = False
    """True while a key is held to show the originals."""
    baseline: str = ""
    """Id of the node that a difference is computed from; empty for the first suitable node."""
    baselines: list[str] = field(default_factory=list)
    """Ids of the nodes that a difference can be computed from; empty in other modes."""
    against: str = "last"
    """Id of the graph to compare with, as in ``ComparedGraphs``."""
    lossless: bool = False
    repeat: int = -1
    """Index of the photo to repeat in the whole batch; -1 for none."""
    shown_classes: list[str] = field(default_factory=list)
    """Classes whose samples are shown; empty for all samples."""
    shown_branches: list[str] = field(default_factory=list)
    """Block bodies (``branch.then``) whose samples are shown; see ``active_shown_branches``."""
    shown_augmentations: list[str] = field(default_factory=list)
    """Augmentations whose samples are shown; see ``active_shown_augmentations``."""
    pinned: bool = False
    """True if seed and batch are fixed."""
    show_statistics: bool = False
    show_targets: bool = True
    """True to draw annotations on pictures and cards."""
    branch_batches: int | None = None
    """Number of batches in which to count branches; None for the default."""
    closeup: CloseupSample | None = None
    probe: tuple[int, int] | None = None
    """Pixel (x, y) of the close-up around which values were requested."""
    sample: int = 0
    """Index of the sample shown on the cards of the canvas."""
    marked: list[int] = field(default_factory=list)
    """Indices in the batch of the samples that are marked in the preview."""
    canvas_in_view: bool = False
    detail_of: str = ""
    """Id of the node whose outputs are shown in detail; empty for none."""
    effect_open: bool = False
    """True while the effect sheet of the inspected node is open."""
    effect_args: list[str] = field(default_factory=list)
    """Names of one or two arguments to vary. If a node does not have these arguments, its first
    argument is varied.
    """
    policy_rows: list[int] = field(default_factory=list)
    """Indices of the sub-policies of the inspected node that are scrolled into view."""
    history_in_view: bool = False
    message: str = ""
    code_message: str = ""
    preview: PreviewResult | None = None
    """Last preview of the open data."""
    pictured: int = 0
    """Number of the graph (``History.graph_number``) that ``preview`` was rendered for."""
    started: bool = False
    """True once there was a preview, even of other data."""
    picture: bytes = b""
    warnings: tuple[Fault, ...] = ()
    """Result of ``warnings_before_run``."""
    failure: Failure | None = None
    slow: bool = True
    silent: bool = False
    """True if the worker does not respond."""
    making: str = ""
    """Progress of building the graph, as text; empty unless this takes long."""
    waits_for: str = ""
    """Text about a worker that waits for free memory before it starts; empty if no worker waits."""
    target: str = "script"
    """Export target selected in the Code panel."""
    refusals: dict[str, str] = field(default_factory=dict)
    """Reasons why the graph ``refusals_of`` cannot be exported, by target."""
    refusals_of: Checked | None = None
    target_number: int = 1
    """Counter that is incremented whenever a target is selected."""
    code_from_top: bool = True
    """True if the Code panel shows the code from its first line.

    False once a node is selected; opening a graph or selecting a target resets it to True.
    """
    unread: Fault | None = None
    """Fault if the graph cannot read the open data, or None."""
    unread_fixes: tuple[Fix, ...] = ()
    code_in_view: bool = False
    skip_bad: bool = False
    """True if the code reads only the files that the last check found good."""
    shared: bytes = b""
    """Picture for sharing the document ``shared_of``."""
    shared_of: Document | None = None
    snippets: tuple[Snippet, ...] = ()
    copied_code: TextFile = field(default_factory=lambda: empty(TextFile))
    """Code requested for the clipboard."""
    script: TextFile = field(default_factory=lambda: empty(TextFile))
    """File last requested for download."""
    overwrite: dict[str, OverwriteQuestion] = field(default_factory=dict)
    """Pending questions whether to overwrite a file, by component (bar and Code panel)."""
    savable: tuple[object, ...] = ()
    """Graph, target and data for which ``code_message`` and ``overwrite`` are valid."""

    @property
    def active_shown_branches(self) -> tuple[str, ...]:
        """The ``shown_branches`` that exist in the running graph; empty to show all samples."""
        whole = self.checked.active
        return tuple(
            scope
            for scope in self.shown_branches
            if whole.has(block := block_of(scope))
            and scope.removeprefix(f"{block}.") in whole.node(block).bodies
        )

    @property
    def active_shown_augmentations(self) -> tuple[str, ...]:
        """The ``shown_augmentations`` whose nodes run; empty to show all samples."""
        whole = self.checked.active
        return tuple(
            key
            for key in self.shown_augmentations
            if whole.has(node := key.rpartition(".")[0]) and whole.node(node).op in AUTO_AUGMENT
        )

    @property
    def is_filtered(self) -> bool:
        """True if only samples of some classes, branches or augmentations are shown."""
        return bool(
            self.shown_classes or self.active_shown_branches or self.active_shown_augmentations
        )

    def notify(self, component: str, text: str) -> None:
        """Display the message that a component's action has returned."""
        if component == "code":
            self.code_message = text
        else:
            self.message = text

    def follow_savable(self, *present: object) -> None:
        """Clear messages and questions about saving if the graph, target or data changed."""
        before, self.savable = self.savable, present
        if before and any(old is not new for old, new in zip(before, present, strict=True)):
            self.code_message, self.overwrite = "", {}

    def show(self, sample: int) -> None:
        """Increase the number of tiles so that a sample is shown."""
        self.tiles = min(MOST_TILES, max(self.tiles, sample + 1))

    def repeated(self, batch_size: int) -> int | None:
        """Return the index of the sample repeated in the whole batch, or None if there is none."""
        return self.repeat if 0 <= self.repeat < batch_size else None

    @property
    def inspected(self) -> str:
        """Id of the node in the inspector; "" if there is none."""
        return self.selected[-1] if self.selected else ""


def check_before_run(
    graph: Graph, catalog: Catalog, machine: Machine, roots: Roots | None = None
) -> Checked:
    """Find all faults of a graph, including a missing GPU and files outside the roots."""
    whole = ResolvedGraph(graph, catalog)
    faults, loose, running = whole.stopping_faults, whole.loose_faults, whole.running
    if roots is not None:
        faults = (*faults, *root_faults(running.graph, roots))
    sound = not faults
    if sound and graph.settings.device == "mixed" and machine.no_gpu:
        reason = f"images are decoded on the GPU (mixed), and {machine.no_gpu}"
        faults = (Fault("", "device", reason, "Select CPU to preview on this machine."),)
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
    """Return the node to select first, preferably one with random values or with a slider."""
    nodes, typed = ordered_nodes(graph, catalog), TypedGraph(graph, catalog)
    drawing = [
        node.id for node in nodes if any(random_view(typed, port) for port in node.inputs.values())
    ]
    movable = [node.id for node in nodes if is_movable(node, catalog)]
    return [*drawing, *movable, *(node.id for node in nodes)][:1]


def shuffles_files(graph: Graph) -> bool:
    """Return whether a reader shuffles its files, in an order that depends on the seed."""
    names = ("random_shuffle", "shuffle_after_epoch")
    return any(
        is_sampled(node) or any(node.args.get(name) or name in node.inputs for name in names)
        for node in graph.sources
    )


def request_of(state: ViewState, data: Datasets) -> PreviewRequest:
    """Return the request for the preview of a state."""
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
    """Return the default side of a tile in pixels, so that a sheet has less than 4 megapixels."""
    return 224 if tiles <= 16 else 160 if tiles <= 32 else 112


def baselines_of(running: ResolvedGraph) -> list[str]:
    """Return the ids of the nodes whose images an image output can be compared with.

    These are the nodes with images on the path to an image output.
    """
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
    """Convert an error of a preview to a failure, which names the node and possible fixes.

    ``undoable`` is True if undo would return to the last graph with a picture.
    """
    dead = isinstance(error, WorkerLostError)
    node = getattr(error, "node", None)
    message = str(error)
    if node and message.startswith(f"{node}: "):
        message = message.removeprefix(f"{node}: ")
    offers: tuple[Fix, ...] = ()
    if message.startswith(NO_IMAGE) and graph is not None and catalog is not None:
        offers = tuple(image_output_fixes(graph.whole, catalog))
    if offers or not node or dead or "Out of memory" in message:  # the message contains the fix
        return Failure((Fault(node or "", "", message, ""),), dead, offers, graph)
    undo = ", or undo to return to the last picture" if undoable else ""
    remedy = f"Change a value or an input of {node}{undo}."
    reason, explained, original = message.partition(ORIGINAL)
    if explained:  # the reason contains its fix
        back = " Undo returns to the last picture." if undoable else ""
        message, remedy = f"{reason}{back}{ORIGINAL}{original}", ""
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
    """Return the fixes of all current faults and warnings, by fault. Each fix has a button."""
    known = {**checked.fixes, **{each: fixes(checked.whole, each) for each in warnings}}
    if unread is not None:
        known[unread] = unread_fixes
    if failure is not None and failure.of == checked.graph:
        known[failure.faults[0]] = failure.fixes
    return known


def warnings_of(state: ViewState) -> tuple[Fault, ...]:
    """Return warnings about the graph, and data warnings of the last preview."""
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
    """Return warnings about a valid graph, based on known properties of its data."""
    return checked.running.on_data(facts).warnings if checked.sound else ()


def unread_fault(graph: Graph, error: DataError) -> Fault:
    """Convert the error of a graph that cannot read the open data to a fault of its source."""
    node, _, reason = str(error).partition(": ")
    if not graph.has(node):
        node, reason = "", str(error)
    return Fault(node, "", reason.rstrip("."), "Open other data, or change the graph.")


def blocking_faults(state: ViewState) -> tuple[Fault, ...]:
    """Return the faults that prevent the graph from running on the open data."""
    unread = () if state.unread is None else (state.unread,)
    return state.checked.faults or unread


def faults_of(state: ViewState) -> tuple[Fault, ...]:
    """Return the faults found before a run or, if there are none, the faults of the last run."""
    failed = () if state.failure is None else state.failure.faults
    return blocking_faults(state) or failed


# Faults of a graph that names files itself, where the web app may not open them.


def root_faults(graph: Graph, roots: Roots) -> Iterator[Fault]:
    """Yield faults of arguments that name, or may name, files outside the roots."""
    for node in graph.walk():
        if node.op == NAMED_IN_DATA:
            yield Fault(
                node.id,
                "filepaths",
                "it can open any file, but the web app only reads files in its allowed folders",
                "Use JupyterLab, Python or a shell command.",
            )
    for source in graph.sources:
        reported: set[str] = set()
        for arg, text, path in located_paths(source):
            if arg not in reported and (reason := roots.refusal(path)):
                reported.add(arg)
                yield Fault(
                    source.id,
                    arg,
                    f"{text!r} cannot be opened: {reason}",
                    "Remove it, and open the folder in the Data panel.",
                )
