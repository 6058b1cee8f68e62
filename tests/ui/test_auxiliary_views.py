"""What is computed besides the sheet: only what is seen, and of the present graph."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ui.screen import Screen
from workbench.errors import WorkerLostError, WorkerTimeoutError
from workbench.graph import load_recipe
from workbench.graph.edit import set_setting
from workbench.preview import preview_statistics
from workbench.ui import auxiliary_views
from workbench.ui.closeup import Closeup
from workbench.ui.view_model import ViewModel


def read(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:4], "little")
    return json.loads(data[4 : 4 + length]), data[4 + length :]


@pytest.fixture
def ready(photos: Path) -> Iterator[tuple[ViewModel, Screen]]:
    screen = Screen()
    graph = set_setting(load_recipe("rotate-jitter"), batch_size=4)
    model = ViewModel(photos, graph, screen.publish, restore=False)
    screen.wait_ready()
    yield model, screen
    model.close()


def until(screen: Screen, place: tuple[str, str], holds: Callable[[dict[str, Any]], Any]) -> Any:
    """The header of a packed field, once it is as wanted."""
    screen.wait(lambda s: s[place] and holds(read(s[place])[0]), " ".join(place))
    return read(screen[place])


def test_nothing_is_computed_that_nobody_looks_at(ready: tuple[ViewModel, Screen]) -> None:
    model, screen = ready
    model.receive("preview", "batch", 1)
    screen.wait(lambda s: s.header["batch"] == 1, "the next batch")
    assert screen["steps", "sheet"] == screen["preview", "closeup"] == b""
    assert screen["preview", "statistics"] == []
    assert not model.auxiliary_views._asked


def test_steps_are_there_at_once_and_their_times_soon(ready: tuple[ViewModel, Screen]) -> None:
    model, screen = ready
    model.act("preview", {"do": "show_steps", "index": 2})
    model.receive("steps", "in_view", True)
    assert screen["tabs", "tab"] == "steps"
    header, image = until(screen, ("steps", "sheet"), lambda h: h["timing"])
    published = screen.published.count(("steps", "sheet"))
    assert published >= 2
    assert image[:2] == b"\xff\xd8"
    assert (header["index"], header["samples"]) == (2, 4)
    assert header["file"] == screen.header["tiles"][2]["file"]
    steps = {step["node"]: step for step in header["steps"]}
    assert steps["rotate"]["draws"] == [screen.header["tiles"][2]["draws"][0]]
    assert steps["rotate"]["milliseconds"] > 0
    assert steps["reader"]["untimed"]
    assert steps["decode"]["outputs"][0]["dtype"] == "uint8"
    assert steps["decode"]["outputs"][0]["values"].endswith("255")
    assert steps["reader"]["outputs"][1]["text"] == screen.header["tiles"][2]["label"]
    assert {"angle", "mirror"} <= set(screen["steps", "folded"])

    message = {"do": "set", "node": "rotate", "arg": "angle", "value": 30, "group": ""}
    model.act("inspector", message)

    def turned(header: dict[str, Any]) -> bool:
        rotate = next(step for step in header["steps"] if step["node"] == "rotate")
        return rotate["draws"] == [] and header["timing"] != ""

    until(screen, ("steps", "sheet"), turned)
    model.act("steps", {"do": "select", "node": "flip"})
    assert screen["canvas", "selected"] == screen["steps", "selected"] == ["flip"]


def test_a_close_up_follows_the_edits(ready: tuple[ViewModel, Screen]) -> None:
    model, screen = ready
    model.act("preview", {"do": "open_closeup", "index": 1, "of": ""})
    model.act("preview", {"do": "probe_pixel", "x": 100, "y": 50})
    header, png = until(screen, ("preview", "closeup"), lambda h: h["index"] == 1)
    assert (header["of"], header["choices"]) == ("images", ["images", "original"])
    assert (header["full"], png[:4]) == ([224, 224], b"\x89PNG")
    header, data = until(screen, ("preview", "values"), lambda h: h["index"] == 1)
    before = np.frombuffer(data, np.uint8)
    assert before.size == 224 * 224 * 3
    message = {"do": "set", "node": "color", "arg": "brightness", "value": 0.0, "group": ""}
    model.act("inspector", message)
    screen.wait(lambda s: not any(read(s["preview", "values"])[1]), "black values")
    model.act("preview", {"do": "open_closeup", "index": 1, "of": "original"})
    header, _ = until(screen, ("preview", "closeup"), lambda h: h["of"] == "original")
    assert header["full"] != [224, 224]
    model.act("preview", {"do": "open_closeup", "index": -1, "of": ""})
    assert screen["preview", "closeup"] == screen["preview", "values"] == b""


def test_statistics_show_a_wrong_mean(photos: Path) -> None:
    screen = Screen()
    graph = set_setting(load_recipe("imagenet-eval"), batch_size=16)
    model = ViewModel(photos, graph, screen.publish, restore=False)
    try:
        model.receive("preview", "show_statistics", True)
        screen.wait(lambda s: s["preview", "statistics"], "statistics")
        (entry,) = screen["preview", "statistics"]
        assert (entry["dtype"], entry["hint"], len(entry["channels"])) == ("float32", "", 3)
        node = next(n.id for n in model.graph.nodes if n.op == "crop_mirror_normalize")
        wrong = {"node": node, "arg": "mean", "value": [0.485, 0.456, 0.406], "group": ""}
        model.act("inspector", {"do": "set", **wrong})
        screen.wait(lambda s: s["preview", "statistics"][0]["hint"], "a hint")
        assert "not 0.48" in screen["preview", "statistics"][0]["hint"]
        model.receive("preview", "show_statistics", False)
        assert screen["preview", "statistics"] == []
    finally:
        model.close()


def test_what_a_fault_keeps_from_opening_does_not_open_later(
    ready: tuple[ViewModel, Screen],
) -> None:
    model, screen = ready
    model.act("canvas", {"do": "disconnect", "edges": ["flip:data"]})
    assert screen["bar", "status"]["state"] == "fault"
    model.act("preview", {"do": "open_closeup", "index": 1, "of": ""})
    assert "Sample 1 was not opened" in screen["bar", "message"]
    assert model.state.closeup is None
    before = screen.picture
    model.act("canvas", {"do": "undo"})
    screen.wait_other_picture(before)
    assert screen["preview", "closeup"] == b""

    # One that was open stays, with its values; another does not take its place.
    model.act("preview", {"do": "open_closeup", "index": 1, "of": ""})
    until(screen, ("preview", "closeup"), lambda h: h["index"] == 1)
    model.act("canvas", {"do": "disconnect", "edges": ["flip:data"]})
    model.act("preview", {"do": "open_closeup", "index": 2, "of": ""})
    assert "Sample 2 was not opened" in screen["bar", "message"]
    assert model.state.closeup == Closeup(1, "images")
    model.act("preview", {"do": "probe_pixel", "x": 3, "y": 4})
    header, _ = read(screen["preview", "values"])
    assert "earlier graph" in header["error"]
    model.act("preview", {"do": "open_closeup", "index": -1, "of": ""})
    assert screen["preview", "closeup"] == screen["preview", "values"] == b""


def test_values_that_could_not_be_had_say_why(
    ready: tuple[ViewModel, Screen], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = ready
    model.act("preview", {"do": "open_closeup", "index": 1, "of": ""})
    until(screen, ("preview", "closeup"), lambda h: h["index"] == 1)

    def ended(*arguments: Any) -> Any:
        raise WorkerLostError("The worker was ended by SIGKILL.")

    with monkeypatch.context() as patch:
        patch.setattr("workbench.ui.auxiliary_views.preview_pixels", ended)
        model.act("preview", {"do": "probe_pixel", "x": 3, "y": 4})
        header, _ = until(screen, ("preview", "values"), lambda h: h["index"] == 1)
        assert header["error"] == "The worker was ended by SIGKILL."
    model.act("preview", {"do": "probe_pixel", "x": 3, "y": 4})  # asked for again
    header, data = until(screen, ("preview", "values"), lambda h: not h["error"])
    assert len(data) == 224 * 224 * 3


def test_a_photo_that_a_smaller_batch_lacks_is_not_said_to_be_repeated(
    ready: tuple[ViewModel, Screen],
) -> None:
    model, screen = ready
    model.receive("preview", "repeat", 3)
    screen.wait(lambda s: s.header["repeat"] == 3, "one photo")
    model.receive("speed", "batch_size", 2)
    screen.wait(lambda s: s.header["of"] == 2, "a smaller batch")
    assert (screen.header["repeat"], screen["preview", "repeat"]) == (-1, -1)
    assert len({tile["file"] for tile in screen.header["tiles"]}) == 2
    model.receive("preview", "repeat", 999)
    assert "repeat 999" in screen["bar", "message"]
    assert screen["preview", "repeat"] == -1


def test_one_photo_many_times_and_the_difference(ready: tuple[ViewModel, Screen]) -> None:
    model, screen = ready
    file = screen.header["tiles"][3]["file"]
    model.receive("preview", "repeat", 3)
    screen.wait(lambda s: {t["file"] for t in s.header["tiles"]} == {file}, "one photo")
    assert len({tuple(tile["draws"]) for tile in screen.header["tiles"]}) == 4
    model.receive("preview", "repeat", -1)
    model.receive("preview", "mode", "difference")
    screen.wait(lambda s: s.header["baseline"] == ["resize.output"], "a difference")
    model.receive("preview", "baseline", "color")
    screen.wait(lambda s: s.header["baseline"] == ["color.output"], "another")
    model.receive("preview", "lossless", True)
    screen.wait(lambda s: s.header["mime"] == "image/x-rgba", "bare pixels")


def test_figures_of_another_graph_go_and_an_error_is_told(
    ready: tuple[ViewModel, Screen], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = ready

    def brighten(value: float) -> None:
        set_to = {"node": "color", "arg": "brightness", "value": value, "group": ""}
        model.act("inspector", {"do": "set", **set_to})

    brighten(1.5)
    model.receive("preview", "show_statistics", True)
    screen.wait(lambda s: s["preview", "statistics"], "statistics")
    screen.wait(lambda s: not s["preview", "statistics_pending"], "counted")

    hold, fails = threading.Event(), threading.Event()

    def count(engine: Any, request: Any) -> Any:
        assert hold.wait(60)
        if fails.is_set():
            raise WorkerTimeoutError("The worker gave no answer for 60 s.")
        return preview_statistics(engine, request)

    monkeypatch.setattr(auxiliary_views, "preview_statistics", count)
    brighten(0.0)
    screen.wait(lambda s: s["preview", "statistics_pending"], "statistics_pending")
    assert screen["preview", "statistics"][0]["channels"][0]["mean"] > 0, "a drag does not flicker"
    hold.set()
    screen.wait(lambda s: not s["preview", "statistics_pending"], "counted")
    assert screen["preview", "statistics"][0]["channels"][0]["mean"] == 0

    hold.clear()
    fails.set()
    model.receive("preview", "batch", 1)
    screen.wait(lambda s: s["preview", "statistics_pending"], "statistics_pending")
    assert screen["preview", "statistics"] == []
    hold.set()
    screen.wait(lambda s: s["preview", "statistics_error"], "the reason")
    assert screen["preview", "statistics_error"] == "The worker gave no answer for 60 s."
    assert not screen["preview", "statistics_pending"]

    fails.clear()
    model.act("preview", {"do": "retry"})
    screen.wait(lambda s: s["preview", "statistics"], "statistics")
    assert screen["preview", "statistics_error"] == ""

    model.receive("preview", "show_statistics", False)
    hold.clear()
    model.receive("preview", "show_statistics", True)
    assert screen["preview", "statistics"] == []
    hold.set()
    screen.wait(lambda s: s["preview", "statistics"], "statistics")
