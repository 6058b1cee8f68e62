"""A list of files with labels: a text or CSV file, or pairs in Python."""

from __future__ import annotations

import csv
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind

_SUFFIXES = (".txt", ".csv", ".lst")


def read_rows(data: Any) -> list[tuple[str, str]]:
    """Path and label of each file in a list.

    ``data`` is a text file of lines ``path label``, a CSV file whose first columns are
    path and label, below a header, or pairs in Python.
    """
    if not isinstance(data, str):
        return [(os.path.abspath(path), str(label)) for path, label in data]
    with open(data, newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        if data.lower().endswith(".csv"):
            rows = [[], *list(csv.reader(file))[1:]]
        else:
            rows = [line.strip().rsplit(maxsplit=1) for line in file]
    for number, row in enumerate(rows, start=1):
        if row and not (len(row) > 1 and row[0].strip() and row[1].strip()):
            raise ValueError(f"{data}: row {number} is {row}, without a path or a label")
    return [(row[0], row[1].strip()) for row in rows if row]


def read_list(data: Any) -> dict[str, Any]:
    """Arguments of the file reader for a list of files with labels.

    Paths are relative to the list. Labels that are no whole numbers are classes, which
    are numbered in alphabetical order.
    """
    rows = read_rows(data)
    labels = [label for _, label in rows]
    try:
        numbers = [int(label) for label in labels]
    except ValueError:
        classes = {name: number for number, name in enumerate(sorted(set(labels)))}
        numbers = [classes[label] for label in labels]
    root = os.path.dirname(os.path.abspath(data)) if isinstance(data, str) else "/"
    return {"file_root": root, "files": [path for path, _ in rows], "labels": numbers}


def _require(dataset: Dataset) -> None:
    _read(dataset)


def _read(dataset: Dataset) -> dict[str, Any]:
    """What the reader is given. Raises DataError, which names a row without a label."""
    path = Path(dataset.location)
    if dataset.location and not os.path.exists(path):
        raise DataError(f"There is no list of files {path}. Give a text or CSV file.")
    if dataset.location and not os.path.isfile(path):
        raise DataError(f"{path} is no file. Give a list of files that ends in .txt or .csv.")
    try:
        found = read_list(dataset.argument)
    except PermissionError:
        raise DataError(f"The list {path} may not be read. Check its permissions.") from None
    except ValueError as error:
        form = "path,label" if dataset.location.lower().endswith(".csv") else "path label"
        raise DataError(f"{error}. Write {form} in each row.") from None
    except (OSError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as a list of files: {error}.") from None
    if dataset.location.lower().endswith(".csv") and not _is_utf8(path):
        raise DataError(
            f"{path} is not UTF-8 text. Save it as UTF-8, or as a .txt list of lines 'path label'."
        )
    if named := next((name for name in found["files"] if "\0" in name), None):
        raise DataError(f"{dataset}: {named[:60]!r} holds a NUL character, which no file name has.")
    large = next((label for label in found["labels"] if not -(2**31) <= label < 2**31), None)
    if large is not None:  # DALI would drop its upper bits without a word
        raise DataError(
            f"{dataset}: the label {large} does not fit into 32 bits, as DALI's labels do. Number "
            "the classes from 0, or give them names."
        )
    return found


def _list_samples(dataset: Dataset) -> Iterator[Sample]:
    found = _read(dataset)
    for name, label in zip(found["files"], found["labels"], strict=True):
        yield Sample(os.path.join(found["file_root"], name), name, label)


def _class_names(dataset: Dataset) -> list[str]:
    labels = {label for _, label in read_rows(dataset.argument)}
    try:
        {int(label) for label in labels}
    except ValueError:
        return sorted(labels)
    return []


def _root(dataset: Dataset) -> str:
    return os.path.dirname(os.path.abspath(dataset.location)) if dataset.location else "/"


def is_list(path: Path) -> bool:
    """Whether a path is named as a list of files is."""
    return path.suffix.lower() in _SUFFIXES and not os.path.isdir(path)


def _accepts(path: Path) -> bool:
    """Only DALI itself reads a text whose names are not UTF-8: ``folder`` gives it to DALI."""
    return is_list(path) and (path.suffix.lower() == ".csv" or _is_utf8(path))


def _is_utf8(path: Path) -> bool:
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    except OSError:
        return True  # what is wrong is told later
    return True


def _write_placeholder(folder: Path) -> Path:
    path = folder / "list.txt"
    path.write_text("image.jpg 0\n", encoding="utf-8")
    return path


SOURCE = SourceKind(
    about="list of files with labels (.txt or .csv)",
    op="readers.file",
    located_by=frozenset({"file_root", "files", "file_list"}),
    find=read_list,
    helpers=inspect.getsource(read_rows),
    imports=("csv", "os"),
    accepts=_accepts,
    require=_require,
    list_samples=_list_samples,
    root=_root,
    class_names=_class_names,
    watched=lambda dataset: iter([dataset.location] if dataset.location else []),
    nothing_found=lambda dataset: f"{dataset} names no file. Write 'path label' on each line.",
    write_placeholder=_write_placeholder,
)
