from pathlib import Path

import pytest

from workbench.errors import CancelledError, DataError
from workbench.health import check_folder


def test_good_photos_are_good(photos: Path) -> None:
    done: list[int] = []
    assert check_folder(str(photos), done.append) == []
    assert done == list(range(1, len(list(photos.rglob("*.jpg"))) + 1))


def test_bad_files_are_named_with_the_reason(tmp_path: Path, photos: Path) -> None:
    good = next(photos.rglob("*.jpg")).read_bytes()
    (tmp_path / "c").mkdir()
    for name, content in {
        "good.jpg": good,
        "half.jpg": good[: len(good) // 2],
        "text.jpg": b"hello",
        "zero.png": b"",
    }.items():
        (tmp_path / "c" / name).write_bytes(content)
    (tmp_path / "c" / "gone.jpg").symlink_to(tmp_path / "nowhere")
    bad = {file.file: file.reason for file in check_folder(str(tmp_path))}
    assert bad.keys() == {f"c/{name}" for name in ("half.jpg", "text.jpg", "zero.png", "gone.jpg")}
    assert "ends early" in bad["c/half.jpg"]
    assert "text" in bad["c/text.jpg"]
    assert "empty" in bad["c/zero.png"]
    assert "No such file" in bad["c/gone.jpg"]


def test_a_check_can_be_stopped(photos: Path) -> None:
    done: list[int] = []
    with pytest.raises(CancelledError):
        check_folder(str(photos), done.append, stop=lambda: len(done) >= 5)
    assert len(done) == 5


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        check_folder(str(tmp_path / "missing"))
