"""What a function of the user costs against the rest of the graph."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.bench.fakes import measured
from tests.helpers import chain_graph, with_settings
from workbench.bench.experiments.stage_verdict import function_costs, row_without
from workbench.bench.experiments.stages import StageCostExperiment, scripts_without_functions
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.bench.records.record import WHOLE
from workbench.bench.records.stage_report import FunctionCost, StageReport, stages_of
from workbench.catalog import Catalog
from workbench.graph import Graph
from workbench.graph.control_flow.wrap import wrap_in_region


@wb.node(layouts="HWC")
def swap(image: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(image[:, :, ::-1])


def sized() -> Graph:
    graph = with_settings(chain_graph("resize", resize={"size": (64, 64)}), batch_size=4)
    return swap.after(graph, next(node.id for node in graph.nodes if node.op == "resize"))


def test_the_graph_is_measured_without_each(catalog: Catalog) -> None:
    graph = sized()
    inside, _ = wrap_in_region(graph, catalog, ["swap"], "if")
    for each in (graph, inside):
        ((node, script),) = scripts_without_functions(each, catalog)
        assert (node.id, "swap" in script.text) == ("swap", False)
    assert list(scripts_without_functions(chain_graph("resize"), catalog)) == []


def test_its_cost_is_the_difference() -> None:
    graph = with_settings(sized(), batch_size=100)
    rows = [measured(1000, WHOLE), measured(1250, row_without("swap"))]
    (cost,) = function_costs(graph, rows, 100)
    assert (cost.adds, cost.rate, cost.without) == (pytest.approx(20), 1000, 1250)
    words = cost.words(100.0)
    assert words.startswith("swap (your function swap) takes 20% of a batch's time (")
    assert words.endswith("): 1,000 imgs/s with it, 1,250 without")
    report = StageReport((), 100.0, None, None, "", "", (cost,))
    assert stages_of({"stages": asdict(report)}) == report
    same = function_costs(graph, [measured(1000, WHOLE), measured(990, row_without("swap"))], 100)
    assert "no cost that could be told from nothing" in same[0].words(100.0)


def test_what_cannot_be_left_out_says_so() -> None:
    (cost,) = function_costs(sized(), [measured(1000, WHOLE)], 100)
    assert cost == FunctionCost("swap", "swap", reason="what follows needs what it makes")
    assert cost.words(100.0) == (
        "swap (your function swap): not measured without it, what follows needs what it makes"
    )


@pytest.mark.thorough
def test_it_is_measured_for_real(photos: Path) -> None:
    graph = sized()
    short = MeasurementConfig(0.05, 3, 2, warm_up_rounds=2, budget=0.0)
    report = StageCostExperiment(graph, str(photos), measurement_config=short).run()
    names = [row.name for row in report.measurements if not row.reason]
    assert names[-1] == row_without("swap")
    found = stages_of(report.extra)
    assert found is not None
    (cost,) = found.functions
    assert cost.without is not None
    assert cost.rate is not None
    assert f"{cost.without:,.0f} without" in found.function_words[0]
