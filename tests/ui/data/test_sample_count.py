"""Counting in the background: progress, a stop, and what is provisional meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sources.written import Photos, read_photos, write_tfrecord, write_webdataset
from tests.ui.hosts import small
from tests.ui.screen import Screen
from workbench.health import scan, scan_folder
from workbench.sources import load_source, open_dataset
from workbench.sources.kinds.records import tfrecord
from workbench.sources.kinds.tar import webdataset
from workbench.ui.app.view_model import ViewModel
from workbench.ui.jobs import sample_count
from workbench.ui.jobs.sample_count import SampleCount


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


@pytest.mark.parametrize(
    ("kind", "write"), [(webdataset, write_webdataset), (tfrecord, write_tfrecord)]
)
def test_pictures_are_provisional_until_the_index_is_there(
    kind: Any,
    write: Callable[[Photos, Path], Path],
    photos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    told_of_each: None,
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setattr(kind, "_LARGE", 0)
    monkeypatch.setattr(kind, "_TOLD_EACH", 1)
    shards = write(read_photos(photos), tmp_path / "shards")
    allowed = threading.Event()
    hear = SampleCount._hear

    def held_back(count: SampleCount, number: int) -> None:
        assert allowed.wait(60)
        hear(count, number)

    monkeypatch.setattr(SampleCount, "_hear", held_back)
    screen = Screen()
    model = ViewModel(shards, small(), screen.publish)
    try:
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
        model.close()


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
    index = load_source(kind).index
    assert index is not None
    assert not index.is_needed(open_dataset(shards))
    index.make(open_dataset(shards), lambda count: None)
    assert index.is_needed(open_dataset(shards))
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
    photos: Path, told_of_each: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = threading.Event()
    hear = SampleCount._hear

    def slowly(count: SampleCount, number: int) -> None:
        hear(count, number)
        if number == 5:
            assert seen.wait(60)

    monkeypatch.setattr(SampleCount, "_hear", slowly)
    screen = Screen()
    model = ViewModel(photos, small(), screen.publish)
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
        model.close()
