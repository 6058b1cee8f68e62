"""Find the fastest settings of a grid in a fifth of the time that the whole grid takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NamedTuple

from workbench.bench.experiments.grid_experiment import SAME, GridExperiment
from workbench.bench.experiments.speed_experiment import Outcome, Prepared
from workbench.bench.experiments.tuner_search import TunerSearch
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.deadline import Deadline, minimum_seconds, start_seconds
from workbench.bench.measuring.measurement import CONFIRMED, Measurement, rate_figure, rate_unit
from workbench.bench.measuring.measurement_config import (
    GPU_PROBE_CONFIG,
    PROBE_CONFIG,
    MeasurementConfig,
    long_config,
)
from workbench.bench.measuring.stats import Interval
from workbench.bench.measuring.worker_group import ReusableWorker
from workbench.engine.protocol.progress import Progress
from workbench.errors import EngineError
from workbench.graph.model import DecodeDevice

# Division of the tuner's time: probes, interleaved rounds, and a long run.

_SEARCH_UNTIL, _TURNS_UNTIL = 0.45, 0.8
"""Fractions of the time limit until which the search and the interleaved rounds may run."""
_PROBE_WITHIN, _TURN_WITHIN, _LONG_WITHIN = 0.25 * _SEARCH_UNTIL, 0.05, 0.15
"""Maximum fractions of the time limit for a probe, for the rounds of each candidate, and for the
long run. The minimum number of rounds may take longer.
"""
_FEWEST_ROUNDS = 4
"""Minimum number of interleaved rounds, if the time limit allows it."""
_LEAST_LONG = 6.0
_MOST_LONG = {"cpu": 10.0, "mixed": 60.0}
"""Maximum seconds of the long run, by device. On a GPU, several pipelines alternate between two
speeds every few seconds, so the run is longer.
"""
_LONG_SHARE = 0.04
_SETTING_SECONDS = 8.0
"""Estimated seconds per setting of a sweep: worker start, warm-up and rounds."""
_LEAD_SECONDS = 1.0
"""Maximum warm-up seconds of a long run."""


class InterleavedSettings(NamedTuple):
    """Settings to compare in interleaved rounds, up to the fraction ``until`` of the time limit."""

    configs: tuple[Config, ...]
    until: float


class TuningTime:
    """Time budget of a tuning run, which starts when the object is created.

    If ``seconds`` is None, there is no limit. The time of future steps is estimated from the
    duration of the probes.
    """

    def __init__(self, seconds: float | None) -> None:
        self._deadline = Deadline(seconds)
        self._probed: list[Measurement] = []
        self._probe_seconds: list[float] = []

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._deadline.elapsed

    def probe_config(self, config: MeasurementConfig) -> MeasurementConfig:
        """Return the measurement config ``config`` with a time limit for one more probe."""
        most = _PROBE_WITHIN * (self._deadline.seconds or 0.0)
        return self._deadline.config_within(config, share=_SEARCH_UNTIL, maximum=most)

    def count_probe(self, row: Measurement, seconds: float) -> None:
        """Record a probe and its duration. The first probe measures the graph's own setting."""
        self._probed.append(row)
        self._probe_seconds.append(seconds)

    def has_no_time_for_probes(self, size: float = 2.0) -> bool:
        """Return whether one more probe, of the expected duration, would end too late.

        ``size`` is the number of images of the second probe, relative to the first.
        """
        return self._left_for_probes() < self._next_probe_seconds(size)

    def time_up_text(self, size: float) -> str:
        """Return the reason why the search ended, with the seconds of a probe and those left."""
        needed, left = self._next_probe_seconds(size), max(0.0, self._left_for_probes())
        return f"{TIME_UP} ({needed:.0f} s for one more setting, {left:.0f} s left for the search)"

    def _left_for_probes(self) -> float:
        """Return the seconds left for probes, without the time to compare the fastest setting.

        No time is reserved before the third probe, or if too little is left for a comparison.
        """
        pair = max(self._probed, key=lambda row: row.rate), self._probed[0]
        room = self._deadline.seconds_left() - minimum_seconds(pair, self._start)
        if len(self._probed) < 2 or room < 0:
            return self._deadline.seconds_left()
        return min(self._deadline.seconds_left(_SEARCH_UNTIL), room)

    def _next_probe_seconds(self, size: float) -> float:
        """Return the estimated seconds of the next probe: the maximum of the previous ones.

        The first probe is not counted, because it includes the start of the worker. The second
        probe is estimated as ``size`` times the first without the start.
        """
        first, *others = self._probe_seconds
        return max(others, default=size * (first - self._start))

    @property
    def _start(self) -> float:
        """Seconds from the start of a worker to its first round."""
        return start_seconds(self._probed[0], self._probe_seconds[0])

    def settings_to_compare(
        self, best: Sequence[Config], graph_config: Config
    ) -> InterleavedSettings | None:
        """Return as many of the best settings as can be compared with the graph's own in time.

        If there is no time for a long run, only one setting is returned, which may use all
        remaining time. Return None if there is no time for a comparison.
        """
        if self._deadline.seconds is None:
            return InterleavedSettings(tuple(best), 1.0)
        known = {row.config: row for row in self._probed if row.rounds}
        for count, until in ((len(best), _TURNS_UNTIL), (1, _TURNS_UNTIL), (1, 1.0)):
            configs = dict.fromkeys([*best[:count], graph_config])
            rows = [known[config] for config in configs if config in known]
            if not rows or minimum_seconds(rows, self._start) <= self._deadline.seconds_left(until):
                return InterleavedSettings(tuple(best[:count]), until)
        return None

    def interleaved_config(
        self, config: MeasurementConfig, count: int, until: float
    ) -> MeasurementConfig:
        """Return the config for ``count`` interleaved settings that must finish by ``until``."""
        seconds = self._deadline.seconds
        if seconds is None:
            return config
        budget = min(config.budget, _TURN_WITHIN * seconds)
        config = replace(config, rounds=min(config.rounds, _FEWEST_ROUNDS), budget=budget)
        return self._deadline.config_within(config, count, until)

    def long_run_config(self, default_seconds: float) -> MeasurementConfig | None:
        """Return the config of a round of up to ``default_seconds``, or None if no time is left."""
        given, seconds = self._deadline.seconds, default_seconds
        if given is not None:
            most = max(_LEAST_LONG, min(default_seconds, _LONG_WITHIN * given))
            seconds = min(most, self._deadline.seconds_left() - self._start - _LEAD_SECONDS)
        if seconds < _LEAST_LONG:
            return None
        how = long_config(seconds)
        return how if given is None else replace(how, round_batches=1)  # ten large ones take longer


def long_seconds(settings: int, device: DecodeDevice) -> float:
    """Return how long the chosen setting runs at the end, in seconds."""
    part = _LONG_SHARE * settings * _SETTING_SECONDS
    return min(_MOST_LONG[device], max(_LEAST_LONG, part))


UNCOMPARED = "no time was left for interleaved rounds: measured once; allow more time"
NOT_FOR_LONG = "no time was left for a long run: allow more time"
"""Flag of a chosen setting whose long run did not fit into the time limit."""
_SEARCH_SHARE, _TURNS_SHARE = 0.7, 0.9
"""Positions of the progress bar (0 to 1) after the search and after the interleaved rounds."""
_LONG_RUNS = 2


NOTHING_MORE = "the JPEG engines or the bus are always busy: no setting can be faster"


TIME_UP = "the time for the search ended: a longer search may find more"


Measure = Callable[[Config, MeasurementConfig, Progress, float, ReusableWorker], Measurement]
"""Function that measures a setting. Its arguments are the setting, the measurement config, the
progress callback, the rate to exceed, and the worker of the last probe.
"""


class Probes:
    """Measures settings with short probes. ``rows`` has the results so far, labelled as probes."""

    def __init__(
        self, measure: Measure, cores: int, time: TuningTime, smallest: float = 2.0
    ) -> None:
        """``cores`` is the machine's number of cores; ``time`` limits each probe and the search.

        ``smallest`` is the number of images of the smallest setting, relative to the first probe.
        """
        self.rows: list[Measurement] = []
        self._measure = measure
        self._cores = cores
        self._time = time
        self._smallest = smallest
        self._time_up = ""
        self._kept = ReusableWorker()

    def probe(self, config: Config, progress: Progress) -> Measurement:
        """Measure a setting and add the row to ``rows``.

        If a probe fails in a reused worker, it is repeated in a new worker, because state left by
        earlier settings may be the cause.
        """
        row = self._try(config, progress)
        if row.reason and self._kept.reused:
            row = self._try(config, progress)
        self.rows.append(replace(row, label=f"probe {len(self.rows) + 1}"))
        return self.rows[-1]

    def _try(self, config: Config, progress: Progress) -> Measurement:
        best = max((row.rate for row in self.rows), default=0.0)
        usual = PROBE_CONFIG if config.device == "cpu" else GPU_PROBE_CONFIG
        how, began = self._time.probe_config(usual), self._time.elapsed
        row = self._measure(config, how, progress, best, self._kept)
        self._time.count_probe(row, self._time.elapsed - began)
        return row

    def stop_reason(self) -> str:
        """Return the reason to stop probing (a resource is exhausted or time is over), or ""."""
        heads = (headroom_of(row, self._cores) for row in self.rows)
        if any(head is not None and head.exhausted for head in heads):
            return NOTHING_MORE
        if self.rows and not self._time_up and self._time.has_no_time_for_probes(self._smallest):
            self._time_up = self._time.time_up_text(self._smallest)
        return self._time_up

    def close(self) -> None:
        """End the worker that runs the probes."""
        self._kept.close()


class TuningExperiment(GridExperiment):
    """Find the fastest setting of a grid in a fifth of the time that the whole grid takes.

    A grid of at most ``tuner_search.SMALL`` settings is probed completely. With ``seconds``, the
    search ends after 45 % of the time, the rounds that remeasure the best settings are shorter, and
    steps that do not fit are skipped and flagged. Only starting a pipeline may exceed the limit.
    """

    kind = "tune"

    def prepare(self, on_progress: Progress = lambda share, text: None) -> Prepared:
        """Prepare the experiment. This counts towards the time limit."""
        self._time = TuningTime(self.seconds)
        return super().prepare(on_progress)

    def measure_all(self) -> Outcome:
        """Search, compare the best settings with the graph's own, then run the fastest for longer.

        The first row is the chosen setting, and the last rows are the probes. Raises EngineError if
        every setting fails.
        """
        time, cores = self._time, self.prepared.machine.cores
        began = time.elapsed
        smallest = self._size_of(self.grid.config(next(self.grid.places()), self.base))
        with closing(Probes(self.measure_one, cores, time, smallest)) as probes:
            best, probed = self._search(probes)
        searched, stopped = time.elapsed - began, probes.stop_reason()
        self.publish(probes.rows, None)
        chosen: list[Measurement] = []
        if turns := time.settings_to_compare(best, self.base):
            rows = self._measure_interleaved(turns, time)
            if not rows[0].rounds:
                raise _nothing_measured([*probes.rows, *rows])
            self.publish([*(row for row in rows if row.rounds), *probes.rows], None)
            if self._long_config(time) is None:
                rows[0] = _with_flag(rows[0], NOT_FOR_LONG)
            else:
                chosen = self._measure_long(rows, time)
        else:
            rows = [_fastest_uncompared(probes.rows)]
        head = headroom_of(chosen[0], cores) if chosen else None
        tune = {
            "probes": probed,
            "grid": len(self.grid),
            "search_seconds": searched,
            "seconds": time.elapsed,
            "headroom": head.text() if head else "",
            "stopped": stopped,
        }
        every = [*chosen, *rows, *probes.rows]
        return Outcome(every, {"grid": self.grid.to_json(), "tune": tune})

    def _search(self, probes: Probes) -> tuple[list[Config], int]:
        """Return the fastest settings according to the probes, and the number of probes.

        With a time limit, the graph's own setting is probed first, because there may be no time for
        more. A second setting whose batches are too large for that time counts as failed, so that
        the search tries smaller ones.
        """

        def probe(config: Config) -> float | None:
            if len(probes.rows) == 1 and time.has_no_time_for_probes(self._size_of(config)):
                return None
            return self._probe(probes, config, search.most_probes).median

        time = self._time
        search = TunerSearch(
            self.grid,
            lambda place: probe(self.grid.config(place, self.base)),
            exhausted=lambda: bool(probes.stop_reason()),
        )
        if self.seconds:
            probe(self.base)
        placed = {self.grid.place(row.config): row.median for row in probes.rows}
        best = search.run({place: rate for place, rate in placed.items() if place is not None})
        tried = sum(self.grid.place(row.config) is not None for row in probes.rows)
        return [self.grid.config(place, self.base) for place in best], tried

    def _size_of(self, config: Config) -> float:
        """Return the images of a setting's batches, relative to the graph's own setting."""
        own = self.base.batch_size * self.base.pipelines
        return config.batch_size * config.pipelines / own

    def _probe(self, probes: Probes, config: Config, expected_probes: int) -> Measurement:
        """Probe a setting. ``expected_probes`` is only used for the progress bar."""
        self.publish(probes.rows, config)
        number = len(probes.rows) + 1
        words = f"probe {number} of at most {max(number, expected_probes)}: {config.settings}"
        begin, end = (
            _SEARCH_SHARE * min(1.0, done / expected_probes) for done in (number - 1, number)
        )
        progress = self.progress.part(begin, end, words)
        progress(0.0, words)
        return probes.probe(config, progress)

    def _measure_interleaved(
        self, interleaved: InterleavedSettings, time: TuningTime
    ) -> list[Measurement]:
        """Measure the best settings and the graph's own. Return the rows, fastest first."""
        labels = {
            f"candidate {number}": config for number, config in enumerate(interleaved.configs, 1)
        }
        if self.base not in interleaved.configs:
            labels["as it is"] = self.base
        entries = [self.limited_entry(config, label) for label, config in labels.items()]
        how = time.interleaved_config(self.measurement_config, len(entries), interleaved.until)
        rows = self.measure(entries, self.progress.part(_SEARCH_SHARE, _TURNS_SHARE), how)
        return sorted(rows, key=lambda row: row.rate, reverse=True)

    def _measure_long(self, rows: Sequence[Measurement], time: TuningTime) -> list[Measurement]:
        """Run the fastest setting without pauses, and return the measured rows, fastest first.

        If it is slower than in its probe, the next setting is run too, if there is time.
        """
        done: list[Measurement] = []
        progress = self.progress.part(_TURNS_SHARE, 1.0)
        for row in [row for row in rows if row.rounds][:_LONG_RUNS]:
            how = self._long_config(time)
            if how is None or (done and done[0].rate >= (1 - SAME) * row.rate):
                break
            progress(0.0, f"{how.round_seconds:.0f} s of {row.config.settings}")
            long = self.measure_one(row.config, how, progress, label=CONFIRMED)
            done += [long] if long.rounds else []
            done.sort(key=lambda row: row.rate, reverse=True)
        return done

    def _long_config(self, time: TuningTime) -> MeasurementConfig | None:
        return time.long_run_config(long_seconds(len(self.grid), self.base.device))


def _with_flag(row: Measurement, flag: str) -> Measurement:
    return replace(row, flags=(*row.flags, flag))


def _fastest_uncompared(probed: Sequence[Measurement]) -> Measurement:
    """Return the fastest probe, flagged because there was no time to compare it."""
    best = max(probed, key=lambda row: row.rate)
    if not best.rounds:
        raise _nothing_measured(probed)
    return replace(_with_flag(best, UNCOMPARED), label="best so far")


def _nothing_measured(rows: Sequence[Measurement]) -> EngineError:
    first = next((row.reason for row in rows if row.reason), "")
    why = first.removeprefix("not measured: ")
    return EngineError(f"No setting could be measured. The first failed: {why}")


# Utilisation of the JPEG engines, the cores and the bus, and the machine's maximum rate.
#
# Each does a fixed amount of work per image, so a rate divided by the utilisation at that rate is a
# limit. The smallest limit is the physical one.

ENGINES, CORES, BUS = "JPEG engines", "cores", "bus"
FULL = 0.97
"""Utilisation above which a resource is considered exhausted."""
_TOLD = 0.2
"""Utilisation below which a resource is considered idle, so that no speed limit is predicted."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of the machine. ``busy`` is its utilisation (0 to 1), or None if unknown."""

    name: str
    busy: float | None
    why_unknown: str = ""

    def text(self) -> str:
        """Return name and utilisation as text: ``JPEG engines 91 %``."""
        if self.busy is None:
            return f"{self.name}: unknown ({self.why_unknown})"
        return f"{self.name} {self.busy:.0%}"


@dataclass(frozen=True, slots=True)
class Headroom:
    """Utilisation of each resource during one measurement. ``found`` is its rate in imgs/s."""

    resources: tuple[Resource, ...]
    found: Interval
    frames: int = 0

    @property
    def most_used(self) -> Resource | None:
        """The most used resource, which limits the speed, or None if all are nearly idle."""
        known = [each for each in self.resources if each.busy is not None and each.busy >= _TOLD]
        return max(known, key=lambda each: each.busy or 0.0, default=None)

    @property
    def limit(self) -> float | None:
        """Estimated imgs/s if the most used resource were fully used, or None if unknown."""
        found = self.most_used
        return None if found is None or not found.busy else self.found.median / min(found.busy, 1.0)

    @property
    def exhausted(self) -> bool:
        """True if the JPEG engines or the bus are fully used, so that no setting can be faster.

        Busy CPU cores do not count: another batch size may need less CPU time per image.
        """
        return any(
            each.name in (ENGINES, BUS) and each.busy is not None and each.busy >= FULL
            for each in self.resources
        )

    def text(self) -> str:
        """Describe the utilisation of each resource, the speed limit, and the fraction reached."""
        used = "; ".join(each.text() for each in self.resources)
        found = self.most_used
        if found is None or self.limit is None:
            return f"used: {used}. The physical limit is unknown"
        reached = self.found.median / self.limit
        limit = self.found.text(lambda rate: rate_figure(rate / reached, self.frames))
        return (
            f"used: {used}. The limit of the {found.name} is {limit} {rate_unit(self.frames)}: "
            f"{reached:.0%} of it is reached"
        )


def headroom_of(row: Measurement, cores: int) -> Headroom | None:
    """Return the utilisation during a measurement on ``cores`` cores, or None without a result."""
    if row.interval is None or row.cpu_cores is None:
        return None
    resources = [Resource(CORES, min(1.0, row.cpu_cores / cores))]
    if row.device == "mixed":
        unseen = "NVML does not report it"
        engines = None if row.jpeg_busy is None else row.jpeg_busy / 100
        bus = None if row.bus_busy is None else row.bus_busy / 100
        resources += [Resource(ENGINES, engines, unseen), Resource(BUS, bus, unseen)]
    return Headroom(tuple(resources), row.interval, row.config.frames)
