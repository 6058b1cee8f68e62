"""Sweep and tuner around measurements that are made up; one small sweep for real."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.bench.fakes import MACHINE, measured
from tests.helpers import with_settings
from workbench.bench.config import Config
from workbench.bench.grid import Grid
from workbench.bench.interleaved import ConfigJobs
from workbench.bench.measurement import Measurement
from workbench.bench.measurement_config import (
    GPU_PROBE_CONFIG,
    PROBE_CONFIG,
    MeasurementConfig,
)
from workbench.bench.record import dump_report, load_report
from workbench.bench.summary import best_measurement
from workbench.bench.tune import (
    NOTHING_MORE,
    TIME_UP,
    SweepExperiment,
    TuningExperiment,
    adopt_config,
)
from workbench.bench.tuner_search import usual_allowance
from workbench.bench.worker_group import KeptWorker
from workbench.bench.workload import TimedRound
from workbench.catalog import Catalog
from workbench.emit import emit_script
from workbench.engine.worker_progress import NO_ANSWER
from workbench.errors import ArgumentError, CancelledError, EngineError
from workbench.graph import load_recipe

GRID = Grid((1, 2, 4), (16, 32, 64, 128), (1, 2, 4))


def rate(config: Config) -> float:
    return 100.0 * config.threads + config.batch_size + 4 * config.prefetch


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> list[list[Config]]:
    """Replaces the measuring; gives what was measured together."""
    seen: list[list[Config]] = []

    def fake(
        entries: Sequence[ConfigJobs],
        measurement_config: MeasurementConfig,
        stop: threading.Event,
        *_: Any,
    ) -> tuple:
        if stop.is_set():
            raise CancelledError("Cancelled.")
        seen.append([entry.config for entry in entries])
        return tuple(
            Measurement(e.config, reason="not measured: Out of memory", label=e.label)
            if e.config.batch_size == 128
            else replace(measured(rate(e.config), e.label), config=e.config)
            for e in entries
        )

    monkeypatch.setattr("workbench.bench.speed_experiment.measure", fake)
    return seen


def test_a_sweep_measures_all_and_goes_on_after_a_failure(
    made_up: list[list[Config]], photos: Path
) -> None:
    report = SweepExperiment(load_recipe("imagenet-train"), str(photos), grid=GRID).run()
    assert len(report.measurements) == len(GRID)
    assert len(made_up) == len(GRID)
    failed = [row for row in report.measurements if row.reason]
    assert {row.batch_size for row in failed} == {128}
    assert best_measurement(report).config.settings == "batch 64, 4 threads, prefetch 4"
    assert Grid.from_json(report.extra["grid"]) == GRID
    assert report.kind == "sweep"
    assert report.extra["sweep"]["no_effect"] == ["prefetch"], "it makes 12 of 480 imgs/s"


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
        rate(Config("cpu", "pipeline", 64, 4, 4)), rel=0.1
    )
    *_, finalists, chosen = made_up
    assert Config() in finalists, "the graph's own settings, beside the best"
    assert chosen == [best_measurement(report).config], "then the fastest for long"
    cared = len(finalists) + len(chosen)
    assert [row.confirmed for row in report.measurements[:cared]].count(True) == 1
    assert all(row.label.startswith("probe") for row in report.measurements[cared:])
    assert "of which" in told["headroom"]


@pytest.mark.parametrize("kind", [SweepExperiment, TuningExperiment])
def test_what_is_measured_can_be_seen_before_the_end(
    kind: type[SweepExperiment], made_up: list[list[Config]], photos: Path
) -> None:
    run = kind(load_recipe("imagenet-train"), str(photos), grid=GRID)
    seen: list[tuple[int, Config | None]] = []

    def look(share: float, text: str) -> None:
        assert run.partial_report is not None
        assert Grid.from_json(run.partial_report.extra["grid"]) == GRID
        seen.append((len(run.partial_report.measurements), run.current_config))

    report = run.run(look)
    single = [configs[0] for configs in made_up if len(configs) == 1]
    single = single[:-1] if kind is TuningExperiment else single  # its choice, for long
    assert seen[: len(single)] == list(enumerate(single))
    assert run.partial_report is not None
    assert run.partial_report.measurements[0] in report.measurements


@pytest.mark.parametrize("kind", [SweepExperiment, TuningExperiment])
def test_that_a_worker_does_not_answer_is_told_at_once(
    kind: type[SweepExperiment], photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []

    def fake(
        entries: Sequence[ConfigJobs], _: object, __: object, progress: Any, *___: Any
    ) -> tuple:
        progress(0.5, "round 3")
        progress.on_silence(True)
        assert heard[-1] == NO_ANSWER
        return tuple(replace(measured(100.0, e.label), config=e.config) for e in entries)

    monkeypatch.setattr("workbench.bench.speed_experiment.measure", fake)
    kind(load_recipe("imagenet-train"), str(photos), grid=GRID).run(
        lambda share, text: heard.append(text)
    )
    assert NO_ANSWER in heard


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


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        (Grid((1, 2000), (16,)), "num_threads is 2000. Give a whole number from 1 to 1024"),
        (Grid((1,), (16,), (2, 65)), "prefetch_queue_depth is 65"),
        (Grid((1,), (16,), (2,), (0.5, 3.0)), "hw_decoder_load: 3.0 is out of range"),
    ],
)
def test_a_value_out_of_range_is_refused_before_any_work(
    grid: Grid, words: str, made_up: list[list[Config]], photos: Path
) -> None:
    with pytest.raises(EngineError, match=words):
        SweepExperiment(load_recipe("imagenet-train"), str(photos), grid=grid).run()
    assert made_up == []


def test_cancelled(made_up: list[list[Config]], photos: Path) -> None:
    tune = TuningExperiment(load_recipe("imagenet-train"), str(photos), grid=GRID)
    with pytest.raises(CancelledError):
        tune.run(lambda share, text: tune.cancel())
    assert len(made_up) == 0


def test_the_memory_limit_goes_along(
    photos: Path, monkeypatch: pytest.MonkeyPatch, made_up: list[list[Config]]
) -> None:
    monkeypatch.setattr("workbench.bench.speed_experiment.describe_machine", lambda: MACHINE)
    sweep = SweepExperiment(load_recipe("imagenet-train"), str(photos), grid=GRID, gpu_limit=5)
    sweep.run()
    assert sweep.limit == (int(0.8 * MACHINE.memory_gib * 2**30), 5)


def test_what_is_adopted_is_in_graph_and_script(catalog: Catalog) -> None:
    graph = adopt_config(load_recipe("simclr"), Config("mixed", "decode", 96, 12, 3, 0.8))
    assert graph.outputs == load_recipe("simclr").outputs, "all of the graph"
    text = emit_script(graph, catalog).text
    assert "BATCH_SIZE = 96" in text
    assert "NUM_THREADS = 12" in text
    assert "hw_decoder_load=0.8" in text


def test_a_small_sweep_for_real(photos: Path) -> None:
    graph = with_settings(load_recipe("imagenet-train"), batch_size=4)
    short = MeasurementConfig(0.02, 2, 2, warm_up_rounds=2, budget=0.0)
    report = SweepExperiment(
        graph, str(photos), grid=Grid((1, 2), (4,), (2,)), measurement_config=short
    ).run()
    assert [row.threads for row in report.measurements] == [1, 2]
    assert all(row.median for row in report.measurements)


def test_a_limit_that_nothing_keeps_for_real(photos: Path) -> None:
    graph = with_settings(load_recipe("imagenet-train"), batch_size=4)
    sweep = SweepExperiment(graph, str(photos), grid=Grid((1,), (4,), (2,)), host_limit=1)
    (row,) = sweep.run().measurements
    assert "over the limit of 0.00 GiB" in row.reason


@pytest.mark.parametrize("kind", [SweepExperiment, TuningExperiment])
def test_pipelines_are_turned_and_adopted(
    kind: type[SweepExperiment], photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three pipelines do not fit into the memory: two are the best."""

    def fake(entries: Sequence[ConfigJobs], *_: Any) -> tuple:
        return tuple(
            Measurement(e.config, reason="not measured: Out of memory", label=e.label)
            if e.config.pipelines == 3
            else replace(measured(100.0 * e.config.pipelines, e.label), config=e.config)
            for e in entries
        )

    monkeypatch.setattr("workbench.bench.speed_experiment.measure", fake)
    grid = Grid((1, 2), (16,), (2,), pipelines=(1, 2, 3))
    graph = load_recipe("imagenet-train")
    report = kind(graph, str(photos), grid=grid).run()
    best = best_measurement(report).config
    assert best.pipelines == 2
    assert best.settings.startswith("batch 16, 2 pipelines of ")
    assert adopt_config(graph, best).settings.pipelines == 2
    assert {row.config.pipelines for row in report.measurements if row.reason} == {3}
    assert load_report(dump_report(report)).measurements == report.measurements


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


def test_a_probe_that_fails_in_a_worker_of_others_is_tried_in_a_fresh_one(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh: list[KeptWorker | None] = []

    def fake(entries: Sequence[ConfigJobs], *rest: Any) -> tuple:
        kept: KeptWorker | None = rest[-1]
        if kept is not None:
            kept.reused = len(fresh) == 1
            fresh.append(kept)
            if kept.reused:
                return tuple(Measurement(e.config, reason="Out of memory") for e in entries)
        return tuple(replace(measured(100.0, e.label), config=e.config) for e in entries)

    monkeypatch.setattr("workbench.bench.speed_experiment.measure", fake)
    grid = Grid((1, 2), (16,))
    report = TuningExperiment(load_recipe("imagenet-train"), str(photos), grid=grid).run()
    probes = [row for row in report.measurements if row.label.startswith("probe")]
    assert len(fresh) == len(probes) + 1
    assert all(row.rounds for row in probes)
    assert len(set(map(id, fresh))) == 1, "one worker for all of them"


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
        return measured(rate(config))

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


@pytest.mark.parametrize("kind", [SweepExperiment, TuningExperiment])
def test_what_is_ended_early_keeps_what_it_has(
    kind: type[SweepExperiment], made_up: list[list[Config]], photos: Path
) -> None:
    run = kind(load_recipe("imagenet-train"), str(photos), grid=GRID)
    assert run.interrupted_report() is None

    def end(share: float, text: str) -> None:
        if len(made_up) == 5:
            run.cancel()

    with pytest.raises(CancelledError):
        run.run(end)
    report = run.interrupted_report()
    assert report is not None
    assert len(report.measurements) == 5
    best = best_measurement(report)
    assert best.label == "best so far"
    assert best.median == max(row.median or 0.0 for row in report.measurements)
    assert any("interrupted" in flag for flag in best.flags)
    again = load_report(dump_report(report))
    assert again.extra["interrupted"]
    assert Grid.from_json(again.extra["grid"]) == GRID
