"""Find the samples for which each block body runs, and their number in earlier batches.

Only the conditions are run, batch after batch. Random conditions need no data: a batch takes
0.2 ms.

Used in the worker process only.
"""

from __future__ import annotations

import itertools
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.catalog.extra_operators import BLOCKS
from workbench.catalog.spec import Catalog
from workbench.emit.preview.preview_stage import SAMPLE, StageCode, emit_stage
from workbench.engine.build.pipelines import CompiledSource
from workbench.engine.build.plan import Plan
from workbench.engine.reading.reader_cursor import require_near
from workbench.graph.execution.dataset_parameters import parameters
from workbench.graph.model import Body, Graph, Node, Source
from workbench.graph.model.node_order import ancestors

_CONSECUTIVE = frozenset(name for name, spec in BLOCKS.items() if spec.consecutive)


class BranchPlaces:
    """Runs only the conditions of a plan's blocks, batch by batch from batch 0.

    Objects with equal ``key`` have equal results. ``reads`` is True if conditions depend on data.
    """

    def __init__(self, plan: Plan, blocks: Sequence[Node]) -> None:
        ids = {block.id for block in blocks}
        alone = [_conditions_only(block) for block in blocks]
        fed = [port for block in alone for port in block.inputs.values()]
        others = ancestors(plan.graph, fed)  # a block on which another depends stays whole
        deciding = plan.graph
        for block in alone:
            if block.id not in others:
                deciding = deciding.replace_node(block)
        fed = [port for id in ids for port in deciding.node(id).inputs.values()]
        needed = ancestors(deciding, fed) | ids
        nodes = [node for node in deciding.nodes if node.id in needed]
        deciding = replace(deciding, nodes=tuple(nodes), outputs={})
        self._made: StageCode = emit_stage(
            plan.resolved.for_graph(deciding), needed, [], {}, plan.draws, positioned=False
        )
        self._settings = deciding.settings
        self._data = {name: plan.data[name].argument for name in parameters(nodes)}
        identity = {name: plan.data[name].identity for name in parameters(nodes)}
        self._uses_gpu = any(plan.devices[node.id] != "cpu" for node in nodes)
        self.reads = any(isinstance(node, Source) for node in nodes)
        self.batch_size = self._settings.batch_size
        self.key = f"{self._settings}\n{identity}\n{plan.version}\n{self._made.code.text}"
        self._compiled: CompiledSource | None = None
        self._pipe: Any = None

    def run(self) -> Mapping[str, Any]:
        """Run the next batch. Return, for each block body, the indices of the samples it runs for.

        The indices are DALI lists of int32. The keys are bodies, such as ``branch.then``. The
        result is valid until the next call. Raises PipelineError if DALI fails.
        """
        if self._compiled is None:
            self._compiled = CompiledSource(self._made.code)
        try:
            if self._pipe is None:
                self._pipe = self._build(self._compiled)
            self._pipe.feed_input(str(SAMPLE), np.arange(self.batch_size, dtype=np.int32))
            outputs = self._pipe.run()
        except Exception as error:
            raise self._compiled.error(error) from None
        ports = zip(self._made.outputs, outputs, strict=True)
        return {port.node: output for port, output in ports if not port.output}

    def _build(self, compiled: CompiledSource) -> Any:
        settings = self._settings
        pipe = compiled["stage"](
            **self._data, device=settings.device, base_seed=settings.seed, position=0,
            positions={}, batch_size=settings.batch_size, num_threads=settings.num_threads,
            device_id=0 if self._uses_gpu else None, prefetch_queue_depth=1,
        )  # fmt: skip
        pipe.build()
        return pipe


class PlacesInTurns:
    """``BranchPlaces`` for the parallel pipelines of a graph, which alternate by batch.

    It has the same method ``run`` as ``BranchPlaces``.
    """

    def __init__(self, pipelines: Sequence[BranchPlaces]) -> None:
        first = pipelines[0]
        self.reads, self.batch_size = first.reads, first.batch_size
        self.key = "\n".join(each.key for each in pipelines)
        self._turns = itertools.cycle(pipelines)

    def run(self) -> Mapping[str, Any]:
        """Run the next batch with the next pipeline. See ``BranchPlaces.run``."""
        return next(self._turns).run()


def _conditions_only(block: Node) -> Node:
    """Return a block with only its nested blocks and the nodes that conditions depend on."""
    bodies = {name: _deciding_body(body) for name, body in block.bodies.items()}
    if block.op in _CONSECUTIVE and any(body.inputs for body in bodies.values()):
        return block  # later conditions depend on earlier results
    passed = {name for body in bodies.values() for name in body.inputs}
    controls = set(block.inputs) - {n for body in block.bodies.values() for n in body.inputs}
    inputs = {name: port for name, port in block.inputs.items() if name in passed | controls}
    return replace(block, inputs=inputs, bodies=bodies)


def _deciding_body(body: Body) -> Body:
    blocks = {node.id: _conditions_only(node) for node in body.nodes if node.bodies}
    inner = Graph(nodes=tuple(blocks.get(node.id, node) for node in body.nodes))
    ports = [port for block in blocks.values() for port in block.inputs.values()]
    needed = ancestors(inner, ports) | set(blocks)
    nodes = tuple(node for node in inner.nodes if node.id in needed)
    used = {port for node in nodes for port in node.inputs.values()}
    chosen = tuple(
        name
        for name in body.inputs
        if any(port.output == name and not inner.has(port.node) for port in used)
    )
    return Body(nodes, {}, chosen)


# Number of samples per body in earlier batches, for operators that sample there.
#
# Such an operator sees only the samples of its body and advances by their number. The conditions
# are run for all earlier batches (``BranchPlaces``).

_KEPT = 8


def uses_random_numbers_inside(block: Node, catalog: Catalog) -> bool:
    """Return True if a block contains an operator that has inputs and uses random numbers."""
    return any(
        (catalog[node.op].seeded and node.inputs) or uses_random_numbers_inside(node, catalog)
        for body in block.bodies.values()
        for node in body.nodes
    )


class BranchCounts:
    """Cache of ``BranchCounter`` objects, so that each batch is counted only once for a block."""

    def __init__(self) -> None:
        self._counters: OrderedDict[str, BranchCounter] = OrderedDict()

    def before(self, plan: Plan, block: Node) -> Mapping[str, int]:
        """Map each body in a block to the number of samples in earlier batches for which it ran."""
        if plan.batch == 0 or not uses_random_numbers_inside(block, plan.resolved.catalog):
            return {}
        counter = BranchCounter(BranchPlaces(plan, [block]))
        counter = self._counters.setdefault(counter.key, counter)
        self._counters.move_to_end(counter.key)
        while len(self._counters) > _KEPT:
            self._counters.popitem(last=False)
        return counter.before(plan.batch)

    def clear(self) -> None:
        """Drop the pipelines and their results."""
        self._counters.clear()


class BranchCounter:
    """Counts the samples of all previous batches for which each block body runs.

    A body in a loop is counted for each iteration, and named as in ``preview_stage``.
    """

    def __init__(self, places: BranchPlaces | PlacesInTurns) -> None:
        self.places = places
        self.key = places.key
        self._counts: list[dict[str, int]] = [{}]

    @property
    def counted(self) -> int:
        """Number of batches counted so far."""
        return len(self._counts) - 1

    def before(self, batch: int) -> Mapping[str, int]:
        """Map each block body to the number of samples before ``batch`` for which it runs.

        Batches that are not counted yet are run. Raises PipelineError if DALI fails, and DataError
        if this takes too long.
        """
        began, first = time.monotonic(), self.counted
        while self.counted < batch:
            way = "random values inside a block depend on all batches before it"
            require_near(batch, batch, self.counted, first, time.monotonic() - began, way)
            sums = dict(self._counts[-1])
            for name, places in self.places.run().items():
                sums[name] = sums.get(name, 0) + len(places)
            self._counts.append(sums)
        return self._counts[batch]
