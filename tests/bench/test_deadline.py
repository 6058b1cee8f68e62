"""What fits into the time that a run is given, and how a tuning spends it."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.bench.fakes import measured, rounds
from workbench.bench.experiments.tune import TuningTime, Turns, long_seconds
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.deadline import (
    Deadline,
    least_seconds,
    require_seconds,
    start_seconds,
)
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import PROBE_CONFIG, QUICK_CONFIG
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


OWN, FAST, OTHER = (Config(threads=threads) for threads in (1, 4, 2))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in its only element."""
    now = [0.0]
    time = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("workbench.bench.measuring.deadline.time", time)
    return now


def row(config: Config, rate: float = 10_000.0) -> Measurement:
    """Of eight rounds of a second each, the warm-up included."""
    return replace(measured(rate), config=config)


def test_without_a_time_there_is_time_for_all(clock: list[float]) -> None:
    time = TuningTime(None)
    time.count_probe(row(OWN), 10.0)
    clock[0] = 1e6
    assert not time.is_up_for_probes()
    assert time.for_probe(PROBE_CONFIG) is PROBE_CONFIG
    assert time.turns([FAST, OTHER], OWN) == Turns((FAST, OTHER), 1.0)
    assert time.for_turns(QUICK_CONFIG, 3, 1.0) is QUICK_CONFIG
    how = time.for_long(30.0)
    assert how is not None
    assert how.round_seconds == 30.0


def test_probes_end_at_their_share_or_where_a_comparison_would_find_no_room(
    clock: list[float],
) -> None:
    time = TuningTime(100.0)
    assert time.for_probe(PROBE_CONFIG).limit == pytest.approx(11.25), "a quarter of 45 s"
    time.count_probe(row(OWN), 10.0)  # 2 s until the first round
    time.count_probe(row(FAST), 9.0)
    for now, over in ((35.9, False), (36.1, True)):
        clock[0] = now
        assert time.is_up_for_probes() == over, "9 s before 45 s"


def test_probes_leave_room_to_compare_the_fastest_with_the_graphs_own(clock: list[float]) -> None:
    time = TuningTime(100.0)
    pair = row(FAST, 50.0), row(OWN, 35.0)
    time.count_probe(pair[1], 10.0)
    time.count_probe(pair[0], 9.0)
    room = 100.0 - least_seconds(pair, 2.0)
    assert 9.0 < room < 45.0, "before the search ends anyway"
    for now, over in ((room - 9.1, False), (room - 8.9, True), (room + 0.1, False)):
        clock[0] = now
        assert time.is_up_for_probes() == over, "none is left to leave: so all of the time is"


def test_the_second_probe_may_take_twice_as_long_as_the_first_without_its_start(
    clock: list[float],
) -> None:
    time = TuningTime(100.0)
    time.count_probe(row(OWN), 10.0)
    for now, over in ((83.9, False), (84.1, True)):
        clock[0] = now
        assert time.is_up_for_probes() == over, "the first two have all of the time: 16 s of it"


def test_where_the_time_is_short_fewer_are_compared_and_none_runs_for_long(
    clock: list[float],
) -> None:
    time = TuningTime(100.0)
    for config in (OWN, FAST, OTHER):
        time.count_probe(row(config), 10.0)  # in turns 2 s and three rounds, which take 0.1 s
    expected = {70.0: ((FAST, OTHER), 0.8), 75.0: ((FAST,), 0.8), 90.0: ((FAST,), 1.0), 99.0: None}
    for now, turns in expected.items():
        clock[0] = now
        assert time.turns([FAST, OTHER], OWN) == turns
    clock[0] = 80.0
    how = time.for_turns(QUICK_CONFIG, 2, 1.0)
    assert (how.rounds, how.budget, how.limit) == (3, 3.0, 10.0)
    long = time.for_long(60.0)
    assert long is not None
    assert (long.round_seconds, long.round_batches) == (15.0, 1)
    clock[0] = 90.0
    assert (long := time.for_long(60.0)) is not None
    assert long.round_seconds == pytest.approx(7.0), "10 s without a start and what leads in"
    clock[0] = 92.0
    assert time.for_long(60.0) is None


def test_the_choice_of_a_large_grid_runs_longer_up_to_a_minute_on_a_gpu() -> None:
    assert [long_seconds(count, "cpu") for count in (1, 24, 500)] == [6.0, 7.68, 10.0]
    assert long_seconds(500, "mixed") == 60.0
