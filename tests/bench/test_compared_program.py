"""The search for workers, the time of each program, and partial results of an interrupted one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.bench.fakes import measured, report
from workbench.bench import Benchmark, Measurement
from workbench.bench.experiments.compared_program import ComparedProgram, Control, search_workers
from workbench.bench.experiments.peers import CONTROL
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.interleaved import NOT_YET, TIME_UP, ConfigJobs
from workbench.bench.measuring.measurement import BY_ITSELF
from workbench.bench.measuring.measurement_config import MeasurementConfig, config_within
from workbench.bench.records.record import dump_report, load_report
from workbench.engine.protocol.progress import WorkerProgress
from workbench.errors import CancelledError, EngineError
from workbench.graph import load_recipe

Measure = Callable[[Sequence[ConfigJobs]], Sequence[Measurement]]


def jobs(workers: int) -> ConfigJobs:
    return ConfigJobs(Config(threads=workers), ())


def as_fast_as(rates: Callable[[int], float]) -> Measure:
    """Measures each entry at the rate of its number of threads."""

    def measure(entries: Sequence[ConfigJobs], *_: Any) -> tuple[Measurement, ...]:
        found = [entry.config.threads for entry in entries]
        return tuple(measured(rates(threads), threads=threads) for threads in found)

    return measure


def use(measure: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", measure)


def searched(photos: Path, cores: int, seconds: float = math.inf) -> ComparedProgram:
    """One whose best number of workers was looked for."""
    run = Benchmark(load_recipe("imagenet-train"), str(photos), ("cpu",))
    found = ComparedProgram(
        Config(), lambda count: ConfigJobs(Config(threads=count), ()), seconds=seconds
    )
    search_workers(run, found, cores, WorkerProgress())
    return found


def test_each_is_measured_with_the_workers_that_are_fastest_for_it(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = {1: 100.0, 2: 190.0, 4: 300.0, 8: 350.0, 16: 340.0, 32: 300.0}

    def fake(entries: Sequence[ConfigJobs], *_: Any) -> tuple:
        return tuple(
            measured(rates[entry.config.threads], threads=entry.config.threads) for entry in entries
        )

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", fake)
    for cores, tried in ((4, "4 8 16"), (8, "4 8 16"), (16, "4 8 16 32")):
        found = searched(photos, cores)
        assert found.entry is not None
        assert found.entry.config.threads == 8
        assert set(found.rates) >= set(tried.split())
    assert found.entry.notes == ("workers tried, imgs/s: 4: 300, 8: 350, 16: 340, 32: 300",)


def test_a_limit_ends_the_search_for_workers_and_leaves_the_rest_for_the_figure(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    allowed: list[float] = []

    def fake(entries: Sequence[ConfigJobs], how: MeasurementConfig, *_: Any) -> tuple:
        clock[0] += 2.0
        allowed.extend(entry.seconds for entry in entries)
        return tuple(
            measured(100.0 * entry.config.threads, threads=entry.config.threads)
            for entry in entries
        )

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", fake)
    fake_time = SimpleNamespace(monotonic=lambda: clock[0])
    monkeypatch.setattr("workbench.bench.experiments.compared_program.time", fake_time)
    monkeypatch.setattr("workbench.bench.measuring.deadline.time", fake_time)
    assert list(searched(photos, 4, 1.0).rates) == ["4"], "all cores, whatever it takes"
    assert list(searched(photos, 4, 12.0).rates) == ["4", "8"], "a third would end after 6 s"
    allowed.clear()
    found = searched(photos, 4, 40.0)
    assert list(found.rates) == ["4", "8", "16"]
    assert allowed == [40.0, 18.0, 16.0], "but for the first, no more than the search's half"
    assert found.seconds_left == 34.0


def test_one_whose_first_probe_fails_is_not_probed_again(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def fail(entries: Sequence[ConfigJobs], *_: Any) -> tuple[Measurement, ...]:
        asked.append(entries[0].config.threads)
        return (Measurement(entries[0].config, reason="not measured: " + "no library " * 99),)

    use(fail, monkeypatch)
    found = searched(photos, 4)
    assert asked == [4]
    assert found.entry is None
    assert found.row().reason.startswith("not measured: no library")
    assert found.row().reason.endswith("…"), "one line"


def test_what_a_check_says_becomes_a_note_or_the_reason(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(as_fast_as(lambda threads: 100.0), monkeypatch)
    run = Benchmark(load_recipe("imagenet-train"), str(photos), ("cpu",))

    def other_shapes(call: Callable[..., Any]) -> tuple[str, ...]:
        raise EngineError("other shapes\nTraceback (most recent call last): ...")

    def cancelled(call: Callable[..., Any]) -> tuple[str, ...]:
        raise CancelledError("Cancelled.")

    noted = ComparedProgram(Config(), jobs, check=lambda call: ("other hues",))
    search_workers(run, noted, 2, WorkerProgress())
    assert noted.entry is not None
    assert noted.entry.notes[-1] == "other hues"
    refused = ComparedProgram(Config(), jobs, check=other_shapes)
    search_workers(run, refused, 2, WorkerProgress())
    assert refused.row().reason == "not measured: other shapes"
    with pytest.raises(CancelledError):
        search_workers(run, ComparedProgram(Config(), jobs, check=cancelled), 2, WorkerProgress())


def test_the_best_probe_stands_where_there_was_no_time_for_turns() -> None:
    found = ComparedProgram(Config(), jobs, seconds=10.0)
    assert found.row().reason == NOT_YET
    found.tried = {2: measured(100.0, threads=2), 4: measured(200.0, threads=4)}
    found.spent, found.start = 1.0, 3.0
    assert found.has_time
    found.spent = 9.0
    assert not found.has_time, "its worker takes 3 s to start"
    row = found.row()
    assert (row.threads, row.median) == (4, 200.0)
    assert row.flags[-1] == f"{BY_ITSELF}: the time limit was reached: allow more time"
    beside = measured(100.0, program=CONTROL)
    assert report(measured(100.0), beside).ratios
    assert not report(row, beside).ratios, "their rounds were not side by side"
    assert row.notes == ("workers tried, imgs/s: 2: 100, 4: 200",)
    assert found.entry is not None
    assert (found.entry.config.threads, found.entry.seconds) == (4, 1.0)
    cut = Measurement(found.config, reason=f"not measured: {TIME_UP}")
    found.measured = cut
    assert found.row().median == 200.0
    found.measured = Measurement(found.config, reason="not measured: it crashed")
    assert found.row().reason == "not measured: it crashed", "a failure is no lack of time"
    found.measured = measured(150.0)
    assert found.row() == found.measured


def test_a_control_has_the_number_of_workers_of_what_it_is_beside() -> None:
    first = ComparedProgram(
        Config(), jobs, seconds=10.0, tried={8: measured(1.0, threads=8)}, spent=4.0
    )
    control = Control(Config(program=CONTROL), seconds=10.0, of=first)
    assert control.entry is not None
    assert control.entry.config == Config(threads=8, program=CONTROL)
    assert control.entry.seconds == 10.0
    assert control.entry.notes == ()
    first.reason = "not measured: no"
    assert control.entry is None
    assert control.row() == Measurement(control.config, reason="not measured: no")


@pytest.mark.parametrize("ended_at", [0, 1, 3, 4])
def test_an_interrupted_comparison_keeps_what_it_has(
    ended_at: int, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted in the first probe, in the second, in the turns before and after a round."""
    calls: list[int] = []

    def measure(
        entries: Sequence[ConfigJobs], how: Any, stop: Any, progress: Any, before: Any,
        on_rows: Callable[[tuple[Measurement, ...]], None], *_: Any,
    ) -> tuple[Measurement, ...]:  # fmt: skip
        rows = [measured(100.0, threads=entry.config.threads) for entry in entries]
        rows = [replace(row, config=e.config) for row, e in zip(rows, entries, strict=True)]
        number = len(calls)
        calls.append(len(entries))
        if len(entries) > 1 and ended_at == 4:
            waiting = Measurement(rows[1].config, reason=NOT_YET)
            on_rows((replace(rows[0], stop_reason=None), waiting))
        if number == ended_at or len(entries) > 1:
            raise KeyboardInterrupt
        return tuple(rows)

    use(measure, monkeypatch)
    machine = SimpleNamespace(cores=4, no_gpu="none here")
    monkeypatch.setattr(Benchmark, "prepare", prepared(machine))
    monkeypatch.setattr("workbench.bench.experiments.benchmark.compared_peers", lambda *_: [])
    run = Benchmark(
        load_recipe("imagenet-train"), str(photos), ("cpu",), peers=("torchvision",),
        measurement_config=config_within(30.0),
    )  # fmt: skip
    if ended_at == 0:
        with pytest.raises(KeyboardInterrupt):
            run.run_interruptibly(lambda share, text: None)
        return
    report = run.run_interruptibly(lambda share, text: None)
    ours, control = report.measurements
    assert report.extra["interrupted"]
    assert ours.rounds
    assert control.reason == "not measured: interrupted"
    in_turns = ended_at == 4
    assert any(BY_ITSELF in flag for flag in ours.flags) != in_turns
    again = load_report(dump_report(report))
    assert again.measurements[1].reason == control.reason
    assert again.extra["interrupted"]


def prepared(machine: Any) -> Callable[..., Any]:
    """``prepare`` on a machine with this number of cores."""
    prepare = Benchmark.prepare

    def on_it(self: Benchmark, *given: Any) -> Any:
        found = prepare(self, *given)
        own = replace(found.machine, cores=machine.cores, no_gpu=machine.no_gpu)
        self.prepared = found._replace(machine=own)
        return self.prepared

    return on_it


def test_the_time_that_a_comparison_takes_at_most_is_known_beforehand(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    present = ("torch", "torchvision")
    monkeypatch.setattr(
        "workbench.bench.experiments.peers.find_spec", lambda name: name in present or None
    )

    def longest(*peers: str, processes: int = 1) -> float | None:
        return Benchmark(
            load_recipe("imagenet-train"), str(photos), ("cpu",), peers=peers,
            measurement_config=config_within(10.0, processes),
        ).longest()  # fmt: skip

    assert longest("torchvision") == 30.0, "DALI, DALI again and torchvision"
    assert longest("torchvision", "Albumentations") == 30.0, "what is not installed takes no time"
    assert longest("torchvision", processes=2) == 60.0
    assert longest() == 10.0
    imagenet = load_recipe("imagenet-train")
    unbounded = Benchmark(imagenet, str(photos), ("cpu",), peers=("torchvision",))
    assert unbounded.longest() is None
