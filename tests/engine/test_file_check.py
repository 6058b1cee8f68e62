"""A file's header and end, looked at without trust in the file."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.engine.file_checks import file_check
from workbench.engine.file_checks.file_check import check_header
from workbench.sources import Sample

_CHECK_OFTEN = """
import sys
from workbench.engine.file_checks.file_check import check_header
from workbench.sources import Sample
print("begins", flush=True)
for _ in range(100):
    check_header(Sample(sys.argv[1], "photo.jpg", 0))
"""


@pytest.fixture
def photo(photos: Path, tmp_path: Path) -> Path:
    found = tmp_path / "photo.jpg"
    found.write_bytes(next(photos.rglob("*.jpg")).read_bytes())
    return found


def kinds(path: Path) -> list[str]:
    return [finding.kind for finding in check_header(Sample(str(path), path.name, 0)).findings]


def test_a_file_that_shrinks_meanwhile_does_not_end_the_process(photo: Path) -> None:
    photo.write_bytes(photo.read_bytes()[:-2])
    size = photo.stat().st_size
    command = [sys.executable, "-c", _CHECK_OFTEN, str(photo)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as checking:
        assert checking.stdout is not None
        checking.stdout.readline()
        while checking.poll() is None:
            os.truncate(photo, 2**25)
            os.truncate(photo, size)
    assert checking.returncode == 0


@pytest.mark.parametrize("behind", [0, 7, 11, 98, 99, 100, 101, 5_000])
def test_the_end_is_found_whatever_follows_it(
    behind: int, photo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_check, "_READ_AT_ONCE", 100)
    whole = photo.read_bytes()
    photo.write_bytes(whole + bytes(behind))
    assert kinds(photo) == []
    photo.write_bytes(whole[:-2] + bytes(behind))
    assert kinds(photo) == ["cut short"]


def test_the_end_is_looked_for_behind_the_header_only() -> None:
    file = io.BytesIO(b"\xff\xd9" + bytes(300))
    file.seek(2)
    assert not file_check._has_trailer(file, b"\xff\xd9")
