"""The rules of warm-up and stopping, on made-up rounds."""

from __future__ import annotations

import pytest

from workbench.bench.measuring.measurement_config import (
    COARSE_CONFIG,
    QUICK_CONFIG,
    MeasurementConfig,
    config_within,
    is_unstable,
    low_precision_notice,
)
from workbench.bench.measuring.stats import median_interval


@pytest.mark.parametrize(
    ("rates", "batches", "warm"),
    [
        ([], 0, False),
        ([100], 50, False),
        ([100, 104], 50, True),
        ([100, 96], 50, True),
        ([100, 106], 50, False),
        ([50, 100, 101], 50, True),
        ([100, 101, 50], 50, False),
        ([100, 101], 4, False),
        ([100, 101], 5, True),
    ],
)
def test_warm_is_two_rounds_alike_and_five_batches(
    rates: list[float], batches: int, warm: bool
) -> None:
    assert MeasurementConfig().is_warm(rates, batches) is warm


def test_the_issue_s_numbers() -> None:
    config = MeasurementConfig()
    assert (config.round_seconds, config.round_batches, config.rounds) == (1.0, 10, 5)
    assert (config.warm_up_batches, config.warm_up_within, config.precision) == (5, 0.05, 0.03)
    assert QUICK_CONFIG.budget < config.budget


def test_precise_needs_six_rounds_for_95_percent() -> None:
    config = MeasurementConfig()
    assert not config.is_precise([100.0] * 5)
    assert config.is_precise([100.0] * 6)
    assert not config.is_precise([90, 95, 100, 100, 105, 110])
    assert config.is_precise([98, 99, 100, 100, 101, 102])


def test_the_reason_to_stop() -> None:
    config = MeasurementConfig(budget=10)
    steady, wild = [100.0] * 6, [60.0, 100, 140, 70, 130, 90]
    assert config.stop_reason([steady, steady], 1.0) == "precise"
    assert config.stop_reason([steady, wild], 19.9) is None, "the budget is for each"
    assert config.stop_reason([steady, wild], 20.0) == "budget"
    assert config.stop_reason([steady, wild[:4]], 99.0) is None, "five rounds at least"
    assert config.stop_reason([], 0.0) == "precise", "nothing is left to measure"


def test_a_limit_leaves_rounds_fewer_batches_and_an_end() -> None:
    config, free = config_within(8.0), MeasurementConfig()
    assert (config.round_of(0.01), config.round_of(0.3), config.round_of(9.0)) == (
        (1.0, 10),
        (1.0, 3),
        (1.0, 2),
    )
    assert config_within(4.0).round_of(0.01) == (0.5, 10)
    assert free.round_of(9.0) == (1.0, 10)
    assert not free.is_late_to_warm_up(1e9)
    assert (config.is_late_to_warm_up(3.9), config.is_late_to_warm_up(4.0)) == (False, True)
    assert not config.is_late([7.0, 5.0], [1.0, 2.0], 2), "8 s for each, whichever takes them"
    assert config.is_late([7.0, 7.0], [1.0, 2.0], 2)
    assert not config.is_late([99.0], [1.0], 1), "two rounds whatever they take"
    assert not free.is_late([1e9], [1.0], 5)


def test_unstable() -> None:
    assert not is_unstable([100, 101, 99], True)
    assert is_unstable([100, 60, 130], True)
    assert is_unstable([100, 101, 99], False)
    assert not is_unstable([], True)


def test_a_glance_takes_one_round_of_warm_up_and_two_that_count() -> None:
    assert not COARSE_CONFIG.is_warm([], 0)
    assert COARSE_CONFIG.is_warm([100.0], 2)
    assert COARSE_CONFIG.stop_reason([[100.0]], 99.0) is None
    assert COARSE_CONFIG.stop_reason([[100.0, 150.0]], 0.5) == "budget"


def test_a_quick_look_says_how_wide_its_intervals_are() -> None:
    found = [median_interval([100.0, 120.0]), median_interval([100.0, 101.0])]
    assert low_precision_notice(COARSE_CONFIG, found) == (
        "Quick figures: 2 rounds of 0.2 s at least for each. Intervals are wide: up to 9% from "
        "the median, at 50% confidence"
    )
    assert "at 75% confidence" in low_precision_notice(
        QUICK_CONFIG, [median_interval([1.0, 2.0, 3.0])]
    )
    assert low_precision_notice(MeasurementConfig(), found) == ""
    assert low_precision_notice(COARSE_CONFIG, []) == ""
    long = median_interval([100.0])
    assert "at 50% confidence" in low_precision_notice(COARSE_CONFIG, [*found, long])
    assert low_precision_notice(COARSE_CONFIG, [long]) == ""
