"""The time that a run is given, and what fits into what is left of it."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from workbench.arguments import NUMBER, require_kind
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import (
    FEWEST_BATCHES,
    FEWEST_ROUNDS,
    MeasurementConfig,
)
from workbench.errors import ArgumentError

LEAST_SECONDS = 20.0
"""The shortest time that a tuning or an optimisation may be given: pipelines take seconds to start,
and each is measured beside the graph's own."""
_QUEUED = 2
"""Batches beyond the queue that a round after a pause runs before it counts (``workload.lead``)."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a run ends that began at ``began`` (s, monotonic) and may take so many seconds.

    ``seconds`` None: it takes what it takes.
    """

    seconds: float | None = None
    began: float = field(default_factory=lambda: time.monotonic())

    @property
    def spent(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began

    def left(self, share: float = 1.0) -> float:
        """Seconds until so much of the time is over; below zero when that was; else infinite."""
        return math.inf if self.seconds is None else share * self.seconds - self.spent

    def within(
        self, how: MeasurementConfig, count: int = 1, share: float = 1.0, most: float = math.inf
    ) -> MeasurementConfig:
        """``how`` for configurations in turns that share what is left until ``share`` of the time.

        None of them has more than ``most`` seconds.
        """
        if self.seconds is None:
            return how
        return replace(how, limit=max(0.0, min(most, self.left(share) / count)))


def require_seconds(where: str, seconds: float | None) -> None:
    """Raise ArgumentError unless it is None or long enough for something to be measured."""
    if seconds is None:
        return
    require_kind(f"{where}: seconds", seconds, NUMBER)
    if not seconds >= LEAST_SECONDS:
        raise ArgumentError(
            f"{where}: seconds is {seconds}. Give {LEAST_SECONDS} or more: whatever is proposed is "
            "measured beside the graph's own setting."
        )


def start_seconds(row: Measurement, spent: float) -> float:
    """Of the seconds that a measurement took, what went by until its first round."""
    seconds = [one.seconds for one in row.rounds]
    if not seconds:
        return spent
    rounds = len(row.warm_up) + len(seconds)
    return max(0.0, spent - rounds * statistics.fmean(seconds))


def least_seconds(rows: Sequence[Measurement], start: float) -> float:
    """What measuring configurations like these in turns takes at the least, in fresh workers.

    ``rows`` say how fast each is, ``start`` what a worker takes until its first round. Each has one
    round of warm-up and ``FEWEST_ROUNDS`` that count, of ``FEWEST_BATCHES`` behind what was queued.
    """
    return sum(
        start
        + (1 + FEWEST_ROUNDS)
        * (FEWEST_BATCHES + row.config.pipelines * (row.prefetch + _QUEUED))
        * row.batch_size
        / max(row.rate, 1e-9)
        for row in rows
    )
