from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.written import example
from workbench.errors import DataError
from workbench.samples import records
from workbench.samples.records import framed
from workbench.sources import open_dataset, require_dataset

TEXT_LABEL = records.example({"image": b"\xff\xd8\xff\xd9", "image/class": b"dog"})
RECORD = framed(example(b"\xff\xd8\xff\xd9", 3))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (RECORD[:-3], "the record at byte 0 is cut short"),
        (framed(example(b"text", 3)), r"found: image/class/label \(int64\), image/encoded"),
        (framed(TEXT_LABEL), "its feature image/class is bytes, and a label is int64"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(content)
    with pytest.raises(DataError, match=words):
        require_dataset(open_dataset(path))
