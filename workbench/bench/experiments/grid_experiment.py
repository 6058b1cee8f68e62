"""Define the base class of the sweep and the tuner, which measure settings of a grid."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

from workbench.arguments import WHOLE, require_choice, require_kind
from workbench.bench.experiments.speed_experiment import Outcome, Prepared, SpeedExperiment
from workbench.bench.measuring.config import Config, Regime, config_of
from workbench.bench.measuring.data_files import Cache
from workbench.bench.measuring.deadline import require_seconds
from workbench.bench.measuring.grid import GRID, KNOBS, Grid, Place, grid_for
from workbench.bench.measuring.interleaved import ConfigJobs, format_duration
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import (
    GPU_SETTING_CONFIG,
    MEASUREMENT,
    QUICK_CONFIG,
    MeasurementConfig,
)
from workbench.bench.measuring.worker_group import ReusableWorker
from workbench.bench.records.record import Report
from workbench.engine.protocol.progress import Progress
from workbench.errors import ArgumentError
from workbench.graph.model import DecodeDevice, Graph
from workbench.sources import Data

NOT_REPEATED = "interrupted: measured once, not interleaved with the others"
SAME = 0.03
"""Maximum relative difference between two rates that are considered equal."""
_HOST_SHARE = 0.8
"""Fraction of host memory that a configuration may use if no limit is set."""


class GridExperiment(SpeedExperiment):
    """Base class of experiments that measure each setting of a grid separately."""

    measures_all: ClassVar[bool] = False
    """True if every setting of the grid is measured, however long that takes."""
    grid: Grid
    """Settings to try, set by ``prepare``."""

    def __init__(
        self,
        graph: Graph,
        data: Data,
        device: DecodeDevice | None = None,
        grid: Grid | None = None,
        *,
        seconds: float | None = None,
        regime: Regime = "pipeline",
        host_limit: int | None = None,
        gpu_limit: int | None = None,
        measurement_config: MeasurementConfig | None = None,
        cache: Cache = "warm",
        name: str = "",
    ) -> None:
        """``grid`` defaults to ``grid_for``. Memory limits are in bytes.

        Without ``host_limit``, a configuration may use 80 % of the host's memory. ``seconds``
        limits the duration of runs that do not measure the whole grid; without it, a run takes as
        long as the grid needs.
        """
        where = type(self).__name__
        if grid is not None:
            require_kind(f"{where}: grid", grid, GRID)
        for what, limit in (("host_limit", host_limit), ("gpu_limit", gpu_limit)):
            if limit is not None:
                require_kind(f"{where}: {what}", limit, WHOLE)
        if device is not None:
            require_choice(f"{where}: device", device, ("cpu", "mixed"))
        if measurement_config is not None:
            require_kind(f"{where}: measurement_config", measurement_config, MEASUREMENT)
        require_seconds(where, seconds)
        if seconds is not None and self.measures_all:
            raise ArgumentError(
                f"{where}: seconds is {seconds}, but a time limit cannot be combined with "
                "measuring every setting. Omit seconds, or use TuningExperiment."
            )
        super().__init__(graph, data, cache=cache, name=name)
        self.base = replace(config_of(graph, device), regime=regime)
        """Configuration with the graph's own settings."""
        usual = QUICK_CONFIG if self.base.device == "cpu" else GPU_SETTING_CONFIG
        self.measurement_config = measurement_config or usual
        self.seconds = seconds
        self.limit = host_limit, gpu_limit
        self.given_grid = grid

    def prepare(self, on_progress: Progress = lambda share, text: None) -> Prepared:
        """Prepare the experiment, and set the grid and the memory limits.

        Raises EngineError if a value in the grid cannot be measured.
        """
        prepared = super().prepare(on_progress)
        machine = prepared.machine
        grid = self.given_grid or grid_for(self.resolved, machine, self.base.device)
        self.grid = grid
        knobs = [(knob, value) for knob in KNOBS for value in grid.values(knob)]
        every = [replace(self.base, **cast(Any, {knob: value})) for knob, value in knobs]
        self.require_measurable(self.base, *every)
        if self.limit[0] is None:
            self.limit = int(_HOST_SHARE * machine.memory_gib * 2**30), self.limit[1]
        return prepared

    def measure_one(
        self,
        config: Config,
        measurement_config: MeasurementConfig | None = None,
        on_progress: Progress = lambda share, text: None,
        best: float = 0.0,
        reusable: ReusableWorker | None = None,
        label: str = "",
    ) -> Measurement:
        """Measure one setting. ``best`` and ``reusable`` are passed to ``measure``."""
        entry = self.limited_entry(config, label)
        return self.measure([entry], on_progress, measurement_config, best, reusable)[0]

    def limited_entry(self, config: Config, label: str) -> ConfigJobs:
        """Return the measurement job of a setting, with the memory limits."""
        return replace(self.entry(config, label), limit=self.limit)

    def on_rows(self, rows: tuple[Measurement, ...]) -> None:
        """Do nothing, because ``publish`` is called after each setting."""

    def publish(self, rows: Sequence[Measurement], now: Config | None) -> None:
        """Set ``partial_report`` to these rows.

        ``now`` is the setting to be measured next, or None while the best settings are remeasured.
        """
        self.current_config = now
        self.publish_rows(rows, grid=self.grid.to_json())

    def interrupted_report(self) -> Report | None:
        """Return the results before an interrupt, fastest first, or None if there are none."""
        so_far = self.partial_report
        rows = [row for row in so_far.measurements if row.rounds] if so_far else []
        if so_far is None or not rows:
            return None
        best = max(rows, key=lambda row: row.rate)
        others = [row for row in so_far.measurements if row is not best]
        flagged = replace(best, label="best so far", flags=(*best.flags, NOT_REPEATED))
        return self.report_so_far([flagged, *others])


class SweepExperiment(GridExperiment):
    """Measure every setting of a grid in random order, each in a new worker."""

    kind = "sweep"
    measures_all = True

    def measure_all(self) -> Outcome:
        """Measure every setting. A setting that fails becomes a row with the reason."""
        places = list(self.grid.places())
        rows: dict[Place, Measurement] = {}
        began = time.monotonic()
        for number, place in enumerate(random.sample(places, len(places))):
            config = self.grid.config(place, self.base)
            self.publish(list(rows.values()), config)
            where = f"{number + 1} of {len(places)}: {config.settings}"
            left = (time.monotonic() - began) / max(number, 1) * (len(places) - number)
            words = f"{where}, about {format_duration(left)} left" if number else where
            progress = self.progress.part(number / len(places), (number + 1) / len(places), words)
            progress(0.0, words)
            rows[place] = self.measure_one(config, on_progress=progress)
        sweep = {
            "seconds": time.monotonic() - began,
            "no_effect": ineffective_knobs(self.grid, rows),
        }
        measured = [rows[place] for place in places]
        return Outcome(measured, {"grid": self.grid.to_json(), "sweep": sweep})


def ineffective_knobs(grid: Grid, rows: Mapping[Place, Measurement]) -> list[str]:
    """Return the knobs (settings) for which all values reach the best speed within 3 %."""
    found = []
    for index, knob in enumerate(KNOBS):
        best: dict[int, float] = {}
        for place, row in rows.items():
            best[place[index]] = max(best.get(place[index], 0.0), row.rate)
        if len(best) > 1 and min(best.values()) > (1 - SAME) * max(best.values()):
            found.append(knob)
    return found


def describe_ineffective(knob: str) -> str:
    """Format a sentence about a knob that does not affect the best speed."""
    return f"{knob} does not affect the best speed: with each of its values, a setting is as fast"
