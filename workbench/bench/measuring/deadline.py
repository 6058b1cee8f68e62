"""Track the time limit of a run, and fit measurement configs into the remaining time."""

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
"""Minimum time limit of a tuning or optimisation run in seconds. A pipeline takes seconds to start,
and the graph's own setting is measured as well.
"""
_QUEUED = 2
"""Number of untimed batches per pipeline after a pause, in addition to those in the queue."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """Time limit of a run that started at ``began`` (``time.monotonic``).

    If ``seconds`` is None, there is no limit.
    """

    seconds: float | None = None
    began: float = field(default_factory=lambda: time.monotonic())

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.began

    def seconds_left(self, share: float = 1.0) -> float:
        """Return the seconds until fraction ``share`` of the limit, or infinity without a limit.

        The result is negative after that time.
        """
        return math.inf if self.seconds is None else share * self.seconds - self.elapsed

    def config_within(
        self,
        config: MeasurementConfig,
        count: int = 1,
        share: float = 1.0,
        maximum: float = math.inf,
    ) -> MeasurementConfig:
        """Return the config ``config`` with a time limit for each of ``count`` configurations.

        The time until fraction ``share`` of the limit is divided equally, with at most ``maximum``
        seconds for each configuration.
        """
        if self.seconds is None:
            return config
        return replace(config, limit=max(0.0, min(maximum, self.seconds_left(share) / count)))


def require_seconds(where: str, seconds: float | None) -> None:
    """Raise ArgumentError unless ``seconds`` is None or long enough for a measurement."""
    if seconds is None:
        return
    require_kind(f"{where}: seconds", seconds, NUMBER)
    if not seconds >= LEAST_SECONDS:
        raise ArgumentError(
            f"{where}: seconds is {seconds}. Use {LEAST_SECONDS:g} or more: every candidate "
            "is measured next to the graph's own setting."
        )


def start_seconds(row: Measurement, spent: float) -> float:
    """Return how many of ``spent`` seconds passed before a measurement's first round."""
    seconds = [one.seconds for one in row.rounds]
    if not seconds:
        return spent
    rounds = len(row.warm_up) + len(seconds)
    return max(0.0, spent - rounds * statistics.fmean(seconds))


def minimum_seconds(rows: Sequence[Measurement], start: float) -> float:
    """Return the minimum seconds to measure configurations interleaved, in new workers.

    ``rows`` have the speed of each configuration; ``start`` is a worker's time until its first
    round. Each configuration needs one warm-up round and ``FEWEST_ROUNDS`` counted rounds, with
    ``FEWEST_BATCHES`` batches after the queued ones.
    """
    return sum(
        start
        + (1 + FEWEST_ROUNDS)
        * (FEWEST_BATCHES + row.config.pipelines * (row.prefetch + _QUEUED))
        * row.batch_size
        / max(row.rate, 1e-9)
        for row in rows
    )
