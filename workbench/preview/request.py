"""What is asked to be shown, and the run of the graph that every view is made from.

``run_request`` runs inside the worker process only.
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
from workbench.errors import DataError, GraphError
from workbench.graph.execution.active import active_graph, with_step_followers
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import GRAPH, Graph, Node, Port, Source, block_of
from workbench.graph.model.ports import output_ports
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.storage.layout import SavedDraw
from workbench.graph.types.devices import decodes
from workbench.sources import Data, Datasets, open_datasets

SHOWN = ("original", "augmented", "both", "difference")
MOST_PIXELS = 2**27
"""Of a sheet, which takes three bytes for each and is encoded in one piece."""

MOST_RAW = 2**24
"""Pixels of a sheet that is sent as it is: 64 MiB."""

_KINDS = {"batch": WHOLE, "tiles": WHOLE, "tile_size": WHOLE, "repeat": WHOLE, "baseline": TEXT}


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """What to show. Raises GraphError for values that cannot be shown, DataError for no data.

    ::

        request = wb.PreviewRequest(graph, "photos", batch=2, tiles=4, shown="augmented")

    Parameters
    ----------
    graph, data:
        A sound graph, and what its sources read: a dataset for each parameter, or whatever
        ``open_datasets`` takes.
    batch:
        From 0.
    tiles:
        The number of samples; at most the batch size of the graph are shown.
    tile_size:
        Side of a tile in pixels.
    shown:
        ``original``, ``augmented``, ``both`` or ``difference``: the absolute difference between an
        output and the step ``baseline``.
    lossless:
        PNG instead of JPEG.
    repeat:
        Many draws of one image: the file at this place of the batch stands at every place, and each
        place draws what it always draws. Not a batch of the exported script, but exactly what that
        script gives where its reader gives the same file each time.
    baseline:
        For ``difference``: id of the node whose image is compared; an output that does not come
        from it is grey. Empty: the first step whose images have the height and width of the
        output's.
    raw:
        Of a lossless sheet of at most ``MOST_RAW`` pixels the RGBA values as they are, without PNG:
        for a screen that is near, where packing takes longer than sending.
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

    if TYPE_CHECKING:  # ``data`` may be given as less than what it becomes

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
        with suppress(DataError):  # the run says why
            object.__setattr__(self, "graph", with_datasets(self.graph, self.data))
        size = self.graph.settings.batch_size
        if self.shown not in SHOWN:
            raise GraphError(f"shown is {self.shown!r}. Give one of {', '.join(SHOWN)}.")
        for name, least in (("batch", 0), ("tiles", 1), ("tile_size", 8)):
            if getattr(self, name) < least:
                raise GraphError(f"{name} is {getattr(self, name)}. Give {least} or more.")
        most = 2**63 // size - 1  # places of samples are numbers of 64 bits
        if self.batch > most:
            raise GraphError(f"batch is {self.batch}. Give 0 to {most}.")
        self.require_room(2 if self.shown == "both" else 1)
        if self.repeat is not None and not 0 <= self.repeat < size:
            raise GraphError(
                f"repeat is {self.repeat}. Give a sample's place in the batch, 0 to {size - 1}."
            )

    def require_room(self, groups: int) -> None:
        """Raise GraphError where so many pictures of each sample are too much for one sheet."""
        count = min(self.tiles, self.graph.settings.batch_size) * groups
        if count * self.tile_size**2 > MOST_PIXELS:
            side = math.isqrt(MOST_PIXELS // count)
            raise GraphError(
                f"{count} tiles of {self.tile_size} pixels are too much for one sheet. "
                f"Give a tile_size of {side} at most, or fewer tiles."
            )


def replayed(request: PreviewRequest, draw: SavedDraw) -> PreviewRequest:
    """The request for the draws of another time: its seed, batch, batch size and repeated photo."""
    settings = replace(request.graph.settings, seed=draw.seed, batch_size=draw.batch_size)
    graph = replace(request.graph, settings=settings)
    return replace(request, graph=graph, batch=draw.batch, repeat=draw.repeat)


@dataclass(frozen=True, slots=True)
class GraphRun:
    """All outputs of all nodes that the graph's outputs depend on, for one request."""

    request: PreviewRequest
    resolved: ResolvedGraph
    """The part of the request's graph that runs."""
    result: Result
    targets: bool = True
    """Whether what lies on pictures is drawn into them."""

    @property
    def graph(self) -> Graph:
        """The graph that runs."""
        return self.resolved.graph

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that lead to an output, in running order."""
        return self.resolved.nodes

    @property
    def images(self) -> Mapping[str, Port]:
        """The graph's outputs that are pictures, by name."""
        return self.resolved.images

    @property
    def inner_nodes(self) -> tuple[Node, ...]:
        """The nodes inside the blocks among ``nodes``, at any depth."""
        return tuple(_inside(self.nodes))

    def key(self, port: Port) -> str:
        """What an output is known by: the same key means the same bits."""
        outer = self.graph.outermost(port.node)
        inner = "" if outer == port.node else f" {port.node}"
        return f"{self.result.keys[outer]}{inner}"

    def place(self, scope: str, index: int) -> int | None:
        """Where in the outputs inside a body a sample stands; None where it did not come there."""
        if not scope:
            return index
        places = self.result.places.get(scope, ())
        return places.index(index) if index in places else None

    def output_place(self, node: str, index: int) -> int | None:
        """The same for the outputs of one node: one that nothing feeds draws for all samples."""
        alone = is_batch_generator(self.graph.node(node), self.resolved.catalog)
        return index if alone else self.place(self.graph.scope_of(node), index)

    def fed(self, port: Port, index: int) -> NDArray[np.generic]:
        """What a port gives for a sample of the batch that comes there.

        What a body takes in is looked up around its block.
        """
        while not self.graph.has(port.node):
            port = self.graph.node(block_of(port.node)).inputs[port.output]
        at = self.output_place(port.node, index)
        if at is None:
            raise GraphError(f"Sample {index} does not come to {port.node}.")
        return self.result.batches[port].sample(at).arrays()[0]

    @property
    def original(self) -> Port | None:
        """The decoded image, or a video's frames as they were read; None without either."""
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
        """The output that a name means: ``original``, an output's name, or ``node.output``.

        Raises GraphError with the names that there are.
        """
        node, _, output = of.rpartition(".")
        found = {**self.graph.outputs, **({"original": self.original} if self.original else {})}
        port = found.get(of) or Port(node, output)
        if port not in self.result.batches:
            steps = (str(port) for port in self.result.batches)
            raise GraphError(
                f"There is no {of!r} to show. Give one of {', '.join([*found, *steps])}."
            )
        return port

    def require_sample(self, index: int) -> None:
        """Raise GraphError where the request has no such sample."""
        if not 0 <= index < len(self.result.samples):
            raise GraphError(
                f"There is no sample {index}. Give 0 to {len(self.result.samples) - 1}."
            )


def run_request(worker: Worker, request: PreviewRequest, one_by_one: bool = False) -> GraphRun:
    """Run what changed since the last time. Raises PipelineError, DataError or CancelledError."""
    return _run(worker, request, running_part(worker, request), one_by_one)


def running_part(worker: Worker, request: PreviewRequest) -> ResolvedGraph:
    """The part of a request's graph that runs, resolved in the worker process."""
    catalog = worker.runner.catalog
    return ResolvedGraph(active_graph(request.graph, catalog), catalog)


def run_steps(
    worker: Worker, request: PreviewRequest, targets: bool = True, between: bool = True
) -> GraphRun:
    """The same for what shows each node; ``between`` with the targets on every image.

    Raises CancelledError, too, where it was interrupted.
    """
    resolved = running_part(worker, request)
    if not targets or not between:
        return replace(_run(worker, request, resolved), targets=targets)
    with_targets = resolved.of(with_step_followers(request.graph, resolved.catalog))
    more = tuple(node for node in with_targets.graph.nodes if not resolved.graph.has(node.id))
    for count in range(1, len(more)):  # one by one, for each takes long and a picture may be due
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
    """Of a graph that runs, with ``more`` nodes of it that no output depends on."""
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
