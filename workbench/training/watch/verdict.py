"""Convert the times of a training loop to sentences: the verdict and details."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from workbench.training.watch.step_times import (
    Mean,
    Ratio,
    StepTime,
    mean_of,
    ratio_of,
    steady_steps,
)

Limit = Literal["model", "loader", "both", "unknown"]
SMALL_GAIN = 1.1
"""The model is the limit if loading in no time would speed the loop up by less than this ratio."""
_NO_GAIN = 1.01
_FEWEST_REPEATED = 8
_FEWEST_LOADER = 8
_SHORTEST = 2e-4
"""Steps shorter than this (seconds) get no verdict, because measuring takes a part of them."""
_DRIFT = 1.2
"""The machine's speed counts as changed if times differ by at least this ratio."""
_SLOWER = 1.05
"""Minimum ratio of step times at which the loader is reported to slow the steps down."""


@dataclass(frozen=True, slots=True)
class LoopTimes:
    """Mean times per step in seconds, with the loader and on the repeated batch.

    ``free`` is the time of a step if loading took no time: the time on the repeated batch if
    ``measured``, otherwise the time of the loop's body. ``start`` is the wait at the start of an
    epoch of ``batches`` batches (None if unknown). ``samples`` is the mean number of samples per
    batch.
    """

    total: Mean
    wait: float
    step: Mean
    free: Mean
    measured: bool
    start: float
    samples: float | None
    count: int
    repeated: int
    """Number of steps on the repeated batch, including those that are not measured."""
    drift: str = ""
    """Reason why the steps cannot be compared, such as a change of speed; empty if they can."""
    change: float = 0.0
    """Logarithm of the ratio of the step times before and after the repeated batch."""
    checked: bool = False
    """True if there were enough check steps to compare the machine's speed."""
    batches: int | None = None

    @property
    def epoch(self) -> float | None:
        """Duration of an epoch in seconds with its start, or None if its length is unknown."""
        if not self.batches:
            return None
        return self.batches * self.total.value + max(0.0, self.start - self.wait)

    @property
    def mean_step(self) -> float:
        """Seconds per step, including a share of the epoch's start if the epoch length is known."""
        epoch = self.epoch
        return epoch / self.batches if epoch and self.batches else self.total.value

    @property
    def ceiling(self) -> Ratio:
        """Speed-up if loading took no time, including the start of an epoch if its length is known.

        The interval includes changes of machine speed.
        """
        found = ratio_of(self.total, self.free)
        if not found.low > 0:
            return found
        width = math.exp(math.hypot(math.log(found.high / found.value), self.change))
        value = found.value * self.mean_step / self.total.value
        return Ratio(value, value / width, value * width)

    @property
    def limit(self) -> Limit:
        """Limiting part of the loop; unknown if the interval allows different verdicts."""
        ceiling = self.ceiling
        if self.drift or self.total.value < _SHORTEST:
            return "unknown"
        if ceiling.low >= SMALL_GAIN:
            return "loader"
        if ceiling.high <= SMALL_GAIN:
            return "model"
        return "both" if ceiling.low > 1 else "unknown"


def loop_times(
    steps: Sequence[StepTime], loads_in_steps: bool = True, batches: int | None = None
) -> LoopTimes | None:
    """Return the times of a loop, or None if too few steps were measured.

    ``batches`` is the number of batches per epoch. ``loads_in_steps`` is true if the loader may
    prepare batches during the steps. If not, loading cannot slow them down, so a much faster step
    on the repeated batch has another cause. A much slower step always has another cause.
    """
    steady = steady_steps(steps)
    if len(steady) < _FEWEST_LOADER:
        return None
    repeated = [each.step for each in steps if each.phase == "repeated"]
    measured = len(repeated) >= _FEWEST_REPEATED
    step = mean_of([each.step for each in steady])
    sizes = [each.samples for each in steady if each.samples is not None]
    starts = [each.wait for each in steps if each.first]
    checks = [each.step for each in steps if each.phase == "check" and not each.first]
    checks = checks[len(checks) // 4 :]  # at first the loader's queue is full, and it is idle
    checked = len(checks) >= _FEWEST_LOADER and min(fmean(checks), step.value) > 0
    free = mean_of(repeated) if measured else step
    drift = _drift(steady, checks if checked else [])
    slower = ratio_of(step, free)
    is_slower = not loads_in_steps and slower.low > _DRIFT
    if not drift and (is_slower or slower.high < 1 / _DRIFT):
        new, again = duration_text(step.value), duration_text(free.value)
        drift = (
            f"a step took {new} on new batches and {again} on a repeated one, which loading does "
            "not explain"
        )
    return LoopTimes(
        mean_of([each.total for each in steady]),
        fmean(each.wait for each in steady),
        step,
        free,
        measured,
        fmean(starts) if starts else 0.0,
        fmean(sizes) if len(sizes) == len(steady) else None,
        len(steady),
        sum(each.phase in ("settling", "repeated") for each in steps),
        drift,
        math.log(step.value / fmean(checks)) if checked else 0.0,
        checked,
        batches,
    )


def _drift(steady: Sequence[StepTime], checks: Sequence[float]) -> str:
    """Describe a change of the machine's speed, as part of a sentence; empty if there was none.

    Compares the two halves of the loader steps, and the loader steps with ``checks``.
    """
    half = len(steady) // 2
    found = [("", [each.total for each in steady[:half]], [each.total for each in steady[half:]])]
    if checks:
        found.append((" without waiting", [each.step for each in steady], [*checks]))
    for what, before, after in found:
        change = ratio_of(mean_of(before), mean_of(after))
        if change.low > _DRIFT or change.high < 1 / _DRIFT:
            first, last = (duration_text(fmean(values)) for values in (before, after))
            return (
                f"the speed changed during the watch: a step took {first}{what} at first and "
                f"{last} later"
            )
    return ""


def verdict(times: LoopTimes) -> str:
    """Return the verdict as a sentence."""
    ceiling, how = times.ceiling, "" if times.measured else ", computed"
    bounds = f"{ceiling.low:.2f} to {ceiling.high:.2f}"
    span = f"{bounds}{how}"
    limit = times.limit
    if times.total.value < _SHORTEST:
        return (
            f"There is no verdict, because a step takes only {duration_text(times.total.value)}: "
            "the measurement itself takes a part of it."
        )
    if times.drift:
        return (
            f"There is no verdict, because {times.drift}. Watch again while nothing else uses the "
            "machine."
        )
    if limit == "unknown":
        return (
            f"The limit cannot be distinguished from noise after {times.count} steady steps on the "
            "loader's batches: if loading took no time, the loop would be "
            f"{bounds} times as fast{how}. Watch more steps."
        )
    rates = f"the loop processes {rate_text(times, times.mean_step)}, "
    rates += f"and the step alone could process {rate_text(times, times.free.value)}"
    if limit == "loader":
        return (
            f"The loader is the limit: {rates}. If loading took no time, the loop would be "
            f"{ceiling.value:.2f} times as fast ({span})."
        )
    if limit == "both":
        return (
            f"The loader and the model share the limit: {rates}. If loading took no time, the loop "
            f"would be {ceiling.value:.2f} times as fast ({span})."
        )
    most = f"at most {max(1.0, ceiling.high):.2f} times as fast{how}"
    if ceiling.low <= 1 or ceiling.value < _NO_GAIN:
        return f"The model is the limit: faster loading would change little ({most})."
    now, then = times.total.value, times.free.value
    if times.batches and times.epoch:
        now, then = times.epoch, times.batches * then
        return (
            "The model is the limit: if loading took no time, an epoch would take "
            f"{duration_text(then)} instead of {duration_text(now)} ({most})."
        )
    return (
        f"The model is the limit: if loading took no time, a step would take "
        f"{duration_text(then)} instead of {duration_text(now)} ({most})."
    )


def time_sentences(times: LoopTimes, works_ahead: bool, restarts: bool) -> list[str]:
    """Return sentences about an epoch, its start, and steps that new batches slow down.

    ``works_ahead`` is true if the loader prepares batches during the steps. ``restarts`` is true if
    the loader starts worker processes in each epoch.
    """
    found = []
    batches, epoch = times.batches, times.epoch or 0.0
    if batches and times.limit in ("loader", "both"):
        free = batches * times.free.value
        found.append(
            f"An epoch of {batches:,} batches takes {duration_text(epoch)}; if loading took no "
            f"time, it would take {duration_text(free)}."
        )
    if batches and times.start > max(0.05 * epoch, 2 * times.total.value):
        found.append(
            f"The first batch of an epoch takes {duration_text(times.start)}, which is "
            f"{times.start / epoch:.0%} of an epoch."
            + " Pass persistent_workers=True to the DataLoader."
            * restarts
        )
    slower = ratio_of(times.step, times.free)
    if times.measured and not times.drift and slower.low > 1 and slower.value > _SLOWER:
        why = (
            "The loader prepares batches meanwhile: they may compete for CPU cores or the GPU."
            if works_ahead
            else "Possible causes are caches and the first use of a batch."
        )
        found.append(
            f"A step takes {slower.value:.2f} times as long on new batches as on a repeated one. "
            f"{why}"
        )
    return found


def rate_text(times: LoopTimes, seconds: float) -> str:
    """Return a time per step as a rate, in samples or batches per second."""
    if not seconds or not math.isfinite(seconds):
        return "an unknown number of samples/s"
    rate, unit = (times.samples or 1) / seconds, "samples" if times.samples else "batches"
    return f"{rate:,.0f} {unit}/s" if rate >= 100 else f"{rate:.3g} {unit}/s"


def duration_text(seconds: float) -> str:
    """Return a duration as text with three digits: ``12.3 ms``, ``4.56 s``, ``41.2 min``."""
    for most, unit, size in ((1.0, "ms", 1e-3), (120.0, "s", 1.0), (7200.0, "min", 60.0)):
        if seconds < most:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 3600:.3g} h"
