"""Measure a fix for a slow loader of ``wb.loader``: mixed decoding and better settings."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.bench.experiments.benchmark import Benchmark
from workbench.bench.experiments.tune import TuningExperiment
from workbench.bench.measuring.config import Config, adopt_config
from workbench.bench.measuring.grid import grid_for
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import COARSE_CONFIG
from workbench.bench.measuring.stats import ratio
from workbench.bench.records.charts import best_measurement
from workbench.bench.records.record import Report
from workbench.catalog import load_catalog
from workbench.engine.build.in_process_loader import InProcessLoader
from workbench.engine.resources.machine import describe_machine
from workbench.errors import ArgumentError
from workbench.graph.model import DecodeDevice, Graph
from workbench.graph.resolved import ResolvedGraph
from workbench.results import DocumentedResult, ResultDocument, ResultTable, record_result
from workbench.training.watch.verdict import LoopTimes

_GAIN = 1.05
"""Minimum speed-up of a loader that is reported."""
_FEWEST_TRIED = 4


@dataclass(frozen=True, slots=True, repr=False)
class LoaderFix(DocumentedResult):
    """Faster settings of a loader. ``factor`` is the measured speed-up of the loader alone.

    ``loop_factor`` is the expected speed-up of the training loop, which is smaller because the
    training step takes time too. ``graph`` is the graph with the faster settings.
    """

    graph: Graph
    rates: tuple[tuple[str, str], ...]
    """Pairs of settings and images per second as text; the first is the watched loader."""
    factor: float
    factor_text: str
    """``factor`` as text, a range if it is not known within 3 %."""
    loop_factor: float | None
    tried: tuple[int, int]
    """Number of settings that were measured, and number of all possible settings."""
    created: str = field(default_factory=lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))

    def document(self) -> ResultDocument:
        best = self.rates[-1][0]
        tried, known = self.tried
        if self.factor < _GAIN and tried < min(known, _FEWEST_TRIED):
            first = f"Only {tried} of {known} settings were tried in this time. Pass more seconds."
        elif self.factor < _GAIN:
            first = "No other settings make the loader measurably faster. Try wb.optimise."
        else:
            first = f"The loader is {self.factor_text} times as fast with {best}."
        sentences = [first]
        if self.loop_factor is not None and self.factor >= _GAIN:
            sentences.append(f"The training loop would be {self.loop_factor:.2f} times as fast.")
        sentences.append(f"{tried} of {known} settings with this batch size were tried.")
        table = ResultTable("", ("settings", "images/s"), self.rates)
        return ResultDocument("watch", "Loader", tuple(sentences), (table,), (), self.created)


def measure_loader_fix(loader: Any, times: LoopTimes | None, seconds: float) -> LoaderFix:
    """Measure other settings of a loader with the same batch size.

    ``times`` are the times of the training loop. Raises ArgumentError if the loader was not created
    by ``wb.loader``.
    """
    if not isinstance(loader, InProcessLoader):
        raise ArgumentError(
            f"measure_fix: the loader has type {type(loader).__name__}; only loaders of wb.loader "
            "are supported. Import a DALI pipeline with wb.from_file, and pass its graph to "
            "wb.loader."
        )
    graph, machine = loader.graph, describe_machine()
    own = graph.settings.device
    device: DecodeDevice = own if machine.no_gpu else "mixed"
    rows: dict[str, Measurement] = {}
    if device != own:
        compared = Benchmark(graph, loader.data, measurement_config=COARSE_CONFIG).run()
        rows |= {row.config.label: row for row in compared.measurements if row.rounds}
    grid = replace(
        grid_for(ResolvedGraph(graph, load_catalog()), machine, device),
        batch_size=(graph.settings.batch_size,),
    )
    tuning = TuningExperiment(graph, loader.data, device, grid, seconds=seconds)
    report = tuning.run()
    if device == own:
        rows |= _own_row(report, tuning.base)
    best = best_measurement(report)
    first = next(iter(rows.values()), best)
    rows[best.config.settings] = best
    gain = ratio(best.samples, first.samples)
    factor = gain.median
    found = LoaderFix(
        adopt_config(graph, best.config),
        tuple((name, row.figure) for name, row in rows.items()),
        factor,
        gain.text(),
        None if times is None else _loop_factor(times, factor),
        (report.extra["tune"]["probes"], report.extra["tune"]["grid"]),
    )
    record_result(found)
    return found


def _own_row(report: Report, base: Config) -> dict[str, Measurement]:
    """Return the row of the unchanged settings, preferably from a row that is not a probe."""
    rows = [row for row in report.measurements if row.config == base and row.rounds]
    rows.sort(key=lambda row: row.probe)
    return {row.config.settings: row for row in rows[:1]}


def _loop_factor(times: LoopTimes, factor: float) -> float:
    """Return the speed-up of a loop whose prefetching loader becomes faster by ``factor``."""
    waits = times.total.value - times.free.value > 0.02 * times.total.value
    if not waits:
        return 1.0
    return times.total.value / max(times.free.value, times.total.value / factor)
