from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from workbench.errors import DataError
from workbench.sources import (
    Dataset,
    describe_datasets,
    every_sample,
    kind_of_reader,
    load_source,
    open_dataset,
    open_datasets,
    source_kinds,
    unreadable_reason,
)


def test_kinds_are_the_modules_and_each_says_all() -> None:
    assert source_kinds()[0] == "folder"
    assert "file_list" in source_kinds()
    for kind in source_kinds():
        source = load_source(kind)
        assert source.about
        assert f"def {source.find.__name__}(" in source.find_source
        assert source.find_source.endswith("\n")
        compile(source.find_source, kind, "exec")
    assert kind_of_reader("readers.file") == "folder"
    assert kind_of_reader("readers.tfrecord") == "tfrecord"
    assert kind_of_reader("readers.caffe2") == "caffe2_lmdb"
    assert kind_of_reader("readers.sequence") == ""


def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(DataError, match="Did you mean file_list"):
        load_source("filelist")
    with pytest.raises(DataError, match=f"There are {', '.join(source_kinds())}"):
        load_source("zzz")


def test_a_path_says_of_which_kind_it_is(tmp_path: Path) -> None:
    (tmp_path / "list.txt").touch()
    (tmp_path / "folder.csv").mkdir()
    assert open_dataset(tmp_path) == Dataset("folder", str(tmp_path))
    assert open_dataset(tmp_path / "list.txt").kind == "file_list"
    assert open_dataset(tmp_path / "folder.csv").kind == "folder"
    assert open_dataset(tmp_path / "missing").kind == "folder"
    assert open_dataset("~/x").location == str(Path.home() / "x")
    same = open_dataset(tmp_path)
    assert open_dataset(same) is same


def test_a_path_that_fits_several_kinds_is_of_the_narrowest(shapes: Path, tmp_path: Path) -> None:
    found = {each.name: open_dataset(each).kind for each in shapes.iterdir() if each.is_dir()}
    assert found == {
        "caffe": "caffe_lmdb",  # Caffe2's take any LMDB
        "caffe2": "caffe2_lmdb",
        "coco": "folder",
        "frames": "video_frames",
        "numpy": "numpy_files",
        "recordio": "record_io",
        "segmentation": "image_masks",
        "tfrecord": "tfrecord",
        "video": "video",
        "volumes": "numpy_files",  # though its folders are called images and masks
        "webdataset": "webdataset",
    }
    assert open_dataset(shapes / "coco" / "annotations.json").kind == "coco"
    assert open_dataset(shapes / "coco" / "keypoints.json").kind == "coco_keypoints"
    for name in ("a.tar", "b.npy", "c.avi"):
        (tmp_path / name).touch()
    assert open_dataset(tmp_path).kind == "webdataset"
    (tmp_path / "a.tar").unlink()
    assert open_dataset(tmp_path).kind == "numpy_files"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", "The path of the data is empty"),
        (3, "int is no data to read"),
        (None, "NoneType is no data to read"),
        ({"a.jpg": 1}, "dict is no data to read"),
        ([], "The list is empty. Give at least one path or image"),
        ([3], "Item 0 is 3 (int), which is no image"),
        ([("a.jpg", 1.5)], "is no file. Give paths, or pairs of a path and a label"),
        ([("a.jpg", "")], "is no file"),
        ([("a.jpg", 1, 2)], "is no file"),
        ([("a.jpg", 0), None], "None is no file"),
    ],
)
def test_what_is_no_data(data: Any, words: str) -> None:
    with pytest.raises(DataError) as caught:
        open_dataset(data)
    assert words in str(caught.value)


def test_data_by_parameter(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("b.jpg 2\n")
    (tmp_path / "a.jpg").touch()
    one = open_datasets(tmp_path)
    assert list(one) == ["data"]
    assert describe_datasets(one) == str(tmp_path)
    two = open_datasets({"data": tmp_path, "others": tmp_path / "list.txt"})
    assert describe_datasets(two) == f"data={tmp_path}, others={tmp_path}/list.txt"
    assert [(file.name, file.label) for file in every_sample(two)] == [("a.jpg", 0), ("b.jpg", 2)]
    with pytest.raises(DataError, match="is no data to read"):
        open_datasets({"data": tmp_path, "others": 3})  # type: ignore[dict-item]


def test_equal_data_have_one_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_dataset(".").identity == open_dataset(tmp_path).identity
    assert open_dataset(["a.jpg"]).identity == open_dataset([(tmp_path / "a.jpg", 0)]).identity
    assert open_dataset(["a.jpg"]).identity != open_dataset(["b.jpg"]).identity


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    """A list may name a folder: it is one bad tile, and the others are shown."""
    assert unreadable_reason(str(tmp_path)) == "it is a folder"
    assert unreadable_reason(os.devnull) == "it is no file"


def test_exported_programs_tell_by_the_function_which_kind_reads() -> None:
    names = [load_source(kind).find.__name__ for kind in source_kinds()]
    assert len(set(names)) == len(names)
