"""Find the data sets in a folder tree."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from workbench.errors import DataError
from workbench.sources import list_samples, open_dataset
from workbench.sources.dataset import Dataset, load_source
from workbench.sources.file_names import is_hidden

_OF_SAMPLES = (".tar", ".tfrecord", ".tfrecords", ".rec", ".parquet")
"""Suffixes of files that contain many samples."""


def find_datasets(folder: str | Path) -> Iterator[Dataset]:
    """Yield the data sets in a folder and in its visible subfolders at any depth, in path order.

    Folders that a data set reads, such as class folders, are no data sets themselves. Files with
    COCO annotations have priority over folders of images. Lists of files are ignored. Folders and
    data that cannot be read are included. Symbolic links are followed once.
    """
    read: set[str] = set()
    seen: set[str] = set()
    lost: list[OSError] = []
    top = os.path.abspath(folder)
    for place, folders, names in os.walk(top, onerror=lost.append, followlinks=True):
        seen.add(os.path.realpath(place))
        inner = sorted(name for name in folders if not is_hidden(name))
        folders[:] = (n for n in inner if os.path.realpath(os.path.join(place, n)) not in seen)
        shown = sorted(name for name in names if not is_hidden(name))
        paths = [] if place in read else _annotation_files(place) or [place]
        paths += (os.path.join(place, n) for n in shown if n.lower().endswith(_OF_SAMPLES))
        for dataset in map(open_dataset, paths):
            files = set() if dataset.location in read else _files_of(dataset)
            if files and _is_one_of_several(dataset, files, inner):
                continue
            if files:
                read |= {dataset.location, *files, *_parents(files, place)}
            if files or files is None:
                yield dataset
    yield from (Dataset("folder", str(error.filename)) for error in lost)


def _annotation_files(folder: str) -> list[str]:
    with suppress(OSError):
        return list(load_source("coco").files_in(folder))
    return []


def _files_of(dataset: Dataset) -> set[str] | None:
    """Return the paths of the files that a data set reads, or None if it cannot be read."""
    try:
        found = [(each.path, each.mask) for each in list_samples(dataset)]
    except (DataError, OSError):
        return None
    return {os.path.abspath(path) for paths in found for path in paths if path}


def _is_one_of_several(dataset: Dataset, files: set[str], folders: list[str]) -> bool:
    """Return whether all files are in one of several folders that are not empty.

    Then these are different data sets, and not the classes of one.
    """
    (inner, *others) = {os.path.dirname(file) for file in files}
    place = os.path.dirname(inner)
    if others or place != os.path.abspath(dataset.location):
        return False
    filled = 0
    for name in folders:
        with suppress(OSError), os.scandir(os.path.join(place, name)) as entries:
            filled += any(not is_hidden(each.name) for each in entries)
    return filled > 1 and open_dataset(inner).kind == dataset.kind


def _parents(files: set[str], top: str) -> set[str]:
    """Return all folders below ``top`` that contain the files, directly or in subfolders."""
    found: set[str] = set()
    waiting = {os.path.dirname(file) for file in files}
    while waiting := {path for path in waiting - found if path.startswith(f"{top}{os.sep}")}:
        found |= waiting
        waiting = {os.path.dirname(path) for path in waiting}
    return found
