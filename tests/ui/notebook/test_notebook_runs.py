"""What a cell has measured and compared of a workbench's present graph."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.bench import COARSE_CONFIG
from workbench.bench.experiments.speed_experiment import SpeedExperiment
from workbench.engine.protocol import progress_bar
from workbench.ui.notebook.notebook_runs import run_with_bar


@pytest.fixture
def w(photos: Path) -> Iterator[wb.Workbench]:
    graph = wb.read(photos).decode().resize(size=(32, 32)).rotate(angle=5)
    made = wb.Workbench(graph.with_settings(batch_size=8, num_threads=1), restore=False)
    yield made
    made.close()


class Experiment:
    """A run that is interrupted after it has measured ``so_far``."""

    def __init__(self, so_far: object) -> None:
        self.partial_report, self.cancelled = so_far, False

    def run(self, on_progress: Any) -> Any:
        on_progress(0.5, "halfway")
        raise KeyboardInterrupt

    def cancel(self) -> None:
        self.cancelled = True

    def interrupted_report(self) -> None:
        return None


def test_an_interrupt_keeps_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_bar, "_in_notebook", lambda: True)
    kept: Any = Experiment("rows")
    assert run_with_bar(kept) == "rows"
    nothing: Any = Experiment(None)
    with pytest.raises(wb.CancelledError, match=r"^Interrupted\.$"):
        run_with_bar(nothing)
    assert kept.cancelled
    assert nothing.cancelled


def test_each_run_is_one_of_the_present_graph(
    w: wb.Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[str, float, str]] = []

    def note(experiment: SpeedExperiment) -> str:
        config = experiment.measurement_config
        assert config is COARSE_CONFIG
        ran.append((experiment.kind, experiment.graph["rotate"].angle, w.graph.settings.device))
        return experiment.kind

    monkeypatch.setattr("workbench.ui.notebook.notebook_runs.run_with_bar", note)
    w["rotate"].angle = 9
    for run in (w.bench, w.stages, w.tune):
        run(measurement_config=COARSE_CONFIG)
    assert ran == [("bench", 9, "cpu"), ("stages", 9, "cpu"), ("tune", 9, "cpu")]


def test_the_preview_is_compared_with_the_script(w: wb.Workbench) -> None:
    found = w.verify(batches=1)
    assert found.exact
    assert repr(found) == "identical: 8 of 8"
    assert list(found.to_frame().columns)[:3] == ["batch", "sample", "file"]


@pytest.mark.thorough
def test_stages_are_measured(w: wb.Workbench) -> None:
    report = w.stages(measurement_config=COARSE_CONFIG)
    assert {*report.to_frame()["stage"]} >= {"reader", "decode", "resize", "rotate"}
    assert report.plot()._repr_png_()


def test_a_closed_workbench_runs_nothing(w: wb.Workbench) -> None:
    w.close()
    for run in (w.bench, w.stages, w.tune, w.optimise, w.verify):
        with pytest.raises(wb.EngineError, match="This workbench is closed"):
            run()
