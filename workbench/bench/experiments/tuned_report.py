"""Define the report of a tuning run, whose chosen setting can be applied to the graph."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from workbench.bench.measuring.config import Config, with_config
from workbench.bench.records.charts import best_measurement
from workbench.bench.records.record import Report
from workbench.catalog import load_catalog
from workbench.graph.model import Graph
from workbench.graph.resolved import ResolvedGraph


@dataclass(frozen=True, slots=True, repr=False)
class TunedReport(Report):
    """Report of a tuning run. The first measurement is the chosen setting.

    ::

        report = w.tune("cpu", seconds=20, measurement_config=COARSE_CONFIG)
        w.graph = report.apply()
        assert w.graph.settings.batch_size == report.best_settings["batch_size"]
    """

    tuned: Graph = field(default_factory=Graph, repr=False, compare=False)

    @property
    def _choice(self) -> Config:
        return best_measurement(self).config

    @property
    def best_settings(self) -> dict[str, Any]:
        """Fastest settings, as keyword arguments of ``graph.with_settings``.

        ::

            print(w.tune("cpu", seconds=20, measurement_config=COARSE_CONFIG).best_settings)
        """
        choice = self._choice
        return {
            "batch_size": choice.batch_size,
            "num_threads": choice.threads,
            "prefetch_queue_depth": choice.prefetch,
            "device": choice.device,
            "pipelines": choice.pipelines,
            "executor": choice.executor,
        }

    def apply(self) -> Graph:
        """Return the measured graph with the fastest settings and decoder and reader options.

        ::

            w.graph = w.tune("cpu", seconds=20, measurement_config=COARSE_CONFIG).apply()
        """
        return with_config(ResolvedGraph(self.tuned, load_catalog()), self._choice).graph


def tuned_report(report: Report, graph: Graph) -> TunedReport:
    """Convert the report of a tuning run to a ``TunedReport``. ``graph`` is the measured graph."""
    known = {each.name: getattr(report, each.name) for each in fields(Report)}
    return TunedReport(**known, tuned=graph)
