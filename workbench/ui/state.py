"""What the view-model holds besides the history, and what is known of a graph before it runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from workbench.catalog.spec import Catalog
from workbench.emit.script import emit_script
from workbench.emit.source import Source
from workbench.engine.machine import Machine
from workbench.errors import PipelineError, WorkbenchError, WorkerCrashedError, WorkerTimeoutError
from workbench.graph.check import Fault, check_graph
from workbench.graph.edit import chain, is_movable
from workbench.graph.model import Graph
from workbench.preview import Preview, PreviewRequest
from workbench.ui.present import on_shown_nodes
from workbench.ui.rows import random_view

Mode = Literal["original", "augmented", "both"]
MOST_BATCH = 999
"""The reader runs through every batch before the one that is shown: some seconds for a thousand."""
MOST_TILES = 64


@dataclass(frozen=True, slots=True)
class Checked:
    """A graph, why it cannot run here, and its script where it is sound.

    A graph that is sound and wants a GPU that is not here has a fault and a script.
    """

    graph: Graph
    faults: tuple[Fault, ...]
    source: Source | None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the last request gave no picture; ``dead`` where the worker process ended."""

    fault: Fault
    dead: bool


@dataclass(slots=True)
class State:
    """One screen. The graph in ``checked`` is the history's present one."""

    checked: Checked
    selected: str = ""
    tab: str = "preview"
    mode: Mode = "both"
    batch: int = 0
    tiles: int = 16
    message: str = ""
    code_message: str = ""
    preview: Preview | None = None
    picture: bytes = b""
    failure: Failure | None = None
    slow: bool = True
    source: Source = field(default_factory=lambda: Source("", {}))
    """The last script that could be exported."""


def check(graph: Graph, catalog: Catalog, machine: Machine) -> Checked:
    """Every fault of a graph, the lack of a GPU included."""
    faults = check_graph(graph, catalog)
    source = None if faults else emit_script(graph, catalog)
    if source and graph.settings.device == "mixed" and machine.no_gpu:
        reason = f"images are decoded on the GPU (mixed), and {machine.no_gpu}"
        faults = (Fault("", "device", reason, "Choose CPU to preview here."),)
    return Checked(graph, tuple(on_shown_nodes(graph, catalog, faults)), source)


def first_choice(graph: Graph, catalog: Catalog) -> str:
    """The node to select first: one that draws something, else one that can be moved."""
    nodes = chain(graph, catalog)
    drawing = [
        node.id
        for node in nodes
        if any(random_view(graph, catalog, port) for port in node.inputs.values())
    ]
    movable = [node.id for node in nodes if is_movable(node, catalog)]
    return next(iter([*drawing, *movable, *(node.id for node in nodes)]), "")


def request_of(state: State, data: str) -> PreviewRequest:
    """What to render for a state. More tiles are smaller: the sheet stays below 4 megapixels."""
    tiles = state.tiles
    return PreviewRequest(
        state.checked.graph,
        data,
        state.batch,
        tiles,
        224 if tiles <= 16 else 160 if tiles <= 32 else 112,
        state.mode,
    )


def failure_of(error: WorkbenchError, graph: Graph, catalog: Catalog) -> Failure:
    """An error of a preview as a fault at its node."""
    node = error.node if isinstance(error, PipelineError) else None
    message = str(error)
    if node and message.startswith(f"{node}: "):
        message = message.removeprefix(f"{node}: ")
    fault = Fault(node or "", "", message, "")
    (moved,) = on_shown_nodes(graph, catalog, [fault])
    return Failure(
        replace(moved, arg=""), isinstance(error, WorkerCrashedError | WorkerTimeoutError)
    )


def faults_of(state: State) -> tuple[Fault, ...]:
    """What is wrong now: what the check found, else what the last run met."""
    if state.checked.faults or state.failure is None:
        return state.checked.faults
    return (state.failure.fault,)
