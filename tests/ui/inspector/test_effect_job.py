"""The effect sheet in the view-model: computed while it is open, after the pictures."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ui.hosts import small
from tests.ui.preview.test_background_previews import until
from tests.ui.screen import Make, Screen, edit
from workbench.catalog import load_catalog
from workbench.graph.edits.edit import set_arg
from workbench.ui.app.view_model import ViewModel

SHEET = "inspector", "effect"


@pytest.fixture
def ready(photos: Path) -> Iterator[tuple[ViewModel, Screen]]:
    screen = Screen()
    graph = set_arg(small(), load_catalog(), "color", "saturation", 1.25)
    model = ViewModel(photos, graph, screen.publish, restore=False)
    model.receive("canvas", "selected", ["color"])
    screen.wait_ready()
    yield model, screen
    model.close()


def timer(model: ViewModel) -> threading.Timer | None:
    return model.background_previews._effect._debounced._timer


def wanted(model: ViewModel) -> bool:
    """Whether a sheet is asked for, or will be once the graph rests."""
    return timer(model) is not None


def test_a_click_adopts_a_value_in_one_step(ready: tuple[ViewModel, Screen]) -> None:
    model, screen = ready
    assert "saturation" in screen["inspector", "effect_choices"]
    assert screen[SHEET] == b""
    assert not wanted(model)
    model.receive("inspector", "effect_args", ["saturation", "contrast"])
    assert not wanted(model), "nothing is asked while it is closed"
    model.receive("inspector", "effect_open", True)
    header, image = until(screen, SHEET, lambda h: h["args"] == ["saturation", "contrast"])
    assert (len(header["pictures"]), header["columns"], image[:2]) == (16, 4, b"\xff\xd8")
    assert all(each["box"] and not each["error"] for each in header["pictures"])
    assert not screen["inspector", "effect_stale"]

    before, steps = model.graph, len(model.history.before)
    screen.published.clear()
    saturation, contrast = header["pictures"][-1]["values"]
    for arg, value in (("saturation", saturation), ("contrast", contrast)):
        edit(model, "set", node="color", arg=arg, value=value, group="effect-1")
    assert screen["inspector", "effect_stale"]
    assert len(model.history.before) == steps + 1
    args = model.graph.node("color").args
    assert (args["saturation"], args["contrast"]) == (saturation, contrast)
    screen.wait(lambda s: not s["inspector", "effect_stale"], "the sheet of the new graph")
    order = [each for each in screen.published if each in (SHEET, ("preview", "picture"))]
    assert order[0] == ("preview", "picture"), "the preview comes before the sheet"
    assert order[-1] == SHEET
    model.act("bar", {"do": "undo"})
    assert model.graph == before
    screen.wait(lambda s: not s["inspector", "effect_stale"], "the sheet of what was before")

    model.receive("inspector", "effect_open", False)
    assert screen[SHEET] == b""
    assert not wanted(model)


def test_nothing_is_asked_while_a_value_is_dragged(
    ready: tuple[ViewModel, Screen], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = ready
    monkeypatch.setattr("workbench.ui.jobs.debounced_job.DELAY", 3600)
    model.receive("inspector", "effect_open", True)
    first = timer(model)
    assert first is not None
    for value in (0.5, 0.75):
        picture = screen.picture
        edit(model, "set", node="color", arg="saturation", value=value, group="drag")
        screen.wait_other_picture(picture)
    screen.wait(lambda s: timer(model) is not first, "another rest")
    assert first.finished.is_set(), "each newer picture begins the rest anew"
    assert screen[SHEET] == b""


def test_what_changes_no_output_is_named_and_stays_offered(ready: tuple[ViewModel, Screen]) -> None:
    model, screen = ready
    assert "image_type" in screen["inspector", "effect_choices"]
    model.receive("inspector", "effect_open", True)
    screen.wait(
        lambda s: "picture as it is: image_type" in s["inspector", "effect_remark"],
        "the idle one is found out",
    )
    assert {"image_type", "saturation"} <= set(screen["inspector", "effect_choices"])
    model.receive("inspector", "effect_args", ["image_type"])
    header, _ = until(screen, SHEET, lambda h: h["args"] == ["image_type"])
    assert header["note"].startswith("image_type changes nothing in this picture")
    assert "image_type" in screen["inspector", "effect_choices"]


def test_what_the_preview_scales_back_has_an_effect(make: Make) -> None:
    model, screen = make(graph=small("imagenet-eval"))
    model.receive("canvas", "selected", ["normalize"])
    screen.wait_ready()
    model.receive("inspector", "effect_open", True)
    for name in ("mean", "std", "crop"):
        if name not in screen["inspector", "effect_choices"]:
            continue
        model.receive("inspector", "effect_args", [name])
        header, _ = until(screen, SHEET, lambda h, name=name: h["args"] == [name])
        assert header["note"] == "", name
    assert {"mean", "std"} <= set(screen["inspector", "effect_choices"])
