"""An if and the one operator that does the same, in one run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.build.test_fused import sometimes
from tests.helpers import with_settings
from workbench.bench.experiments.fused_speed import BRANCHED, FUSED, FusedSpeedExperiment
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.errors import GraphEditError

SHORT = MeasurementConfig(0.05, 2, 2, warm_up_rounds=1, budget=0.0)


def test_both_are_measured_and_compared(photos: Path) -> None:
    graph, block = sometimes("flip", {"horizontal": 1})
    graph = with_settings(graph, batch_size=8, num_threads=2)
    report = FusedSpeedExperiment(graph, str(photos), block, measurement_config=SHORT).run()
    assert [row.name for row in report.measurements] == [BRANCHED, FUSED]
    assert all(row.median for row in report.measurements)
    middle, low, high = report.extra["fused_over_if"]
    assert low <= middle <= high
    assert report.extra["block"] == block


def test_what_cannot_be_one_operator_is_not_measured(photos: Path) -> None:
    graph, block = sometimes("noise.gaussian", {"stddev": 5.0})
    with pytest.raises(GraphEditError, match=r"no argument of noise\.gaussian"):
        FusedSpeedExperiment(graph, str(photos), block, measurement_config=SHORT).run()
