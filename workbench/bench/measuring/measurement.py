"""Represent the measurement of one configuration: its rounds and derived statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.bench.measuring.config import LOAD, Config, Regime
from workbench.bench.measuring.measurement_config import StopReason, is_unstable
from workbench.bench.measuring.stats import (
    ENOUGH,
    WITHIN,
    Interval,
    median_interval,
    variation,
)
from workbench.bench.measuring.workload import TimedRound
from workbench.engine.resources.gpu import GPU_SHARED
from workbench.graph.model import DecodeDevice

CONFIRMED = "confirmed"
BY_ITSELF = "measured alone, in the search for workers, not interleaved"
"""First words of the flag of a result that was measured alone instead of in interleaved rounds."""
LOADED = 0.1
"""A result is flagged if other processes used more than this fraction of the machine's cores."""
_LOAD_FLAG = "the machine was loaded"
_LONGEST_BUDGET = 300.0
"""Largest time budget in seconds that is recommended for a precise result."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles of the milliseconds from one batch to the next, over all timed rounds."""

    p50: float
    p95: float
    p99: float


def latency_of(rounds: Sequence[TimedRound]) -> Latency | None:
    """Return the percentiles of the batch times of some rounds, or None if there are no rounds."""
    values = [1000 * latency for one in rounds for latency in one.latencies]
    if not values:
        return None
    return Latency(*map(float, np.percentile(values, [50, 95, 99])))


def long_run_text(row: Measurement) -> str:
    """Return a text about the long run, to be appended to a sentence, or "" if there was none."""
    if row.slowest_second is None:
        return ""
    seconds = sum(one.seconds for one in row.rounds if one.by_second)
    return f", {seconds:.0f} s long, slowest second {row.slowest_second:.2f} of the median"


@dataclass(frozen=True, slots=True)
class Measurement:
    """Result of one configuration. If it failed, ``rounds`` is empty and ``reason`` is set.

    ``warm_up`` has the rates (imgs/s) of the warm-up rounds. ``settled`` is True if these
    converged; ``stop_reason`` is the reason why measuring stopped. ``first_batch`` is the time in
    seconds to build the program and return its first batch. Memory is the peak in bytes;
    ``gpu_busy``, ``jpeg_busy`` and ``bus_busy`` are percentages. None means not measured.

    ::

        for each in report.measurements:
            print(each.name, each.rate_text)
    """

    config: Config
    rounds: tuple[TimedRound, ...] = ()
    reason: str = ""
    label: str = ""
    stop_reason: StopReason | None = None
    warm_up: tuple[float, ...] = ()
    settled: bool = True
    latency: Latency | None = None
    first_batch: float | None = None
    host_bytes: int | None = None
    gpu_bytes: int | None = None
    gpu_busy: float | None = None
    jpeg_busy: float | None = None
    notes: tuple[str, ...] = ()
    """Notes on the configuration, such as knobs without effect."""
    flags: tuple[str, ...] = ()
    """Reasons why the result is unreliable."""
    bus_busy: float | None = None

    @property
    def device(self) -> DecodeDevice:
        return self.config.device

    @property
    def regime(self) -> Regime:
        return self.config.regime

    @property
    def batch_size(self) -> int:
        return self.config.batch_size

    @property
    def threads(self) -> int:
        return self.config.threads

    @property
    def prefetch(self) -> int:
        return self.config.prefetch

    @property
    def name(self) -> str:
        return self.label or self.config.label

    @property
    def probe(self) -> bool:
        """True for a probe of the tuner, which is precise enough only to guide the search."""
        return self.label.startswith("probe")

    @property
    def is_interleaved(self) -> bool:
        """True if the rounds alternated with those of other rows, so that rates can be compared."""
        return not any(flag.startswith(BY_ITSELF) for flag in self.flags)

    @property
    def confirmed(self) -> bool:
        """True for the tuner's choice, measured in a long run without pauses."""
        return self.label.startswith(CONFIRMED)

    @property
    def slowest_second(self) -> float | None:
        """Rate of the slowest second relative to the median, or None if there was no long round."""
        known = [one.slowest_second for one in self.rounds if one.slowest_second is not None]
        return min(known, default=None)

    @property
    def imgs_per_s(self) -> tuple[float, ...]:
        """Rate of each round in imgs/s."""
        return tuple(one.imgs_per_s for one in self.rounds)

    @property
    def interval(self) -> Interval | None:
        """Median in imgs/s with its confidence interval, or None if there are no rounds.

        For a single long round, it is the round's rate with the interval of ``samples``.
        """
        if not self.rounds:
            return None
        found = median_interval(self.samples)
        if len(self.rounds) > 1:
            return found
        (rate,) = self.imgs_per_s
        return Interval(rate, min(rate, found.low), max(rate, found.high), found.level)

    @property
    def samples(self) -> tuple[float, ...]:
        """Rate of each round in imgs/s or, for a single long round, of each second."""
        alone = self.rounds[0].by_second if len(self.rounds) == 1 else ()
        return alone or self.imgs_per_s

    @property
    def uncertainty(self) -> str:
        """Reason why the rate is not known within 3 %, with the fix, or "" if it is."""
        found = self.interval
        if found is None or (found.is_known and self.settled and not self._load_flag):
            return ""
        if self._load_flag:
            return self._load_flag
        count = len(self.rounds)
        longer = max(1.0, found.spread / WITHIN) ** 2 * max(1.0, 6 / count)
        seconds = 10 * math.ceil((2 + longer * sum(one.seconds for one in self.rounds)) / 10)
        if not found.is_known:
            few = f"{count} round{'s' * (count != 1)}, too few for 95 % confidence"
            reason = "the rounds vary" if found.level >= ENOUGH else few
        else:
            reason = "the speed still changed at the end of the warm-up"
        fix = f"Measure longer, for example with bench --budget {max(30, seconds)}"
        if seconds > _LONGEST_BUDGET:
            fix = "Measure while no other program runs"
        return f"not known within 3 %: {reason}. {fix}"

    @property
    def _load_flag(self) -> str:
        found = [flag for flag in self.flags if flag.startswith(_LOAD_FLAG)]
        found += [note for note in self.notes if note.startswith(GPU_SHARED) and " % busy" in note]
        return next(iter(found), "")

    @property
    def within_3_percent(self) -> bool:
        """True if the rate is known within 3 %, so that it may be stated as one number."""
        return self.interval is not None and not self.uncertainty

    @property
    def ending(self) -> str:
        """Reason why measuring stopped, as text; "" if the precision was reached but is doubtful.

        A doubtful rate is unstable, or not known within 3 %.
        """
        if self.stop_reason != "precise":
            return "stopped by the time budget"
        return "precise" * (self.within_3_percent and not self.unstable)

    @property
    def figure(self) -> str:
        """Rate without its unit: ``1,234``, or ``1,180 to 1,290`` if not known within 3 %."""
        return self._figure(1)

    @property
    def rate_text(self) -> str:
        """Rate with its unit: ``1,234 imgs/s``, or ``1,180 to 1,290 imgs/s``.

        For sequences, the rate in frames is appended.
        """
        words = f"{self.figure} {rate_unit(self.config.frames)}"
        return f"{words}, {self.frame_rate}" if self.config.frames else words

    @property
    def frame_rate(self) -> str:
        """Rate in frames, ``98 frames/s``, or "" for images."""
        frames = self.config.frames
        return f"{self._figure(frames)} frames/s" if frames else ""

    @property
    def spread_text(self) -> str:
        """Confidence interval, ``1,220 to 1,250 at 95%``, or its level if ``figure`` shows it."""
        found, frames = self.interval, self.config.frames
        if found is None:
            return "not measured"
        if not self.within_3_percent:
            return f"{found.level:.0%} confidence"
        ends = f"{rate_figure(found.low, frames)} to {rate_figure(found.high, frames)}"
        return f"{ends} at {found.level:.0%}"

    def _figure(self, each: int) -> str:
        frames = self.config.frames * (each == 1)
        if self.interval is None:
            return self.reason or "not measured"
        return self.interval.text(
            lambda rate: rate_figure(rate * each, frames), not self.within_3_percent
        )

    @property
    def median(self) -> float | None:
        """Median of the rounds in imgs/s, or None if there are no rounds."""
        return self.interval.median if self.interval else None

    @property
    def rate(self) -> float:
        """``median``, or 0 if there are no rounds."""
        return self.median or 0.0

    @property
    def variation(self) -> float:
        """Coefficient of variation of the rounds."""
        return variation(self.imgs_per_s)

    @property
    def unstable(self) -> bool:
        """True if the rounds differ by more than 10 % (CV), or the warm-up did not converge."""
        return is_unstable(self.imgs_per_s, self.settled)

    @property
    def cpu_cores(self) -> float | None:
        """Average number of cores that the worker used, or None if there are no rounds."""
        seconds = sum(one.seconds for one in self.rounds)
        return sum(one.cpu_seconds for one in self.rounds) / seconds if seconds else None

    @property
    def other_busy_cores(self) -> float | None:
        """Average number of cores that other processes used in the rounds, or None if unknown."""
        known = [one.others for one in self.rounds if one.others is not None]
        return sum(known) / len(known) if known else None

    def quality_flags(self, cores: int, decodes: bool = True) -> tuple[str, ...]:
        """Return reasons why the result is unreliable, on a machine with ``cores`` usable cores.

        ``decodes`` is True if DALI decoded, so that the load of the JPEG engines is relevant.
        """
        found = []
        if self.variation > 0.1:
            found.append("unstable: the rounds differ by more than 10 %")
        if not self.settled:
            found.append("unstable: no two successive warm-up rounds agreed within 5 %")
        if self.other_busy_cores is not None and self.other_busy_cores > LOADED * cores:
            found.append(
                f"{_LOAD_FLAG}: other processes kept {self.other_busy_cores:.1f} of {cores} "
                f"core{'s' * (cores != 1)} busy. End them and measure again"
            )
        loaded = decodes and self.device == "mixed" and self.config.hw_decoder_load
        if loaded and self.jpeg_busy in (None, 0):
            what = "idle" if self.jpeg_busy == 0 else "not reported by the driver"
            found.append(f"{LOAD} may have had no effect: the GPU's JPEG engines were {what}")
        return tuple(found)


def rate_unit(frames: int) -> str:
    """Return ``imgs/s``, or ``sequences/s`` if ``frames`` is not 0."""
    return "sequences/s" if frames else "imgs/s"


def rate_figure(rate: float, frames: int) -> str:
    """Format a rate without its unit as ``1,234``, or ``12.3`` for sequences."""
    return f"{rate:,.{1 if frames and rate < 1000 else 0}f}"


def rate_text(rate: float, frames: int) -> str:
    """Format a rate as ``1,234 imgs/s``, or ``12.3 sequences/s, 98 frames/s`` for sequences."""
    words = f"{rate_figure(rate, frames)} {rate_unit(frames)}"
    return f"{words}, {rate * frames:,.0f} frames/s" if frames else words
