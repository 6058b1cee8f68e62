from pathlib import Path

import pytest

from workbench.errors import CancelledError, DataError
from workbench.health import check_folder


def test_good_photos_are_good(photos: Path) -> None:
    done: list[tuple[int, int]] = []
    found = check_folder(str(photos), lambda *both: done.append(both))
    assert (found.bad, found.of_level("damaged")) == ((), ())
    total = len(list(photos.rglob("*.jpg")))
    assert (found.count, found.full) == (total, True)
    assert done == [(number, total) for number in range(total + 1)]


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
    bad = {file.file: file.reason for file in check_folder(str(tmp_path), full=False).bad}
    assert bad.keys() == {f"c/{name}" for name in ("half.jpg", "text.jpg", "zero.png", "gone.jpg")}
    assert "ends early" in bad["c/half.jpg"]
    assert "text" in bad["c/text.jpg"]
    assert "empty" in bad["c/zero.png"]
    assert "No such file" in bad["c/gone.jpg"]


def test_a_check_can_be_stopped(photos: Path) -> None:
    done: list[int] = []
    with pytest.raises(CancelledError):
        check_folder(
            str(photos), lambda now, _: done.append(now), stop=lambda: len(done) > 5, full=False
        )
    assert done == [0, 1, 2, 3, 4, 5]


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        check_folder(str(tmp_path / "missing"))
