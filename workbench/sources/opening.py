"""The dataset that a person means by a path, a list, a frame or an object with images."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import Any

from workbench.errors import DataError
from workbench.names import did_you_mean
from workbench.sources.data_frames import Frame, is_frame, require_table, rows_of_frame
from workbench.sources.dataset import (
    REMOTE,
    Dataset,
    Datasets,
    load_source,
    source_kinds,
)
from workbench.sources.python_data import holds_images, names_files

PARAMETER = "data"
"""The parameter of an exported program that says where the data lie, where a graph says none."""

Item = tuple[str, int | str]


@cache
def _by_precedence() -> tuple[str, ...]:
    """Every kind, in the order in which they are asked whether a path is of them."""
    return tuple(sorted(source_kinds(), key=lambda kind: (-load_source(kind).precedence, kind)))


Location = str | Path | Dataset | Sequence[str | Path | tuple[str | Path, int | str]] | Frame | Any
"""What a person may give for one dataset: a path, or in Python files, (file, label) pairs, a frame
with a column of paths, or images: arrays, encoded bytes, a data set (``memory.py``)."""
Data = Location | Mapping[str, Location]
"""What a person may give for a graph: one dataset, or one for each of its parameters."""


def open_dataset(data: Location) -> Dataset:
    """The dataset that a person means. Raises DataError for what is none.

    A path is read as the kind that it is taken for, or as the one whose name stands before it,
    ``webdataset:photos``. One that does not exist is taken for a folder: what runs on it says that
    it is missing.
    """
    if isinstance(data, Dataset):
        return data
    require_table(data)
    classes: list[str] = []
    if is_frame(data) and not holds_images(data):
        data, classes = rows_of_frame(data)
    if isinstance(data, str) and not data:
        raise DataError("The path of the data is empty. Give a folder or a list of files.")
    if isinstance(data, str | Path):
        named, _, place = str(data).partition(":")
        named_so = named in source_kinds() and place and not place.startswith("//")
        if named_so and not os.path.exists(data):
            return Dataset(named, os.path.expanduser(place))
        mistyped = place and did_you_mean(named, source_kinds())
        if mistyped and os.path.exists(os.path.expanduser(place)) and not os.path.exists(data):
            load_source(named)  # which names the nearest
        if REMOTE.match(str(data)):
            return Dataset(_remote_kind(str(data)), str(data))
        path = Path(os.path.expanduser(data))
        kinds = (kind for kind in _by_precedence() if load_source(kind).accepts(path))
        return Dataset(next(kinds, "folder"), os.path.expanduser(str(data)))
    if isinstance(data, list | tuple) and not data:
        raise DataError("The list is empty. Give at least one path or image.")
    if not isinstance(data, list | tuple) or not names_files(data):
        kept: Dataset = import_module("workbench.sources.kinds.memory").keep_images(data)
        return kept
    items = tuple(map(_item, data))
    unlabelled = not any(isinstance(each, tuple) for each in data)
    for kind in source_kinds():
        source = load_source(kind)
        if source.suffixes and all(path.lower().endswith(source.suffixes) for path, _ in items):
            by_folder = unlabelled and source.in_files  # a file of many samples has no class
            return Dataset(kind, items=_labelled_by_folder(items) if by_folder else items)
    items = _labelled_by_folder(items) if unlabelled else items
    return import_module("workbench.sources.kinds.file_list").listed(items, classes)  # type: ignore[no-any-return]


def _remote_kind(place: str) -> str:
    """The kind that reads a remote place. Raises DataError for one that DALI does not read."""
    scheme = place.partition("://")[0]
    if scheme not in ("s3", "gs"):
        raise DataError(
            f"{place}: DALI's readers read files, s3:// and gs://, nothing else. Copy the data "
            "here, or mount them as a folder."
        )
    return "remote_webdataset" if place.lower().endswith(".tar") else scheme


def _labelled_by_folder(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Files in several class folders, with the names of these for labels."""
    classes = [os.path.basename(os.path.dirname(path)) for path, _ in items]
    if len(set(classes)) < 2:
        return items
    return tuple((path, name) for (path, _), name in zip(items, classes, strict=True))


def _item(item: Any) -> tuple[str, int | str]:
    if type(item) is tuple and len(item) == 2:  # what most of a million are
        path, label = item
        labelled = type(label) is int or (type(label) is str and label.strip())
        if type(path) is str and path[:1] == os.sep and labelled:
            return item
    match item:
        case str() | Path():
            return os.path.abspath(item), 0
        case (str() | Path() as path, Integral() as label):
            return os.path.abspath(path), int(label)
        case (str() | Path() as path, str() as label) if label.strip():
            return os.path.abspath(path), label
    raise DataError(
        f"{repr(item)[:60]} is no file. Give paths, or pairs of a path and a label: a whole number "
        "or the name of a class."
    )


def open_datasets(data: Data) -> Datasets:
    """What each parameter is given; data without a name are those of the parameter ``data``.

    A ``DatasetDict`` of Hugging Face is no such mapping: its splits are several data sets.
    """
    splits = hasattr(data, "cast_column")
    named = data if isinstance(data, Mapping) and not splits else {PARAMETER: data}
    return {name: open_dataset(each) for name, each in named.items()}
