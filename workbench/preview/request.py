"""Define the preview request, and run its graph. All results are created from this run.

``run_request`` is used in the worker process only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import TEXT, WHOLE, require_kind
from workbench.emit.core.naming import is_batch_generator
from workbench.engine.run.runner import Result
from workbench.engine.run.worker import Worker
from workbench.errors import ArgumentError, DataError, GraphError
from workbench.graph.execution.active import active_graph, with_step_followers
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import GRAPH, Graph, Node, Port, Source, block_of
from workbench.graph.model.graph import changed_settings
from workbench.graph.model.ports import output_ports
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.storage.layout import SavedSample
from workbench.graph.types.devices import decodes
from workbench.sources import Data, Datasets, open_datasets

SHOWN = ("original", "augmented", "both", "difference")
MOST_PIXELS = 2**27
"""Maximum number of pixels of a sheet (three bytes each), which is encoded as a whole."""

MOST_RAW = 2**24
"""Maximum number of pixels of an uncompressed sheet: 64 MiB."""

_KINDS = {"batch": WHOLE, "tiles": WHOLE, "tile_size": WHOLE, "repeat": WHOLE, "baseline": TEXT}


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """Settings of a preview.

    Raises ArgumentError for invalid values, and DataError if there is no data.

    ::

        request = wb.PreviewRequest(graph, "photos", batch=2, tiles=4, shown="augmented")

    Parameters
    ----------
    graph, data:
        A valid graph, and its data: a dataset per parameter, or any argument of ``open_datasets``.
    batch:
        Batch number from 0.
    tiles:
        The number of samples; at most the graph's batch size.
    tile_size:
        Side of a tile in pixels.
    shown:
        ``original``, ``augmented``, ``both`` or ``difference``: the absolute difference between an
        output and the output of the node ``baseline``.
    lossless:
        PNG instead of JPEG.
    repeat:
        Show random variants of one image: the file at this index of the batch is used for every
        sample, with the random values of that sample. This is not a batch of the exported script,
        but what it would return if its reader repeated the file.
    baseline:
        For ``difference``: id of the node whose image is compared; outputs that do not depend on it
        are grey. Empty: the first node whose images have the output's height and width.
    raw:
        For a lossless sheet of at most ``MOST_RAW`` pixels: uncompressed RGBA instead of PNG, for
        local display, where compression takes longer than transfer.
    """

    graph: Graph
    data: Datasets
    batch: int = 0
    tiles: int = 16
    tile_size: int = 224
    shown: str = "both"
    lossless: bool = False
    repeat: int | None = None
    baseline: str = ""
    raw: bool = False

    if TYPE_CHECKING:  # ``data`` may be passed as anything that converts to datasets

        def __init__(
            self,
            graph: Graph,
            data: Data,
            batch: int = 0,
            tiles: int = 16,
            tile_size: int = 224,
            shown: str = "both",
            lossless: bool = False,
            repeat: int | None = None,
            baseline: str = "",
            raw: bool = False,
        ) -> None: ...

    def __post_init__(self) -> None:
        require_kind("PreviewRequest: graph", self.graph, GRAPH)
        for name, kind in _KINDS.items():
            if name != "repeat" or self.repeat is not None:
                require_kind(f"PreviewRequest: {name}", getattr(self, name), kind)
        object.__setattr__(self, "data", open_datasets(self.data))
        with suppress(DataError):  # the run reports the cause
            object.__setattr__(self, "graph", with_datasets(self.graph, self.data))
        size = self.graph.settings.batch_size
        if self.shown not in SHOWN:
            raise ArgumentError(f"shown is {self.shown!r}. Use one of {', '.join(SHOWN)}.")
        for name, least in (("batch", 0), ("tiles", 1), ("tile_size", 8)):
            if getattr(self, name) < least:
                raise ArgumentError(f"{name} is {getattr(self, name)}. Use {least} or more.")
        most = 2**63 // size - 1  # sample indices are 64-bit integers
        if self.batch > most:
            raise ArgumentError(f"batch is {self.batch}. Use 0 to {most}.")
        self.require_room(2 if self.shown == "both" else 1)
        if self.repeat is not None and not 0 <= self.repeat < size:
            raise ArgumentError(
                f"repeat is {self.repeat}. Use the index of a sample in the batch, 0 to {size - 1}."
            )

    def require_room(self, groups: int) -> None:
        """Raise ArgumentError if ``groups`` images per sample do not fit into a sheet."""
        count = min(self.tiles, self.graph.settings.batch_size) * groups
        if count * self.tile_size**2 > MOST_PIXELS:
            side = math.isqrt(MOST_PIXELS // count)
            raise ArgumentError(
                f"{count} tiles of {self.tile_size} pixels exceed the largest possible sheet. Use "
                f"a tile_size of at most {side}, or fewer tiles."
            )


def replayed(request: PreviewRequest, draw: SavedSample) -> PreviewRequest:
    """Return the request with the seed, batch, batch size and repeated image of a saved sample."""
    settings = changed_settings(
        request.graph.settings, {"seed": draw.seed, "batch_size": draw.batch_size}
    )
    graph = replace(request.graph, settings=settings)
    return replace(request, graph=graph, batch=draw.batch, repeat=draw.repeat)


@dataclass(frozen=True, slots=True)
class GraphRun:
    """The results of running a graph for one preview request, with the outputs of all its nodes."""

    request: PreviewRequest
    resolved: ResolvedGraph
    """The part of the request's graph that runs."""
    result: Result
    targets: bool = True
    """True if annotations are drawn on images."""

    @property
    def graph(self) -> Graph:
        return self.resolved.graph

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that an output depends on, in topological order."""
        return self.resolved.nodes

    @property
    def images(self) -> Mapping[str, Port]:
        """The ports of the graph's image outputs, by name."""
        return self.resolved.images

    @property
    def inner_nodes(self) -> tuple[Node, ...]:
        """The nodes inside blocks, at any depth, among ``nodes``."""
        return tuple(_inside(self.nodes))

    def key(self, port: Port) -> str:
        """Return the cache key of a port. Outputs with equal keys are bit-identical."""
        outer = self.graph.outermost(port.node)
        inner = "" if outer == port.node else f" {port.node}"
        return f"{self.result.keys[outer]}{inner}"

    def place(self, scope: str, index: int) -> int | None:
        """Convert a sample's index in the batch to its index in the outputs of a block body.

        The body, such as ``branch.then``, runs only for some samples. Returns None if it did not
        run for this one.
        """
        if not scope:
            return index
        places = self.result.places.get(scope, ())
        return places.index(index) if index in places else None

    def output_place(self, node: str, index: int) -> int | None:
        """Return a sample's index in a node's outputs, which only contain samples that reach it.

        Generators without inputs run for all samples. Returns None if the node did not run.
        """
        alone = is_batch_generator(self.graph.node(node), self.resolved.catalog)
        return index if alone else self.place(self.graph.scope_of(node), index)

    def fed(self, port: Port, index: int) -> NDArray[np.generic]:
        """Return a port's value for a sample. Raises GraphError if the sample does not reach it.

        For an input of a block body, the value of the block's own input is returned.
        """
        while not self.graph.has(port.node):
            port = self.graph.node(block_of(port.node)).inputs[port.output]
        at = self.output_place(port.node, index)
        if at is None:
            raise GraphError(f"Sample {index} does not reach {port.node!r}. Use another sample.")
        return self.result.batches[port].sample(at).arrays()[0]

    @property
    def original(self) -> Port | None:
        """Port of the decoded image or of a video's frames, or None if there is neither."""
        decoder = next((n for n in self.nodes if decodes(self.resolved.spec(n))), None)
        if decoder is not None:
            return output_ports(decoder, self.resolved.spec(decoder))[0]
        read = (
            Port(node.id, output.name)
            for node in self.nodes
            if isinstance(node, Source)
            for output in self.resolved.spec(node).outputs
            if output.kind == "image"
        )
        return next(read, None)

    def port(self, of: str) -> Port:
        """Return the port with a name: ``original``, an output's name, or ``node.output``.

        For any other name, raises GraphError with the available names.
        """
        node, _, output = of.rpartition(".")
        found = {**self.graph.outputs, **({"original": self.original} if self.original else {})}
        port = found.get(of) or Port(node, output)
        if port not in self.result.batches:
            steps = (str(port) for port in self.result.batches)
            raise GraphError(
                f"There is no output or step {of!r}. Use one of {', '.join([*found, *steps])}."
            )
        return port

    def require_sample(self, index: int) -> None:
        """Raise GraphError if there is no sample with this index."""
        if not 0 <= index < len(self.result.samples):
            raise GraphError(
                f"There is no sample {index}. Use 0 to {len(self.result.samples) - 1}."
            )


def run_request(worker: Worker, request: PreviewRequest, one_by_one: bool = False) -> GraphRun:
    """Run the nodes that changed since the last call.

    Raises PipelineError, DataError or CancelledError.
    """
    return _run(worker, request, running_part(worker, request), one_by_one)


def running_part(worker: Worker, request: PreviewRequest) -> ResolvedGraph:
    """Return the part of a request's graph that runs, resolved in the worker process."""
    catalog = worker.runner.catalog
    return ResolvedGraph(active_graph(request.graph, catalog), catalog)


def run_steps(
    worker: Worker, request: PreviewRequest, targets: bool = True, between: bool = True
) -> GraphRun:
    """Run every node, so that its output can be displayed.

    If ``between``, the annotations of every image are computed too. Raises the errors of
    ``run_request``, including CancelledError if the run is interrupted.
    """
    resolved = running_part(worker, request)
    if not targets or not between:
        return replace(_run(worker, request, resolved), targets=targets)
    with_targets = resolved.for_graph(with_step_followers(request.graph, resolved.catalog))
    more = tuple(node for node in with_targets.graph.nodes if not resolved.graph.has(node.id))
    for count in range(1, len(more)):  # one by one: a preview may be waiting
        worker.check_interrupt()
        _run(worker, request, with_targets, more=more[:count])
    return _run(worker, request, with_targets, more=more)


def _run(
    worker: Worker,
    request: PreviewRequest,
    resolved: ResolvedGraph,
    one_by_one: bool = False,
    more: tuple[Node, ...] = (),
) -> GraphRun:
    """Run a graph, and the nodes ``more``, which no output depends on."""
    nodes = resolved.nodes
    result = worker.runner.run(
        resolved.graph,
        request.data,
        request.batch,
        request.tiles,
        [
            port
            for node in (*nodes, *_inside(nodes), *more)
            for port in output_ports(node, resolved.spec(node))
        ],
        repeat=request.repeat,
        one_by_one=one_by_one,
    )
    return GraphRun(request, resolved, result)


def _inside(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        for body in node.bodies.values():
            yield from body.nodes
            yield from _inside(body.nodes)
