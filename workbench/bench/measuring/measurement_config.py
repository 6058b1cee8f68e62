"""Decide when warm-up ends, when a result is precise enough, and when a measurement stops.

All rules are pure functions of the rounds so far; ``METHOD.md`` explains them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

from workbench.arguments import NUMBER, Kind, checked, require_kind
from workbench.bench.measuring.stats import Interval, median_interval, variation

StopReason = Literal["precise", "budget", "behind"]
"""Reason why no more rounds were run. ``behind`` means that a tuner's probe is so much slower than
the best one that more rounds would not change the outcome.
"""

_GIVEN_UP_AFTER = 3
_ROUNDS_WITHIN, _WARM_WITHIN = 8, 0.5
"""``_ROUNDS_WITHIN``: number of rounds that must fit into a time limit. ``_WARM_WITHIN``: fraction
of the limit at which warm-up must end.
"""
FEWEST_ROUNDS = FEWEST_BATCHES = 2
"""Minimum number of counted rounds, and of batches per round, regardless of time limits."""
UNSTABLE = 0.1
"""Coefficient of variation above which rounds are considered disturbed."""


@dataclass(frozen=True, slots=True)
class MeasurementConfig:
    """Durations and limits of a measurement, in seconds, batches and fractions.

    The defaults are for publishable results. ``QUICK_CONFIG`` is for many configurations, and
    ``COARSE_CONFIG`` is for a first impression. Both have wider intervals.

    ::

        report = w.bench(devices=("cpu",), measurement_config=wb.COARSE_CONFIG)
    """

    round_seconds: float = 1.0
    round_batches: int = 10
    """Minimum number of batches per round, in addition to the minimum seconds."""
    rounds: int = 5
    warm_up_batches: int = 5
    warm_up_within: float = 0.05
    """Maximum relative difference between two successive rounds for warm-up to end."""
    warm_up_rounds: int = 8
    """Maximum number of warm-up rounds. If the rates still differ after these, the result is
    flagged. With 1, the rates are not compared.
    """
    precision: float = 0.03
    """Maximum distance of the interval's ends from the median, as a fraction of the median."""
    confidence: float = 0.95
    """Confidence level of the interval that ``precision`` limits: two rounds reach 0.5, three
    0.75, six 0.95.
    """
    budget: float = 20.0
    """Maximum seconds of timed rounds per configuration, in addition to the first ``rounds``
    rounds.
    """
    limit: float | None = None
    """Total seconds per configuration and process, including the build; None means no limit. One
    warm-up round and two counted rounds (or ``rounds``) always run. Results that end early are
    flagged.
    """
    processes: int = 1
    """Number of new workers per configuration. With more than one, the interval also includes the
    variation between builds of the same pipeline.
    """
    behind: float = 0.0
    """Fraction of the best rate. A configuration is given up after ``rounds`` rounds (at most
    three) if all are slower than this; 0 disables this.
    """

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None or each.name != "limit":
                require_kind(f"MeasurementConfig: {each.name}", value, _NOT_NEGATIVE)

    def is_warm(self, rates: Sequence[float], batches: int) -> bool:
        """Return whether warm-up may end, given its rates (imgs/s) and number of batches."""
        if self.warm_up_rounds < 2:
            return len(rates) >= self.warm_up_rounds
        if len(rates) < 2 or batches < self.warm_up_batches:
            return False
        before, last = rates[-2:]
        return abs(last - before) <= self.warm_up_within * max(last, before)

    def round_of(self, batch_seconds: float) -> tuple[float, int]:
        """Return the minimum seconds and batches of a round, given the seconds per batch.

        With a time limit, both are reduced so that eight rounds fit.
        """
        if self.limit is None:
            return self.round_seconds, self.round_batches
        most = self.limit / _ROUNDS_WITHIN
        batches = min(self.round_batches, int(most / max(batch_seconds, 1e-9)))
        return min(self.round_seconds, most), max(FEWEST_BATCHES, batches)

    def is_late_to_warm_up(self, spent: float) -> bool:
        """Return whether a time limit allows no more warm-up after ``spent`` seconds."""
        return self.limit is not None and spent >= _WARM_WITHIN * self.limit

    def is_late(self, spent: Sequence[float], next_rounds: Sequence[float], cycles: int) -> bool:
        """Return whether a time limit allows no further round of each configuration.

        ``spent`` has the seconds that each configuration has used so far, and ``next_rounds`` has
        the estimated seconds of its next round. ``cycles`` is the number of completed rounds of
        each.
        """
        if self.limit is None or cycles < min(FEWEST_ROUNDS, self.rounds):
            return False
        return sum(spent) + sum(next_rounds) > self.limit * len(spent)

    def is_precise(self, rates: Sequence[float]) -> bool:
        """Return whether there are enough rounds and their interval is narrow enough."""
        if len(rates) < self.rounds:
            return False
        found = median_interval(rates)
        return found.level >= self.confidence and found.spread <= self.precision

    def is_behind(self, rates: Sequence[float], best: float) -> bool:
        """Return whether all rounds are so much slower than ``best`` that measuring may stop."""
        enough = len(rates) >= min(self.rounds, _GIVEN_UP_AFTER)
        return enough and max(rates) < self.behind * best

    def stop_reason(
        self, series: Sequence[Sequence[float]], seconds: float, best: float = 0.0
    ) -> StopReason | None:
        """Return the reason why interleaved configurations may stop, or None if they may not.

        ``series`` has the rates of each configuration so far, ``seconds`` is the total time of
        their rounds, and ``best`` is the best rate so far. The budget ends the rounds only after
        each configuration has ``rounds`` rounds.
        """
        if all(self.is_precise(rates) for rates in series):
            return "precise"
        if all(self.is_behind(rates, best) for rates in series):
            return "behind"
        enough = all(len(rates) >= self.rounds for rates in series)
        return "budget" if enough and seconds >= self.budget * len(series) else None

    def expected_rounds(self, seconds_a_round: float) -> float:
        """Return the expected number of timed rounds, to estimate the remaining time."""
        return max(self.rounds + 1.0, min(10.0, self.budget / max(seconds_a_round, 1e-9)))


_NOT_NEGATIVE = Kind("a number of 0 or more", lambda value: NUMBER.fits(value) and value >= 0)
MeasurementConfig.__init__ = checked()(  # type: ignore[method-assign]
    MeasurementConfig.__init__
)


def config_within(seconds: float, processes: int = 1) -> MeasurementConfig:
    """Return the default config with a time limit that includes build, warm-up and rounds."""
    return MeasurementConfig(budget=seconds * processes, limit=seconds, processes=processes)


QUICK_CONFIG = MeasurementConfig(
    round_seconds=0.5, round_batches=3, rounds=3, warm_up_rounds=3, precision=0.05, budget=3.0
)
"""Config for many configurations, as in a stage run. The results are less precise."""

PROBE_CONFIG = MeasurementConfig(
    round_seconds=0.4, round_batches=3, rounds=2, warm_up_rounds=2, precision=0.05,
    confidence=0.5, budget=2.0, behind=0.9,
)  # fmt: skip
"""Config for the tuner's probes: two rounds if they agree, otherwise more."""

GPU_SETTING_CONFIG = MeasurementConfig(
    round_seconds=1.0, round_batches=3, rounds=6, warm_up_rounds=2, precision=0.05, budget=15.0,
    behind=0.6,
)  # fmt: skip
"""Config for a complete measurement with GPU decoding. There, several pipelines switch between two
speeds every few seconds, and the lower is 0.68 of the higher. Two equal rounds are therefore not
sufficient, and a setting is given up early only if it is slower than 0.6 of the best.
"""

GPU_PROBE_CONFIG = replace(GPU_SETTING_CONFIG, round_seconds=0.5, budget=4.0)
"""Config for the tuner's probes with GPU decoding: eight rounds of half a second without a pause,
whatever their precision, because they rarely agree within 5 %. Fewer, longer probes would be worse,
because building takes as long as a probe (2 s per pipeline). The best settings are remeasured
completely.
"""


def long_config(seconds: float) -> MeasurementConfig:
    """Return a config of one round of ``seconds`` seconds, with a rate for each second."""
    return MeasurementConfig(
        round_seconds=seconds, rounds=1, warm_up_rounds=0, precision=1.0, confidence=0.0, budget=0.0
    )


COARSE_CONFIG = MeasurementConfig(
    round_seconds=0.2, round_batches=2, rounds=2, warm_up_rounds=1, precision=0.15, budget=0.4
)
"""Config for a first impression of many configurations: two rounds each. The range of two rounds is
a 50 % confidence interval.
"""


def low_precision_notice(config: MeasurementConfig, intervals: Sequence[Interval]) -> str:
    """Return a notice that a quick config was used, with the width of the widest interval.

    The result is "" if the config has at least the default number of rounds.
    """
    intervals = [one for one in intervals if one.level > 0]  # a single long round has no interval
    if config.rounds >= MeasurementConfig().rounds or not intervals:
        return ""
    widest = max(intervals, key=lambda one: one.spread)
    return (
        f"Quick results: at least {config.rounds} rounds of {config.round_seconds:g} s each. "
        f"Intervals are wide: up to {widest.spread:.0%} from the median, at "
        f"{min(one.level for one in intervals):.0%} confidence"
    )


def is_unstable(rates: Sequence[float], settled: bool) -> bool:
    """Return whether a result is unreliable: rounds differ too much or warm-up did not converge."""
    return variation(rates) > UNSTABLE or not settled


MEASUREMENT = Kind.of(
    "workbench.bench.measuring.measurement_config.COARSE_CONFIG", MeasurementConfig
)
