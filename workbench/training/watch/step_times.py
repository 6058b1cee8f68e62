"""Compute statistics of step times: the steady part, means with errors, and ratios of means.

All functions are pure functions of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, variance
from typing import Literal, NamedTuple

Phase = Literal["warm-up", "loader", "settling", "repeated", "check"]
"""Phase of a step.

Steps of ``warm-up``, ``loader`` and ``check`` use a batch of the loader; steps of ``settling``
and ``repeated`` use the repeated batch. ``warm-up`` and ``settling`` are not measured. ``check``
shows whether the machine's speed has changed.
"""
_MOST_BLOCKS, _BLOCK_STEPS = 20, 4
_MOST_TRIMMED = 0.3
"""Maximum fraction of the steps that `steady_steps` drops at the start and end."""
_NO_WAIT = 0.02
"""A loader limits the loop only if waiting takes at least this fraction of a step."""


class StepTime(NamedTuple):
    """Times of one step in seconds: waiting for the batch, and the loop's body.

    ``first`` marks the first step of an epoch, whose wait includes the start of the loader.
    """

    number: int
    phase: Phase
    wait: float
    step: float
    samples: int | None = None
    first: bool = False

    @property
    def total(self) -> float:
        return self.wait + self.step


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its standard error and the error's degrees of freedom (``freedom``)."""

    value: float
    error: float
    freedom: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio with its 95 % confidence interval."""

    value: float
    low: float
    high: float


def steady_steps(steps: Sequence[StepTime]) -> Sequence[StepTime]:
    """Return the measured loader steps, without the first ones if a full queue served them.

    A queue that is full when the loop begins hides the waits of the first steps. Loaders with
    several workers deliver batches in bursts. To contain whole bursts, the result begins and ends
    at a wait above the mean.
    """
    steps = [each for each in steps if each.phase == "loader" and not each.first]
    if not steps:
        return steps
    mean = fmean(each.wait for each in steps)
    if mean < _NO_WAIT * fmean(each.total for each in steps):
        return steps
    long = [at for at, each in enumerate(steps) if each.wait >= 0.999 * mean]
    gap = max((b - a for a, b in pairwise(long)), default=0)
    if long[0] > 2 * gap and len(steps) - long[0] >= len(steps) / 4:
        steps = steps[long[0] :]
        long = [at - long[0] for at in long]
    inner = steps[long[0] + 1 : long[-1] + 1]
    return inner if len(inner) >= (1 - _MOST_TRIMMED) * len(steps) else steps


def mean_of(values: Sequence[float]) -> Mean:
    """Return the mean of consecutive values, which may be correlated.

    The standard error is that of non-overlapping batch means (B. Schmeiser, Batch size effects in
    the analysis of simulation output, Operations Research 30 (1982) 556-568, who recommends 10 to
    30 batches). It is infinite for fewer than 4 values.
    """
    count = len(values)
    if count < _BLOCK_STEPS:
        return Mean(fmean(values) if values else math.nan, math.inf, 1)
    blocks = min(_MOST_BLOCKS, count // _BLOCK_STEPS)
    blocks = count if blocks < _BLOCK_STEPS else blocks
    ends = [round(block * count / blocks) for block in range(blocks + 1)]
    means = [fmean(values[a:b]) for a, b in pairwise(ends)]
    return Mean(fmean(values), math.sqrt(variance(means) / blocks), blocks - 1)


def ratio_of(above: Mean, below: Mean) -> Ratio:
    """Return the ratio of two means that were measured separately, with a confidence interval.

    The logarithm of the ratio is approximately normal (delta method), with the degrees of freedom
    of B. L. Welch, The generalization of 'Student's' problem, Biometrika 34 (1947) 28-35.
    """
    parts = [(each.error / each.value) ** 2 if each.value else math.inf for each in (above, below)]
    total = sum(parts)
    value = above.value / below.value if below.value else math.nan
    if not math.isfinite(total):
        return Ratio(value, 0.0, math.inf)
    degrees = (above.freedom, below.freedom)
    split = sum(part**2 / freedom for part, freedom in zip(parts, degrees, strict=True))
    width = t_quantile(total**2 / split if split else min(degrees)) * math.sqrt(total)
    return Ratio(value, value * math.exp(-width), value * math.exp(width))


def t_quantile(freedom: float) -> float:
    """Return the 97.5 % quantile of Student's t distribution.

    The error is at most 1 % for 3 or more degrees of freedom. Source: M. Abramowitz and
    I. A. Stegun, Handbook of Mathematical Functions, 1964, formula 26.7.5.
    """
    z = 1.959964
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))
