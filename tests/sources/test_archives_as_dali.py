"""Archives and records are grouped as DALI does, and compressed ones are named."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from workbench.errors import DataError
from workbench.health import check_folder
from workbench.samples.records import example, framed
from workbench.sources import list_samples, open_dataset, require_dataset


def photo() -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((8, 8, 3), 90, np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()


def archive(path: Path, *names: str) -> Path:
    with tarfile.open(path, "w") as opened:
        for name in names:
            content = b"1" if name.lower().endswith("cls") else photo()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            opened.addfile(entry, io.BytesIO(content))
    return path


@pytest.mark.parametrize("hidden", ["._0.jpg", ".DS_Store", "a/._0.jpg"])
def test_a_hidden_first_file_of_an_archive_is_bad(tmp_path: Path, hidden: str) -> None:
    path = archive(tmp_path / "a.tar", hidden, "a/0.jpg", "a/0.cls", "a/1.jpg", "a/1.cls")
    found = check_folder(str(path), full=False)
    assert [one.file.rsplit(":", 1)[1] for one in found.bad] == [hidden]
    assert found.count == 2
    later = archive(tmp_path / "b.tar", "a/0.jpg", "a/0.cls", hidden, "a/1.jpg", "a/1.cls")
    assert not check_folder(str(later), full=False).bad


def test_of_a_component_that_is_there_several_times_the_others_are_named(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar", "0.jpg", "0.jpg", "0.png", "0.cls")
    found = check_folder(str(path), full=False)
    assert (found.count, len(found.bad)) == (1, 2)
    assert "DALI reads the first" in found.bad[0].reason
    first = next(iter(list_samples(open_dataset(path))))
    assert first.offset == tarfile.BLOCKSIZE


def test_components_in_capitals_are_read(tmp_path: Path) -> None:
    from workbench.catalog import load_catalog
    from workbench.sources import load_source

    path = archive(tmp_path / "a.tar", "0.JPG", "0.CLS")
    assert not check_folder(str(path), full=False).bad
    assert "case_sensitive_extensions" in load_catalog()["readers.webdataset"].args
    assert 'options.setdefault("case_sensitive_extensions", False)' in (
        load_source("webdataset").find_source
    )


@pytest.mark.parametrize(
    ("name", "compress"),
    [("gzip", gzip.compress), ("bzip2", bz2.compress), ("xz", lzma.compress)],
)
def test_compressed_files_are_named(
    tmp_path: Path, name: str, compress: Callable[[bytes], bytes]
) -> None:
    plain = archive(tmp_path / "plain.tar", "0.jpg", "0.cls").read_bytes()
    for file in ("a.tar", "a.tar.gz", "a.tfrecord"):
        path = tmp_path / file
        path.write_bytes(compress(plain))
        with pytest.raises(DataError, match=rf"compressed \({name}\).*Decompress it"):
            require_dataset(open_dataset(path))


def test_records_that_tensorflow_compressed_with_zlib_are_named(tmp_path: Path) -> None:
    record = framed(example({"image": photo(), "label": [1]}))
    path = tmp_path / "a.tfrecord"
    path.write_bytes(zlib.compress(record))
    with pytest.raises(DataError, match=r"compressed \(zlib\)"):
        require_dataset(open_dataset(path))


def test_two_labels_in_a_record_are_a_fault(tmp_path: Path) -> None:
    good = framed(example({"image": photo(), "label": [1]}))
    path = tmp_path / "a.tfrecord"
    path.write_bytes(good + framed(example({"image": photo(), "label": [1, 2]})) + good)
    (bad,) = check_folder(str(path), full=False).bad
    assert "its feature label has 2 values" in bad.reason
