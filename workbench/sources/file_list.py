"""A list of files with labels: a text or CSV file, or pairs in Python."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.errors import DataError
from workbench.sources import Dataset, File, SourceKind

_SUFFIXES = (".txt", ".csv", ".lst")


def read_list(data: Any) -> dict[str, Any]:
    """Arguments of the file reader for a list of files with labels.

    ``data`` is a text file of lines ``path label``, a CSV file whose first columns are
    path and label, below a header, or pairs of these. Paths are relative to the file.
    Labels that are no whole numbers are classes in alphabetical order.
    """
    root, rows = "/", data
    if isinstance(data, str):
        root = os.path.dirname(os.path.abspath(data))
        with open(data, newline="", encoding="utf-8-sig") as file:
            if data.lower().endswith(".csv"):
                rows = list(csv.reader(file))[1:]
            else:
                rows = [line.rsplit(maxsplit=1) for line in file]
    rows = [(str(row[0]), str(row[1]).strip()) for row in rows if row]
    labels = [label for _, label in rows]
    if not all(label.isdecimal() for label in labels):
        numbers = {name: number for number, name in enumerate(sorted(set(labels)))}
        labels = [numbers[label] for label in labels]
    files = [path for path, _ in rows]
    return {"file_root": root, "files": files, "labels": [int(label) for label in labels]}


def _require(dataset: Dataset) -> None:
    if not dataset.location:
        return
    path = Path(dataset.location)
    if not path.exists():
        raise DataError(f"There is no list of files {path}. Give a text or CSV file.")
    if not path.is_file():
        raise DataError(f"{path} is no file. Give a list of files that ends in .txt or .csv.")
    if not os.access(path, os.R_OK):
        raise DataError(f"The list {path} may not be read. Check its permissions.")
    _rows(dataset)


def _rows(dataset: Dataset) -> dict[str, Any]:
    """What the reader is given. Raises DataError with the first line that is no path and label."""
    try:
        return read_list(dataset.argument)
    except IndexError:
        raise DataError(f"{dataset}: {_first_bad_line(dataset)}") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{dataset} cannot be read as a list of files: {error}.") from None


def _first_bad_line(dataset: Dataset) -> str:
    is_csv = dataset.location.lower().endswith(".csv")
    with open(dataset.location, newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file) if is_csv else (line.rsplit(maxsplit=1) for line in file)
        numbered = enumerate(rows, start=1)
        number, row = next((n, row) for n, row in numbered if len(row) == 1 and n > is_csv)
    form = "path,label" if is_csv else "path label"
    return f"line {number} is {row[0][:60]!r}, without a label. Write {form!r} on each line."


def _list_files(dataset: Dataset) -> Iterator[File]:
    _require(dataset)
    found = _rows(dataset)
    for name, label in zip(found["files"], found["labels"], strict=True):
        yield File(os.path.join(found["file_root"], name), name, label)


def _class_names(dataset: Dataset) -> list[str]:
    """Names where labels are given as such: they are read once more, for numbers hide them."""
    numbers = [file.label for file in _list_files(dataset)]
    names = dict(zip(numbers, _labels(dataset), strict=True))
    ordered = [names.get(number, "") for number in range(max(names, default=-1) + 1)]
    return [] if all(name.isdecimal() or not name for name in ordered) else ordered


def _labels(dataset: Dataset) -> list[str]:
    if dataset.items:
        return [str(label) for _, label in dataset.items]
    with open(dataset.location, newline="", encoding="utf-8-sig") as file:
        if dataset.location.lower().endswith(".csv"):
            return [row[1].strip() for row in list(csv.reader(file))[1:] if row]
        return [line.rsplit(maxsplit=1)[1].strip() for line in file if line.strip()]


def _root(dataset: Dataset) -> str:
    return os.path.dirname(os.path.abspath(dataset.location)) if dataset.location else "/"


def _write_placeholder(folder: Path) -> Path:
    path = folder / "list.txt"
    path.write_text("image.jpg 0\n", encoding="utf-8")
    return path


SOURCE = SourceKind(
    about="list of files with labels (.txt or .csv)",
    op="readers.file",
    located_by=frozenset({"file_root", "files", "file_list"}),
    find=read_list,
    imports=("csv", "os"),
    accepts=lambda path: path.suffix.lower() in _SUFFIXES and not path.is_dir(),
    require=_require,
    list_files=_list_files,
    root=_root,
    class_names=_class_names,
    watched=lambda dataset: iter([dataset.location] if dataset.location else []),
    nothing_found=lambda dataset: f"{dataset} names no file. Write 'path label' on each line.",
    write_placeholder=_write_placeholder,
)
