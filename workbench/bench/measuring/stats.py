"""Compute statistics of rates: median, confidence interval, spread and ratio."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.95
WITHIN, ENOUGH = 0.03, 0.93
"""A value is known if both ends of its interval are within ``WITHIN`` of it, at a confidence level
of at least ``ENOUGH`` (five values reach 0.9375).
"""
_DRAWS = 4000
"""Number of bootstrap resamples."""


def three_digits(value: float) -> str:
    """Format a value of at least 1 with three significant digits: 3.27, 13.2, 1,320."""
    if (size := abs(value)) >= 999.5:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.{0 if size >= 99.95 else 1 if size >= 9.995 else 2}f}"


@dataclass(frozen=True, slots=True)
class Interval:
    """Median (or ratio) and its confidence interval, all in the unit of the values.

    ``level`` is the confidence level of ``low`` to ``high``: 0.95, or less with too few values.
    """

    median: float
    low: float
    high: float
    level: float

    @property
    def spread(self) -> float:
        """Distance of the farther end from the median, relative to the median."""
        return max(self.high - self.median, self.median - self.low) / self.median

    @property
    def is_known(self) -> bool:
        """True if the value is known within 3 %."""
        return self.level >= ENOUGH and self.spread <= WITHIN

    def text(self, form: Callable[[float], str] = "{:.2f}".format, as_range: bool = False) -> str:
        """Format the median if it is known within 3 % and not ``as_range``, otherwise the range.

        A single value has no range; it is rounded to two digits: ``about 450``.
        """
        if self.is_known and not as_range:
            return form(self.median)
        if self.level == 0:
            return f"about {form(float(f'{self.median:.2g}'))}"
        low, high = form(self.low), form(self.high)
        return f"about {low}" if low == high else f"{low} to {high}"

    @property
    def with_range(self) -> str:
        """Ratio with its range, ``1.07 (1.06 to 1.08)``, or only the range, ``0.98 to 1.15``."""
        ends = f" ({self.low:.2f} to {self.high:.2f})" if self.is_known else ""
        return f"{self.text()}{ends}"


def median_interval(values: Sequence[float]) -> Interval:
    """Return the median with a distribution-free confidence interval.

    The interval is between two order statistics, whose confidence is binomial (H. A. David and H.
    N. Nagaraja, Order Statistics, 3rd ed., 2003, section 7.1: for the k-th smallest and the k-th
    largest of n values it is 1 - 2 P(B < k), B binomial with n and 1/2). Between two such pairs the
    interval is interpolated after T. P. Hettmansperger and S. J. Sheather, Confidence intervals
    based on interpolated order statistics, Statistics & Probability Letters 4 (1986) 75-79. With
    five values or fewer, 95 % cannot be reached: the interval is then from minimum to maximum, with
    a lower level. Values are assumed to be independent. Raises ValueError if there are no values.
    """
    if not values:
        raise ValueError("There is no value to take the median of. Pass at least one.")
    ordered, count = sorted(values), len(values)
    median = statistics.median(ordered)
    if _confidence(count, 1) <= LEVEL:
        return Interval(median, ordered[0], ordered[-1], _confidence(count, 1))
    k = max(k for k in range(1, count // 2 + 1) if _confidence(count, k) >= LEVEL)
    outer, inner = _confidence(count, k), _confidence(count, k + 1)
    part = (outer - LEVEL) / (outer - inner)
    share = (count - k) * part / (k + (count - 2 * k) * part)
    return Interval(
        median,
        (1 - share) * ordered[k - 1] + share * ordered[k],
        (1 - share) * ordered[count - k] + share * ordered[count - k - 1],
        LEVEL,
    )


def _confidence(count: int, k: int) -> float:
    """Return the confidence of the interval from the k-th smallest to the k-th largest value."""
    if 2 * k > count:
        return 0.0
    return 1 - 2 * sum(math.comb(count, i) for i in range(k)) / float(2**count)


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Interval:
    """Return the ratio of two series whose i-th values were measured next to each other.

    The result is the median of the ratios, with the interval of ``median_interval``. Slowdowns that
    affect both values cancel. Positions missing in either series are skipped.
    """
    return median_interval([a / b for a, b in zip(ours, theirs, strict=False)])


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Interval:
    """Return the ratio of the medians of two series measured separately, such as in two runs.

    Uses the percentile bootstrap (B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap,
    1993, sections 8.3 and 13.3), resampling each series independently. With fewer than six values
    the interval tends to be too narrow, and its level is that of the shorter series' median. The
    result is deterministic.
    """
    chance = random.Random(0)
    draws = [
        statistics.median(chance.choices(ours, k=len(ours)))
        / statistics.median(chance.choices(theirs, k=len(theirs)))
        for _ in range(_DRAWS)
    ]
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Interval(
        statistics.median(ours) / statistics.median(theirs),
        float(low),
        float(high),
        min(LEVEL, _confidence(min(len(ours), len(theirs)), 1)),
    )


def variation(values: Sequence[float]) -> float:
    """Return the coefficient of variation (standard deviation over mean), or 0 for one value."""
    return statistics.stdev(values) / statistics.mean(values) if len(values) > 1 else 0.0
