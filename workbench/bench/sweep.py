"""Every setting of a grid measured by itself."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from workbench.arguments import WHOLE, require_choice, require_kind
from workbench.bench.config import Config, Regime, config_of
from workbench.bench.data_fingerprint import Fingerprint
from workbench.bench.grid import GRID, KNOBS, Grid, Place, grid_for
from workbench.bench.interleaved import format_duration
from workbench.bench.measurement import Measurement
from workbench.bench.measurement_config import (
    GPU_SETTING_CONFIG,
    MEASUREMENT,
    QUICK_CONFIG,
    MeasurementConfig,
)
from workbench.bench.page_cache import Cache, CacheState
from workbench.bench.record import Report
from workbench.bench.speed_experiment import SpeedExperiment
from workbench.bench.worker_group import KeptWorker
from workbench.catalog import Catalog
from workbench.engine.machine import Machine
from workbench.engine.worker_progress import Progress
from workbench.graph.model import DecodeDevice, Graph
from workbench.sources import Data

INTERRUPTED = "interrupted: measured once, and not beside the others"
SAME = 0.03
"""Rates that differ by no more count as the same."""
_HOST_SHARE = 0.8
"""Of the host's memory that a configuration may take where no limit is given."""


class SweepExperiment(SpeedExperiment):
    """Every setting of a grid, each in a fresh worker, in random order."""

    kind = "sweep"

    def __init__(
        self,
        graph: Graph,
        data: Data,
        device: DecodeDevice | None = None,
        grid: Grid | None = None,
        *,
        regime: Regime = "pipeline",
        host_limit: int | None = None,
        gpu_limit: int | None = None,
        measurement_config: MeasurementConfig | None = None,
        cache: Cache = "warm",
        name: str = "",
    ) -> None:
        """``grid`` is that of ``grid_for`` where none is given; limits are in bytes.

        Without a limit, a configuration may take 80 % of the host's memory.
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
        super().__init__(graph, data, cache=cache, name=name)
        self.base = replace(config_of(graph, device), regime=regime)
        usual = QUICK_CONFIG if self.base.device == "cpu" else GPU_SETTING_CONFIG
        self.measurement_config = measurement_config or usual
        self.grid = grid
        self.limit = host_limit, gpu_limit

    def run(self, on_progress: Progress = lambda share, text: None) -> Report:
        """Measure the grid. A setting that fails is a row with the reason.

        Raises DataError, EngineError where nothing can be measured at all, and CancelledError.
        """
        catalog, machine, found, cache = self.prepare(on_progress)
        grid = self.grid_to_try(catalog, machine)
        places = list(grid.places())
        rows: dict[Place, Measurement] = {}
        began = time.monotonic()
        for number, place in enumerate(random.sample(places, len(places))):
            config = grid.config(place, self.base)
            self.publish(list(rows.values()), config, machine, found, cache)
            where = f"{number + 1} of {len(places)}: {config.settings}"
            left = (time.monotonic() - began) / max(number, 1) * (len(places) - number)
            words = f"{where}, about {format_duration(left)} left" if number else where

            progress = self.progress.part(number / len(places), (number + 1) / len(places), words)
            progress(0.0, words)
            rows[place] = self.measure_one(config, catalog, found, on_progress=progress)
        self.progress(1.0, "done")
        seconds = time.monotonic() - began
        extra = {"seconds": seconds, "no_effect": ineffective_knobs(grid, rows)}
        measured = [rows[place] for place in places]
        return self.report(measured, machine, found, cache, grid=grid.to_json(), sweep=extra)

    def publish(
        self,
        rows: Sequence[Measurement],
        now: Config | None,
        machine: Machine,
        found: Fingerprint,
        cache: CacheState,
    ) -> None:
        """Let ``partial_report`` be these rows. ``now`` is measured next, None the best anew."""
        assert self.grid is not None
        self.current_config = now
        self.partial_report = Report(
            self.graph.name,
            found.root,
            machine,
            tuple(rows),
            found,
            cache,
            self.measurement_config,
            self.kind,
            extra={"grid": self.grid.to_json()},
        )

    def interrupted_report(self) -> Report | None:
        """What was measured until then, the fastest setting first; None where nothing was."""
        so_far = self.partial_report
        rows = [row for row in so_far.measurements if row.rounds] if so_far else []
        if so_far is None or not rows:
            return None
        best = max(rows, key=lambda row: row.median or 0.0)
        others = [row for row in so_far.measurements if row is not best]
        flagged = replace(best, label="best so far", flags=(*best.flags, INTERRUPTED))
        return self.report_so_far([flagged, *others])

    def grid_to_try(self, catalog: Catalog, machine: Machine) -> Grid:
        """The grid, which is known from now on, as are the limits of memory.

        Raises EngineError where a value of a knob cannot be measured: before the first one is.
        """
        grid = self.grid = self.grid or grid_for(self.graph, catalog, machine, self.base.device)
        knobs = [(knob, value) for knob in KNOBS for value in grid.values(knob)]
        every = [replace(self.base, **cast(Any, {knob: value})) for knob, value in knobs]
        self.require_measurable([self.base, *every], catalog, machine)
        if self.limit[0] is None:
            self.limit = int(_HOST_SHARE * machine.memory_gib * 2**30), self.limit[1]
        return grid

    def measure_one(
        self,
        config: Config,
        catalog: Catalog,
        found: Fingerprint,
        measurement_config: MeasurementConfig | None = None,
        on_progress: Progress = lambda share, text: None,
        best: float = 0.0,
        label: str = "",
        kept: KeptWorker | None = None,
    ) -> Measurement:
        """Measure one setting by itself; ``best`` and ``kept`` as ``measure`` takes them."""
        entry = replace(self.entry(config, catalog, found, label), limit=self.limit)
        return self.measure([entry], on_progress, measurement_config, best, kept)[0]


def ineffective_knobs(grid: Grid, rows: Mapping[Place, Measurement]) -> list[str]:
    """Knobs of a grid whose every value can be as fast as any other, within 3 %."""
    found = []
    for index, knob in enumerate(KNOBS):
        best: dict[int, float] = {}
        for place, row in rows.items():
            best[place[index]] = max(best.get(place[index], 0.0), row.median or 0.0)
        if len(best) > 1 and min(best.values()) > (1 - SAME) * max(best.values()):
            found.append(knob)
    return found


def describe_ineffective(knob: str) -> str:
    """What it means that a knob is one of those."""
    return f"{knob} makes no difference to the best: each of its values has a setting as fast"
