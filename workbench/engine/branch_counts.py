"""How many samples came to each body in the batches before, for operators that draw there.

Such an operator sees the samples of its body alone and advances by their number. What decides is
run for all earlier batches: by itself, which takes 0.2 ms a batch where only draws decide.

Runs inside the worker process only.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.catalog.spec import Catalog
from workbench.emit.preview_stage import SAMPLE, StageCode, emit_stage
from workbench.engine.pipelines import Compiled
from workbench.engine.plan import Plan
from workbench.graph.model import Body, Graph, Node, ancestors
from workbench.graph.sources import parameters

_KEPT = 8


def draws_inside(region: Node, catalog: Catalog) -> bool:
    """Whether an operator that is fed draws in one of a region's bodies."""
    return any(
        (catalog[node.op].seeded and node.inputs) or draws_inside(node, catalog)
        for body in region.bodies.values()
        for node in body.nodes
    )


class BranchCounts:
    """The counts of some regions, each found once for each batch."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._counters: OrderedDict[str, _Counter] = OrderedDict()

    def before(self, plan: Plan, region: Node) -> Mapping[str, int]:
        """For each scope in a region of the graph, the samples before the plan's batch."""
        if plan.batch == 0 or not draws_inside(region, self._catalog):
            return {}
        counter = _Counter(plan, self._catalog, region)
        counter = self._counters.setdefault(counter.key, counter)
        self._counters.move_to_end(counter.key)
        while len(self._counters) > _KEPT:
            self._counters.popitem(last=False)
        return counter.before(plan.batch)

    def clear(self) -> None:
        """Drop the pipelines and what they found."""
        self._counters.clear()


class _Counter:
    def __init__(self, plan: Plan, catalog: Catalog, region: Node) -> None:
        deciding = plan.graph.replace_node(_deciding(region))
        needed = ancestors(deciding, list(deciding.node(region.id).inputs.values()))
        nodes = [node for node in deciding.nodes if node.id in needed or node.id == region.id]
        ids = {node.id for node in nodes}
        deciding = replace(deciding, nodes=tuple(nodes), outputs={})
        self._made: StageCode = emit_stage(deciding, catalog, ids, [], {}, positioned=False)
        self._settings = deciding.settings
        self._data = {name: plan.data[name].argument for name in parameters(nodes)}
        identity = {name: plan.data[name].identity for name in parameters(nodes)}
        self._uses_gpu = any(plan.devices[node.id] != "cpu" for node in nodes)
        self.key = f"{self._settings}\n{identity}\n{plan.version}\n{self._made.code.text}"
        self._compiled: Compiled | None = None
        self._pipe: Any = None
        self._counts: list[dict[str, int]] = [{}]

    def before(self, batch: int) -> Mapping[str, int]:
        if len(self._counts) <= batch and self._pipe is None:
            self._build()
        while len(self._counts) <= batch:
            self._count()
        return self._counts[batch]

    def _build(self) -> None:
        settings = self._settings
        self._compiled = Compiled(self._made.code)
        try:
            self._pipe = self._compiled["stage"](
                **self._data, device=settings.device, base_seed=settings.seed, position=0,
                positions={}, batch_size=settings.batch_size, num_threads=settings.num_threads,
                device_id=0 if self._uses_gpu else None, prefetch_queue_depth=1,
            )  # fmt: skip
            self._pipe.build()
        except Exception as error:
            raise self._compiled.error(error) from None

    def _count(self) -> None:
        assert self._compiled is not None
        size = self._settings.batch_size
        try:
            self._pipe.feed_input(str(SAMPLE), np.arange(size, dtype=np.int32))
            outputs = self._pipe.run()
        except Exception as error:
            raise self._compiled.error(error) from None
        counts = dict(self._counts[-1])
        for port, output in zip(self._made.outputs, outputs, strict=True):
            if not port.output:
                counts[port.node] = counts.get(port.node, 0) + len(output)
        self._counts.append(counts)


def _deciding(region: Node) -> Node:
    """A region with what decides inside it alone: nested regions, and what they depend on."""
    bodies = {name: _deciding_body(body) for name, body in region.bodies.items()}
    taken = {name for body in bodies.values() for name in body.inputs}
    controls = set(region.inputs) - {n for body in region.bodies.values() for n in body.inputs}
    inputs = {name: port for name, port in region.inputs.items() if name in taken | controls}
    return replace(region, inputs=inputs, bodies=bodies)


def _deciding_body(body: Body) -> Body:
    regions = {node.id: _deciding(node) for node in body.nodes if node.bodies}
    inner = Graph(nodes=tuple(regions.get(node.id, node) for node in body.nodes))
    ports = [port for region in regions.values() for port in region.inputs.values()]
    needed = ancestors(inner, ports) | set(regions)
    nodes = tuple(node for node in inner.nodes if node.id in needed)
    used = {port for node in nodes for port in node.inputs.values()}
    taken = tuple(
        name
        for name in body.inputs
        if any(port.output == name and not inner.has(port.node) for port in used)
    )
    return Body(nodes, {}, taken)
