"""What fits into the time that a run is given."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.bench.fakes import measured, rounds
from workbench.bench.measuring.deadline import (
    Deadline,
    least_seconds,
    require_seconds,
    start_seconds,
)
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import PROBE_CONFIG
from workbench.errors import ArgumentError


def test_what_is_left_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(
        "workbench.bench.measuring.deadline.time", SimpleNamespace(monotonic=lambda: clock[0])
    )
    deadline = Deadline(60.0)
    clock[0] += 20
    assert (deadline.spent, deadline.left(), deadline.left(0.5)) == (20.0, 40.0, 10.0)
    assert deadline.within(PROBE_CONFIG, 4).limit == 10.0
    assert deadline.within(PROBE_CONFIG, share=0.5, most=3.0).limit == 3.0
    clock[0] += 50
    assert deadline.left() == -10.0
    assert deadline.within(PROBE_CONFIG).limit == 0.0, "what a figure needs at least"


def test_without_a_time_there_is_no_limit() -> None:
    deadline = Deadline()
    assert deadline.left(0.1) == math.inf
    assert deadline.within(PROBE_CONFIG, 3) is PROBE_CONFIG


def test_a_time_too_short_is_refused() -> None:
    require_seconds("Run", None)
    require_seconds("Run", 20)
    with pytest.raises(ArgumentError, match=r"Run: seconds is 19. Give 20.0 or more"):
        require_seconds("Run", 19)


def test_the_start_is_what_the_rounds_leave() -> None:
    row = replace(measured(100.0), rounds=rounds(100.0, 100.0), warm_up=(90.0,))
    assert start_seconds(row, 10.0) == pytest.approx(7.0), "three rounds of a second"
    assert start_seconds(row, 2.0) == 0.0
    assert start_seconds(Measurement(row.config, reason="not measured"), 2.0) == 2.0


def test_the_least_is_a_start_and_three_rounds_of_each() -> None:
    row = measured(100.0, batch_size=50, prefetch=2, pipelines=1)
    assert least_seconds([row], 4.0) == pytest.approx(4 + 3 * 6 * 0.5)
    double = measured(100.0, batch_size=50, prefetch=2, pipelines=2)
    assert least_seconds([row, double], 4.0) == pytest.approx(8 + 3 * (6 + 10) * 0.5)
