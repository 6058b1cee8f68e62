"""How a tuning spends the time that it is given: on probes, then on turns, then on a long run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from workbench.bench.measuring.config import Config
from workbench.bench.measuring.deadline import Deadline, least_seconds, start_seconds
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import MeasurementConfig, long_config
from workbench.graph.model import DecodeDevice

_SEARCH_UNTIL, _TURNS_UNTIL = 0.45, 0.8
"""Of the time that it is given: the search ends, then the turns of the best, then the long run."""
_PROBE_WITHIN, _TURN_WITHIN, _LONG_WITHIN = 0.25 * _SEARCH_UNTIL, 0.05, 0.15
"""Of that time at the most, but for what a figure needs: a probe, the rounds of each of the best,
the long run."""
_FEWEST_ROUNDS = 4
"""In turns, where the time is given and allows it."""
_LEAST_LONG = 6.0
_MOST_LONG = {"cpu": 10.0, "mixed": 60.0}
"""On a GPU several pipelines change between two rates every few seconds."""
_LONG_SHARE = 0.04
_SETTING_SECONDS = 8.0
"""What a setting of a sweep takes: its worker's start, the warm-up, the rounds."""
_LEAD_SECONDS = 1.0
"""What a long run has before it counts, at the most."""


class Turns(NamedTuple):
    """The settings that are compared in turns, until so much of the time is over."""

    configs: tuple[Config, ...]
    until: float


class TuningTime:
    """What there is time for. Without ``seconds`` that is everything.

    It begins when it is made. What is still to come is judged by what the probes took.
    """

    def __init__(self, seconds: float | None) -> None:
        self._deadline = Deadline(seconds)
        self._probed: list[Measurement] = []
        self._probe_seconds: list[float] = []

    @property
    def spent(self) -> float:
        """Seconds since it began."""
        return self._deadline.spent

    def for_probe(self, how: MeasurementConfig) -> MeasurementConfig:
        """``how``, for one more probe."""
        most = _PROBE_WITHIN * (self._deadline.seconds or 0.0)
        return self._deadline.within(how, share=_SEARCH_UNTIL, most=most)

    def count_probe(self, row: Measurement, seconds: float) -> None:
        """Take note of a probe and of what it took. The first one is the graph's own setting."""
        self._probed.append(row)
        self._probe_seconds.append(seconds)

    def is_up_for_probes(self) -> bool:
        """Whether one more, if it takes as long as the longest, would end too late."""
        return self._left_for_probes() < self._next_probe_seconds()

    def _left_for_probes(self) -> float:
        """Seconds: what leaves room to compare the fastest with the graph's own.

        The first two have all of the time, and so has every one once that room is gone.
        """
        pair = max(self._probed, key=lambda row: row.rate), self._probed[0]
        room = self._deadline.left() - least_seconds(pair, self._start)
        if len(self._probed) < 2 or room < 0:
            return self._deadline.left()
        return min(self._deadline.left(_SEARCH_UNTIL), room)

    def _next_probe_seconds(self) -> float:
        """As the longest behind the first, in which the worker of all starts.

        The second mostly has a batch twice as large as the first.
        """
        first, *others = self._probe_seconds
        return max(others, default=2 * (first - self._start))

    @property
    def _start(self) -> float:
        """Seconds that a worker takes until its first round."""
        return start_seconds(self._probed[0], self._probe_seconds[0])

    def turns(self, best: Sequence[Config], own: Config) -> Turns | None:
        """The best that there is time to compare with the graph's own setting.

        Where that leaves no room for a long run, one of them, until the time is over; None where
        there is no room for a comparison.
        """
        if self._deadline.seconds is None:
            return Turns(tuple(best), 1.0)
        known = {row.config: row for row in self._probed if row.rounds}
        for count, until in ((len(best), _TURNS_UNTIL), (1, _TURNS_UNTIL), (1, 1.0)):
            configs = dict.fromkeys([*best[:count], own])
            rows = [known[config] for config in configs if config in known]
            if not rows or least_seconds(rows, self._start) <= self._deadline.left(until):
                return Turns(tuple(best[:count]), until)
        return None

    def for_turns(self, how: MeasurementConfig, count: int, until: float) -> MeasurementConfig:
        """``how``, for so many settings in turns, until so much of the time is over."""
        seconds = self._deadline.seconds
        if seconds is None:
            return how
        budget = min(how.budget, _TURN_WITHIN * seconds)
        how = replace(how, rounds=min(how.rounds, _FEWEST_ROUNDS), budget=budget)
        return self._deadline.within(how, count, until)

    def for_long(self, usual: float) -> MeasurementConfig | None:
        """A round of ``usual`` seconds, or of what is left; None where that is too little."""
        given, seconds = self._deadline.seconds, usual
        if given is not None:
            most = max(_LEAST_LONG, min(usual, _LONG_WITHIN * given))
            seconds = min(most, self._deadline.left() - self._start - _LEAD_SECONDS)
        if seconds < _LEAST_LONG:
            return None
        how = long_config(seconds)
        return how if given is None else replace(how, round_batches=1)  # ten large ones take longer


def long_seconds(settings: int, device: DecodeDevice) -> float:
    """How long the choice of a grid is run: a small part of what the grid would take."""
    part = _LONG_SHARE * settings * _SETTING_SECONDS
    return min(_MOST_LONG[device], max(_LEAST_LONG, part))
