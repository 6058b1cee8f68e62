"""The tuner's probes: short measurements, one after the other in one worker process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from workbench.bench.analysis.tuning_time import TuningTime
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import (
    GPU_PROBE_CONFIG,
    PROBE_CONFIG,
    MeasurementConfig,
)
from workbench.bench.measuring.worker_group import KeptWorker
from workbench.bench.records.headroom import headroom_of
from workbench.engine.protocol.worker_progress import Progress

NOTHING_MORE = "the JPEG engines or the bus are busy all the time: no setting can bring more"
TIME_UP = "the time was up: a longer search may find more"

Measure = Callable[[Config, MeasurementConfig, Progress, float, KeptWorker], Measurement]
"""One setting, how, who hears of it, the rate that it has to reach, the worker of the last one."""


class Probes:
    """What was probed so far: ``rows``, each labelled as a probe."""

    def __init__(self, measure: Measure, cores: int, time: TuningTime) -> None:
        """``cores`` are the machine's; ``time`` says how long each may take, and when to end."""
        self.rows: list[Measurement] = []
        self._measure = measure
        self._cores = cores
        self._time = time
        self._time_up = False
        self._kept = KeptWorker()

    def probe(self, config: Config, progress: Progress) -> Measurement:
        """Measure a setting, against the best so far.

        One that fails in the worker of others is tried in a fresh one: what they left behind may
        be why.
        """
        row = self._try(config, progress)
        if row.reason and self._kept.reused:
            row = self._try(config, progress)
        self.rows.append(replace(row, label=f"probe {len(self.rows) + 1}"))
        return self.rows[-1]

    def _try(self, config: Config, progress: Progress) -> Measurement:
        best = max((row.rate for row in self.rows), default=0.0)
        usual = PROBE_CONFIG if config.device == "cpu" else GPU_PROBE_CONFIG
        how, began = self._time.for_probe(usual), self._time.spent
        row = self._measure(config, how, progress, best, self._kept)
        self._time.count_probe(row, self._time.spent - began)
        return row

    def enough(self) -> str:
        """Why no more are worth while, or empty: something is full, or the time is up."""
        heads = (headroom_of(row, self._cores) for row in self.rows)
        if any(head is not None and head.exhausted for head in heads):
            return NOTHING_MORE
        self._time_up = self._time_up or bool(self.rows and self._time.is_up_for_probes())
        return TIME_UP if self._time_up else ""

    def close(self) -> None:
        """End the worker."""
        self._kept.close()
