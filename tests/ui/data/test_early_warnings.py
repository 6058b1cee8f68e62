"""Warnings in the fault list before the first preview: of the graph, then of the data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.emit.core.test_comments import WARNED, small_constants
from tests.emit.test_box_clipping import cropping, jpeg, written
from tests.ui.screen import Screen
from workbench.graph import load_recipe
from workbench.graph.model import Graph
from workbench.samples.records import write_shard
from workbench.sources import Data
from workbench.ui.app.view_model import ViewModel


@pytest.fixture
def no_preview(monkeypatch: pytest.MonkeyPatch) -> None:
    """The previewer gets no request, so no preview is made."""
    monkeypatch.setattr("workbench.ui.jobs.previewer.Previewer.ask", lambda self, request: None)


def opened(data: Data, graph: Graph) -> Iterator[tuple[ViewModel, Screen]]:
    screen = Screen()
    with closing(ViewModel(data, graph, screen.publish)) as model:
        yield model, screen


def texts(screen: Screen) -> list[str]:
    return [fault["message"] for fault in screen["bar", "faults"]]


@pytest.mark.usefixtures("no_preview")
def test_warnings_about_the_graph_need_no_preview(photos: Path) -> None:
    for model, screen in opened(photos, small_constants()):
        assert any(WARNED in text for text in texts(screen))
        assert model.state.preview is None
        assert screen["bar", "status"]["state"] != "fault"
        (warning,) = (each for each in screen["bar", "faults"] if WARNED in each["message"])
        action = {"do": "fix", "node": warning["node"], "arg": warning["arg"]}
        model.act("bar", {**action, "fix": warning["fixes"][0]})
        assert not any(WARNED in text for text in texts(screen))


@pytest.mark.usefixtures("no_preview")
def test_warnings_about_the_data_come_when_these_are_counted(tmp_path: Path) -> None:
    place = written("coco", tmp_path, [[60.0, 10.0, 20.3, 20.0]])
    for model, screen in opened(place, cropping()):
        screen.wait(lambda s: s["data", "summary"]["counted"], "the data counted")
        assert any("1 image has boxes over the edge" in text for text in texts(screen))
        assert model.state.preview is None
        sound = tmp_path / "sound"
        sound.mkdir()
        model.act("data", {"do": "open", "path": written("coco", sound, [[1.0, 1.0, 5.0, 5.0]])})
        screen.wait(lambda s: s["data", "summary"]["counted"], "the other data counted")
        assert not any("over the edge" in text for text in texts(screen))


@pytest.mark.usefixtures("no_preview")
def test_missing_boxes_are_a_fault_with_a_fix_and_the_panel_counts_as_the_check(
    tmp_path: Path,
) -> None:
    """Boxes of the earlier data do not make every sample of an archive bad."""
    parts = [{"jpg": jpeg(), "cls": text, "json": b"{}"} for text in (b"1", b"2", b"dog")]
    write_shard(parts, tmp_path / "a.tar")
    place = written("coco", tmp_path, [[1.0, 1.0, 5.0, 5.0]])
    for model, screen in opened(place, load_recipe("retinanet")):
        model.act("data", {"do": "open", "path": str(tmp_path / "a.tar")})
        screen.wait(lambda s: s["data", "summary"]["counted"], "the archive counted")
        words = "the graph reads boxes, which the data do not have"
        (fault,) = (each for each in screen["bar", "faults"] if words in each["message"])
        assert screen["data", "summary"]["at_fault"].startswith("1 of 3 samples is at fault")
        (fix,) = fault["fixes"]
        action = {"do": "fix", "node": fault["node"], "arg": fault["arg"], "fix": fix}
        model.act("bar", action)
        assert "boxes" not in model.graph.outputs
        assert not any("boxes" in text for text in texts(screen))
