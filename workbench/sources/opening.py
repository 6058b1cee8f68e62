"""Create datasets from values that users pass: paths, lists, data frames, objects with images."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import Any, Protocol

from workbench.arguments import format_value, warn_caller
from workbench.errors import DataError
from workbench.names import did_you_mean
from workbench.sources.dataset import (
    REMOTE,
    Dataset,
    Datasets,
    load_source,
    source_kinds,
)
from workbench.sources.file_names import is_hidden, is_pattern, matching_files
from workbench.sources.python_data import (
    IMAGE_COLUMNS,
    FirstSamples,
    holds_images,
    is_iterable_only,
    names_files,
)
from workbench.sources.tables import categories_of, label_column

# Files named by a pandas or Polars data frame, or by one of its columns.
#
# Both are recognised by the module of their type, so that neither library is imported here.

PATH_COLUMNS = ("path", "file", "filename", "file_name", "filepath", "file_path", "image_path")
"""Known names of the path column, in order of preference; case is ignored."""
_LIBRARIES = ("pandas", "polars")
VERSION_FILE, VERSION_FORMAT = "version.json", "dali-workbench-version"
"""File and format name by which the folder of a dataset version is recognised."""


class Frame(Protocol):
    """The part of the interface of pandas and Polars data frames that this module uses."""

    @property
    def columns(self) -> Any:
        """Column names."""

    def __getitem__(self, name: Any, /) -> Any:
        """Return the column ``name``."""


def is_data_frame(data: object) -> bool:
    """Return whether an object is a data frame, lazy frame or ``Series`` of pandas or Polars."""
    library = type(data).__module__.partition(".")[0]
    kind = type(data)  # querying the columns of a lazy frame would compute them
    return library in _LIBRARIES and (hasattr(kind, "columns") or hasattr(kind, "to_list"))


def require_table(data: object) -> None:
    """Raise DataError for a lazy frame, and for a Hugging Face ``DatasetDict`` with splits."""
    if is_data_frame(data) and hasattr(data, "collect"):
        raise DataError("The data frame is lazy and has no rows yet. Pass frame.collect().")
    if isinstance(data, Mapping) and hasattr(data, "cast_column"):
        splits = ", ".join(map(repr, data))
        raise DataError(f"The DatasetDict has the splits {splits}. Pass one of them: data['...'].")


def rows_of_frame(frame: Any) -> tuple[list[Any], list[str]]:
    """Return the rows of a data frame, as paths or (path, label), and the class names.

    If labels are a Categorical with unused or unsorted categories, its codes become the labels and
    its categories the class names; otherwise there are no class names. A single column contains
    paths. Raises DataError, naming the column or row, if there is no path column or row, or if a
    value is not a path or label.
    """
    if not hasattr(frame, "columns"):
        return _paths(frame.to_list(), str(frame.name or "")), []
    names = list(frame.columns)
    name = _column(names, (*PATH_COLUMNS, *IMAGE_COLUMNS))
    if name is None:
        found = ", ".join(map(str, names)) or "none"
        raise DataError(
            f"The data frame has no column 'path' (columns: {found[:200]}). Choose columns: "
            "wb.read(frame, path='COLUMN', label='COLUMN')."
        )
    paths = _paths(frame[name].to_list(), name)
    label = label_column(names)
    if label is None:
        require_no_other(name, names)
        return paths, []
    labels, classes = _labels(frame[label].to_list(), label), categories_of(frame[label])
    if classes == sorted({*labels}):
        classes = []  # this is the numbering of any list of files
    if classes:
        codes = {text: code for code, text in enumerate(classes)}
        labels = [codes[text] for text in labels]
    return list(zip(paths, labels, strict=True)), classes


def require_no_other(path: Any, names: Sequence[Any]) -> None:
    """Raise DataError if there are columns besides ``path``: one of them may contain the labels."""
    if others := ", ".join(str(name) for name in names if name != path):
        raise DataError(
            f"The data have no column 'label' (other columns: {others[:200]}). Choose one: "
            "wb.read(data, label='COLUMN'), or label='' for no labels."
        )


def choose_columns(data: Any, path: str | None, label: str | None) -> Any:
    """Rename the path (or image) and label columns of a data frame or table to known names.

    If ``path`` or ``label`` is None, the column is found by its usual name; ``label=""`` means no
    labels. Raises DataError for unknown columns and for other data.
    """
    require_table(data)
    names = getattr(data, "column_names", None)
    names = list(getattr(data, "columns", ()) if names is None else names)
    if not names:
        raise DataError(
            "The arguments path and label select columns of a data frame or table, but the data "
            f"are of type {type(data).__name__!r}. Omit both arguments."
        )
    for given in filter(None, (path, label)):
        if given not in names:
            raise DataError(f"The data have no column {given!r}. Use one of {', '.join(names)}.")
    path = path or _column(names, (*PATH_COLUMNS, *IMAGE_COLUMNS))
    if path is None:
        raise DataError(
            f"No column has a known name for paths or images. Choose one: path={names[0]!r} "
            f"(columns: {', '.join(names)})."
        )
    if label is None and (label := label_column(n for n in names if n != path)) is None:
        require_no_other(path, names)
    column = data[path]
    first = (column.to_list() if hasattr(column, "to_list") else list(column[:1]))[:1]
    first = [each.as_py() if hasattr(each, "as_py") else each for each in first]
    of_files = is_data_frame(data) and names_files(first)
    if of_files and label == "":
        return [(each, 0) for each in _paths(column.to_list(), path)]
    named = {path: "path" if of_files else "image"}
    named |= {label: "label"} if label else {}
    changed = {old: new for old, new in named.items() if old != new}
    if hasattr(data, "select_columns"):  # Hugging Face
        chosen = data.select_columns([*named])
        return chosen.rename_columns(changed) if changed else chosen
    if hasattr(data, "column_names"):  # Arrow
        return data.select([*named]).rename_columns([*named.values()])
    if hasattr(data, "iloc"):  # pandas
        return data[[*named]].rename(columns=changed)
    return data.select([*named]).rename(changed)


def _column(names: Sequence[Any], candidates: tuple[str, ...]) -> Any:
    """Return the column whose name is the first possible candidate, ignoring case, or None.

    Raises DataError if several columns match that candidate.
    """
    for each in candidates:
        found = [name for name in names if isinstance(name, str) and name.lower() == each]
        if len(found) > 1:
            raise DataError(
                f"The columns {', '.join(map(repr, found))} have the same meaning. Keep one of "
                "them."
            )
        if found:
            return found[0]
    return None


def _paths(values: list[Any], column: str) -> list[Any]:
    if not values:
        raise DataError("The data frame has no rows. Add at least one path.")
    if _all_texts(values):
        return values
    for row, value in enumerate(values):
        if not isinstance(value, str | Path) or not str(value).strip():
            raise DataError(
                f"Row {row} of the column {column!r} is {_shown(value)}, not a path. Use "
                "a file path in each row, or remove the row."
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
    if bad:  # pandas converts all numbers to floats if one is missing: name that one
        row = next(
            (row for row in bad if values[row] is None or values[row] != values[row]), bad[0]
        )
        raise DataError(
            f"Row {row} of the column {column!r} is {_shown(values[row])}, not a label. "
            "Use an integer or class name in each row, or remove the row."
        )
    return values


def _all_texts(values: list[Any]) -> bool:
    """Return whether all values are strings that are not blank (0.1 s for a million rows)."""
    return {*map(type, values)} == {str} and all(map(str.strip, values))


def _shown(value: object) -> str:
    """Format a shortened value with its type, such as ``nan (float)``."""
    if isinstance(value, bytes | bytearray):
        return f"{len(value):,} bytes"
    return f"{repr(value)[:60]} ({type(value).__name__})"


# Find the dataset that a path, list, data frame or object with images refers to.

PARAMETER = "data"
"""Default data parameter of an exported program."""

Item = tuple[str, int | str]


@cache
def _by_precedence() -> tuple[str, ...]:
    """Return all source kinds in the order in which they are tried for a path."""
    return tuple(sorted(source_kinds(), key=lambda kind: (-load_source(kind).precedence, kind)))


Location = str | Path | Dataset | Sequence[str | Path | tuple[str | Path, int | str]] | Frame | Any
"""Value that a user can pass as one dataset: a path or, in Python, files, (file, label) pairs, a
data frame with a path column, or images (arrays, encoded bytes, a dataset object; see
``memory.py``)."""
Data = Location | Mapping[str, Location]
"""Value that a user can pass as a graph's data: one location, or a mapping from data parameter to
location."""


def open_dataset(data: Location) -> Dataset:
    """Return the dataset for a value that a user passed. Raises DataError if that is impossible.

    The kind of a path is detected, or given as a prefix: ``webdataset:photos``. A path that does
    not exist is treated as a folder; running a graph on it reports that the folder is missing.
    """
    if isinstance(data, Dataset):
        return data
    require_table(data)
    classes: list[str] = []
    if is_data_frame(data) and not holds_images(data):
        data, classes = rows_of_frame(data)
    if isinstance(data, str) and not data:
        raise DataError("The path of the data is empty. Use a folder or a list of files.")
    if isinstance(data, str | Path):
        named, _, place = str(data).partition(":")
        named_so = named in source_kinds() and place and not place.startswith("//")
        if named_so and not os.path.exists(data):
            return Dataset(named, os.path.expanduser(place))
        mistyped = place and did_you_mean(named, source_kinds())
        if mistyped and os.path.exists(os.path.expanduser(place)) and not os.path.exists(data):
            load_source(named)  # the error suggests similar names
        if REMOTE.match(str(data)):
            return Dataset(_remote_kind(str(data)), str(data))
        path = Path(os.path.expanduser(data))
        _refuse_whole_version(path)
        if is_pattern(str(path)):
            return Dataset(_kind_of_files(matching_files(str(path))), str(path))
        kinds = (kind for kind in _by_precedence() if load_source(kind).accepts(path))
        return Dataset(next(kinds, "folder"), os.path.expanduser(str(data)))
    if isinstance(data, list | tuple) and not data:
        raise DataError("The list is empty. Add at least one path or image.")
    if not isinstance(data, list | tuple) or not names_files(data):
        memory = import_module("workbench.sources.kinds.memory")
        dataset: Dataset = memory.memory_dataset(
            FirstSamples(data) if is_iterable_only(data) else data
        )
        return dataset
    items = tuple(map(_item, data))
    labelled = [not isinstance(each, str | Path) for each in data]
    unlabelled = not any(labelled)
    if not unlabelled and False in labelled:
        at = labelled.index(False)
        raise DataError(
            f"Item {at}, {repr(data[at])[:60]}, has no label, but item {labelled.index(True)} has "
            "one. Use pairs of a path and a label for all items, or paths only."
        )
    if (kind := _kind_of_files(items)) != "file_list":
        by_folder = unlabelled and load_source(kind).in_files  # others have many samples per file
        return Dataset(kind, items=_labelled_by_folder(items) if by_folder else items)
    items = _labelled_by_folder(items) if unlabelled else items
    file_list = import_module("workbench.sources.kinds.file_list")
    return file_list.file_pairs_dataset(items, classes)  # type: ignore[no-any-return]


def choose_split(data: Any, split: str) -> Any:
    """Return the split of the data with a name such as ``val``, or raise DataError.

    It is an entry of data.yaml (YOLO) or of a ``DatasetDict``, a list in ImageSets/Main (Pascal
    VOC), or a folder: ``images/val``, ``val/images`` or ``val``.
    """
    if isinstance(data, Mapping) and hasattr(data, "cast_column") and split in data:
        return data[split]
    path = Path(os.path.expanduser(data)) if isinstance(data, str | Path) else Path(os.devnull)
    file = path if path.suffix.lower() in (".yaml", ".yml") else path / "data.yaml"
    if file.is_file():
        return f"{file}:{split}"
    images = path / "images" / split, path / split / "images"
    for place in (path / "ImageSets" / "Main" / f"{split}.txt", *images, path / split):
        if place.exists():
            return place
    raise DataError(
        f"{str(data)[:200]} has no split '{split}'. Use data.yaml, a folder with "
        f"ImageSets/Main/{split}.txt or a folder '{split}', or open the split itself."
    )


def _refuse_whole_version(path: Path) -> None:
    """Raise DataError for the folder of a dataset version, whose splits would become classes."""
    try:
        manifest = json.loads((path / VERSION_FILE).read_bytes())
        format, splits = manifest["plan"]["format"], manifest["plan"]["splits"]
        names = [str(split["name"]) for split in splits]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if manifest.get("format") != VERSION_FORMAT:
        return
    patterns = {"coco": "annotations/*_{}.json", "parquet": "{}/*.parquet"}
    found = (sorted(path.glob(patterns.get(format, "{}").format(name))) for name in names)
    parts = " or ".join(str(each[0]) for each in found if each)
    fix = f"Open {parts or 'a part of it'}."
    raise DataError(f"{path} is a dataset version, which has no images of its own. {fix}")


def _remote_kind(place: str) -> str:
    """Return the source kind of a remote location. Raises DataError if DALI does not support it."""
    scheme = place.partition("://")[0]
    if scheme not in ("s3", "gs"):
        raise DataError(
            f"DALI cannot read {place}: it supports files, s3:// and gs://. Copy the data "
            "here, or mount them as a folder."
        )
    return "remote_webdataset" if place.lower().endswith(".tar") else scheme


def _kind_of_files(items: Sequence[Item]) -> str:
    """Return the source kind whose suffixes all listed files have, or ``file_list``."""
    for kind in _by_precedence() if items else ():
        suffixes = load_source(kind).suffixes
        if suffixes and all(path.lower().endswith(suffixes) for path, _ in items):
            return kind
    return "file_list"


def _labelled_by_folder(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Label files with the names of their parent folders if there are several folders.

    Hidden files and folders are skipped with a warning, because a folder would become a class.
    """
    hidden = {path for path, _ in items if any(map(is_hidden, path.split(os.sep)[-2:]))}
    if hidden and len(hidden) < len(items):
        warn_caller(
            f"{len(hidden):,} of {len(items):,} paths are hidden or system files, or in such a "
            f"folder, and are skipped: {min(hidden)}. Pass (path, label) pairs to read them."
        )
        items = tuple(item for item in items if item[0] not in hidden)
    classes = [os.path.basename(os.path.dirname(path)) for path, _ in items]
    if len(set(classes)) < 2:
        return items
    return tuple((path, name) for (path, _), name in zip(items, classes, strict=True))


def _item(item: Any) -> tuple[str, int | str]:
    if type(item) is tuple and len(item) == 2:  # the usual case for a million files
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
    fault = "is not a path"
    match item:
        case (str() | Path(), str()):
            fault = "has an empty label"
        case (str() | Path(), label):
            fault = f"has the label {format_value(label)}"
        case tuple():
            fault = "is not a pair of a path and a label"
    raise DataError(
        f"{repr(item)[:60]} {fault}. Use paths, or pairs of a path and a label (an integer or a "
        "class name)."
    )


def _is_numbers(values: Any) -> bool:
    first = next(iter(values), None) if hasattr(values, "__len__") else None
    return isinstance(first, Integral)


def holds_objects(data: Data) -> bool:
    """Return whether data are objects with images instead of a path or a list of paths."""
    if isinstance(data, str | Path | Dataset | Mapping):
        return False
    return not (isinstance(data, list | tuple) and names_files(data))


def open_datasets(data: Data) -> Datasets:
    """Return the dataset of each parameter. Data without a parameter name belong to ``data``.

    The splits of a Hugging Face ``DatasetDict`` are separate datasets, not parameters.
    """
    splits = hasattr(data, "cast_column")
    named = data if isinstance(data, Mapping) and not splits else {PARAMETER: data}
    label = label_column(list(named)) if len(named) > 1 else None
    if label is not None and _is_numbers(named[label]):
        image = next(name for name in named if name != label)
        raise DataError(
            "The dict has columns, not one dataset for each parameter. Use pairs: "
            f"list(zip(data[{image!r}], data[{label!r}])), or pandas.DataFrame(data)."
        )
    return {name: open_dataset(each) for name, each in named.items()}
