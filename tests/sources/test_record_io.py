"""A folder with a RecordIO file is that file; with several it says which DALI could read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from workbench.errors import DataError
from workbench.sources import list_samples, open_dataset, require_dataset, write_without
from workbench.sources.kinds.records.record_io import find_record_file


def test_a_folder_with_one_file_is_that_file(shapes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "records"
    shutil.copytree(shapes / "recordio", folder)
    file = folder / "samples.rec"
    (folder / "samples.lst").write_text("0\t1\tphoto.jpg\n")
    dataset = open_dataset(folder)
    assert dataset.kind == "record_io"
    require_dataset(dataset)
    assert find_record_file(str(folder)) == find_record_file(str(file))
    assert [*list_samples(dataset)] == [*list_samples(open_dataset(file))]
    name = next(list_samples(dataset)).name
    left = open_dataset(write_without(dataset, [name], tmp_path / "left"))
    assert [each.name for each in list_samples(left)] == [
        each.name for each in list_samples(dataset) if each.name != name
    ]


def test_of_a_folder_with_several_one_is_to_be_given(shapes: Path, tmp_path: Path) -> None:
    for name in ("train.rec", "val.rec"):
        shutil.copy(shapes / "recordio" / "samples.rec", tmp_path / name)
    with pytest.raises(DataError, match=r"2 RecordIO files \(train.rec, val.rec\); DALI reads one"):
        require_dataset(open_dataset(tmp_path))
