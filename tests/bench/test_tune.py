"""The tuner around measurements that are made up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.bench.fakes import GRID, MACHINE, measured, rate_of_config
from tests.helpers import with_settings
from workbench.bench.config import Config
from workbench.bench.grid import Grid
from workbench.bench.interleaved import ConfigJobs
from workbench.bench.measurement import Measurement
from workbench.bench.measurement_config import GPU_PROBE_CONFIG, PROBE_CONFIG, MeasurementConfig
from workbench.bench.probes import NOTHING_MORE, TIME_UP
from workbench.bench.record import dump_report, load_report
from workbench.bench.summary import best_measurement
from workbench.bench.tune import TuningExperiment
from workbench.bench.tuner_search import usual_allowance
from workbench.bench.workload import TimedRound
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

    monkeypatch.setattr("workbench.bench.speed_experiment.measure", fake)
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

    monkeypatch.setattr("workbench.bench.speed_experiment.describe_machine", lambda: MACHINE)
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


def test_it_takes_about_the_time_that_it_is_given(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search ends after 45 % of it; the best are measured anew all the same."""
    clock = [0.0]

    def rate_of(config: Config, how: MeasurementConfig) -> Measurement:
        clock[0] += 5.0
        return measured(rate_of_config(config))

    monkeypatch.setattr("workbench.bench.tune.time", SimpleNamespace(monotonic=lambda: clock[0]))
    seen = rows_of(monkeypatch, rate_of)
    graph = load_recipe("imagenet-train")
    report = TuningExperiment(graph, str(photos), grid=GRID, seconds=40.0).run()
    told = report.extra["tune"]
    assert told["probes"] == 4, "20 of 18 s"
    assert told["stopped"] == TIME_UP
    assert {how.budget for _, how, _ in seen if how.rounds == 3} == {2.0}, "in turns"
    assert seen[-1][1].round_seconds == 6.0
    with pytest.raises(ArgumentError, match=r"seconds is 5. Give 20.0 or more"):
        TuningExperiment(graph, str(photos), seconds=5)
