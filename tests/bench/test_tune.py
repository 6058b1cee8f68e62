"""The tuner and its probes, around measurements that are made up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.bench.fakes import GRID, MACHINE, measured, rate_of_config
from tests.helpers import with_settings
from workbench.bench.experiments.tune import (
    NOT_FOR_LONG,
    NOTHING_MORE,
    TIME_UP,
    UNCOMPARED,
    Probes,
    TuningExperiment,
    TuningTime,
)
from workbench.bench.experiments.tuner_search import usual_allowance
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.grid import Grid
from workbench.bench.measuring.interleaved import ConfigJobs
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import (
    GPU_PROBE_CONFIG,
    PROBE_CONFIG,
    MeasurementConfig,
)
from workbench.bench.measuring.worker_group import KeptWorker
from workbench.bench.measuring.workload import TimedRound
from workbench.bench.records.charts import best_measurement
from workbench.bench.records.record import dump_report, load_report
from workbench.engine.protocol.progress import Progress
from workbench.errors import ArgumentError, CancelledError, EngineError
from workbench.graph import load_recipe


def test_the_tuner_finds_it_in_a_fifth_of_the_time_and_measures_it_anew(
    made_up: list[list[Config]], photos: Path
) -> None:
    heard: list[float] = []
    report = TuningExperiment(load_recipe("imagenet-train"), str(photos), grid=GRID).run(
        lambda share, text: heard.append(share)
    )
    assert heard == sorted(heard)
    told = report.extra["tune"]
    assert told["probes"] <= usual_allowance(len(GRID)) - 2
    assert best_measurement(report).median == pytest.approx(
        rate_of_config(Config("cpu", "pipeline", 64, 4, 4)), rel=0.1
    )
    *_, finalists, chosen = made_up
    assert Config() in finalists, "the graph's own settings, beside the best"
    assert chosen == [best_measurement(report).config], "then the fastest for long"
    cared = len(finalists) + len(chosen)
    assert [row.confirmed for row in report.measurements[:cared]].count(True) == 1
    assert all(row.label.startswith("probe") for row in report.measurements[cared:])
    assert "of which" in told["headroom"]


def test_nothing_can_be_measured(made_up: list[list[Config]], photos: Path) -> None:
    grid = Grid((1,), (128,))
    graph = with_settings(load_recipe("imagenet-train"), batch_size=128)
    with pytest.raises(EngineError, match="Out of memory"):
        TuningExperiment(graph, str(photos), grid=grid).run()


def test_where_nothing_of_the_grid_fits_the_graphs_own_setting_is_the_best(
    made_up: list[list[Config]], photos: Path
) -> None:
    tuner = TuningExperiment(load_recipe("imagenet-train"), str(photos), grid=Grid((1,), (128,)))
    assert best_measurement(tuner.run()).config == tuner.base


def test_cancelled(made_up: list[list[Config]], photos: Path) -> None:
    tune = TuningExperiment(load_recipe("imagenet-train"), str(photos), grid=GRID)
    with pytest.raises(CancelledError):
        tune.run(lambda share, text: tune.cancel())
    assert len(made_up) == 0


def rows_of(
    monkeypatch: pytest.MonkeyPatch, rate_of: Callable[[Config, MeasurementConfig], Measurement]
) -> list[tuple[Config, MeasurementConfig, float]]:
    """Replaces the measuring by a formula; gives what was measured, how, and against which rate."""
    seen: list[tuple[Config, MeasurementConfig, float]] = []

    def fake(entries: Sequence[ConfigJobs], how: MeasurementConfig, *rest: Any) -> tuple:
        best = rest[4]
        seen.extend((entry.config, how, best) for entry in entries)
        return tuple(
            replace(rate_of(e.config, how), config=e.config, label=e.label) for e in entries
        )

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", fake)
    return seen


def test_a_choice_that_does_not_keep_its_rate_for_long_gives_way_to_the_next(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As two pipelines on an H200: 40,000 in short probes and 20,000 over a minute."""

    def rate_of(config: Config, how: MeasurementConfig) -> Measurement:
        long = how.rounds == 1
        rate = {1: 30_000.0, 2: 20_000.0 if long else 40_000.0}[config.pipelines]
        seconds = tuple(rate * (0.8 if second == 3 else 1.0) for second in range(10))
        one = TimedRound(10.0, 100, round(10 * rate), 1.5, by_second=seconds if long else ())
        return Measurement(config, (one,))

    seen = rows_of(monkeypatch, rate_of)
    grid = Grid((1, 2), (16, 32), (2,), pipelines=(1, 2))
    graph = with_settings(load_recipe("imagenet-train"), batch_size=16, num_threads=2)
    report = TuningExperiment(graph, str(photos), grid=grid).run()
    best = best_measurement(report)
    assert best.config.pipelines == 1
    assert best.confirmed
    assert best.slowest_second == pytest.approx(0.8)
    against = [rate for _, how, rate in seen if how == PROBE_CONFIG]
    assert against[0] == 0.0
    assert max(against) == pytest.approx(40_000), "each against the best so far"
    again = load_report(dump_report(report))
    assert best_measurement(again).slowest_second == pytest.approx(0.8)


def test_full_engines_end_the_search(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rate_of(config: Config, how: MeasurementConfig) -> Measurement:
        row = measured(40_000.0)
        return replace(row, config=config, jpeg_busy=98.0, bus_busy=31.0)

    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.describe_machine", lambda: MACHINE
    )
    seen = rows_of(monkeypatch, rate_of)
    grid = Grid((1, 2, 4, 8), (64, 128, 256), (2, 4), (0.65, 1.0), (1, 2, 3))
    graph = with_settings(load_recipe("imagenet-train"), device="mixed")
    report = TuningExperiment(graph, str(photos), grid=grid).run()
    told = report.extra["tune"]
    assert told["probes"] == 1
    assert told["stopped"] == NOTHING_MORE
    assert "JPEG engines 98%; bus 31%. The JPEG engines end at 40,816 imgs/s" in told["headroom"]
    assert seen[0][1] == GPU_PROBE_CONFIG
    assert seen[-1][1].round_seconds == 46.08, "the choice for long: the grid has 144 settings"


class SlowMachine:
    """A machine on which every measurement takes so many seconds, and its clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float, rate: float) -> None:
        self.now = 0.0
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr("workbench.bench.measuring.deadline.time", clock)

        def rate_of(config: Config, how: MeasurementConfig) -> Measurement:
            self.now += seconds
            return measured(rate * rate_of_config(config) / 500)

        self.seen = rows_of(monkeypatch, rate_of)


def test_the_time_bounds_the_search_the_turns_and_the_long_run(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = SlowMachine(monkeypatch, 3.0, 5000.0)
    graph = load_recipe("imagenet-train")
    tuner = TuningExperiment(graph, str(photos), grid=GRID, seconds=40.0)
    told = tuner.run().extra["tune"]
    assert told["probes"] == 6, "of 3 s in 18 s"
    assert told["stopped"] == TIME_UP
    assert told["seconds"] == machine.now <= 40
    assert machine.seen[0][0] == tuner.base, "the graph's own comes first"
    limits = [how.limit for _, how, _ in machine.seen[:6]]
    assert limits == [4.5, 4.5, 4.5, 4.5, 4.5, 3.0], "a quarter of 18 s, or what is left"
    turns = [how for _, how, _ in machine.seen if how.rounds == 3]
    assert {(how.budget, how.limit) for how in turns} == {(2.0, 14 / len(turns))}
    last = machine.seen[-1][1]
    assert (last.round_seconds, last.round_batches) == (6.0, 1)


def test_where_the_time_allows_no_comparison_the_best_of_the_search_is_flagged(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = SlowMachine(monkeypatch, 9.0, 20.0)
    graph = with_settings(load_recipe("imagenet-train"), batch_size=16)
    tuner = TuningExperiment(graph, str(photos), grid=GRID, seconds=40.0)
    report = tuner.run()
    best, *probes = report.measurements
    assert machine.now == 36
    assert len(probes) == report.extra["tune"]["probes"] == 4
    assert best.median == max(row.median or 0.0 for row in probes)
    assert UNCOMPARED in best.flags
    assert best_measurement(report) == best


def test_where_there_is_no_time_for_a_long_run_the_choice_is_flagged(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = SlowMachine(monkeypatch, 4.0, 5000.0)
    tuner = TuningExperiment(load_recipe("imagenet-train"), str(photos), grid=GRID, seconds=20.0)
    report = tuner.run()
    assert machine.now <= 20
    assert not any(row.confirmed for row in report.measurements)
    assert NOT_FOR_LONG in best_measurement(report).flags


def test_a_time_too_short_is_refused(photos: Path) -> None:
    with pytest.raises(ArgumentError, match=r"seconds is 5. Give 20.0 or more"):
        TuningExperiment(load_recipe("imagenet-train"), str(photos), seconds=5)


def nobody(share: float, text: str) -> None:
    """Hears of no progress."""


def test_each_is_measured_against_the_best_so_far() -> None:
    seen: list[tuple[MeasurementConfig, float]] = []

    def measure(
        config: Config, how: MeasurementConfig, _: Progress, best: float, __: KeptWorker
    ) -> Measurement:
        seen.append((how, best))
        return replace(measured(100.0 * config.threads), config=config)

    probes = Probes(measure, 16, TuningTime(None))
    for threads, device in ((2, "cpu"), (1, "cpu"), (4, "mixed")):
        probes.probe(Config(device, threads=threads), nobody)  # type: ignore[arg-type]
    assert seen == [(PROBE_CONFIG, 0.0), (PROBE_CONFIG, 200.0), (GPU_PROBE_CONFIG, 200.0)]
    assert [row.label for row in probes.rows] == ["probe 1", "probe 2", "probe 3"]
    assert probes.enough() == ""


def test_one_that_fails_in_a_worker_of_others_is_tried_in_a_fresh_one() -> None:
    reused = iter((False, True, False, False))

    def measure(
        config: Config, how: MeasurementConfig, _: Progress, best: float, kept: KeptWorker
    ) -> Measurement:
        kept.reused = next(reused)
        if kept.reused or config.threads == 8:
            return Measurement(config, reason="Out of memory")
        return measured(100.0)

    probes = Probes(measure, 16, TuningTime(None))
    rows = [probes.probe(Config(threads=threads), nobody) for threads in (1, 2, 8)]
    assert [row.reason for row in rows] == ["", "", "Out of memory"]
    assert next(reused, None) is None, "one that fails in a fresh one is not tried again"


def test_full_engines_and_the_time_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    time = TuningTime(None)
    row = measured(40_000.0, device="mixed")

    def measure(*_: object) -> Measurement:
        return row

    probes = Probes(measure, 16, time)
    monkeypatch.setattr(time, "is_up_for_probes", lambda: True)
    assert probes.enough() == "", "one probe at least"
    probes.probe(Config("mixed"), nobody)
    assert probes.enough() == TIME_UP
    row = replace(row, jpeg_busy=98.0)
    probes.probe(Config("mixed"), nobody)
    assert probes.enough() == NOTHING_MORE
    probes.close()
