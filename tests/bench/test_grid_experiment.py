"""What sweep and tuner share, and the sweep, around measurements that are made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench.fakes import GRID, MACHINE, measured
from tests.helpers import with_settings
from workbench.bench.experiments.grid_experiment import SweepExperiment
from workbench.bench.experiments.tune import TuningExperiment
from workbench.bench.measuring.config import Config, adopt_config
from workbench.bench.measuring.grid import Grid
from workbench.bench.measuring.interleaved import ConfigJobs
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.bench.records.charts import best_measurement
from workbench.bench.records.record import dump_report, load_report
from workbench.engine.protocol.progress import NO_ANSWER
from workbench.errors import ArgumentError, CancelledError, EngineError
from workbench.graph import load_recipe


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

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", fake)
    kind(load_recipe("imagenet-train"), str(photos), grid=GRID).run(
        lambda share, text: heard.append(text)
    )
    assert NO_ANSWER in heard


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        (Grid((1, 2000), (16,)), "num_threads is 2000. Use an integer from 1 to 1024"),
        (Grid((1,), (16,), (2, 65)), "prefetch_queue_depth is 65"),
        (Grid((1,), (16,), (2,), (0.5, 3.0)), "hw_decoder_load: 3.0 is out of range"),
    ],
)
def test_a_value_out_of_range_is_refused_before_any_work(
    grid: Grid, words: str, made_up: list[list[Config]], photos: Path
) -> None:
    with pytest.raises((ArgumentError, EngineError), match=words):
        SweepExperiment(load_recipe("imagenet-train"), str(photos), grid=grid).run()
    assert made_up == []


def test_the_memory_limit_goes_along(
    photos: Path, monkeypatch: pytest.MonkeyPatch, made_up: list[list[Config]]
) -> None:
    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.describe_machine", lambda: MACHINE
    )
    sweep = SweepExperiment(load_recipe("imagenet-train"), str(photos), grid=GRID, gpu_limit=5)
    sweep.run()
    assert sweep.limit == (int(0.8 * MACHINE.memory_gib * 2**30), 5)


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

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", fake)
    grid = Grid((1, 2), (16,), (2,), pipelines=(1, 2, 3))
    graph = load_recipe("imagenet-train")
    report = kind(graph, str(photos), grid=grid).run()
    best = best_measurement(report).config
    assert best.pipelines == 2
    assert best.settings.startswith("batch 16, 2 pipelines of ")
    assert adopt_config(graph, best).settings.pipelines == 2
    assert {row.config.pipelines for row in report.measurements if row.reason} == {3}
    assert load_report(dump_report(report)).measurements == report.measurements


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


def test_a_small_sweep_for_real(photos: Path) -> None:
    graph = with_settings(load_recipe("imagenet-train"), batch_size=4)
    short = MeasurementConfig(0.02, 2, 2, warm_up_rounds=2, budget=0.0)
    report = SweepExperiment(
        graph, str(photos), grid=Grid((1, 2), (4,), (2,)), measurement_config=short
    ).run()
    assert [row.threads for row in report.measurements] == [1, 2]
    assert all(row.median for row in report.measurements)


def test_a_sweep_ends_with_the_last_setting_not_with_a_time(photos: Path) -> None:
    with pytest.raises(ArgumentError, match=r"seconds is 60.0, but a time limit cannot"):
        SweepExperiment(load_recipe("imagenet-train"), str(photos), seconds=60.0)
