"""Junk in data folders: every source and exported program skips the same files and reports them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.sources.clips import jpeg
from tests.sources.written import WRITERS
from workbench.sources import (
    Dataset,
    class_names,
    describe_not_read,
    list_samples,
    load_source,
    open_dataset,
)

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
    **{kind: written(kind) for kind in ("webdataset", "tfrecord", "record_io", "coco")},
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
        for name in (f"._0{suffix}", ".DS_Store", "Thumbs.db", "desktop.ini"):
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
        if kind == "video_frames" and add is add_deeper:
            continue  # a folder next to the clips is one more clip
        moved = [names.index(name) for name in CLASSES]
        assert found == [(file, moved[n] if by_class else n) for file, n in expected]
        program = found_by_program(dataset, folder)
        if in_files and program:
            assert program == found
        elif program:
            assert {file for file, _ in program} == {file for file, _ in found}
        notes = describe_not_read(dataset)
        assert len(notes) <= 1
        if kind != "coco" and (by_class or not words.endswith("/ (")):
            assert words in notes[0]
