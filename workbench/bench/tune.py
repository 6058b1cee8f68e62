"""Which settings to ship: the best of a grid, in a fifth of the time that all of it would take."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from workbench.arguments import NUMBER, require_kind
from workbench.bench.config import Config, Regime
from workbench.bench.data_fingerprint import Fingerprint
from workbench.bench.grid import Grid, Place
from workbench.bench.headroom import headroom_of
from workbench.bench.measurement import CONFIRMED, Measurement
from workbench.bench.measurement_config import MeasurementConfig, long_config
from workbench.bench.page_cache import Cache
from workbench.bench.probes import Probes
from workbench.bench.record import Report
from workbench.bench.sweep import SAME, SweepExperiment
from workbench.bench.tuner_search import TunerSearch
from workbench.bench.worker_group import KeptWorker
from workbench.catalog import Catalog
from workbench.engine.worker_progress import Progress
from workbench.errors import ArgumentError, EngineError
from workbench.graph.model import DecodeDevice, Graph
from workbench.sources import Data

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
        catalog, machine, found, cache = self.prepare(on_progress)
        grid = self.grid_to_try(catalog, machine)
        began = time.monotonic()

        def measure(
            config: Config, how: MeasurementConfig, part: Progress, best: float, kept: KeptWorker
        ) -> Measurement:
            return self.measure_one(config, catalog, found, how, part, best, kept=kept)

        def late() -> bool:
            return bool(self.seconds and time.monotonic() - began > _SEARCH_WITHIN * self.seconds)

        probes = Probes(measure, machine.cores, late)

        def rate_at(place: Place) -> float | None:
            config = grid.config(place, self.base)
            self.publish(probes.rows, config, machine, found, cache)
            done, most = len(probes.rows), search.allowance - search.confirmed
            words = f"probe {done + 1} of at most {most}: {config.settings}"
            begin, end = (_SEARCH_SHARE * count / most for count in (done, done + 1))
            progress = self.progress.part(begin, end, words)
            progress(0.0, words)
            return probes.probe(config, progress).median

        search = TunerSearch(grid, rate_at, exhausted=lambda: bool(probes.enough()))
        try:
            best = [grid.config(place, self.base) for place in search.run()]
        finally:
            probes.close()
        searched, why = time.monotonic() - began, probes.enough()
        self.publish(probes.rows, None, machine, found, cache)
        tuned, failed = self._beside_each_other(best, catalog, found)
        if not tuned:
            first = [*probes.rows, *failed][0].reason
            raise EngineError(f"No setting could be measured. The first: {first}")
        self.publish([*tuned, *probes.rows], None, machine, found, cache)
        chosen = self._confirm(tuned, catalog, found)
        self.progress(1.0, "done")
        head = headroom_of(chosen[0], machine.cores) if chosen else None
        extra = {
            "probes": len(probes.rows),
            "grid": len(grid),
            "search_seconds": searched,
            "seconds": time.monotonic() - began,
            "headroom": head.words() if head else "",
            "stopped": why,
        }
        measured = [*chosen, *tuned, *failed, *probes.rows]
        return self.report(measured, machine, found, cache, grid=grid.to_json(), tune=extra)

    def _beside_each_other(
        self, best: Sequence[Config], catalog: Catalog, found: Fingerprint
    ) -> tuple[list[Measurement], list[Measurement]]:
        """The best settings and the graph's own in turns: the fastest first, and what failed."""
        labels = {f"candidate {number}": config for number, config in enumerate(best, 1)}
        if self.base not in best:
            labels["as it is"] = self.base
        entries = [
            replace(self.entry(config, catalog, found, label), limit=self.limit)
            for label, config in labels.items()
        ]
        how = self.measurement_config
        if self.seconds is not None:
            budget = min(how.budget, _TURN_WITHIN * self.seconds)
            how = replace(how, rounds=min(how.rounds, _FEWEST_ROUNDS), budget=budget)
        part = self.progress.part(_SEARCH_SHARE, _CONFIRM_FROM)
        rows = self.measure(entries, part, how)
        measured = sorted((row for row in rows if row.rounds), key=_rate, reverse=True)
        return measured, [row for row in rows if not row.rounds]

    def _confirm(
        self, tuned: Sequence[Measurement], catalog: Catalog, found: Fingerprint
    ) -> list[Measurement]:
        """The fastest for long without a pause, best first.

        Where it does not keep what it promised, the next does the same.
        """
        assert self.grid is not None
        seconds = long_seconds(len(self.grid), self.base.device)
        if self.seconds:
            seconds = max(_LEAST_LONG, min(seconds, _LONG_WITHIN * self.seconds))
        done: list[Measurement] = []
        progress = self.progress.part(_CONFIRM_FROM, 1.0)
        for row in tuned[:_LONG_RUNS]:
            if done and _rate(done[0]) >= (1 - SAME) * _rate(row):
                break
            progress(0.0, f"{seconds:.0f} s of {row.config.settings}")
            long = self.measure_one(
                row.config, catalog, found, long_config(seconds), progress, label=CONFIRMED
            )
            done += [long] if long.rounds else []
            done.sort(key=_rate, reverse=True)
        return done


def _rate(row: Measurement) -> float:
    return row.median or 0.0


def long_seconds(settings: int, device: DecodeDevice) -> float:
    """How long the choice of a grid is run: a small part of what the grid would take."""
    most = _LONG_SECONDS[device]
    return min(most, max(_LEAST_LONG, _LONG_SHARE * settings * _SETTING_SECONDS))
