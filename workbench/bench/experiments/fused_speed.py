"""An ``if`` against the one operator that does the same, measured in turns in the same run."""

from __future__ import annotations

from dataclasses import replace

from workbench.bench.experiments.speed_experiment import SpeedExperiment
from workbench.bench.measuring.config import config_of, with_config
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.bench.measuring.stats import ratio
from workbench.bench.measuring.workload import ScriptJob
from workbench.bench.records.record import Report
from workbench.emit.script import emit_script
from workbench.engine.protocol.worker_progress import Progress
from workbench.graph.model import Graph
from workbench.graph.variants.fused import fuse
from workbench.sources import Data

BRANCHED, FUSED = "with the if", "fused"
"""The names of the rows."""


class FusedSpeedExperiment(SpeedExperiment):
    """imgs/s of a graph as it is, and with one of its regions as one operator."""

    kind = "fused"

    def __init__(
        self,
        graph: Graph,
        data: Data,
        region: str,
        *,
        measurement_config: MeasurementConfig | None = None,
    ) -> None:
        super().__init__(graph, data, measurement_config=measurement_config)
        self.region = region

    def run(self, on_progress: Progress = lambda share, text: None) -> Report:
        """Measure both with the graph's own settings; ``extra`` has the ratio and its interval.

        Raises GraphEditError where the region cannot be one operator, DataError, EngineError and
        CancelledError.
        """
        catalog, machine, found, cache = self.prepare(on_progress)
        other, _ = fuse(self.graph, catalog, self.region)
        config = config_of(self.graph)
        self.require_measurable([config], catalog, machine)
        branched = self.entry(config, catalog, found, BRANCHED)
        source = emit_script(with_config(other, catalog, config), catalog)
        job = ScriptJob(source, self.data, config.device, config.prefetch)
        fused = replace(branched, jobs=(job,), label=FUSED)
        self.begin(machine, found, cache)
        rows = self.measure([branched, fused], self.progress)
        extra: dict[str, object] = {"region": self.region}
        if all(row.rounds for row in rows):
            times = ratio(rows[1].imgs_per_s, rows[0].imgs_per_s)
            extra["fused_over_if"] = [times.median, times.low, times.high]
        self.progress(1.0, "done")
        return self.report(rows, machine, found, cache, **extra)
