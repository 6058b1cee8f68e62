"""How a figure is taken: when it is warm, when it is precise enough, when to stop.

Pure rules over the rounds so far; ``METHOD.md`` beside this file says the same in prose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from workbench.arguments import Kind
from workbench.bench.measuring.stats import Interval, median_interval, variation

StopReason = Literal["precise", "budget", "behind"]
"""Why the rounds of a configuration ended: ``behind`` is that of a tuner's probe that lies so far
behind the best that more rounds would not change it."""

_GIVEN_UP_AFTER = 3
_ROUNDS_WITHIN, _WARM_WITHIN = 8, 0.5
"""Of a limit: that many rounds have room, and that share of it may go by until all is warm."""
FEWEST_ROUNDS = FEWEST_BATCHES = 2
"""Whatever a limit says: so many rounds that count, of so many batches."""
UNSTABLE = 0.1
"""Rounds whose coefficient of variation is above this were disturbed."""


@dataclass(frozen=True, slots=True)
class MeasurementConfig:
    """The lengths and limits of one measurement; seconds, batches and shares.

    Without arguments that of figures to publish. ``QUICK_CONFIG`` is for many configurations at
    once, ``COARSE_CONFIG`` for a first look: their intervals are wider.

    ::

        report = w.bench(devices=("cpu",), measurement_config=wb.COARSE_CONFIG)
    """

    round_seconds: float = 1.0
    round_batches: int = 10
    """A round lasts at least so many seconds and at least so many batches."""
    rounds: int = 5
    warm_up_batches: int = 5
    warm_up_within: float = 0.05
    """Warm means that two successive rounds differ by no more than this share."""
    warm_up_rounds: int = 8
    """After so many rounds it is measured all the same, and flagged. One is run without a look at
    whether the rates agree."""
    precision: float = 0.03
    """Enough means that both ends of the interval lie within this share of the median."""
    confidence: float = 0.95
    """Of that interval: two rounds give 0.5, three 0.75, six 0.95."""
    budget: float = 20.0
    """Seconds of timed rounds for each configuration, at most, but for ``rounds`` of them."""
    limit: float | None = None
    """Seconds for each configuration and process in all, from its building on; None: no limit. One
    round of warm-up and two that count (or ``rounds``) are run whatever they take. What was ended
    early for it is flagged."""
    processes: int = 1
    """Fresh workers for each configuration. More than one also covers what differs from one build
    of the same pipeline to the next."""
    behind: float = 0.0
    """A configuration that is measured against a rate is given up after ``rounds`` rounds, or
    three, of which none reached this share of that rate; 0 gives none up."""

    def is_warm(self, rates: Sequence[float], batches: int) -> bool:
        """Whether the warm-up may end after rounds of these rates (imgs/s), batches in all."""
        if self.warm_up_rounds < 2:
            return len(rates) >= self.warm_up_rounds
        if len(rates) < 2 or batches < self.warm_up_batches:
            return False
        before, last = rates[-2:]
        return abs(last - before) <= self.warm_up_within * max(last, before)

    def round_of(self, batch_seconds: float) -> tuple[float, int]:
        """The least seconds and batches of a round, where a batch takes so long.

        Within a limit eight rounds have room.
        """
        if self.limit is None:
            return self.round_seconds, self.round_batches
        most = self.limit / _ROUNDS_WITHIN
        batches = min(self.round_batches, int(most / max(batch_seconds, 1e-9)))
        return min(self.round_seconds, most), max(FEWEST_BATCHES, batches)

    def is_late_to_warm_up(self, spent: float) -> bool:
        """Whether a limit leaves no time for more warm-up, after so many seconds in all."""
        return self.limit is not None and spent >= _WARM_WITHIN * self.limit

    def is_late(self, spent: Sequence[float], next_rounds: Sequence[float], cycles: int) -> bool:
        """Whether a limit leaves no time for one more round of each.

        ``spent`` are the seconds of each configuration so far, ``next_rounds`` what its next round
        takes, ``cycles`` the rounds that each has had.
        """
        if self.limit is None or cycles < min(FEWEST_ROUNDS, self.rounds):
            return False
        return sum(spent) + sum(next_rounds) > self.limit * len(spent)

    def is_precise(self, rates: Sequence[float]) -> bool:
        """Whether there are enough rounds, and their interval is narrow enough."""
        if len(rates) < self.rounds:
            return False
        found = median_interval(rates)
        return found.level >= self.confidence and found.spread <= self.precision

    def is_behind(self, rates: Sequence[float], best: float) -> bool:
        """Whether every round so far lies so far behind a rate that it is given up."""
        enough = len(rates) >= min(self.rounds, _GIVEN_UP_AFTER)
        return enough and max(rates) < self.behind * best

    def stop_reason(
        self, series: Sequence[Sequence[float]], seconds: float, best: float = 0.0
    ) -> StopReason | None:
        """Why configurations measured in turns may stop, or None.

        ``series`` has the rates of each so far, ``seconds`` what their rounds took together,
        ``best`` is the rate that they have to reach. The time may end, but never before each has
        ``rounds`` rounds.
        """
        if all(self.is_precise(rates) for rates in series):
            return "precise"
        if all(self.is_behind(rates, best) for rates in series):
            return "behind"
        enough = all(len(rates) >= self.rounds for rates in series)
        return "budget" if enough and seconds >= self.budget * len(series) else None

    def expected_rounds(self, seconds_a_round: float) -> float:
        """How many timed rounds a configuration will take, for the time that is left."""
        return max(self.rounds + 1.0, min(10.0, self.budget / max(seconds_a_round, 1e-9)))


def config_within(seconds: float, processes: int = 1) -> MeasurementConfig:
    """The usual one where building, warm-up and rounds of each may take so long in all."""
    return MeasurementConfig(budget=seconds * processes, limit=seconds, processes=processes)


QUICK_CONFIG = MeasurementConfig(
    round_seconds=0.5, round_batches=3, rounds=3, warm_up_rounds=3, precision=0.05, budget=3.0
)
"""For many configurations at once: stages, sweeps. Their intervals say what that costs."""

PROBE_CONFIG = MeasurementConfig(
    round_seconds=0.4, round_batches=3, rounds=2, warm_up_rounds=2, precision=0.05,
    confidence=0.5, budget=2.0, behind=0.9,
)  # fmt: skip
"""Of one setting that a tuner tries: two rounds where they agree, more where they do not."""

GPU_SETTING_CONFIG = MeasurementConfig(
    round_seconds=1.0, round_batches=3, rounds=6, warm_up_rounds=2, precision=0.05, budget=15.0,
    behind=0.6,
)  # fmt: skip
"""Of one setting with care where a GPU decodes: several pipelines change every few seconds between
two rates, the slower 0.68 of the faster, so two rounds that agree say nothing and only what lies
below both is given up early."""

GPU_PROBE_CONFIG = replace(GPU_SETTING_CONFIG, round_seconds=0.5, budget=4.0)
"""Of one that a tuner tries there: eight rounds of half a second without a pause, precise or not,
for they hardly ever agree within 5 % there. What building takes, 2 s for each pipeline, is as much:
longer probes would be fewer by more than they are surer. The best are measured anew with care."""


def long_config(seconds: float) -> MeasurementConfig:
    """One round of so many seconds, whose rate is told second by second."""
    return MeasurementConfig(
        round_seconds=seconds, rounds=1, warm_up_rounds=0, precision=1.0, confidence=0.0, budget=0.0
    )


COARSE_CONFIG = MeasurementConfig(
    round_seconds=0.2, round_batches=2, rounds=2, warm_up_rounds=1, precision=0.15, budget=0.4
)
"""A first look at many configurations: two rounds each, whose range is an interval of 50 %."""


def low_precision_notice(config: MeasurementConfig, found: Sequence[Interval]) -> str:
    """That figures are of fewer rounds than usual, and how wide that leaves them; else empty."""
    found = [one for one in found if one.level > 0]  # a single long round has no interval
    if config.rounds >= MeasurementConfig().rounds or not found:
        return ""
    widest = max(found, key=lambda one: one.spread)
    return (
        f"Quick figures: {config.rounds} rounds of {config.round_seconds:g} s at least for each. "
        f"Intervals are wide: up to {widest.spread:.0%} from the median, at "
        f"{min(one.level for one in found):.0%} confidence"
    )


def is_unstable(rates: Sequence[float], settled: bool) -> bool:
    """Whether a figure is to be distrusted: rounds far apart, or never warm."""
    return variation(rates) > UNSTABLE or not settled


MEASUREMENT = Kind.of(
    "workbench.bench.measuring.measurement_config.COARSE_CONFIG", MeasurementConfig
)
