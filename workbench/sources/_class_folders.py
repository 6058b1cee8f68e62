"""Files of one kind in class folders, in a flat folder, or in a list."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from workbench.sources import Dataset


def class_folders(data: str) -> list[str]:
    """The names of the folders in a folder, sorted, without those that begin with a dot."""
    if not os.path.isdir(data):
        return []
    with os.scandir(data) as entries:
        return sorted(e.name for e in entries if e.is_dir() and not e.name.startswith("."))


def files_of(data: Any, suffixes: tuple[str, ...]) -> tuple[list[str], list[int]]:
    """The files and their labels: of class folders, a flat folder, a file, a list or pairs."""
    if not isinstance(data, str):
        return [path for path, _ in data], [label for _, label in data]
    if os.path.isfile(data) and data.lower().endswith(suffixes):
        return [data], [0]
    if os.path.isfile(data):
        with open(data, encoding="utf-8", errors="surrogateescape") as lines:
            rows = [line.strip().rsplit(maxsplit=1) for line in lines if line.strip()]
        root = os.path.dirname(os.path.abspath(data))
        return [os.path.join(root, path) for path, _ in rows], [int(label) for _, label in rows]
    files: list[str] = []
    labels: list[int] = []
    for label, folder in enumerate(class_folders(data) or [""]):
        place = os.path.join(data, folder)
        names = sorted(name for name in os.listdir(place) if name.lower().endswith(suffixes))
        files += [os.path.join(place, name) for name in names if not name.startswith(".")]
        labels += [label] * (len(files) - len(labels))
    return files, labels


def watched_class_folders(dataset: Dataset) -> Iterator[str]:
    """What changes where a file comes or goes: the folder and its classes, or the files listed."""
    if not dataset.location:
        yield from (path for path, _ in dataset.items)
        return
    yield dataset.location
    yield from (os.path.join(dataset.location, name) for name in class_folders(dataset.location))
