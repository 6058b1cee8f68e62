from __future__ import annotations

import os
from pathlib import Path

import pytest

from workbench.engine.reading import open_readers as module
from workbench.engine.reading.open_readers import DatasetWatcher
from workbench.sources import Dataset


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
    assert not watcher.look([])
    assert not watcher.remember({"a/1.jpg": 7, "b/3.jpg": 7})
    return watcher


FILES = ["a/1.jpg", "a/2.jpg", "b/3.jpg"]


def test_nothing_changed(watcher: DatasetWatcher) -> None:
    version = watcher.version
    for _ in range(3):
        assert not watcher.look(FILES)
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
    assert watcher.look(FILES)
    assert watcher.version != version
    assert not watcher.look(FILES), "once"


def test_a_file_of_another_batch_is_not_looked_at(watcher: DatasetWatcher, folder: Path) -> None:
    path = folder / "b/3.jpg"
    path.write_text("changed in place")
    assert not watcher.look(["a/1.jpg"])
    assert watcher.look(["b/3.jpg"])


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
    assert watcher.look(["a/1.jpg"])
    assert not watcher.look(["a/1.jpg"])


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
    assert not watcher.look(FILES)
    took = clock[0] - start
    (folder / "a/0.jpg").write_text("")
    clock[0] += 50 * took
    assert not watcher.look(FILES), "it rests"
    clock[0] += 50 * took
    assert watcher.look(FILES)


def test_a_list_of_files(tmp_path: Path) -> None:
    listed = tmp_path / "list.txt"
    (tmp_path / "1.jpg").write_text("photo")
    listed.write_text("1.jpg 0\n")
    watcher = DatasetWatcher(Dataset("file_list", str(listed)))
    assert not watcher.look([])
    assert not watcher.remember({"1.jpg": 5})
    assert not watcher.look(["1.jpg"])
    listed.write_text("1.jpg 0\n1.jpg 1\n")
    assert watcher.look(["1.jpg"])
