"""Which settings to ship: the best of a grid, in a fifth of the time that all of it would take."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from workbench.bench.config import Config, Regime
from workbench.bench.data_fingerprint import Fingerprint
from workbench.bench.deadline import Deadline, least_seconds, require_seconds, start_seconds
from workbench.bench.grid import KNOBS, Grid, Place
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
from workbench.errors import EngineError
from workbench.graph.model import DecodeDevice, Graph
from workbench.sources import Data

_SEARCH_UNTIL, _TURNS_UNTIL = 0.45, 0.8
"""Of the time that it is given: the search ends, then the turns of the best, then the long run."""
_TURN_WITHIN, _LONG_WITHIN = 0.05, 0.15
"""Of that time: the rounds of each of the best, the long run."""
_PROBE_WITHIN = 0.25
"""Of the search's time: no probe takes more, but for what a figure needs at least."""
_FEWEST_ROUNDS = 4
"""In turns, where the time is given and allows it."""
UNCOMPARED = "the time was up: measured once, and not beside the others: give more"
NOT_FOR_LONG = "the time was up before it could run for long: give more"
"""Flags of a choice that a time ended early."""
_SEARCH_SHARE, _CONFIRM_FROM = 0.7, 0.9
"""Of the time of a tuning: the search, then the best settings, then the choice for long."""
_LONG_SECONDS = {"cpu": 10.0, "mixed": 60.0}
"""On a GPU several pipelines change between two rates every few seconds."""
_LEAST_LONG = 6.0
_LEAD_SECONDS = 1.0
"""What a long run has before it counts, at the most."""
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
        """As a sweep; ``seconds`` is how long it may take (without: as the grid needs).

        The search then ends after 45 % of it, the best are measured anew for less long, and what
        finds no room is left out and flagged. Only a pipeline's start may make it late.
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
        require_seconds("TuningExperiment", seconds)
        self.seconds = seconds
        self._deadline = Deadline(seconds)

    def run(self, on_progress: Progress = lambda share, text: None) -> Report:
        """Search, measure the best in turns with the graph's own, then the fastest for long.

        The report's first measurement is the choice; the last are the probes. Raises DataError,
        EngineError where every setting fails, and CancelledError.
        """
        clock = self._deadline = Deadline(self.seconds)
        catalog, machine, found, cache = self.prepare(on_progress)
        grid = self.grid_to_try(catalog, machine)
        began = time.monotonic()
        spans: list[float] = []

        def measure(
            config: Config, how: MeasurementConfig, part: Progress, best: float, kept: KeptWorker
        ) -> Measurement:
            most = _PROBE_WITHIN * _SEARCH_UNTIL * (self.seconds or 0.0)
            how, begun = clock.within(how, share=_SEARCH_UNTIL, most=most), time.monotonic()
            row = self.measure_one(config, catalog, found, how, part, best, kept=kept)
            spans.append(time.monotonic() - begun)
            return row

        def late() -> bool:
            """Whether one more, if it takes as long as the longest, would end too late.

            That leaves room to compare two settings, but for the first two probes, and where
            that room is gone. The second mostly has a batch twice as large as the first.
            """
            start = start_seconds(probes.rows[0], spans[0])
            one = max(spans[1:], default=2 * (spans[0] - start))
            pair = max(probes.rows, key=_rate), probes.rows[0]  # which is the graph's own
            room = clock.left() - least_seconds(pair, start)
            if len(probes.rows) < 2 or room < 0:
                return clock.left() < one
            return min(clock.left(_SEARCH_UNTIL), room) < one

        probes = Probes(measure, machine.cores, late)

        def probe(config: Config) -> float | None:
            self.publish(probes.rows, config, machine, found, cache)
            done, most = len(probes.rows), search.allowance - search.confirmed
            words = f"probe {done + 1} of at most {max(done + 1, most)}: {config.settings}"
            begin, end = (_SEARCH_SHARE * min(1.0, count / most) for count in (done, done + 1))
            progress = self.progress.part(begin, end, words)
            progress(0.0, words)
            return probes.probe(config, progress).median

        own = self._own_place(grid) if self.seconds else None
        search = TunerSearch(
            grid,
            lambda place: probe(grid.config(place, self.base)),
            exhausted=lambda: bool(probes.enough()),
            first=own,
        )
        try:
            if self.seconds and own is None:
                probe(self.base)
            places = search.run()
        finally:
            probes.close()
        searched, why = time.monotonic() - began, probes.enough()
        self.publish(probes.rows, None, machine, found, cache)
        best = [grid.config(place, self.base) for place in places]
        start = start_seconds(probes.rows[0], spans[0])
        best, until = self._that_fit(best, probes.rows, start)
        chosen: list[Measurement] = []
        failed: list[Measurement] = []
        if until:
            tuned, failed = self._beside_each_other(best, until, catalog, found)
            if not tuned:
                first = [*probes.rows, *failed][0].reason
                raise EngineError(f"No setting could be measured. The first: {first}")
            self.publish([*tuned, *probes.rows], None, machine, found, cache)
            if self._long_seconds(start) < _LEAST_LONG:
                tuned[0] = replace(tuned[0], flags=(*tuned[0].flags, NOT_FOR_LONG))
            else:
                chosen = self._confirm(tuned, start, catalog, found)
        else:
            tuned = [fastest_probe(probes.rows)]
        self.progress(1.0, "done")
        head = headroom_of(chosen[0], machine.cores) if chosen else None
        extra = {
            "probes": search.probes,
            "grid": len(grid),
            "search_seconds": searched,
            "seconds": clock.spent,
            "headroom": head.words() if head else "",
            "stopped": why,
        }
        measured = [*chosen, *tuned, *failed, *probes.rows]
        return self.report(measured, machine, found, cache, grid=grid.to_json(), tune=extra)

    def _own_place(self, grid: Grid) -> Place | None:
        """Where the graph's own setting stands in the grid; None where it is not in it."""
        with suppress(ValueError):
            return tuple(grid.values(knob).index(getattr(self.base, knob)) for knob in KNOBS)
        return None

    def _that_fit(
        self, best: Sequence[Config], probed: Sequence[Measurement], start: float
    ) -> tuple[list[Config], float]:
        """The best of which the time allows a comparison with the graph's own setting, if any.

        And until which share of the time: where it leaves no room for a long run, until its end;
        0 where it leaves none for a comparison.
        """
        if self.seconds is None:
            return list(best), 1.0
        known = {row.config: row for row in probed if row.rounds}
        for count, until in ((len(best), _TURNS_UNTIL), (1, _TURNS_UNTIL), (1, 1.0)):
            configs = dict.fromkeys([*best[:count], self.base])
            rows = [known[config] for config in configs if config in known]
            if not rows or least_seconds(rows, start) <= self._deadline.left(until):
                return list(best[:count]), until
        return [], 0.0

    def _beside_each_other(
        self, best: Sequence[Config], until: float, catalog: Catalog, found: Fingerprint
    ) -> tuple[list[Measurement], list[Measurement]]:
        """The best settings and the graph's own in turns: the fastest first, and what failed.

        ``until`` so much of the time is over.
        """
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
            how = self._deadline.within(how, len(entries), until)
        part = self.progress.part(_SEARCH_SHARE, _CONFIRM_FROM)
        rows = self.measure(entries, part, how)
        measured = sorted((row for row in rows if row.rounds), key=_rate, reverse=True)
        return measured, [row for row in rows if not row.rounds]

    def _confirm(
        self, tuned: Sequence[Measurement], start: float, catalog: Catalog, found: Fingerprint
    ) -> list[Measurement]:
        """The fastest for long without a pause, best first.

        Where it does not keep what it promised, the next does the same, if the time allows it.
        ``start`` is what a worker takes until its first round.
        """
        done: list[Measurement] = []
        progress = self.progress.part(_CONFIRM_FROM, 1.0)
        for row in tuned[:_LONG_RUNS]:
            seconds = self._long_seconds(start)
            if (done and _rate(done[0]) >= (1 - SAME) * _rate(row)) or seconds < _LEAST_LONG:
                break
            progress(0.0, f"{seconds:.0f} s of {row.config.settings}")
            how = long_config(seconds)
            if self.seconds:  # of large batches ten may take far longer
                how = replace(how, round_batches=1)
            long = self.measure_one(row.config, catalog, found, how, progress, label=CONFIRMED)
            done += [long] if long.rounds else []
            done.sort(key=_rate, reverse=True)
        return done

    def _long_seconds(self, start: float) -> float:
        """How long the next long run may be, where a worker takes ``start`` until its round."""
        assert self.grid is not None
        usual = long_seconds(len(self.grid), self.base.device)
        if self.seconds is None:
            return usual
        usual = max(_LEAST_LONG, min(usual, _LONG_WITHIN * self.seconds))
        return min(usual, self._deadline.left() - start - _LEAD_SECONDS)


def fastest_probe(probed: Sequence[Measurement]) -> Measurement:
    """The choice of a search after which there was no time for a comparison, so flagged.

    Raises EngineError where every probe failed.
    """
    best = max(probed, key=_rate)
    if not best.rounds:
        raise EngineError(f"No setting could be measured. The first: {probed[0].reason}")
    return replace(best, label="best so far", flags=(*best.flags, UNCOMPARED))


def _rate(row: Measurement) -> float:
    return row.median or 0.0


def long_seconds(settings: int, device: DecodeDevice) -> float:
    """How long the choice of a grid is run: a small part of what the grid would take."""
    most = _LONG_SECONDS[device]
    return min(most, max(_LEAST_LONG, _LONG_SHARE * settings * _SETTING_SECONDS))
