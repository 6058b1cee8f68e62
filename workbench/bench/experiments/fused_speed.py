"""Compare the speed of an ``if`` block with that of the equivalent single operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from workbench.bench.experiments.speed_experiment import InterleavedExperiment, Options
from workbench.bench.measuring.config import config_of
from workbench.bench.measuring.interleaved import ConfigJobs
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.stats import ratio
from workbench.graph.model import Graph
from workbench.graph.variants.fused import fuse
from workbench.sources import Data

BRANCHED, FUSED = "with the if", "fused"


class FusedSpeedExperiment(InterleavedExperiment):
    """Measure imgs/s of a graph with an ``if`` block, and with one operator instead of the block.

    Raises GraphEditError if no operator is equivalent to the block.
    """

    kind = "fused"

    def __init__(
        self,
        graph: Graph,
        data: Data,
        block: str,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(graph, data, **options)
        self.block = block

    def entries(self) -> list[ConfigJobs]:
        """Return the measurement jobs of the graph with the block and of the graph without it."""
        other, _ = fuse(self.graph, self.resolved.catalog, self.block)
        config = config_of(self.graph)
        self.require_measurable(config)
        return [self.entry(config, BRANCHED), self.entry(config, FUSED, other)]

    def conclusions(self, rows: Sequence[Measurement]) -> dict[str, Any]:
        """Return the speed ratio of the two graphs with its confidence interval."""
        found: dict[str, Any] = {"block": self.block}
        if all(row.rounds for row in rows):
            times = ratio(rows[1].imgs_per_s, rows[0].imgs_per_s)
            found["fused_over_if"] = [times.median, times.low, times.high]
        return found
