"""Junk in data folders: every source and exported program skips the same files and reports them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from tests.helpers import import_script
from tests.sources.clips import jpeg
from tests.sources.written import WRITERS
from workbench.emit.targets import export
from workbench.errors import DataError
from workbench.preview.verify import verify
from workbench.sources import (
    Dataset,
    class_names,
    describe_not_read,
    list_samples,
    load_source,
    open_dataset,
    require_dataset,
)
from workbench.sources.trees import find_datasets

PHOTO = jpeg(np.full((8, 8, 3), 90, np.uint8))
CLASSES = ("bee", "cat")


def write_classes(suffix: str, content: bytes = b"") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        for path in (folder / name / f"{n}{suffix}" for name in CLASSES for n in range(2)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return folder

    return write


def write_arrays(folder: Path) -> Path:
    for name in CLASSES:
        (folder / name).mkdir(parents=True)
        np.save(folder / name / "0.npy", np.zeros((4, 4, 3), np.uint8))
    return folder


def write_frames(folder: Path) -> Path:
    for path in (folder / name / "clip" / f"{n}.jpg" for name in CLASSES for n in range(3)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(PHOTO)
    return folder


def write_masks(folder: Path) -> Path:
    for name in ("images", "masks"):
        (folder / name).mkdir(parents=True)
        Image.fromarray(np.zeros((8, 8), np.uint8)).save(folder / name / "0.png")
    return folder


def write_yolo(folder: Path) -> Path:
    for name in ("images", "labels"):
        (folder / name).mkdir(parents=True)
    for n in range(2):
        (folder / "images" / f"{n}.jpg").write_bytes(PHOTO)
        (folder / "labels" / f"{n}.txt").write_text("0 0.5 0.5 0.5 0.5")
    return folder


def write_voc(folder: Path) -> Path:
    for name in ("JPEGImages", "Annotations"):
        (folder / name).mkdir(parents=True)
    box = "<xmin>1</xmin><ymin>1</ymin><xmax>4</xmax><ymax>4</ymax>"
    text = f"<annotation><object><name>bee</name><bndbox>{box}</bndbox></object></annotation>"
    for n in range(2):
        (folder / "JPEGImages" / f"{n}.jpg").write_bytes(PHOTO)
        (folder / "Annotations" / f"{n}.xml").write_text(text)
    return folder


def written(kind: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        data = WRITERS[kind]([(PHOTO, 0), (PHOTO, 1)], folder)
        return data if kind == "coco" else folder

    return write


WRITE = {
    "folder": write_classes(".jpg", PHOTO),
    "pillow_images": write_classes(".gif"),
    "numpy_files": write_arrays,
    "sounds": write_classes(".wav"),
    "video": write_classes(".avi"),
    "video_frames": write_frames,
    "image_masks": write_masks,
    "yolo": write_yolo,
    "voc": write_voc,
    **{
        kind: written(kind)
        for kind in ("webdataset", "tfrecord", "record_io", "coco", "caffe_lmdb", "caffe2_lmdb")
    },
}
BY_CLASS = ("folder", "pillow_images", "numpy_files", "sounds", "video", "video_frames")


def add_hidden_folder(folder: Path, suffix: str) -> str:
    for place in [folder, *(each for each in folder.rglob("*") if each.is_dir())]:
        (place / ".ipynb_checkpoints").mkdir()
        (place / ".ipynb_checkpoints" / f"0-checkpoint{suffix}").write_bytes(PHOTO)
    return ".ipynb_checkpoints/"


def add_mac_folder(folder: Path, suffix: str) -> str:
    (folder / "__MACOSX").mkdir()
    (folder / "__MACOSX" / f"._0{suffix}").write_bytes(b"\0\5\x16\7")
    return "__MACOSX/"


def add_system_files(folder: Path, suffix: str) -> str:
    for place in [folder, *(each for each in folder.rglob("*") if each.is_dir())]:
        junk = (f"._0{suffix}", "._0.txt", "._0.xml", ".DS_Store", "Thumbs.db", "desktop.ini")
        for name in junk:
            (place / name).write_bytes(b"\0\5\x16\7")
    return ".DS_Store"


def add_deeper(folder: Path, suffix: str) -> str:
    data = next(path for path in folder.rglob(f"*{suffix}") if path.is_file())
    (data.parent / "deep").mkdir()
    shutil.copy(data, data.parent / "deep")
    return f"deep/{data.name}"


def add_empty(name: str) -> Callable[[Path, str], str]:
    def add(folder: Path, suffix: str) -> str:
        (folder / name).mkdir()
        return f"{name}/ ("

    return add


JUNK = (
    *(add_hidden_folder, add_mac_folder, add_system_files, add_deeper),
    *(add_empty(name) for name in ("ant", "bug", "dog")),
)


def listed(dataset: Dataset, folder: Path) -> list[tuple[str, int]]:
    return [
        (os.path.relpath(each.path, folder), each.label)
        for each in list_samples(dataset)
        if each.counted
    ]


def found_by_program(dataset: Dataset, folder: Path) -> list[tuple[str, int]]:
    """Return the files and labels that an exported program lists; empty if DALI lists them."""
    kind = load_source(dataset.kind)
    imports = "".join(f"import {name}\n" for name in kind.imports)
    namespace: dict[str, Any] = {}
    exec(f"{imports}from typing import Any\n{kind.find_source}", namespace)
    found = namespace[kind.find.__name__](dataset.argument)
    files = next(
        (found[key] for key in ("files", "filenames", "paths", "path") if key in found), []
    )
    if annotations := found.get("annotations_file"):
        images = json.loads(Path(annotations).read_bytes())["images"]
        files = [os.path.join(found["file_root"], each["file_name"]) for each in images]
    files = [] if isinstance(files, str) else files  # a database
    labels = found.get("labels", [0] * len(files))
    if videos := found.get("videos"):
        labels = [label for video, label in zip(videos, labels, strict=True) for _ in video]
        files = [file for video in videos for file in video]
    return [(os.path.relpath(folder / f, folder), n) for f, n in zip(files, labels, strict=True)]


@pytest.mark.parametrize("kind", WRITE)
def test_junk_is_no_data_of_any_kind_and_is_reported_in_one_line(kind: str, tmp_path: Path) -> None:
    clean = open_dataset(WRITE[kind](tmp_path / "clean"))
    expected = listed(clean, tmp_path / "clean")
    in_files = load_source(kind).in_files
    for number, add in enumerate(JUNK):
        folder = tmp_path / str(number)
        data = WRITE[kind](folder)
        words = add(folder, Path(expected[0][0]).suffix)
        dataset = open_dataset(data)
        assert dataset.kind == kind
        found = listed(dataset, folder)
        by_class = kind in BY_CLASS and words.endswith("/ (")
        names = sorted((*CLASSES, *([words[:3]] if by_class else [])))
        if by_class:
            assert class_names(dataset) == names
        if kind in ("video_frames", "yolo") and add is add_deeper:
            continue  # one more clip; images of YOLO may be in subfolders
        moved = [names.index(name) for name in CLASSES]
        assert found == [(file, moved[n] if by_class else n) for file, n in expected]
        program = found_by_program(dataset, folder)
        if in_files and program:
            assert program == found
        elif program:
            assert {file for file, _ in program} == {file for file, _ in found}
        notes = [each for each in describe_not_read(dataset) if "Corners" not in each]
        assert len(notes) <= 1
        if by_class or not words.endswith("/ ("):
            assert words in notes[0]


def list_of_pairs(folder: Path) -> Any:
    return [(path, 0) for path in sorted(map(str, folder.rglob("*.jpg")))]


def list_of_text(folder: Path) -> Any:
    lines = [f"{path.relative_to(folder)} 0\n" for path in sorted(folder.rglob("*.jpg"))]
    (folder / "list.txt").write_text("".join(lines))
    return folder / "list.txt"


def list_of_yolo(folder: Path) -> Any:
    for path in (paths := sorted(folder.rglob("*.jpg"))):
        path.with_suffix(".txt").write_text("0 0.5 0.5 0.5 0.5")
    (folder / "list.txt").write_text("".join(f"{path}\n" for path in paths))
    return folder / "list.txt"


def list_of_coco(folder: Path) -> Any:
    names = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*.jpg"))]
    images = [{"id": n, "file_name": name, "width": 8, "height": 8} for n, name in enumerate(names)]
    box = {"id": 0, "image_id": 0, "category_id": 0, "bbox": [1, 1, 4, 4], "area": 16, "iscrowd": 0}
    found = {"images": images, "annotations": [box], "categories": [{"id": 0, "name": "bee"}]}
    (folder / "list.json").write_text(json.dumps(found))
    return folder / "list.json"


@pytest.mark.parametrize("write", [list_of_pairs, list_of_text, list_of_yolo, list_of_coco])
def test_hidden_files_that_a_list_names_are_read_and_reported(
    write: Callable[[Path], Any], tmp_path: Path
) -> None:
    folder = write_classes(".jpg", PHOTO)(tmp_path / "data")
    add_hidden_folder(folder, ".jpg")
    dataset = open_dataset(write(folder))
    assert len(listed(dataset, folder)) == 7
    (note,) = describe_not_read(dataset)
    assert "Read because they are listed: hidden and system files (3: " in note
    assert "Not read: hidden" not in note
    assert "bee/.ipynb_checkpoints/0-checkpoint.jpg" in note


# Patterns of file names: photos/**/*.jpg.


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        ("file_list", "**/*.jpg"),
        ("numpy_files", "**/*.npy"),
        ("sounds", "**/*.wav"),
        ("video", "**/*.avi"),
        ("webdataset", "**/*.tar"),
        ("tfrecord", "**/*.tfrecord"),
    ],
)
def test_a_pattern_is_a_sorted_list_labelled_by_folder_for_each_kind(
    kind: str, pattern: str, tmp_path: Path
) -> None:
    WRITE["folder" if kind == "file_list" else kind](tmp_path / "data")
    for add in JUNK[:3]:
        add(tmp_path / "data", pattern[-4:])
    dataset = open_dataset(str(tmp_path / "data" / pattern))
    assert dataset.kind == kind
    found = listed(dataset, tmp_path / "data")
    assert found
    assert [file for file, _ in found] == sorted(file for file, _ in found)
    in_files = load_source(kind).in_files
    assert class_names(dataset) == [*CLASSES] * in_files
    assert all(label == CLASSES.index(file[:3]) for file, label in found if in_files)
    program = found_by_program(dataset, tmp_path / "data")
    assert program == found or not in_files
    assert {file for file, _ in program} == {file for file, _ in found}


def test_a_pattern_reads_the_same_in_preview_check_and_exported_programs(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "photos").mkdir()
    for name in ("cat", "coffee"):
        shutil.copytree(photos / name, tmp_path / "photos" / "deep" / name)
    add_hidden_folder(tmp_path / "photos", ".jpg")
    monkeypatch.chdir(tmp_path)
    pattern = "photos/**/*.jpg"
    graph = wb.read(pattern).decode().resize(size=(8, 8)).with_settings(batch_size=20)
    found = wb.check_folder(pattern, full=False)
    assert (found.count, found.bad) == (20, ())
    assert verify(graph, pattern, 1).exact
    program = import_script(export(graph, "script", data=pattern).main.text, tmp_path)
    made = program.build_pipeline(pattern, batch_size=20).run()
    assert made[1].as_array().ravel().tolist() == [0] * 10 + [1] * 10


def test_a_pattern_without_matches_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"No visible file matches .*/\*\*/\*\.jpg\. Use \*"):
        require_dataset(open_dataset(str(tmp_path / "**" / "*.jpg")))


def test_hidden_files_of_an_unlabelled_list_are_skipped_with_a_warning(tmp_path: Path) -> None:
    folder = write_classes(".jpg", PHOTO)(tmp_path / "data")
    add_hidden_folder(folder, ".jpg")
    paths = sorted(map(str, folder.rglob("*.jpg")))
    with pytest.warns(UserWarning, match="3 of 7 paths are hidden or system files, or in such"):
        dataset = open_dataset(paths)
    assert class_names(dataset) == [*CLASSES]
    assert len(listed(open_dataset([(path, 0) for path in paths]), folder)) == 7


def test_a_folder_with_different_data_sets_is_not_one_of_classes(tmp_path: Path) -> None:
    write_arrays(tmp_path)
    shutil.rmtree(tmp_path / "bee")
    (tmp_path / "photos").mkdir()
    assert [*map(str, find_datasets(tmp_path))] == [str(tmp_path)]
    (tmp_path / "photos" / "0.jpg").write_bytes(PHOTO)
    found = [*map(str, find_datasets(tmp_path))]
    assert found == [str(tmp_path / name) for name in ("cat", "photos")]
