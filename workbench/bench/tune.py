"""Which settings to ship: a sweep of all of them, and a tuner that takes a fifth of that time."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from workbench.arguments import NUMBER, WHOLE, require_choice, require_kind
from workbench.bench.config import Config, Regime, config_of, with_config
from workbench.bench.data_fingerprint import Fingerprint
from workbench.bench.grid import GRID, KNOBS, Grid, Place, grid_for
from workbench.bench.headroom import headroom_of
from workbench.bench.interleaved import format_duration
from workbench.bench.measurement import CONFIRMED, Measurement
from workbench.bench.measurement_config import (
    GPU_PROBE_CONFIG,
    GPU_SETTING_CONFIG,
    MEASUREMENT,
    PROBE_CONFIG,
    QUICK_CONFIG,
    MeasurementConfig,
    long_config,
)
from workbench.bench.page_cache import Cache, CacheState
from workbench.bench.record import Report
from workbench.bench.speed_experiment import SpeedExperiment
from workbench.bench.tuner_search import TunerSearch
from workbench.bench.worker_group import KeptWorker
from workbench.catalog import Catalog, load_catalog
from workbench.engine.machine import Machine
from workbench.engine.worker_progress import Progress
from workbench.errors import ArgumentError, EngineError
from workbench.graph.model import DecodeDevice, Graph
from workbench.sources import Data

INTERRUPTED = "interrupted: measured once, and not beside the others"
_SAME = 0.03
NOTHING_MORE = "the JPEG engines or the bus are busy all the time: no setting can bring more"
TIME_UP = "the time was up: a longer search may find more"
LEAST_SECONDS = 20.0
"""The shortest time that a tuning may be given."""
_SEARCH_WITHIN, _TURN_WITHIN, _LONG_WITHIN = 0.45, 0.05, 0.15
"""Of the time that it is given: the search, the rounds of each of the best, the long run. The rest
goes into starting and building."""
_FEWEST_ROUNDS = 4
"""In turns, where the time is given."""
_SEARCH_SHARE, _CONFIRM_FROM = 0.7, 0.9
"""Of the time of a tuning: the search, then the best settings, then the choice for long."""
_LONG_SECONDS = {"cpu": 10.0, "mixed": 60.0}
"""On a GPU several pipelines change between two rates every few seconds."""
_LEAST_LONG = 6.0
_LONG_SHARE = 0.04
_SETTING_SECONDS = 8.0
"""What a setting of a sweep takes: its worker's start, the warm-up, the rounds."""
_LONG_RUNS = 2
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
        grid = self._ready(catalog, machine)
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
        if so_far is None or not rows or so_far.fingerprint is None or so_far.cache is None:
            return None
        best = max(rows, key=lambda row: row.median or 0.0)
        others = [row for row in so_far.measurements if row is not best]
        flagged = replace(best, label="best so far", flags=(*best.flags, INTERRUPTED))
        return self.report(
            [flagged, *others],
            so_far.machine,
            so_far.fingerprint,
            so_far.cache,
            **so_far.extra,
            interrupted=True,
        )

    def _ready(self, catalog: Catalog, machine: Machine) -> Grid:
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


class TuningExperiment(SweepExperiment):
    """The best setting of a grid, found in a fifth of the time that all of it would take.

    A grid of ``tuner_search.SMALL`` settings or fewer is probed whole.
    """

    kind = "tune"

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
        """As a sweep; ``seconds`` is about how long it may take (without: as the grid needs).

        The search then ends after 45 % of it, and the best are measured anew for less long.
        """
        super().__init__(
            graph,
            data,
            device,
            grid,
            regime=regime,
            host_limit=host_limit,
            gpu_limit=gpu_limit,
            measurement_config=measurement_config,
            cache=cache,
            name=name,
        )
        if seconds is not None:
            require_kind("TuningExperiment: seconds", seconds, NUMBER)
            if not seconds >= LEAST_SECONDS:
                raise ArgumentError(
                    f"TuningExperiment: seconds is {seconds}. Give {LEAST_SECONDS} or more: the "
                    "choice is measured beside the graph's own setting, and for long."
                )
        self.seconds = seconds

    def run(self, on_progress: Progress = lambda share, text: None) -> Report:
        """Search, measure the best in turns with the graph's own, then the fastest for long.

        The report's first measurement is the choice; the last are the probes. Raises DataError,
        EngineError where every setting fails, and CancelledError.
        """
        kept = KeptWorker()
        try:
            return self._tune(on_progress, kept)
        finally:
            kept.close()

    def _tune(self, on_progress: Progress, kept: KeptWorker) -> Report:
        """``kept`` has the worker that all probes run in."""
        catalog, machine, found, cache = self.prepare(on_progress)
        grid = self._ready(catalog, machine)
        probes: list[Measurement] = []
        began = time.monotonic()

        def try_one(config: Config) -> Measurement:
            self.publish(probes, config, machine, found, cache)
            words = f"probe {len(probes) + 1} of at most {most}: {config.settings}"
            begin, end = (_SEARCH_SHARE * count / most for count in (len(probes), len(probes) + 1))
            progress = self.progress.part(begin, end, words)
            progress(0.0, words)
            best = max((row.median or 0.0 for row in probes), default=0.0)
            how = PROBE_CONFIG if config.device == "cpu" else GPU_PROBE_CONFIG
            row = self.measure_one(config, catalog, found, how, progress, best, kept=kept)
            if row.reason and kept.reused:  # for what others left behind, maybe
                row = self.measure_one(config, catalog, found, how, progress, best, kept=kept)
            probes.append(replace(row, label=f"probe {len(probes) + 1}"))
            return probes[-1]

        def stopped() -> str:
            heads = (headroom_of(row, machine.cores) for row in probes)
            if any(head is not None and head.exhausted for head in heads):
                return NOTHING_MORE
            late = self.seconds and time.monotonic() - began > _SEARCH_WITHIN * self.seconds
            return TIME_UP if late and probes else ""

        search = TunerSearch(
            grid,
            lambda place: try_one(grid.config(place, self.base)).median,
            exhausted=lambda: bool(stopped()),
        )
        most = search.allowance - search.confirmed
        best = [grid.config(place, self.base) for place in search.run()]
        searched, why = time.monotonic() - began, stopped()
        kept.close()
        self.publish(probes, None, machine, found, cache)
        finalists = self._finalists(best)
        entries = [
            replace(self.entry(config, catalog, found, label), limit=self.limit)
            for label, config in finalists.items()
        ]
        part = self.progress.part(_SEARCH_SHARE, _CONFIRM_FROM)
        rows = self.measure(entries, part, self._within(self.measurement_config))
        tuned = sorted(
            (row for row in rows if row.rounds), key=lambda row: row.median or 0.0, reverse=True
        )
        if not tuned:
            first = [*probes, *rows][0].reason
            raise EngineError(f"No setting could be measured. The first: {first}")
        self.publish([*tuned, *probes], None, machine, found, cache)
        long = long_seconds(len(grid), self.base.device)
        if self.seconds:
            long = max(_LEAST_LONG, min(long, _LONG_WITHIN * self.seconds))
        chosen = self._confirm(tuned, catalog, found, long)
        self.progress(1.0, "done")
        head = headroom_of(chosen[0], machine.cores) if chosen else None
        extra = {
            "probes": len(probes),
            "grid": len(grid),
            "search_seconds": searched,
            "seconds": time.monotonic() - began,
            "headroom": head.words() if head else "",
            "stopped": why,
        }
        failed = [row for row in rows if not row.rounds]
        measured = [*chosen, *tuned, *failed, *probes]
        return self.report(measured, machine, found, cache, grid=grid.to_json(), tune=extra)

    def _within(self, config: MeasurementConfig) -> MeasurementConfig:
        """How the best are measured in turns, in the time that there is."""
        if self.seconds is None:
            return config
        budget = min(config.budget, _TURN_WITHIN * self.seconds)
        return replace(config, rounds=min(config.rounds, _FEWEST_ROUNDS), budget=budget)

    def _finalists(self, best: Sequence[Config]) -> dict[str, Config]:
        """The best settings and the graph's own, by label, each once."""
        labels = {f"candidate {number}": config for number, config in enumerate(best, 1)}
        if self.base not in best:
            labels["as it is"] = self.base
        return labels

    def _confirm(
        self, tuned: Sequence[Measurement], catalog: Catalog, found: Fingerprint, seconds: float
    ) -> list[Measurement]:
        """The fastest for so many seconds without a pause, best first.

        Where it does not keep what it promised, the next does the same.
        """
        done: list[Measurement] = []
        progress = self.progress.part(_CONFIRM_FROM, 1.0)
        for row in tuned[:_LONG_RUNS]:
            if done and (done[0].median or 0.0) >= (1 - _SAME) * (row.median or 0.0):
                break
            progress(0.0, f"{seconds:.0f} s of {row.config.settings}")
            long = self.measure_one(
                row.config, catalog, found, long_config(seconds), progress, label=CONFIRMED
            )
            done += [long] if long.rounds else []
            done.sort(key=lambda one: one.median or 0.0, reverse=True)
        return done


def long_seconds(settings: int, device: DecodeDevice) -> float:
    """How long the choice of a grid is run: a small part of what the grid would take."""
    most = _LONG_SECONDS[device]
    return min(most, max(_LEAST_LONG, _LONG_SHARE * settings * _SETTING_SECONDS))


def ineffective_knobs(grid: Grid, rows: Mapping[Place, Measurement]) -> list[str]:
    """Knobs of a grid whose every value can be as fast as any other, within 3 %."""
    found = []
    for index, knob in enumerate(KNOBS):
        best: dict[int, float] = {}
        for place, row in rows.items():
            best[place[index]] = max(best.get(place[index], 0.0), row.median or 0.0)
        if len(best) > 1 and min(best.values()) > (1 - _SAME) * max(best.values()):
            found.append(knob)
    return found


def describe_ineffective(knob: str) -> str:
    """What it means that a knob is one of those."""
    return f"{knob} makes no difference to the best: each of its values has a setting as fast"


def adopt_config(graph: Graph, config: Config) -> Graph:
    """The graph with a setting written into it: what is exported then has it too."""
    return with_config(graph, load_catalog(), replace(config, regime="pipeline"))
