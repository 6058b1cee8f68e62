"""Data counted in the background, warnings before the first preview, and data within roots."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.emit.core.test_comments import WARNED, small_constants
from tests.emit.test_box_clipping import cropping, jpeg, written
from tests.sources.written import Photos, read_photos, write_tfrecord, write_webdataset
from tests.ui.hosts import small
from tests.ui.screen import Make, Screen
from workbench.catalog import Catalog
from workbench.engine.resources.machine import describe_machine
from workbench.graph import Graph, load_recipe
from workbench.health import scan, scan_folder
from workbench.roots import Roots
from workbench.samples.records import write_shard
from workbench.sources import load_source, open_dataset
from workbench.sources.kinds.records import _record_index
from workbench.ui.app.view_model import ViewModel
from workbench.ui.jobs import sample_count
from workbench.ui.jobs.sample_count import SampleCount
from workbench.ui.state.view_state import check_before_run, root_faults

# Counting in the background: progress, a stop, and what is provisional meanwhile.


@pytest.fixture
def told_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "TOLD_EACH", 1)
    monkeypatch.setattr(sample_count, "_TOLD_EVERY", 0)


class Held:
    """A count that stops itself after the first sample."""

    def __init__(self, folder: Path) -> None:
        self.told: list[int] = []
        self.done: list[Any] = []
        self.stopped, self.ended = threading.Event(), threading.Event()
        self.count = SampleCount(open_dataset(folder), None, self._hear, lambda: None, self._take)

    def _hear(self, count: int) -> None:
        self.told.append(count)
        if count == 1:
            assert not self.count.toggle()
            self.stopped.set()

    def _take(self, done: Any) -> None:
        self.done.append(done)
        self.ended.set()


@pytest.fixture
def held(photos: Path, told_of_each: None) -> Iterator[Held]:
    made = Held(photos)
    made.count.start()
    assert made.stopped.wait(60)
    yield made
    made.count.close()


def test_a_count_that_was_stopped_goes_on_from_there(held: Held, photos: Path) -> None:
    assert (held.told, held.done) == ([1], [])
    assert held.count.toggle()
    assert held.ended.wait(60)
    assert held.told == list(range(1, 121))
    assert held.done == [scan_folder(photos)]


def test_a_count_that_is_closed_tells_nothing_more(held: Held) -> None:
    held.count.close()
    (thread,) = [t for t in threading.enumerate() if t.name == "workbench-scan"] or [None]
    if thread is not None:
        thread.join(60)
    assert (held.told, held.done) == ([1], [])


@pytest.mark.parametrize("write", [write_webdataset, write_tfrecord])
def test_pictures_are_provisional_until_the_index_is_there(
    write: Callable[[Photos, Path], Path],
    make: Make,
    photos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    told_of_each: None,
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setattr(_record_index, "_LARGE", 0)
    monkeypatch.setattr(_record_index, "_REPORT_INTERVAL", 1)
    shards = write(read_photos(photos), tmp_path / "shards")
    allowed = threading.Event()
    hear = SampleCount._on_count

    def held_back(count: SampleCount, number: int) -> None:
        assert allowed.wait(60)
        hear(count, number)

    monkeypatch.setattr(SampleCount, "_on_count", held_back)
    try:
        _, screen = make(shards, small())
        screen.wait_ready()
        assert screen["bar", "status"]["text"].startswith("provisional")
        assert screen["data", "summary"]["provisional"]
        assert not screen["data", "summary"]["counted"]
        first = screen.picture
        names = [tile["file"] for tile in screen.header["tiles"]]
        allowed.set()
        screen.wait(lambda s: s["data", "summary"]["counted"], "counted")
        screen.wait_other_picture(first)
        screen.wait(lambda s: s["bar", "status"]["text"].startswith("ready"), "ready")
        assert screen["bar", "folder"].endswith("120 images")
        assert [tile["file"] for tile in screen.header["tiles"]] == names
    finally:
        allowed.set()


def test_data_that_go_while_they_are_counted_are_named(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "photos")

    monkeypatch.setattr(sample_count, "scan_folder", gone)
    held = Held(photos)
    held.count.start()
    assert held.ended.wait(60)
    assert "cannot be counted: No such file or directory. Open the data" in str(held.done[0])


@pytest.mark.parametrize(
    ("kind", "write"), [("webdataset", write_webdataset), ("tfrecord", write_tfrecord)]
)
def test_a_large_index_is_read_after_a_first_picture(
    kind: str,
    write: Callable[[Photos, Path], Path],
    photos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setattr("workbench.sources.kinds.records._record_index._LARGE_INDEX", 0)
    shards = write(read_photos(photos), tmp_path / "shards")
    source, data = load_source(kind), open_dataset(shards)
    assert not source.needs_index(data)
    source.make_index(data, lambda count: None)
    assert source.needs_index(data)
    screen, told = Screen(), []
    publish = screen.publish

    def keep(component: str, field: str, value: Any) -> None:
        if (component, field) == ("data", "summary"):
            told.append(value["provisional"])
        publish(component, field, value)

    model = ViewModel(shards, small(), keep)
    try:
        screen.wait(lambda s: s["data", "summary"]["counted"], "counted")
        screen.wait(lambda s: s["bar", "status"]["text"].startswith("ready"), "ready")
        screen.wait(lambda s: not s["data", "summary"]["provisional"], "all data")
        assert told == sorted(told, reverse=True)
        assert {True, False} == {*told}
    finally:
        model.close()


def test_the_count_is_stopped_and_gone_on_with_in_the_panel(
    make: Make, told_of_each: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = threading.Event()
    hear = SampleCount._on_count

    def slowly(count: SampleCount, number: int) -> None:
        hear(count, number)
        if number == 5:
            assert seen.wait(60)

    monkeypatch.setattr(SampleCount, "_on_count", slowly)
    model, screen = make(graph=small())
    try:
        screen.wait(lambda s: s["data", "summary"]["count"] == 5, "five")
        assert screen["bar", "folder"].endswith("5+ images")
        model.act("data", {"do": "count"})
        assert not screen["data", "summary"]["counting"]
        seen.set()
        model.act("data", {"do": "count"})
        assert screen["data", "summary"]["counting"]
        screen.wait(lambda s: s["data", "summary"]["counted"], "counted")
        assert screen["bar", "folder"].endswith("120 images")
    finally:
        seen.set()


# Warnings in the fault list before the first preview: of the graph, then of the data.


@pytest.fixture
def no_preview(monkeypatch: pytest.MonkeyPatch) -> None:
    """The previewer gets no request, so no preview is made."""
    monkeypatch.setattr("workbench.ui.jobs.previewer.Previewer.request", lambda self, request: None)


def texts(screen: Screen) -> list[str]:
    return [fault["message"] for fault in screen["bar", "faults"]]


@pytest.mark.usefixtures("no_preview")
def test_warnings_about_the_graph_need_no_preview(make: Make) -> None:
    model, screen = make(graph=small_constants())
    assert any(WARNED in text for text in texts(screen))
    assert model.state.preview is None
    assert screen["bar", "status"]["state"] != "fault"
    (warning,) = (each for each in screen["bar", "faults"] if WARNED in each["message"])
    action = {"do": "fix", "node": warning["node"], "arg": warning["arg"]}
    model.act("bar", {**action, "fix": warning["fixes"][0]})
    assert not any(WARNED in text for text in texts(screen))


@pytest.mark.usefixtures("no_preview")
def test_warnings_about_the_data_come_when_these_are_counted(make: Make, tmp_path: Path) -> None:
    place = written("coco", tmp_path, [[60.0, 10.0, 20.3, 20.0]])
    model, screen = make(place, cropping())
    screen.wait(lambda s: s["data", "summary"]["counted"], "the data counted")
    assert any("1 image has boxes beyond the edge" in text for text in texts(screen))
    assert model.state.preview is None
    sound = tmp_path / "sound"
    sound.mkdir()
    model.act("data", {"do": "open", "path": written("coco", sound, [[1.0, 1.0, 5.0, 5.0]])})
    screen.wait(lambda s: s["data", "summary"]["counted"], "the other data counted")
    assert not any("beyond the edge" in text for text in texts(screen))


@pytest.mark.usefixtures("no_preview")
def test_missing_boxes_are_a_fault_with_a_fix_and_the_panel_counts_as_the_check(
    make: Make, tmp_path: Path
) -> None:
    """Boxes of the earlier data do not make every sample of an archive bad."""
    parts = [{"jpg": jpeg(), "cls": text, "json": b"{}"} for text in (b"1", b"2", b"dog")]
    write_shard(parts, tmp_path / "a.tar")
    place = written("coco", tmp_path, [[1.0, 1.0, 5.0, 5.0]])
    model, screen = make(place, load_recipe("retinanet"))
    model.act("data", {"do": "open", "path": str(tmp_path / "a.tar")})
    screen.wait(lambda s: s["data", "summary"]["counted"], "the archive counted")
    words = "the graph reads 'boxes', but the data have none"
    (fault,) = (each for each in screen["bar", "faults"] if words in each["message"])
    assert screen["data", "summary"]["at_fault"].startswith("1 of 3 samples is unusable")
    (fix,) = fault["fixes"]
    action = {"do": "fix", "node": fault["node"], "arg": fault["arg"], "fix": fix}
    model.act("bar", action)
    assert "boxes" not in model.graph.outputs
    assert not any("boxes" in text for text in texts(screen))


# Images in memory behind the view-model: as in a kernel, and as in an app that keeps to roots.

PIXELS = np.random.default_rng(3).integers(0, 256, (9, 40, 50, 3)).astype(np.uint8)


@pytest.mark.parametrize("confined", [False, True])
def test_they_are_shown_and_counted(make: Make, tmp_path: Path, confined: bool) -> None:
    roots = Roots.of([tmp_path]) if confined else None
    data = open_dataset((PIXELS, np.arange(9)))
    model, screen = make(data=data, graph="rotate-jitter", roots=roots)
    screen.wait_ready()
    screen.wait(lambda s: len(s.header["tiles"]) == 4, "four tiles")
    assert not any(tile.get("error") for tile in screen.header["tiles"])
    assert {tile["file"] for tile in screen.header["tiles"]} <= set("012345678")
    model.data_panel.scan()
    screen.wait(lambda s: model.data_panel.view["count"] == 9, "counted")
    assert "module:factory" in model.data_panel.export_note()
    assert model.data_panel.chip == "a list of 9 images"


def test_a_page_names_no_factory(make: Make, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("raise SystemExit('it was run')\n")
    model, screen = make()
    screen.wait_ready()
    said = model.open_data({"data": f"{tmp_path}/own.py:images"})
    assert "own.py:images" in said
    assert all(dataset.kind == "folder" for dataset in model.data_panel.datasets.values())


def reading(**args: Any) -> Graph:
    graph = load_recipe("rotate-jitter")
    (source,) = graph.sources
    others = [node for node in graph.nodes if node.id != source.id]
    return replace(graph, nodes=(replace(source, args=args), *others))


@pytest.mark.parametrize(
    "args",
    [
        {"file_root": "/etc"},
        {"file_root": "{root}", "files": ("a.jpg", "../b.jpg")},
        {"file_root": "{root}/way-out"},
        {"files": ("/etc/a.jpg",)},
        {"file_root": "{root}", "file_list": "/etc/passwd"},
    ],
)
def test_files_outside_are_faults_of_their_arguments(
    args: dict[str, Any], tmp_path: Path, catalog: Catalog
) -> None:
    (tmp_path / "way-out").symlink_to("/etc")
    text = {k: v.format(root=tmp_path) if isinstance(v, str) else v for k, v in args.items()}
    graph, roots = reading(**text), Roots.of([tmp_path])
    (fault,) = root_faults(graph, roots)
    assert fault.arg in args
    assert "--root" in str(fault)
    checked = check_before_run(graph, catalog, describe_machine(), roots)
    assert fault in checked.faults
    assert checked.source is None
    assert fault not in check_before_run(graph, catalog, describe_machine()).faults


def test_files_inside_are_none(tmp_path: Path) -> None:
    roots = Roots.of([tmp_path])
    for args in ({}, {"file_root": str(tmp_path), "files": ("a.jpg", "cat/b.jpg")}):
        assert list(root_faults(reading(**args), roots)) == []
