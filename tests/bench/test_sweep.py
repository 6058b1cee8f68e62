"""Every setting of a grid, around measurements that are made up; one small sweep for real."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.fakes import GRID
from tests.helpers import with_settings
from workbench.bench.analysis.grid import Grid
from workbench.bench.experiments.grid_experiment import SweepExperiment
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.bench.records.charts import best_measurement
from workbench.errors import ArgumentError
from workbench.graph import load_recipe


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
    with pytest.raises(ArgumentError, match=r"seconds is 60.0, but every setting is measured"):
        SweepExperiment(load_recipe("imagenet-train"), str(photos), seconds=60.0)
