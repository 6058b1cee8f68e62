"""Functions that misbehave are told in a measurement as they are in a preview."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.helpers import chain_graph, with_settings
from workbench.bench.experiments.stages import StageCostExperiment
from workbench.bench.measuring import worker_group
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.catalog import load_catalog
from workbench.errors import EngineError
from workbench.graph import Graph
from workbench.graph.control_flow.wrap import wrap_in_block

SHORT = MeasurementConfig(0.05, 2, 2, warm_up_rounds=1, budget=0.0)

pytestmark = pytest.mark.thorough


@wb.node(layouts="HWC")
def loud(image: Any) -> Any:
    print("x" * 1_000_000)
    return image


@wb.node(layouts="HWC")
def fails(image: Any) -> Any:
    raise ValueError("no such thing")


@wb.node(layouts="HWC")
def never_returns(image: Any) -> Any:
    while True:
        pass


def inside_block(made: wb.FunctionNode) -> Graph:
    graph = chain_graph("resize", resize={"size": (64, 64)})
    graph = with_settings(graph, batch_size=4, num_threads=2)
    graph = made.after(graph, next(node.id for node in graph.nodes if node.op == "resize"))
    name = made.function.__name__
    return wrap_in_block(graph, load_catalog(), [name], "repeat")[0]


def measure(made: wb.FunctionNode, photos: Path) -> Any:
    experiment = StageCostExperiment(inside_block(made), str(photos), measurement_config=SHORT)
    return experiment.run()


def test_one_that_prints_megabytes_is_measured(photos: Path) -> None:
    report = measure(loud, photos)
    assert [row.reason for row in report.measurements] == [""] * len(report.measurements)


def test_what_it_raises_is_told_with_its_line(photos: Path) -> None:
    with pytest.raises(EngineError, match=r"fails: line 2 of fails, raise ValueError"):
        measure(fails, photos)


def test_one_that_never_returns_is_ended(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_group, "SILENCE_LIMIT", 15.0)
    with pytest.raises(EngineError, match=r"did not answer|within|hung|silent"):
        measure(never_returns, photos)
