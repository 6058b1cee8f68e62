"""Single operators: interleaved rounds, the cost of one, and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench.fakes import measured, report, rounds
from tests.engine.build.test_fused import sometimes
from tests.helpers import with_settings
from workbench.bench import Measurement, Report
from workbench.bench.experiments.compared_program import ComparedProgram
from workbench.bench.experiments.fused_speed import BRANCHED, FUSED, FusedSpeedExperiment
from workbench.bench.experiments.operators import DECODING, NOTHING, OperatorExperiment, workers_of
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.interleaved import NOT_YET, ConfigJobs
from workbench.bench.measuring.measurement_config import MeasurementConfig, config_within
from workbench.bench.measuring.pixels import LEVELS
from workbench.bench.records.operator_report import (
    HOW,
    OTHER_PIXELS,
    OperatorCost,
    cost_of,
    operator_lines,
    operators_of,
)
from workbench.bench.records.plots import plot_record
from workbench.bench.records.record import dump_report, load_report
from workbench.errors import EngineError, GraphEditError, RecordFormatError
from workbench.graph import Graph, load_recipe
from workbench.ui.speed.chart_payloads import bars, part_of

RATES = {DECODING: 1000.0, NOTHING: 500.0, "resize": 400.0, "rotate": 250.0, "color": 400.0}
"""imgs/s of each by itself; ``flip`` costs nothing."""
SAME = {"images": 64, "mean": 1.0, "greatest": 9.0, "share": 0.5, "unit": LEVELS}
OTHER = {**SAME, "mean": 30.0}


def rate(entry: ConfigJobs) -> float:
    node = entry.label.partition(":")[0]
    return RATES.get(node, RATES[NOTHING]) * (2 if entry.config.program != "DALI" else 1)


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What was measured together, at ``RATES``, and peers at twice as much."""
    found: list[list[str]] = []

    def measure(entries: Sequence[ConfigJobs], *_: Any) -> tuple[Measurement, ...]:
        found.append([entry.label for entry in entries])
        return tuple(
            replace(measured(rate(entry)), config=entry.config, label=entry.label)
            for entry in entries
        )

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", measure)
    return found


def experiment(photos: Path, **options: Any) -> OperatorExperiment:
    graph = with_settings(load_recipe("rotate-jitter"), batch_size=8, num_threads=2)
    how = config_within(10.0)
    return OperatorExperiment(graph, str(photos), ("cpu",), measurement_config=how, **options)


def with_a_peer(
    monkeypatch: pytest.MonkeyPatch, check: Callable[[dict[str, Any], str], tuple[str, ...]]
) -> None:
    """Register a peer; ``check`` is called with the facts and the graph's last node."""

    def peers(run: Any, names: Any, devices: Any, machine: Any, facts: Any) -> Any:
        graph: Graph = run.graph
        config = Config(program="A peer", threads=1)

        def jobs(workers: int) -> ConfigJobs:
            return ConfigJobs(replace(config, threads=workers), ())

        last = graph.outputs["images"].node
        return [ComparedProgram(config, jobs, check=lambda call: check(facts, last))] * bool(names)

    monkeypatch.setattr("workbench.bench.experiments.benchmark.compared_peers", peers)


def test_each_program_has_its_operators_in_turns(
    photos: Path, turns: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(facts: dict[str, Any], last: str) -> tuple[str, ...]:
        if last == "rotate":
            raise EngineError("it has no such operator")
        facts["A peer"] = {"version": "1", "difference": OTHER if last == "color" else SAME}
        return ()

    with_a_peer(monkeypatch, check)
    workers = {("DALI", "cpu"): 3, ("A peer", "cpu"): 5}
    found = experiment(photos, peers=("torchvision",), workers=workers).run()
    nodes = [DECODING, NOTHING, "resize", "rotate", "color", "flip"]
    assert turns == [
        [f"{node}: DALI, cpu" for node in nodes],
        [f"{node}: A peer, cpu" for node in nodes if node != "rotate"],
    ]
    assert [row.threads for row in found.measurements] == [3] * 6 + [5] * 6
    costs = {(cost.node, cost.program): cost for cost in operators_of(found.extra)}
    assert costs[NOTHING, "DALI"].adds is None
    assert (costs["resize", "DALI"].base, costs["rotate", "DALI"].base) == (DECODING, NOTHING)
    for node, adds in {"resize": 1500, "rotate": 2000, "color": 500, "flip": 0}.items():
        assert costs[node, "DALI"].adds == pytest.approx(adds, abs=1e-6)
    assert costs["color", "A peer"].adds == pytest.approx(250)
    assert costs["rotate", "A peer"].adds is None
    assert costs["rotate", "A peer"].reason == "not measured: it has no such operator"
    assert [cost.node for cost in costs.values() if not cost.is_same] == ["color"]
    assert found.extra["pixels"]["color"]["A peer"]["difference"] == OTHER
    assert found.best is None, "no row is a whole pipeline"
    assert found.ratios == ()
    again = load_report(dump_report(found))
    assert operators_of(again.extra) == tuple(costs.values())
    damaged = replace(found, extra={"operators": [{"node": 1}]})
    with pytest.raises(RecordFormatError, match="damaged"):
        load_report(dump_report(damaged))


def test_the_time_is_known_beforehand(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert experiment(photos).longest() == 6 * 10.0
    with_a_peer(monkeypatch, lambda facts, last: ())
    longest = experiment(photos, peers=("torchvision",)).longest()
    assert longest == (6 + 6 + 1) * 10.0, "and one check"
    run = OperatorExperiment(load_recipe("rotate-jitter"), str(photos), ("cpu",))
    assert run.longest() is None


def test_ended_early_it_keeps_what_it_has(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(
        entries: Sequence[ConfigJobs], how: Any, stop: Any, progress: Any, before: Any,
        on_rows: Callable[[tuple[Measurement, ...]], None], *_: Any,
    ) -> tuple[Measurement, ...]:  # fmt: skip
        known = [replace(measured(rate(e)), config=e.config, label=e.label) for e in entries]
        waiting = [Measurement(e.config, reason=NOT_YET, label=e.label) for e in entries]
        on_rows((*known[:4], *waiting[4:]))
        raise KeyboardInterrupt

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", measure)
    run = experiment(photos)
    assert run.interrupted_report() is None
    found = run.run_interruptibly()
    assert found.extra["interrupted"]
    costs = {cost.node: cost for cost in operators_of(found.extra)}
    assert costs["rotate"].adds == pytest.approx(2000)
    assert (costs["color"].adds, costs["color"].reason) == (None, "not measured: interrupted")
    assert run.partial_report is not None
    assert operators_of(run.partial_report.extra)[4].reason == NOT_YET


def test_a_graph_without_one_decoder_is_refused(photos: Path) -> None:
    with pytest.raises(EngineError, match="'video-clips' has none or several"):
        OperatorExperiment(load_recipe("video-clips"), {})


def test_a_cost_is_of_rounds_side_by_side() -> None:
    cost = OperatorCost("turn", "rotate", "DALI", "cpu", NOTHING)
    base = Measurement(Config(), rounds(1000, 500, 1000))
    row = Measurement(Config(), rounds(500, 333, 500, 400))
    found = cost_of(cost, row, base)
    assert found.adds == pytest.approx(1000, rel=0.01), "what slowed both cancels"
    assert found.rounds == 3
    assert cost_of(cost, row, None).adds is None
    assert cost_of(cost, row, None).rate == row.median
    failed = Measurement(Config(), reason="not measured: no")
    assert cost_of(cost, row, failed).adds is None
    assert cost_of(cost, failed, base).reason == "not measured: no"


def costs() -> list[OperatorCost]:
    ours = "DALI", "cpu"
    gpu = {"reason": "not measured: no GPU"}
    return [
        OperatorCost(NOTHING, "", *ours, rate=1234.0),
        OperatorCost("turn", "rotate", *ours, NOTHING, 600.0, 856.0, 800.0, 900.0, 5),
        OperatorCost("flip", "flip", *ours, NOTHING, 1233.0, -0.5, -0.5, -0.5, 1),
        OperatorCost(NOTHING, "", "DALI", "mixed", **gpu),  # type: ignore[arg-type]
        OperatorCost("turn", "rotate", "DALI", "mixed", NOTHING, **gpu),  # type: ignore[arg-type]
        OperatorCost("flip", "flip", "DALI", "mixed", NOTHING, **gpu),  # type: ignore[arg-type]
        OperatorCost(NOTHING, "", "OpenCV", "cpu", rate=2000.0),
        OperatorCost(
            "turn", "rotate", "OpenCV", "cpu", NOTHING, 1000.0, 500.0, 490.0, 520.0, 5,
            is_same=False,
        ),
        OperatorCost("flip", "flip", "OpenCV", "cpu", NOTHING, reason="not measured: none"),
    ]  # fmt: skip


def test_tables_that_a_person_can_read() -> None:
    assert operator_lines(costs()) == [
        "imgs/s          DALI, cpu   OpenCV",
        "nothing             1,234    2,000",
        "turn (rotate)         600    1,000",
        "flip                1,233        -",
        "",
        "µs per image that the operator adds   DALI, cpu      OpenCV",
        "turn (rotate)                           856 ±56   500 ±20 *",
        "flip                                        ~-0           -",
        "",
        HOW,
        OTHER_PIXELS,
        "DALI, mixed: not measured: no GPU",
        "OpenCV, flip: not measured: none",
    ]
    assert operator_lines([]) == []


def operator_report() -> Report:
    rows = [
        replace(measured(100.0), label=f"{cost.node}: {cost.program}, {cost.device}")
        for cost in costs()
    ]
    extra = {"operators": [asdict(cost) for cost in costs()]}
    return report(*rows, kind="operators", extra=extra)


def test_a_report_shows_its_tables_and_its_picture() -> None:
    found = operator_report()
    assert "  turn (rotate)                           856 ±56   500 ±20 *" in repr(found)
    assert "<pre>imgs/s          DALI, cpu" in found._repr_html_()
    (axes,) = plot_record(found).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "turn (rotate): DALI, cpu", "turn (rotate): OpenCV", "flip: DALI, cpu",
    ]  # fmt: skip
    with pytest.raises(EngineError, match="No operator of this record"):
        plot_record(replace(found, extra={}))


def test_the_panel_groups_the_bars_by_operator() -> None:
    found = operator_report()
    assert part_of(found) == "peers"
    assert [bar["group"] for bar in bars(found)[:3]] == [NOTHING, "turn", "flip"]


def test_workers_are_those_of_the_whole_graph() -> None:
    rows = (
        measured(1.0, threads=3),
        measured(1.0, threads=9, regime="decode"),
        measured(1.0, threads=8, program="OpenCV"),
        Measurement(Config(program="SPDL"), reason="not measured: no"),
    )
    assert workers_of(report(*rows)) == {("DALI", "cpu"): 3, ("OpenCV", "cpu"): 8}


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
