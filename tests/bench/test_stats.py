"""Intervals have the coverage they claim."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from workbench.bench.measuring.stats import (
    Interval,
    median_interval,
    paired_ratio,
    ratio,
    variation,
)


@pytest.mark.parametrize("count", [6, 7, 9, 12, 25])
@pytest.mark.parametrize("draw", ["gauss", "skew"])
def test_the_interval_covers_the_median_as_often_as_it_says(count: int, draw: str) -> None:
    chance = random.Random(count)
    true = math.log(2) if draw == "skew" else 0.0
    hits = 0
    for _ in range(2000):
        values = [
            chance.expovariate(1) if draw == "skew" else chance.gauss(0, 1) for _ in range(count)
        ]
        found = median_interval(values)
        assert found.level == 0.95
        hits += found.low <= true <= found.high
    assert 0.935 < hits / 2000 < 0.965


def test_few_values_give_their_range_and_the_level_it_has() -> None:
    found = median_interval([3.0, 1.0, 5.0, 2.0, 4.0])
    assert (found.median, found.low, found.high) == (3.0, 1.0, 5.0)
    assert found.level == pytest.approx(1 - 2 / 2**5)
    assert median_interval([7.0]) == Interval(7.0, 7.0, 7.0, 0.0)


def test_six_values_are_enough_for_95_percent() -> None:
    # By hand: the range has 96.9 %, the second to the fifth 78.1 %; 95 % lies between them.
    found = median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    outer, inner = 1 - 2 / 64, 1 - 14 / 64
    part = (outer - 0.95) / (outer - inner)
    share = 5 * part / (1 + 4 * part)
    assert found.low == pytest.approx(1 + share)
    assert found.high == pytest.approx(6 - share)
    assert found.spread == pytest.approx((3.5 - found.low) / 3.5)


def test_no_values_have_no_median() -> None:
    with pytest.raises(ValueError, match="no values"):
        median_interval([])


def test_a_paired_ratio_does_not_feel_what_slowed_both() -> None:
    machine = [1.0, 0.5, 0.8, 1.1, 0.6, 0.9, 1.0]
    found = paired_ratio([200 * m for m in machine], [100 * m for m in machine])
    assert (found.low, found.median, found.high) == pytest.approx((2.0, 2.0, 2.0))
    assert ratio([200 * m for m in machine], [100 * m for m in machine]).spread > 0.2


@pytest.mark.thorough
def test_a_bootstrap_ratio_is_repeatable_and_covers() -> None:
    chance = random.Random(3)
    hits = 0
    for _ in range(60):
        ours = [chance.gauss(300, 10) for _ in range(15)]
        theirs = [chance.gauss(100, 5) for _ in range(15)]
        found = ratio(ours, theirs)
        assert found == ratio(ours, theirs)
        hits += found.low <= 3 <= found.high
    assert hits >= 52


def test_variation() -> None:
    values = [3.0, 9.0, 1.0, 4.0]
    assert variation([5.0]) == 0
    assert variation(values) == pytest.approx(np.std(values, ddof=1) / np.mean(values))


def test_intervals_overlap_or_not() -> None:
    one = Interval(2, 1, 3, 0.95)
    assert one.overlaps(Interval(4, 3, 5, 0.95))
    assert not one.overlaps(Interval(5, 4, 6, 0.95))
