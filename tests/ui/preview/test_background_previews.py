"""What is computed besides the sheet: cards, close-ups, statistics, shared pictures."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.engine import tasks
from tests.helpers import chain_graph, with_nodes, with_settings
from tests.ui.hosts import small
from tests.ui.jobs.fake_run import Outcomes
from tests.ui.screen import Make, Ready, edit, unpack, until
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.engine.protocol.call_handle import Caller
from workbench.engine.reading.undecodable_samples import Sample
from workbench.errors import (
    CancelledError,
    GraphError,
    PipelineError,
    WorkerLostError,
    WorkerTimeoutError,
)
from workbench.graph import Graph, Port, load_recipe
from workbench.graph.edits.edit import set_setting
from workbench.graph.model import Node
from workbench.graph.storage.layout import Document
from workbench.graph.types.typed_graph import TypedGraph
from workbench.preview import Picture, Pixels, PreviewRequest, preview_statistics
from workbench.preview.requests.share import read_shared
from workbench.ui.app.bar_actions import ShareImageJob
from workbench.ui.jobs.background_results import KINDS
from workbench.ui.preview import background_previews
from workbench.ui.state.closeup import (
    CloseupSample,
    closeup_bytes,
    closeup_choices,
    no_values_bytes,
    region_around,
    values_bytes,
)

# What is computed besides the sheet: only what is seen, and of the present graph.


@pytest.fixture
def start_graph() -> Graph:
    return small()


def test_nothing_is_computed_that_nobody_looks_at(ready: Ready) -> None:
    model, screen = ready
    model.receive("preview", "batch", 1)
    screen.wait(lambda s: s.header["batch"] == 1, "the next batch")
    assert screen["canvas", "pictures"] == screen["preview", "closeup"] == b""
    assert screen["preview", "statistics"] == []
    assert not any(map(model.background.requested_key, KINDS))


def test_cards_show_the_chosen_sample_live(ready: Ready) -> None:
    model, screen = ready
    model.act("preview", {"do": "choose_sample", "index": 2})
    assert screen["canvas", "sample"] == screen["preview", "sample"] == 2
    model.receive("canvas", "in_view", True)
    header, image = until(screen, ("canvas", "pictures"), lambda h: h["index"] == 2)
    assert image[:2] == b"\xff\xd8"
    assert (header["samples"], header["file"]) == (4, screen.header["tiles"][2]["file"])
    cards = {card["id"]: card for card in header["cards"]}
    assert cards["rotate"]["draws"] == [screen.header["tiles"][2]["draws"][0]]
    assert (cards["reader"]["box"], cards["decode"]["box"] != []) == ([], True)
    assert screen["canvas", "stale"] == ""

    edit(model, "set", node="rotate", arg="angle", value=30, group="")

    def turned(header: dict[str, Any]) -> bool:
        return next(card for card in header["cards"] if card["id"] == "rotate")["draws"] == []

    until(screen, ("canvas", "pictures"), turned)
    pictures = [each for each in screen.published if "picture" in each[1]]
    last = len(pictures) - pictures[::-1].index(("preview", "picture")) - 1
    assert ("canvas", "pictures") in pictures[last:], "the tiles go before the cards"
    edit(model, "set", node="rotate", arg="fill_value", value="blue", group="")
    assert "blue" in screen["canvas", "stale"]


def test_nodes_that_lead_to_no_output_are_pictured_unless_one_fails(ready: Ready) -> None:
    model, screen = ready
    model.receive("canvas", "in_view", True)

    def boxes(header: dict[str, Any]) -> dict[str, list[int]]:
        return {card["id"]: card["box"] for card in header["cards"]}

    place = {"do": "branch", "node": "decode", "output": "output"}
    model.act("canvas", {**place, "op": "gaussian_blur"})
    model.act("canvas", {"do": "branch", "op": "flip", "node": "gaussian_blur", "output": "output"})
    tiles = screen.header
    until(screen, ("canvas", "pictures"), lambda h: boxes(h).get("flip_2"))
    assert screen.header is tiles or screen.header["tiles"] == tiles["tiles"]
    assert model.graph.outputs == small().outputs

    sizes = {"data": Port("decode", "output"), "right": Port("resize", "output")}
    model.set_graph(with_nodes(model.graph, Node("sum", "math.add", {}, sizes)))  # they differ
    header, _ = until(screen, ("canvas", "pictures"), lambda h: "flip_2" not in boxes(h))
    assert boxes(header)["rotate"]
    assert screen["canvas", "stale"] == ""


def test_what_a_node_gives_is_there_at_once_and_its_time_soon(ready: Ready) -> None:
    model, screen = ready
    model.receive("canvas", "sample", 2)
    model.receive("canvas", "detail_of", "decode")
    header, image = until(screen, ("canvas", "detail"), lambda h: h["timing"])
    assert screen.published.count(("canvas", "detail")) >= 2
    assert image[:2] == b"\xff\xd8"
    (step,) = header["steps"]
    assert (header["node"], step["node"], header["samples"]) == ("decode", "decode", 4)
    assert step["milliseconds"] > 0
    (output,) = step["outputs"]
    assert (output["dtype"], output["values"][-3:]) == ("uint8", "255")
    assert len(output["histogram"]["channels"]) == 3
    model.receive("canvas", "detail_of", "reader")
    header, _ = until(screen, ("canvas", "detail"), lambda h: h["node"] == "reader" and h["timing"])
    (step,) = header["steps"]
    assert step["untimed"]
    assert step["outputs"][1]["text"] == screen.header["tiles"][2]["label"]
    model.receive("canvas", "detail_of", "nowhere")
    header, _ = until(screen, ("canvas", "detail"), lambda h: h["node"] == "nowhere")
    assert "'nowhere' was not run" in header["error"]
    model.receive("canvas", "detail_of", "")
    assert screen["canvas", "detail"] == b""


def test_a_close_up_follows_the_edits(ready: Ready) -> None:
    model, screen = ready
    model.act("preview", {"do": "open_closeup", "index": 1, "of": ""})
    model.act("preview", {"do": "probe_pixel", "x": 100, "y": 50})
    header, png = until(screen, ("preview", "closeup"), lambda h: h["index"] == 1)
    assert (header["of"], header["choices"]) == ("images", ["images", "original"])
    assert (header["full"], png[:4]) == ([224, 224], b"\x89PNG")
    header, data = until(screen, ("preview", "values"), lambda h: h["index"] == 1)
    before = np.frombuffer(data, np.uint8)
    assert before.size == 224 * 224 * 3
    edit(model, "set", node="color", arg="brightness", value=0.0, group="")
    screen.wait(lambda s: not any(unpack(s["preview", "values"])[1]), "black values")
    model.act("preview", {"do": "open_closeup", "index": 1, "of": "original"})
    header, _ = until(screen, ("preview", "closeup"), lambda h: h["of"] == "original")
    assert header["full"] != [224, 224]
    model.act("preview", {"do": "open_closeup", "index": -1, "of": ""})
    assert screen["preview", "closeup"] == screen["preview", "values"] == b""


def test_statistics_show_a_wrong_mean(make: Make) -> None:
    model, screen = make(graph=set_setting(load_recipe("imagenet-eval"), batch_size=16))
    model.receive("preview", "tiles", 16)
    model.receive("preview", "show_statistics", True)
    screen.wait(lambda s: s["preview", "statistics"], "statistics")
    (entry,) = screen["preview", "statistics"]
    assert (entry["dtype"], entry["hint"], len(entry["channels"])) == ("float32", "", 3)
    node = next(n.id for n in model.graph.nodes if n.op == "crop_mirror_normalize")
    mean = [0.485, 0.456, 0.406]
    edit(model, "set", node=node, arg="mean", value=mean, group="")
    screen.wait(lambda s: s["preview", "statistics"][0]["hint"], "a hint")
    assert "not 0.48" in screen["preview", "statistics"][0]["hint"]
    model.receive("preview", "show_statistics", False)
    assert screen["preview", "statistics"] == []


def test_what_a_fault_keeps_from_opening_does_not_open_later(ready: Ready) -> None:
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
    assert model.state.closeup == CloseupSample(1, "images")
    model.act("preview", {"do": "probe_pixel", "x": 3, "y": 4})
    header, _ = unpack(screen["preview", "values"])
    assert "earlier graph" in header["error"]
    model.act("preview", {"do": "open_closeup", "index": -1, "of": ""})
    assert screen["preview", "closeup"] == screen["preview", "values"] == b""


def test_values_that_could_not_be_had_say_why(
    ready: Ready, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = ready
    model.act("preview", {"do": "open_closeup", "index": 1, "of": ""})
    until(screen, ("preview", "closeup"), lambda h: h["index"] == 1)

    def ended(*arguments: Any) -> Any:
        raise WorkerLostError("The worker was terminated by SIGKILL.")

    with monkeypatch.context() as patch:
        patch.setattr("workbench.ui.preview.background_previews.preview_pixels", ended)
        model.act("preview", {"do": "probe_pixel", "x": 3, "y": 4})
        header, _ = until(screen, ("preview", "values"), lambda h: h["index"] == 1)
        assert header["error"] == "The worker was terminated by SIGKILL."
    model.act("preview", {"do": "probe_pixel", "x": 3, "y": 4})  # asked for again
    header, data = until(screen, ("preview", "values"), lambda h: not h["error"])
    assert len(data) == 224 * 224 * 3


def test_a_photo_that_a_smaller_batch_lacks_is_not_said_to_be_repeated(ready: Ready) -> None:
    model, screen = ready
    model.receive("preview", "repeat", 3)
    screen.wait(lambda s: s.header["repeat"] == 3, "one photo")
    model.receive("speed", "batch_size", 2)
    screen.wait(lambda s: s.header["of"] == 2, "a smaller batch")
    assert (screen.header["repeat"], screen["preview", "repeat"]) == (-1, -1)
    assert len({tile["file"] for tile in screen.header["tiles"]}) == 2
    model.receive("preview", "repeat", 999)
    assert "repeat cannot be 999" in screen["bar", "message"]
    assert screen["preview", "repeat"] == -1


def test_one_photo_many_times_and_the_difference(ready: Ready) -> None:
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
    ready: Ready, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = ready

    def brighten(value: float) -> None:
        edit(model, "set", node="color", arg="brightness", value=value, group="")

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

    monkeypatch.setattr(background_previews, "preview_statistics", count)
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


def test_targets_come_on_the_cards_between_and_go_where_they_are_hidden(
    make: Make, shapes: Path
) -> None:
    graph = set_setting(load_recipe("segmentation"), batch_size=4)
    model, screen = make(shapes / "segmentation", graph)
    screen.wait_ready()

    def card() -> np.ndarray[Any, Any]:
        header, image = unpack(screen["canvas", "pictures"])
        cards = {each["id"]: each["box"] for each in header["cards"]}
        x, y, width, height = cards["flip"]
        with Image.open(io.BytesIO(image)) as sheet:
            return np.asarray(sheet, int)[y : y + height, x : x + width]

    model.receive("canvas", "show_targets", False)
    model.receive("canvas", "in_view", True)
    until(screen, ("canvas", "pictures"), lambda h: h["index"] == 0)
    hidden = card()
    model.receive("preview", "show_targets", True)
    until(screen, ("canvas", "pictures"), lambda h: np.abs(card() - hidden).max() > 60)
    assert unpack(screen["canvas", "pictures"])[0]["samples"] == 4
    model.receive("canvas", "show_targets", False)
    until(screen, ("canvas", "pictures"), lambda h: np.abs(card() - hidden).max() < 30)


# One tile's picture and values, as the browser takes them.

LOOK = CloseupSample(2, "images")


@pytest.mark.parametrize(
    ("dtype", "store"),
    [
        ("uint8", "u1"),
        ("int16", "i2"),
        ("float16", "f4"),
        ("float32", "f4"),
        ("float64", "f8"),
        ("int64", "f8"),
        ("bool", "u1"),
        ("uint32", "u4"),
    ],
)
def test_values_keep_their_numbers(dtype: str, store: str) -> None:
    values = np.array([[[0, 1], [1, 0], [1, 1]]], dtype)
    header, data = unpack(values_bytes(LOOK, Pixels(values, 4, 5, (9, 9), dtype, "HWC")))
    assert (header["store"], header["dtype"], header["channels"]) == (store, dtype, 2)
    assert (header["x"], header["y"], header["region"]) == (4, 5, [3, 1])
    assert np.frombuffer(data, f"<{store}").tolist() == [0, 1, 1, 0, 1, 1]


def test_a_picture_or_why_there_is_none() -> None:
    picture = Picture(b"PNG", (2, 3), (20, 30), "shown de-normalised", Sample("a.jpg"))
    header, data = unpack(closeup_bytes(LOOK, ["images", "original"], picture))
    assert (header["full"], header["note"], data) == ([20, 30], "shown de-normalised", b"PNG")
    bad = Picture(b"PNG", (2, 3), (2, 3), "", Sample("a.jpg", "not an image"))
    header, data = unpack(closeup_bytes(LOOK, ["images"], bad))
    assert (header["error"], data) == ("not an image", b"")
    header, data = unpack(closeup_bytes(LOOK, ["images"], GraphError("no picture")))
    assert (header["error"], data) == ("no picture", b"")


def test_why_there_are_no_values() -> None:
    header, data = unpack(no_values_bytes(LOOK, (4, 5), "The worker was terminated."))
    assert (header["error"], header["region"], data) == ("The worker was terminated.", [0, 0], b"")
    assert (header["index"], header["of"], header["x"], header["y"]) == (2, "images", 4, 5)


def test_what_may_be_looked_at() -> None:
    catalog = load_catalog()
    assert closeup_choices(TypedGraph(load_recipe("simclr"), catalog)) == [
        "view_1",
        "view_2",
        "original",
    ]


def test_a_region_lies_about_its_pixel() -> None:
    assert region_around(10, 300, 256) == (0, 172)


# A shared picture is drawn with a call of its own, and never shows that another was given up.


def request_of(document: Document, photos: Path) -> PreviewRequest:
    return PreviewRequest(document.graph, str(photos), tiles=2)


@pytest.fixture
def document() -> Document:
    return Document(with_settings(chain_graph("resize"), batch_size=2))


def share_image_job(engine: Engine, outcomes: Outcomes) -> ShareImageJob:
    """A job whose outcomes are pictures, or what went wrong."""

    def done(document: Document, picture: bytes | None, wrong: str) -> None:
        outcomes(document, wrong if picture is None else picture)

    return ShareImageJob(engine, threading.RLock(), lambda: None, done)


def test_a_picture_is_drawn_with_the_graph_in_it(
    engine: Engine, document: Document, photos: Path
) -> None:
    outcomes = Outcomes()
    share_image_job(engine, outcomes).start(document, request_of(document, photos), "")
    outcomes.wait()
    assert '"op": "resize"' in read_shared(outcomes.found[0])


@pytest.mark.parametrize(
    ("error", "drawn"),
    [(PipelineError("resize: no", "resize"), True), (CancelledError("Given up."), False)],
)
def test_a_reason_is_drawn_but_no_cancellation(
    error: Exception,
    drawn: bool,
    engine: Engine,
    document: Document,
    photos: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> bytes:
        raise error

    monkeypatch.setattr("workbench.ui.app.bar_actions.share_sheet", fail)
    outcomes = Outcomes()
    share_image_job(engine, outcomes).start(document, request_of(document, photos), "")
    outcomes.wait()
    assert isinstance(outcomes.found[0], bytes) is drawn
    assert drawn or outcomes.found == [""], "nothing went wrong"


def test_what_is_drawn_ends_with_its_job_alone(
    engine: Engine, document: Document, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, ended = threading.Event(), threading.Event()

    def draw(caller: Caller, *_: Any) -> bytes:
        try:
            caller.call(tasks.wait_for_a_newer_request, on_report=lambda _: running.set())
        finally:
            ended.set()
        raise AssertionError

    monkeypatch.setattr("workbench.ui.app.bar_actions.share_sheet", draw)
    pid = engine.call(tasks.where)[0]
    outcomes = Outcomes()
    job = share_image_job(engine, outcomes)
    job.start(document, request_of(document, photos), "")
    assert running.wait(30)
    job.close()
    assert ended.wait(30)
    assert engine.call(tasks.where)[0] == pid
    job.start(document, request_of(document, photos), "")
    assert not outcomes.found, "nobody is told any more"
