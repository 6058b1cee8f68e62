"""Data files while they are read: a changed data set, and links that are swapped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers import chain_graph, with_settings
from workbench.catalog import Catalog
from workbench.engine.reading import dataset_watcher as module
from workbench.engine.reading.dataset_watcher import DatasetWatcher
from workbench.engine.reading.reader_cursor import ReadBatch, ReaderCursor
from workbench.engine.resources.root_guard import CHANGED, outside_roots, require_inside
from workbench.engine.run.runner import Result, Runner
from workbench.errors import DataError
from workbench.graph import Graph
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.roots import Roots
from workbench.sources import Dataset, open_datasets


@pytest.fixture
def data(tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root folder with a photo and a link to another one, and a secret outside."""
    first, second, secret, *_ = sorted(photos.glob("*/*.jpg"))
    inside = tmp_path / "inside"
    (inside / "real").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    shutil.copy(first, inside / "real" / "a.jpg")
    shutil.copy(second, inside / "real" / "b.jpg")
    (inside / "link").symlink_to(inside / "real")
    shutil.copy(secret, tmp_path / "outside" / "a.jpg")
    shutil.copy(secret, tmp_path / "outside" / "b.jpg")
    for name, value in Roots.of([inside]).environment.items():
        monkeypatch.setenv(name, value)
    return inside


def lead(link: Path, to: Path) -> None:
    """Have the link lead there, in one step."""
    fresh = link.with_name("fresh")
    fresh.symlink_to(to)
    fresh.replace(link)


def naming(**args: Any) -> Graph:
    graph = with_settings(chain_graph(), batch_size=2)
    (source,) = graph.sources
    others = [node for node in graph.nodes if node.id != source.id]
    return replace(graph, nodes=(replace(source, args=args), *others))


def look(catalog: Catalog, graph: Graph, data: Path) -> Result:
    runner = Runner(catalog)
    ports = list(graph.outputs.values())
    try:
        return runner.run(graph, str(data), 0, 2, ports)
    finally:
        runner.forget()


def reads(before: Callable[[], None], after: Callable[[], None]) -> Callable[..., ReadBatch]:
    batch = ReaderCursor.batch

    def read(cursor: ReaderCursor, index: int) -> ReadBatch:
        before()
        try:
            return batch(cursor, index)
        finally:
            after()

    return read


def graphs(data: Path) -> dict[str, tuple[Graph, Path]]:
    linked = str(data / "link")
    return {
        "of the data": (with_settings(chain_graph(), batch_size=2), data / "link"),
        "its own file_root": (naming(file_root=linked, files=("a.jpg", "b.jpg")), data),
        "its own files": (naming(files=(f"{linked}/a.jpg", f"{linked}/b.jpg")), data),
    }


@pytest.mark.parametrize("kind", ["its own file_root", "its own files"])
def test_what_was_read_from_outside_is_not_shown(
    kind: str, data: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Swapped when the app has looked, and back again before the worker looks once more."""
    graph, folder = graphs(data)[kind]
    assert not any(sample.error for sample in look(catalog, graph, folder).samples)
    monkeypatch.setattr(
        ReaderCursor,
        "batch",
        reads(
            lambda: lead(data / "link", data.parent / "outside"),
            lambda: lead(data / "link", data / "real"),
        ),
    )
    found = look(catalog, graph, folder)
    assert [sample.error for sample in found.samples] == [CHANGED, CHANGED]


@pytest.mark.parametrize("kind", ["of the data", "its own file_root"])
def test_a_folder_that_leads_out_by_now_is_not_read(
    kind: str, data: Path, catalog: Catalog
) -> None:
    graph, folder = graphs(data)[kind]
    lead(data / "link", data.parent / "outside")
    with pytest.raises(DataError, match=r"symbolic link to a place outside .*--root"):
        look(catalog, graph, folder)


def test_files_that_lead_out_by_now_are_left_out(data: Path, catalog: Catalog) -> None:
    graph, folder = graphs(data)["its own files"]
    lead(data / "link", data.parent / "outside")
    found = look(catalog, graph, folder)
    assert ["symbolic link" in sample.error for sample in found.samples] == [True, True]


def test_lists_and_folders_are_looked_at_before_they_are_read(data: Path) -> None:
    (source,) = naming(file_root=str(data), file_list="/etc/passwd").sources
    with pytest.raises(DataError, match="/etc/passwd cannot be opened"):
        require_inside(source, None)
    (source,) = naming(file_root=str(data)).sources
    require_inside(source, Dataset("folder", str(data)))
    with pytest.raises(DataError, match="cannot be opened"):
        require_inside(source, Dataset("folder", str(data.parent)))


def test_of_a_kernel_nothing_is_asked(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Roots.of([data]).environment:
        monkeypatch.delenv(name)
    require_inside(naming(file_root="/etc").sources[0], None)
    assert outside_roots(["/etc/hostname"], str(data), [None]) == {}


def test_files_outside_are_told(data: Path) -> None:
    (data / "link.jpg").symlink_to("/etc/hostname")
    held = np.frombuffer((data / "real" / "a.jpg").read_bytes(), np.uint8)
    files = ["real/a.jpg", "link.jpg", "../b.jpg", "/etc/hostname", "real/none.jpg", "real/b.jpg"]
    told = outside_roots(files, str(data), [held, held, None, None, None, held])
    assert list(told) == [*files[1:4], "real/b.jpg"]
    assert "symbolic link" in told["link.jpg"]
    assert told["real/b.jpg"] == CHANGED


@pytest.mark.parametrize("there_before", [True, False])
def test_arrays_outside_are_not_shown(
    data: Path, tmp_path: Path, catalog: Catalog, there_before: bool
) -> None:
    folder, secret = data / "arrays", tmp_path / "outside" / "a.npy"
    folder.mkdir()
    np.save(folder / "0.npy", np.zeros((40, 40, 3), np.uint8))
    np.save(secret, np.ones((40, 40, 3), np.uint8))
    link = folder / "1.npy"
    link.symlink_to(secret if there_before else folder / "0.npy")
    graph = with_settings(chain_graph(), batch_size=2)
    made = with_datasets(graph, open_datasets(str(folder)))
    runner = Runner(catalog)
    try:
        if not there_before:
            runner.run(made, str(folder), 0, 2, list(made.outputs.values()))
            lead(link, secret)
        with pytest.raises(DataError, match=r"1\.npy cannot be"):
            runner.run(made, str(folder), 1, 2, list(made.outputs.values()))
    finally:
        runner.forget()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a/1.jpg", "a/2.jpg", "b/3.jpg"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
    return tmp_path


@pytest.fixture
def watcher(folder: Path) -> DatasetWatcher:
    watcher = DatasetWatcher(Dataset("folder", str(folder)))
    assert not watcher.has_changed([])
    assert not watcher.remember({"a/1.jpg": 7, "b/3.jpg": 7})
    return watcher


FILES = ["a/1.jpg", "a/2.jpg", "b/3.jpg"]


def test_nothing_changed(watcher: DatasetWatcher) -> None:
    version = watcher.version
    for _ in range(3):
        assert not watcher.has_changed(FILES)
    assert watcher.version == version


@pytest.mark.parametrize("change", ["content", "size", "touch", "remove", "replace"])
def test_a_file_that_was_read(change: str, watcher: DatasetWatcher, folder: Path) -> None:
    path, version = folder / "b/3.jpg", watcher.version
    stat = path.stat()
    match change:
        case "content":
            path.write_text("B/3.JPG")
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
        case "size":
            path.write_text("longer than before")
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        case "touch":
            os.utime(path)
        case "remove":
            path.unlink()
        case "replace":
            (folder / "new").write_text("b/3.jpg")
            os.replace(folder / "new", path)
    assert watcher.has_changed(FILES)
    assert watcher.version != version
    assert not watcher.has_changed(FILES), "once"


def test_a_file_of_another_batch_is_not_looked_at(watcher: DatasetWatcher, folder: Path) -> None:
    path = folder / "b/3.jpg"
    path.write_text("changed in place")
    assert not watcher.has_changed(["a/1.jpg"])
    assert watcher.has_changed(["b/3.jpg"])


@pytest.mark.parametrize("change", ["new file", "file gone", "new class", "class gone", "all gone"])
def test_the_folder(change: str, watcher: DatasetWatcher, folder: Path) -> None:
    match change:
        case "new file":
            (folder / "a/0.jpg").write_text("")
        case "file gone":
            (folder / "a/2.jpg").unlink()
        case "new class":
            (folder / "c").mkdir()
        case "class gone":
            (folder / "b").rename(folder.parent / "elsewhere")
        case "all gone":
            folder.rename(folder.parent / "gone")
    assert watcher.has_changed(["a/1.jpg"])
    assert not watcher.has_changed(["a/1.jpg"])


def test_a_file_that_changes_while_it_is_read(watcher: DatasetWatcher) -> None:
    assert watcher.remember({"a/2.jpg": 3})
    assert not watcher.remember({"a/2.jpg": 7})
    assert not watcher.remember({"a/gone.jpg": 3})


def test_two_watches_never_share_a_version(folder: Path) -> None:
    assert (
        DatasetWatcher(Dataset("folder", str(folder))).version
        != DatasetWatcher(Dataset("folder", str(folder))).version
    )


def test_a_slow_folder_is_looked_at_rarely(
    watcher: DatasetWatcher, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    stamp = module._stamp

    def slow(path: str) -> module.Stamp:
        clock[0] += 0.05
        return stamp(path)

    monkeypatch.setattr(module, "_stamp", slow)
    start = clock[0]
    assert not watcher.has_changed(FILES)
    took = clock[0] - start
    (folder / "a/0.jpg").write_text("")
    clock[0] += 50 * took
    assert not watcher.has_changed(FILES), "it rests"
    clock[0] += 50 * took
    assert watcher.has_changed(FILES)


def test_a_list_of_files(tmp_path: Path) -> None:
    listed = tmp_path / "list.txt"
    (tmp_path / "1.jpg").write_text("photo")
    listed.write_text("1.jpg 0\n")
    watcher = DatasetWatcher(Dataset("file_list", str(listed)))
    assert not watcher.has_changed([])
    assert not watcher.remember({"1.jpg": 5})
    assert not watcher.has_changed(["1.jpg"])
    listed.write_text("1.jpg 0\n1.jpg 1\n")
    assert watcher.has_changed(["1.jpg"])


@pytest.mark.parametrize("kind", ["yolo", "voc", "image_masks"])
def test_a_label_file_or_mask_that_is_edited_in_place(
    kind: str, shapes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SHARE", 1e9)  # each call checks
    data, inner = {
        "yolo": ("yolo", "labels"),
        "voc": ("voc", "Annotations"),
        "image_masks": ("segmentation", "masks"),
    }[kind]
    shutil.copytree(shapes / data, tmp_path / "data")
    watcher = DatasetWatcher(Dataset(kind, str(tmp_path / "data")))
    assert not watcher.has_changed([])
    with open(min((tmp_path / "data" / inner).iterdir()), "ab") as file:
        file.write(b" ")
    assert watcher.has_changed([])
