"""Who runs when, when it stops and what becomes of failures: with groups that follow a script."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.bench.fakes import FakeWorkerGroup, Script
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.interleaved import (
    NOT_YET,
    ROUND_CUT,
    ROUNDS_CUT,
    TIME_UP,
    WARM_UP_CUT,
    ConfigJobs,
    measure,
    without_traceback,
)
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import MeasurementConfig, config_within
from workbench.bench.measuring.worker_group import ReusableWorker
from workbench.engine.build.pipelines import out_of_memory
from workbench.engine.protocol.worker_process import NEXT_WORKER
from workbench.errors import CancelledError, DataError, EngineError, WorkerCrashedError

GIB = 2**30


def test_out_of_memory_names_the_batch_size_and_the_command_that_predicts_the_memory() -> None:
    text = without_traceback(EngineError(out_of_memory(["decode"])), 100_000)
    assert text.startswith(
        "Out of memory while running 'decode' with a batch size of 100,000. `workbench check GRAPH "
        "--data DATA --memory` names a batch size that fits."
    )


@pytest.fixture(autouse=True)
def _fake_groups(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("workbench.bench.measuring.interleaved.WorkerGroup", FakeWorkerGroup)
    FakeWorkerGroup.made = []
    yield
    assert all(group.closed for group in FakeWorkerGroup.made), "nothing is left behind"


def run(
    *scripts: Script, measurement_config: MeasurementConfig | None = None, **options: object
) -> list[Measurement]:
    entries = [ConfigJobs(Config(), (script,), f"s{i}") for i, script in enumerate(scripts)]
    stop = threading.Event()
    return list(measure(entries, measurement_config or MeasurementConfig(), stop, **options))  # type: ignore[arg-type]


def test_a_steady_one_stops_when_it_is_precise() -> None:
    (row,) = run(Script([50, 100, 101, 100]))
    assert row.stop_reason == "precise"
    assert len(row.rounds) == 6
    assert row.warm_up == (50, 100, 101)
    assert row.settled
    assert not row.unstable
    assert (row.median, row.reason) == (100, "")
    assert row.latency is not None
    assert row.latency.p50 == pytest.approx(15.0)
    assert row.first_batch == 0.25
    assert (row.gpu_busy, row.jpeg_busy, row.host_bytes) == (50, 0, 1000)
    assert all(one.latencies == () for one in row.rounds), "not kept"


def test_an_unsteady_one_stops_when_time_is_up_and_says_so() -> None:
    (row,) = run(
        Script([100, 100, *[60, 140] * 20]), measurement_config=MeasurementConfig(budget=8.0)
    )
    assert (row.stop_reason, len(row.rounds)) == ("budget", 8)
    assert row.unstable
    assert "unstable: the rounds differ by more than 10 %" in row.flags


def test_a_limit_ends_the_warm_up_and_says_so() -> None:
    endless = [100 * 1.2**n for n in range(40)]
    (row,) = run(Script(endless), measurement_config=config_within(10.9))
    assert len(row.warm_up) == 6, "half of the time"
    assert row.unstable
    assert WARM_UP_CUT in row.flags
    assert len(row.warm_up) + len(row.rounds) == 10, "of a second each"
    assert row.stop_reason == "budget"


def test_a_limit_ends_the_rounds_before_the_next_would_pass_it() -> None:
    steady, slow = Script([100], seconds=1.0), Script([50], seconds=4.0)
    rows = run(steady, slow, measurement_config=config_within(12.0))
    spent = 1.0 * (2 + len(rows[0].rounds)) + 4.0 * (2 + len(rows[1].rounds))
    assert spent <= 24
    assert [len(row.rounds) for row in rows] == [2, 2]
    assert all(ROUNDS_CUT.format(5) in row.flags for row in rows)
    assert not any(WARM_UP_CUT in row.flags for row in rows)
    assert [row.stop_reason for row in rows] == ["budget"] * 2


def test_whatever_a_limit_says_there_are_figures() -> None:
    (row,) = run(Script([100], seconds=60.0), measurement_config=config_within(0.0))
    assert (len(row.warm_up), len(row.rounds), row.median) == (1, 2, 100)
    assert {WARM_UP_CUT, ROUNDS_CUT.format(5)} <= {*row.flags}


def test_a_limit_is_for_each_process() -> None:
    config = config_within(8.9, processes=2)
    (row,) = run(Script([100, 100, *[60, 140] * 20]), measurement_config=config)
    assert [one.process for one in row.rounds] == [0] * 5 + [1] * 6
    assert not {WARM_UP_CUT, ROUNDS_CUT.format(5)} & {*row.flags}


def test_one_that_never_gets_warm_is_measured_and_flagged() -> None:
    (row,) = run(Script([100 * 1.2**n for n in range(8)] + [500.0]))
    assert len(row.warm_up) == 8
    assert not row.settled
    assert row.unstable
    assert any("warm-up" in flag for flag in row.flags)


def test_configurations_take_turns_in_changing_order() -> None:
    log: list[str] = []
    scripts = [Script([100.0], log=log, name=name) for name in "AB"]
    for script, noise in zip(scripts, (20, 30), strict=True):
        script.rates = [100, 100, *[100 - noise, 100 + noise] * 30]
    rows = run(*scripts, measurement_config=MeasurementConfig(budget=20.0))
    timed = log[-sum(len(row.rounds) for row in rows) :]
    pairs = [tuple(timed[i : i + 2]) for i in range(0, len(timed), 2)]
    assert set(pairs) == {("A", "B"), ("B", "A")}, "each once in a turn, in both orders"
    assert "begins" not in "".join(timed), "all are warm before the first is timed"
    assert len(rows[0].rounds) == len(rows[1].rounds), "so that the ratio has pairs"


def test_what_is_known_so_far_is_told_after_each_round() -> None:
    told: list[tuple[Measurement, ...]] = []
    rows = run(Script([100]), Script([50]), on_rows=told.append)
    assert [sum(len(row.rounds) for row in each) for each in told] == list(range(1, 13))
    assert sorted(row.reason for row in told[0]) == ["", NOT_YET]
    assert [row.median for row in told[-1]] == [row.median for row in rows] == [100, 50]


def test_a_failure_is_a_reason_and_the_others_go_on() -> None:
    good, bad, refused = Script([100]), Script([100], fail_at=7), Script([1], fail_begin="no GPU.")
    rows = run(good, bad, refused)
    assert rows[0].median == 100
    assert rows[1].reason == "not measured: batch 7: no"
    assert rows[1].rounds == ()
    assert rows[2].reason == "not measured: no GPU."


def test_a_worker_without_memory_is_a_reason_with_a_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise WorkerCrashedError(f"The worker was terminated by SIGKILL.{NEXT_WORKER}", killed=True)

    monkeypatch.setattr(FakeWorkerGroup, "start", killed)
    (row,) = run(Script([100]))
    assert row.reason == (
        "not measured: The worker was terminated by SIGKILL. If memory ran out, use a smaller "
        "batch or fewer threads."
    )


def test_a_failure_is_told_while_the_others_go_on() -> None:
    told: list[str] = []
    bad = Script([1], fail_begin="no GPU. Take another.")
    run(bad, Script([100]), on_progress=lambda _, text: told.append(text))
    assert told[-1].endswith("; s0 not measured: no GPU")


def test_all_failing_is_no_endless_loop() -> None:
    rows = run(Script([1], fail_at=0), Script([1], fail_begin="x"))
    assert [bool(row.reason) for row in rows] == [True, True]
    assert run() == []


@pytest.mark.parametrize(
    ("memory", "limit", "words"),
    [
        ((3 * GIB, None), (2 * GIB, None), "3.00 GiB of host memory, over the limit of 2.00 GiB"),
        ((GIB, 5 * GIB), (2 * GIB, 4 * GIB), "5.00 GiB of GPU memory"),
        ((GIB, None), (2 * GIB, 4 * GIB), ""),
    ],
)
def test_the_memory_limit(
    memory: tuple[int, int | None], limit: tuple[int | None, int | None], words: str
) -> None:
    entry = ConfigJobs(Config(), (Script([100], memory=memory),), limit=limit)  # type: ignore[arg-type]
    (row,) = measure([entry], MeasurementConfig(), threading.Event())
    assert words in row.reason
    assert bool(row.reason) is bool(words)


@pytest.mark.parametrize("decodes", [True, False])
def test_idle_jpeg_engines_say_something_only_where_dali_decodes(decodes: bool) -> None:
    config = Config("mixed", hw_decoder_load=0.65)
    entry = ConfigJobs(config, (Script([100]),), decodes=decodes)  # type: ignore[arg-type]
    (row,) = measure([entry], MeasurementConfig(), threading.Event())
    assert row.jpeg_busy == 0
    assert any("JPEG engines" in flag for flag in row.flags) is decodes


def test_an_unforeseen_error_is_told_without_its_traceback() -> None:
    told = "The worker failed: KeyError: 'x'\nTraceback (most recent call last):\n  File ..."
    (row,) = run(Script([1], fail_begin=told))
    assert row.reason == "not measured: The worker failed: KeyError: 'x'"


def test_data_that_cannot_be_read_ends_the_run() -> None:
    def refuse(_: int) -> None:
        raise DataError("no images")

    with pytest.raises(DataError, match="no images"):
        run(Script([100], on_round=refuse), Script([100]))


@pytest.mark.parametrize("at", [0, 4])
def test_cancel(at: int) -> None:
    stop = threading.Event()
    script = Script([100], on_round=lambda number: stop.set() if number == at else None)
    with pytest.raises(CancelledError):
        measure([ConfigJobs(Config(), (script,))], MeasurementConfig(), stop)  # type: ignore[arg-type]


def time_up() -> None:
    raise CancelledError("Cancelled.")


def test_one_whose_time_is_up_ends_and_the_others_go_on() -> None:
    never = Script([100], on_round=lambda number: time_up())
    late = Script([100], on_round=lambda number: time_up() if number == 4 else None)
    first, second, third = run(never, late, Script([100]))
    assert first.reason == f"not measured: {TIME_UP}"
    assert len(second.rounds) == 2, "after two of warm-up"
    assert second.stop_reason == "budget"
    assert ROUND_CUT in second.flags
    assert third.stop_reason == "precise"


def test_each_step_has_the_time_that_is_left() -> None:
    scripts = [Script([100]), Script([100])]
    entries = [
        ConfigJobs(Config(), (script,), f"s{i}", seconds=50.0)  # type: ignore[arg-type]
        for i, script in enumerate(scripts)
    ]
    measure(entries, MeasurementConfig(), threading.Event())
    for group in FakeWorkerGroup.made:
        start, *rounds, end = group.allowed
        assert (start, end) == (50.0, math.inf)
        assert all(50.0 < seconds < 100.0 for seconds in rounds), "what all have left together"


def test_all_entries_together_have_no_more_than_the_sum_of_their_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("workbench.bench.measuring.interleaved.time", clock)
    slow = Script([100], on_round=lambda number: now.__setitem__(0, now[0] + 45.0))
    entries = [
        ConfigJobs(Config(), (slow,), f"s{i}", seconds=50.0)  # type: ignore[arg-type]
        for i in range(2)
    ]
    measure(entries, MeasurementConfig(warm_up_rounds=2), threading.Event())
    first, second = FakeWorkerGroup.made
    assert first.allowed[:3] == [50.0, 100.0, 55.0]
    assert second.allowed[0] == 10.0, "two rounds of 45 s are over"


def test_several_processes_pool_their_rounds() -> None:
    (row,) = run(Script([100]), measurement_config=MeasurementConfig(processes=3, rounds=2))
    assert len(FakeWorkerGroup.made) == 3
    assert sorted({one.process for one in row.rounds}) == [0, 1, 2]
    assert len(row.warm_up) == 6


def test_something_may_run_before_every_round() -> None:
    calls: list[int] = []
    (row,) = run(Script([100]), before_round=lambda: calls.append(1))
    assert len(calls) == len(row.rounds) + len(row.warm_up)


def test_progress_never_falls_and_ends_below_one() -> None:
    heard: list[tuple[float, str]] = []
    run(
        *[Script([100, 100, 60, 140, 60, 140, 60, 140])] * 2,
        on_progress=lambda share, text: heard.append((share, text)),
        measurement_config=MeasurementConfig(budget=12.0),
    )
    shares = [share for share, _ in heard]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert 0.5 < shares[-1] < 1
    assert any(text.endswith(" left") for _, text in heard)
    assert heard[0][1].endswith("building")


def test_one_by_itself_runs_without_a_pause_and_several_do_not() -> None:
    alone, one, other, cold = Script([100]), Script([100]), Script([100]), Script([100])
    run(alone)
    run(one, other)
    run(cold, before_round=lambda: None)
    assert set(alone.pauses) == {False}
    assert set(one.pauses) == set(other.pauses) == set(cold.pauses) == {True}


def test_a_worker_goes_from_one_measurement_to_the_next_until_one_fails() -> None:
    kept = ReusableWorker()
    scripts = [Script([100]), Script([50]), Script([1], fail_at=0), Script([25])]
    rows, reused = [], []
    for script in scripts:
        rows += run(script, reusable=kept)
        reused.append(kept.reused)
    assert [row.median for row in rows] == [100, 50, None, 25]
    assert reused == [False, True, True, False]
    assert len(FakeWorkerGroup.made) == 2
    assert [group.closed for group in FakeWorkerGroup.made] == [True, False]
    kept.close()


def test_a_worker_that_is_kept_is_ended_with_its_keeper() -> None:
    kept = ReusableWorker()
    run(Script([100]), reusable=kept)
    assert not FakeWorkerGroup.made[0].closed
    kept.close()
    kept.close()
    assert FakeWorkerGroup.made[0].closed


def test_rounds_that_take_longer_than_they_should_are_no_end_in_sight() -> None:
    """Four batches of a slow graph take 20 s instead of the requested half second."""
    heard: list[tuple[float, str]] = []
    run(
        Script([100], seconds=20.0),
        Script([50], seconds=20.0),
        measurement_config=MeasurementConfig(0.5, rounds=6, budget=3.0),
        on_progress=lambda share, text: heard.append((share, text)),
    )
    first = next(share for share, text in heard if "s0: round 1" in text or "s1: round 1" in text)
    assert first < 0.4
    assert 0.6 < heard[-1][0] < 1
