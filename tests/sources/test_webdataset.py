from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from workbench.errors import DataError
from workbench.samples.records import add_to_tar
from workbench.sources import open_dataset, require_dataset

JPEG = b"\xff\xd8\xff\xd9"


def write(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            add_to_tar(archive, name, content)
    return path


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "is empty"),
        ({"0.cls": b"1"}, "of the sample 0, .* it has no image"),
        ({"0.jpg": JPEG, "0.cls": b"dog"}, "its cls is 'dog'.* digits alone"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, files: dict[str, bytes], words: str) -> None:
    with pytest.raises(DataError, match=words):
        require_dataset(open_dataset(write(tmp_path / "a.tar", files)))


def test_the_index_of_another_archive_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar", {"0.jpg": JPEG})
    (tmp_path / "a.idx").write_text("v1.2 1\njpg 1024 9 0.jpg\n")
    with pytest.raises(DataError, match="is the index of another archive"):
        require_dataset(open_dataset(path))
