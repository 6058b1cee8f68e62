"""Times that add up, and the path that a batch waits for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.bench.experiments.stage_verdict import critical_path, exclusive_times


@given(st.lists(st.floats(0.001, 1e4), min_size=1, max_size=12))
def test_they_are_not_negative_and_add_up_to_the_whole(prefixes: list[float]) -> None:
    found = exclusive_times(prefixes)
    assert len(found) == len(prefixes)
    assert min(found) >= 0
    assert sum(found) == pytest.approx(prefixes[-1])


def test_times_that_rise_are_kept_and_noise_is_spread() -> None:
    assert exclusive_times([1, 50, 80, 100]) == [1, 49, 30, 20]
    assert exclusive_times([1, 52, 48, 100]) == [1, 49, 0, 50]
    assert exclusive_times([1, 120, 100]) == [1, 99, 0], "no part takes longer than the whole"


def test_the_kind_that_is_busy_longest_is_the_path() -> None:
    found = critical_path(
        [("reader", "reading", 1.2), ("decode", "cpu", 50.0), ("crop", "cpu", 20.0),
         ("blur", "gpu", 60.0)]
    )  # fmt: skip
    assert found is not None
    assert found.stages == ("decode", "crop")
    assert found.words(75.0) == (
        "critical path: decode → crop, 70.0 ms of work for a batch of 75.0 ms; beside it "
        "reading (1.2 ms), gpu (60.0 ms)"
    )
    assert critical_path([]) is None
