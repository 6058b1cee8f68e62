"""One damaged byte or line in a header or an index: a verdict that names the file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.sources.written import WRITERS, read_photos
from tests.thorough import one_in
from workbench.errors import DataError
from workbench.health import check_folder
from workbench.sources import list_samples, open_dataset, require_dataset
from workbench.sources.kinds.numpy_files import NumpyFiles, array_axes
from workbench.sources.kinds.records.record_io import scan_record_file
from workbench.sources.kinds.records.tfrecord import scan_records


def test_no_damaged_byte_of_an_array_header_raises(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((6, 7, 3), np.float32))
    whole = path.read_bytes()
    faults = set()
    for place in range(128):
        for value in (*b"\x00(){}[]',-#\\:9\n\xff", whole[place] ^ 1):
            path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
            found = NumpyFiles().read_header(os.fspath(path))
            faults.add(found.fault)
            assert found.fault or min(found.size) > 0
            try:
                assert len(array_axes(os.fspath(path))) in (3, 4)
            except ValueError:
                assert whole != path.read_bytes()
    assert "its header cannot be read" in faults


def test_a_damaged_array_among_good_ones_is_named(tmp_path: Path) -> None:
    for name in "abc":
        np.save(tmp_path / f"{name}.npy", np.zeros((6, 7, 3), np.uint8))
    content = bytearray((tmp_path / "b.npy").read_bytes())
    content[content.index(b"}")] = ord("x")  # NumPy raises tokenize.TokenError
    (tmp_path / "b.npy").write_bytes(content)
    (bad,) = check_folder(str(tmp_path), full=False).bad
    assert bad.file == "b.npy"
    assert "its header cannot be read" in bad.reason


LINES = ["x 100", "-1 100", "5", "1 2 3", "", f"{2**70} 40", f"40 {2**63}", "1.5 9", "\udcff 1"]


@pytest.mark.parametrize("kind", ["tfrecord", "record_io"])
@pytest.mark.parametrize("line", one_in(3, LINES))
def test_a_damaged_line_of_an_index_is_named(
    kind: str, line: str, photos: Path, tmp_path: Path
) -> None:
    data = WRITERS[kind](read_photos(photos), tmp_path / "records")
    path = data if data.is_file() else min(data.glob("*.tfrecord"))
    scan = {"tfrecord": scan_records, "record_io": scan_record_file}[kind]
    lines = [f"{first} {second}" for first, second in scan(str(path))]
    lines[3] = line
    index = path.with_suffix(".idx")
    index.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogateescape")
    for read in (require_dataset, lambda dataset: list(list_samples(dataset))):
        with pytest.raises(DataError, match=f"index of .* is damaged: line 4 of {index}"):
            read(open_dataset(data))


@pytest.mark.parametrize("entry", one_in(2, ["0 9000000000000", "9000000000000 40", "3 40", "0 1"]))
def test_an_entry_that_no_record_has_is_a_bad_sample(
    entry: str, photos: Path, tmp_path: Path
) -> None:
    data = WRITERS["tfrecord"](read_photos(photos), tmp_path / "records")
    path = data if data.is_file() else min(data.glob("*.tfrecord"))
    lines = [f"{offset} {size}" for offset, size in scan_records(str(path))]
    lines[3] = entry
    path.with_suffix(".idx").write_text("\n".join(lines) + "\n")
    (bad,) = [sample for sample in list_samples(open_dataset(data)) if sample.fault]
    assert bad.name == f"{path.name} at index {entry.split()[0]}"


@pytest.mark.parametrize(
    ("kind", "index"),
    [
        ("tfrecord", "0 99\n"),
        ("record_io", "0\t0\n1\t33\n"),
        ("webdataset", "v1.2 1\njpg 1024 9 0\n"),
    ],
)
def test_the_index_of_another_file_is_named(
    kind: str, index: str, photos: Path, tmp_path: Path
) -> None:
    data = WRITERS[kind](read_photos(photos)[:4], tmp_path / "records")
    path = data if data.is_file() else min(data.iterdir())
    path.with_suffix(".idx").write_text(index)
    for read in (require_dataset, lambda dataset: next(list_samples(dataset))):
        with pytest.raises(DataError, match=r"is the index of another (file|archive)"):
            read(open_dataset(path))
