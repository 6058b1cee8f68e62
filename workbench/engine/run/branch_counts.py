"""How many samples came to each body in the batches before, for operators that draw there.

Such an operator sees the samples of its body alone and advances by their number. What decides is
run for all earlier batches (see ``branch_places.py``).

Runs inside the worker process only.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping

from workbench.catalog.spec import Catalog
from workbench.engine.build.plan import Plan
from workbench.engine.reading.reader_cursor import require_near
from workbench.engine.run.branch_places import BranchPlaces, PlacesInTurns
from workbench.graph.model import Node

_KEPT = 8


def draws_inside(block: Node, catalog: Catalog) -> bool:
    """Whether an operator that is fed draws in one of a block's bodies."""
    return any(
        (catalog[node.op].seeded and node.inputs) or draws_inside(node, catalog)
        for body in block.bodies.values()
        for node in body.nodes
    )


class BranchCounts:
    """The counts of some blocks, each found once for each batch."""

    def __init__(self) -> None:
        self._counters: OrderedDict[str, BranchCounter] = OrderedDict()

    def before(self, plan: Plan, block: Node) -> Mapping[str, int]:
        """For each scope in a block of the graph, the samples before the plan's batch."""
        if plan.batch == 0 or not draws_inside(block, plan.resolved.catalog):
            return {}
        counter = BranchCounter(BranchPlaces(plan, [block]))
        counter = self._counters.setdefault(counter.key, counter)
        self._counters.move_to_end(counter.key)
        while len(self._counters) > _KEPT:
            self._counters.popitem(last=False)
        return counter.before(plan.batch)

    def clear(self) -> None:
        """Drop the pipelines and what they found."""
        self._counters.clear()


class BranchCounter:
    """For each scope the samples that came there, summed over all batches before each.

    Of a body that runs again and again for each turn, as ``preview_stage`` names it.
    """

    def __init__(self, places: BranchPlaces | PlacesInTurns) -> None:
        self.places = places
        self.key = places.key
        self._counts: list[dict[str, int]] = [{}]

    @property
    def counted(self) -> int:
        """How many batches were counted, from 0 on."""
        return len(self._counts) - 1

    def before(self, batch: int) -> Mapping[str, int]:
        """The sums before a batch, which are found where they are not yet.

        Raises PipelineError, and DataError where that takes too long.
        """
        began, first = time.monotonic(), self.counted
        while self.counted < batch:
            way = "what is drawn inside a block depends on all batches before it"
            require_near(batch, batch, self.counted, first, time.monotonic() - began, way)
            sums = dict(self._counts[-1])
            for name, places in self.places.run().items():
                sums[name] = sums.get(name, 0) + len(places)
            self._counts.append(sums)
        return self._counts[batch]
