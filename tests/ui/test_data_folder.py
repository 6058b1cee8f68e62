"""The data folder of a view-model: opened, replaced, and changed behind its back."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.ui.hosts import small
from tests.ui.screen import Screen
from workbench.ui.model import ViewModel

Make = Callable[[Path], tuple[ViewModel, Screen]]


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[ViewModel] = []

    def make(data: Path) -> tuple[ViewModel, Screen]:
        screen = Screen()
        made.append(ViewModel(data, small(), screen.publish))
        return made[-1], screen

    yield make
    for model in made:
        model.close()


@pytest.mark.parametrize("folder", ["missing", "empty", "textual", "file"])
def test_a_folder_that_cannot_be_used_is_told(make: Make, tmp_path: Path, folder: str) -> None:
    path = tmp_path / folder
    if folder == "file":
        path.write_text("x")
    elif folder != "missing":
        path.mkdir()
    if folder == "textual":
        (path / "notes.txt").write_text("no image")
    model, screen = make(path)
    assert str(path) in screen["data", "summary"]["error"]
    assert screen["preview", "stale"] == screen["data", "summary"]["error"]
    assert screen["bar", "status"] == {"state": "fault", "text": "no images"}
    assert model.engine.pid is None


def test_another_folder_is_opened(make: Make, photos: Path, tmp_path: Path) -> None:
    model, screen = make(tmp_path)
    model.act("data", {"do": "open", "path": str(photos)})
    screen.wait_ready()
    assert screen.header["tiles"][0]["error"] == ""
    model.act("data", {"do": "open", "path": str(tmp_path / "gone")})
    assert "gone" in screen["bar", "message"]
    assert screen.picture


def test_files_that_go_are_counted_anew_with_the_next_picture(
    make: Make, photos: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "some"
    shutil.copytree(photos / "cat", folder / "cat")
    files = sorted((folder / "cat").iterdir())
    model, screen = make(folder)
    screen.wait_ready()
    screen.wait(lambda s: f"{len(files)} images" in s["bar", "folder"], "the first count")
    model.act("data", {"do": "check"})
    screen.wait(lambda s: s["data", "summary"]["checked"], "the check")
    files[0].unlink()
    model.act("inspector", {"do": "set", "node": "rotate", "arg": "angle", "value": 3, "group": ""})
    screen.wait(lambda s: f"{len(files) - 1} images" in s["bar", "folder"], "the second count")
    assert not screen["data", "summary"]["checked"]
