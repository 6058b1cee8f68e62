"""``wb.watch`` in virtual time: ceilings, intervals and verdicts against known loops."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

import workbench as wb
from tests.training.virtual_loops import VirtualTime, noisy, run, steady
from workbench.training.watch.step_times import mean_of, ratio_of, t_quantile

MILLISECONDS = (5, 10, 20, 30, 50, 80)


def watched(time: VirtualTime, data: object, step: object, queue: int = 0, **options: int):
    """Report of a watched loop of 200 batches."""
    loop = wb.watch(time.loader(range(200), data, queue, **options), show=False)
    run(loop, time, step)
    assert loop.finished
    return loop.report()


@pytest.mark.parametrize("every", [2, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("spread", [0, 0.05])
@pytest.mark.parametrize("queue", [0, 2])
def test_the_ceiling_is_that_of_a_run_with_free_data(
    time: VirtualTime, queue: int, spread: float, every: int
) -> None:
    """All 36 loops of data and step from 5 to 80 ms, or 9 of them."""
    wrong = []
    for data, step in product(MILLISECONDS[::every], MILLISECONDS[::every]):

        def times(mean: int, seed: int):
            return noisy(mean / 1000, spread, seed) if spread else steady(mean / 1000)

        report = watched(time, times(data, 1), times(step, 2), queue)
        count = 2000
        loop = run(time.loader(range(count), times(data, 3), queue), time, times(step, 4))
        measured = loop / run(range(count), time, times(step, 4))
        if abs(report.ceiling / measured - 1) > 0.03:
            wrong.append((data, step, report.ceiling, measured))
    assert not wrong


@pytest.mark.parametrize(("data", "step", "queue", "limit"), [
    (80, 5, 2, "loader"),
    (30, 30, 0, "loader"),
    (5, 80, 2, "model"),
    (3, 80, 0, "model"),
    (40, 20, 2, "loader"),
])  # fmt: skip
def test_the_limit_is_named(
    time: VirtualTime, data: int, step: int, queue: int, limit: str
) -> None:
    report = watched(time, noisy(data / 1000, 0.1, 1), noisy(step / 1000, 0.1, 2), queue)
    assert report.limit == limit
    words = {"loader": "The loader is the limit", "model": "The model is the limit"}
    assert words[limit] in str(report)


@pytest.mark.parametrize("count", [10, pytest.param(40, marks=pytest.mark.thorough)])
def test_no_verdict_inside_the_noise(time: VirtualTime, count: int) -> None:
    reports = [
        watched(time, noisy(0.001, 1, seed), noisy(0.02, 2, 1000 + seed)) for seed in range(count)
    ]
    wrong = [each.limit for each in reports if each.limit in ("loader", "both")]
    unknown = [each for each in reports if each.limit == "unknown"]
    assert len(wrong) <= count / 20  # intervals of 95 %
    assert len(unknown) > count / 2
    assert "cannot be distinguished from noise" in str(unknown[0]) or "no verdict" in str(
        unknown[0]
    )


@pytest.mark.parametrize("count", [20, pytest.param(100, marks=pytest.mark.thorough)])
def test_the_interval_contains_the_ceiling(time: VirtualTime, count: int) -> None:
    inside = 0
    for seed in range(count):
        report = watched(time, noisy(0.02, 0.3, seed), noisy(0.02, 0.3, 500 + seed))
        inside += report.interval.low <= 2 <= report.interval.high
    assert inside >= 0.9 * count


def test_a_queue_that_was_full_at_the_start_does_not_hide_a_slow_loader(time: VirtualTime) -> None:
    report = watched(time, steady(0.03), steady(0.02), queue=20, filled=20)
    assert report.ceiling == pytest.approx(1.5, rel=0.03)


def test_bursts_of_several_workers_are_counted_whole(time: VirtualTime) -> None:
    waits = iter([0.08 * (number % 8 == 0) for number in range(400)])
    report = watched(time, lambda: next(waits), steady(0.005))
    assert report.ceiling == pytest.approx(3.0, rel=0.03)


def test_there_is_no_verdict_if_the_speed_of_the_machine_changes(time: VirtualTime) -> None:
    began = time.now

    def step() -> float:
        return 0.03 if time.now < began + 5 else 0.01

    report = watched(time, steady(0.01), step)
    assert report.limit == "unknown"
    assert "the speed changed during the watch" in str(report)


def test_there_is_no_verdict_if_the_step_is_slower_on_the_repeated_batch(
    time: VirtualTime,
) -> None:
    loop = wb.watch(time.loader(range(200), steady(0.01)), show=False)
    before = None
    for batch in loop:
        time.sleep(0.03 if batch == before else 0.02)
        before = batch
    assert loop.report().limit == "unknown"
    assert "20 ms on new batches and 30 ms on a repeated one" in str(loop.report())


def test_a_smaller_change_of_the_speed_widens_the_interval(time: VirtualTime) -> None:
    steps = iter([0.0105] * 120 + [0.01] * 200)
    report = watched(time, steady(0.001), lambda: next(steps))
    assert report.interval.low < 1.1 < report.interval.high < 1.3


def test_the_start_of_each_epoch_counts(time: VirtualTime) -> None:
    class Loader:
        def __len__(self) -> int:
            return 60

        def __iter__(self) -> Iterator[int]:
            time.sleep(2)
            yield from range(60)

    watched = wb.watch(Loader(), show=False)
    for _ in range(5):
        for _ in watched:
            time.sleep(0.02)
    report = watched.report()
    assert report.ceiling == pytest.approx(3.2 / 1.2, rel=0.01)
    assert report.limit == "loader"
    assert "The first batch of an epoch takes 2 s, " in str(report)


def test_there_is_no_verdict_on_an_empty_loop(time: VirtualTime) -> None:
    report = watched(time, steady(2e-6), steady(1e-6))
    assert report.limit == "unknown"
    assert "a step takes only 0.003 ms" in str(report)


def test_steps_that_the_loader_slows_down_are_reported(time: VirtualTime) -> None:
    batches = range(200)
    loop = wb.watch(time.loader(batches, steady(0.01)), show=False)
    before = None
    for batch in loop:
        time.sleep(0.02 if batch == before else 0.03)
        before = batch
    assert "A step takes 1.50 times as long on new batches" in str(loop.report())
    assert loop.report().ceiling == pytest.approx(2.0)


def test_statistics_of_equal_and_of_few_values() -> None:
    assert mean_of([2.0] * 50).error == 0
    few = ratio_of(mean_of([1.0, 2.0]), mean_of([1.0] * 9))
    assert (few.low, few.high) == (0, float("inf"))
    for freedom, known in ((3, 3.182), (9, 2.262), (19, 2.093), (1000, 1.962)):
        assert t_quantile(freedom) == pytest.approx(known, rel=0.01)
