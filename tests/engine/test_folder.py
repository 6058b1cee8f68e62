from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.damaged import make_folder
from workbench.catalog import load_catalog
from workbench.emit.parts import IMAGES
from workbench.engine.folder import SOUNDS, class_folders, list_files, no_images, unreadable
from workbench.errors import DataError


def listed(data: Path) -> list[tuple[str, int]]:
    return [(path, label) for _, path, label in list_files(str(data))]


def test_the_suffixes_are_those_that_dali_looks_for() -> None:
    default = load_catalog()["readers.file"].args["file_filters"].default
    assert isinstance(default, tuple)
    assert {f"*{suffix}" for suffix in IMAGES + SOUNDS} == set(map(str, default))


def test_class_folders_give_labels_in_order(photos: Path) -> None:
    found = listed(photos)
    names = sorted(path.name for path in photos.iterdir())
    assert class_folders(str(photos)) == names
    assert found == [
        (f"{name}/{file.name}", label)
        for label, name in enumerate(names)
        for file in sorted((photos / name).iterdir())
    ]


def test_a_flat_folder_has_one_label_also_beside_hidden_ones(photos: Path, tmp_path: Path) -> None:
    data = tmp_path / "flat"
    shutil.copytree(photos / "coffee", data)
    (data / ".ipynb_checkpoints").mkdir()
    (data / "notes.txt").touch()
    assert class_folders(str(data)) == []
    names = sorted(path.name for path in (photos / "coffee").iterdir())
    assert listed(data) == [(name, 0) for name in names]


def test_what_cannot_be_read(photos: Path, tmp_path: Path) -> None:
    bad, good = make_folder(photos, tmp_path, ["empty.jpg", "text.jpg"])
    (bad / "class" / "link.jpg").symlink_to(tmp_path / "gone.jpg")
    reasons = {path: unreadable(entry) for entry, path, _ in list_files(str(bad))}
    assert {path: reason for path, reason in reasons.items() if reason} == {
        "class/00_empty.jpg": "the file is empty",
        "class/link.jpg": "No such file or directory",
    }
    assert not any(unreadable(entry) for entry, _, _ in list_files(str(good)))


def test_why_there_is_no_image(tmp_path: Path) -> None:
    assert no_images(str(tmp_path)).endswith("is empty. Give a folder of images.")
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (tmp_path / name).touch()
    text = no_images(str(tmp_path))
    assert "(found: a.txt, b.txt, c.txt, ...)" in text
    assert all(suffix in text for suffix in IMAGES)
    (tmp_path / "photo.JPG").touch()
    (tmp_path / "folder").mkdir()
    assert "images beside folders are not read" in no_images(str(tmp_path))


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no folder"):
        listed(tmp_path / "missing")
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="is a file"):
        listed(tmp_path / "file")
