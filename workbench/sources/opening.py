"""The dataset that a person means by a path, a list, a frame or an object with images."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import Any, Protocol

from workbench.errors import DataError
from workbench.names import did_you_mean
from workbench.sources.dataset import (
    REMOTE,
    Dataset,
    Datasets,
    load_source,
    source_kinds,
)
from workbench.sources.python_data import IMAGE_COLUMNS, holds_images, names_files
from workbench.sources.tables import categories_of, label_column

# Files named by a pandas or Polars frame, or by a column of one.
#
# Both are recognised by the module of their type: neither library is imported here.

PATH_COLUMNS = ("path", "file", "filename", "file_name", "filepath", "file_path", "image_path")
"""Names of the column of paths, in the order in which they are looked for, in any case."""
_LIBRARIES = ("pandas", "polars")


class Frame(Protocol):
    """A frame of pandas or Polars, as far as it is used here."""

    @property
    def columns(self) -> Any:
        """The names of its columns."""

    def __getitem__(self, name: Any, /) -> Any:
        """The column of a name."""


def is_frame(data: object) -> bool:
    """Whether data are a frame, a lazy frame or a column (``Series``) of pandas or Polars."""
    library = type(data).__module__.partition(".")[0]
    kind = type(data)  # asking a lazy frame itself for its columns computes them
    return library in _LIBRARIES and (hasattr(kind, "columns") or hasattr(kind, "to_list"))


def require_table(data: object) -> None:
    """Raise DataError for a lazy frame, and for several splits of Hugging Face."""
    if is_frame(data) and hasattr(data, "collect"):
        raise DataError("The frame is lazy: its rows are not there yet. Give frame.collect().")
    if isinstance(data, Mapping) and hasattr(data, "cast_column"):
        splits = ", ".join(map(repr, data))
        raise DataError(f"The DatasetDict has the splits {splits}. Give one of them: data['...'].")


def rows_of_frame(frame: Any) -> tuple[list[Any], list[str]]:
    """The path of each row or, where the frame has a column of labels, (path, label).

    Second the names of the classes, where the labels are codes of a Categorical whose order is not
    that of the used texts; else none. A column alone is one of paths. Raises DataError, which names
    the column or the row, where there is no column of paths, no row, or a value that is no path or
    no label.
    """
    if not hasattr(frame, "columns"):
        return _paths(frame.to_list(), str(frame.name or "")), []
    names = list(frame.columns)
    name = _column(names, (*PATH_COLUMNS, *IMAGE_COLUMNS))
    if name is None:
        found = ", ".join(map(str, names)) or "none"
        raise DataError(
            f"The frame has no column of paths; its columns are: {found[:200]}. Choose: "
            "wb.read(frame, path='COLUMN', label='COLUMN'), or rename them path and label."
        )
    paths = _paths(frame[name].to_list(), name)
    label = label_column(names)
    if label is None:
        require_no_other(name, names)
        return paths, []
    labels, classes = _labels(frame[label].to_list(), label), categories_of(frame[label])
    if classes == sorted({*labels}):
        classes = []  # any list of files is numbered so
    if classes:
        codes = {text: code for code, text in enumerate(classes)}
        labels = [codes[text] for text in labels]
    return list(zip(paths, labels, strict=True)), classes


def require_no_other(path: Any, names: Sequence[Any]) -> None:
    """Raise DataError where columns besides that of the paths or images may hold the labels."""
    if others := ", ".join(str(name) for name in names if name != path):
        raise DataError(
            f"No column is named label; besides {path!r} there are: {others[:200]}. Choose one: "
            "wb.read(data, label='COLUMN'), or label='' for no labels."
        )


def choose_columns(data: Any, path: str | None, label: str | None) -> Any:
    """The columns of paths or images, and of labels, of a frame or table, named so.

    None: the column is found by its name; ``label=""``: there are no labels. Raises DataError.
    """
    require_table(data)
    names = getattr(data, "column_names", None)
    names = list(getattr(data, "columns", ()) if names is None else names)
    if not names:
        raise DataError("path and label choose columns of a frame or table. Leave them out.")
    for given in filter(None, (path, label)):
        if given not in names:
            raise DataError(f"There is no column {given!r}. Choose one of {', '.join(names)}.")
    path = path or _column(names, (*PATH_COLUMNS, *IMAGE_COLUMNS))
    if path is None:
        raise DataError(f"Choose the column of paths or images: path= of {', '.join(names)}.")
    if label is None and (label := label_column(n for n in names if n != path)) is None:
        require_no_other(path, names)
    column = data[path]
    first = (column.to_list() if hasattr(column, "to_list") else list(column[:1]))[:1]
    first = [each.as_py() if hasattr(each, "as_py") else each for each in first]
    of_files = is_frame(data) and names_files(first)
    if of_files and label == "":
        return [(each, 0) for each in _paths(column.to_list(), path)]
    named = {path: "path" if of_files else "image"}
    named |= {label: "label"} if label else {}
    changed = {old: new for old, new in named.items() if old != new}
    if hasattr(data, "select_columns"):  # of Hugging Face
        chosen = data.select_columns([*named])
        return chosen.rename_columns(changed) if changed else chosen
    if hasattr(data, "column_names"):  # of Arrow
        return data.select([*named]).rename_columns([*named.values()])
    if hasattr(data, "iloc"):  # of pandas
        return data[[*named]].rename(columns=changed)
    return data.select([*named]).rename(changed)


def _column(names: Sequence[Any], wanted: tuple[str, ...]) -> Any:
    """The name of the first wanted column that is there. Raises DataError where two have it."""
    for each in wanted:
        found = [name for name in names if isinstance(name, str) and name.lower() == each]
        if len(found) > 1:
            raise DataError(
                f"The frame has {len(found)} columns {', '.join(map(repr, found))}. Leave one of "
                "that name."
            )
        if found:
            return found[0]
    return None


def _paths(values: list[Any], column: str) -> list[Any]:
    if not values:
        raise DataError("The frame has no rows. Give at least one path.")
    if _all_texts(values):
        return values
    for row, value in enumerate(values):
        if not isinstance(value, str | Path) or not str(value).strip():
            raise DataError(
                f"Row {row} of the column {column!r} holds {_shown(value)}, which is no path. Give "
                "a path of a file in each row, or leave the row out."
            )
    return values


def _labels(values: list[Any], column: str) -> list[Any]:
    if _all_texts(values):
        return values
    bad = [
        row
        for row, value in enumerate(values)
        if not isinstance(value, int | str) or (isinstance(value, str) and not value.strip())
    ]
    if bad:  # pandas makes all numbers floats where one is missing: that one is named
        row = next(
            (row for row in bad if values[row] is None or values[row] != values[row]), bad[0]
        )
        raise DataError(
            f"Row {row} of the column {column!r} holds {_shown(values[row])}, which is no label. "
            "Give a whole number or the name of a class in each row, or leave the row out."
        )
    return values


def _all_texts(values: list[Any]) -> bool:
    """Whether all are texts with more than blanks, which is told in 0.1 s of a million rows."""
    return {*map(type, values)} == {str} and all(map(str.strip, values))


def _shown(value: object) -> str:
    """A value and its type, in short: ``nan (float)``."""
    if isinstance(value, bytes | bytearray):
        return f"{len(value):,} bytes"
    return f"{repr(value)[:60]} ({type(value).__name__})"


# The dataset that a person means by a path, a list, a frame or an object with images.

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
