"""Read a list of files with labels: a text or CSV file, or pairs in Python.

If labels are numbers, a text file with the same name and the suffix ``.names`` contains the class
names, one per line, as in Darknet.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind, folder_of, load_source, name_with_ending
from workbench.sources.class_folders import describe_hidden, folders_below
from workbench.sources.file_names import (
    PATTERN_HELPERS,
    is_pattern,
    matching_files,
    pattern_folder,
)
from workbench.sources.kinds._sampler import Sampler, read_sampled_files
from workbench.sources.python_data import warn_of_labels
from workbench.sources.tables import label_column

_SUFFIXES = (".txt", ".csv", ".lst")
_NAMES = ".names"
_MANY = 10_000
"""Minimum number of Python paths for which a list file is written instead of passing paths."""


def is_header(row: Any) -> bool:
    """Return whether the first row of a CSV file is a header, such as file_name or label."""
    names = [name.strip().lower() for name in row]
    if {".", "/"} & set(names[0]) or (len(names) > 1 and names[1].lstrip("+-").isdigit()):
        return False
    words = "path|file|image|img|photo|picture|name|id|s|_|-| "
    labels = {"label", "class", "target", "category", "class_name"}
    return bool(re.fullmatch(f"(?:{words})+", names[0]) or labels & {*names})


def read_rows(data: Any, malformed: Any = None) -> Any:
    """Yield the path and label of each file in a list.

    ``data`` is a text file of lines ``path label``, a CSV file whose first columns are path and
    label, pairs in Python, or a pattern of file names. The first row of a CSV file is a header if
    its names are known (``is_header``). A row without path and label raises ValueError. If
    ``malformed`` is a list, the row's number and error are appended to it instead.
    """
    if is_pattern(data):
        root = pattern_folder(data)
        yield from ((os.path.relpath(path, root), str(name)) for path, name in matching_files(data))
        return
    if not isinstance(data, str):
        yield from ((os.path.abspath(path), str(label)) for path, label in data)
        return
    with open(data, newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        is_csv = data.lower().endswith(".csv")
        rows = csv.reader(file) if is_csv else (line.strip().rsplit(maxsplit=1) for line in file)
        for number, row in enumerate(rows, start=1):
            if not row or (is_csv and number == 1 and is_header(row)):
                continue
            if len(row) > 1 and row[0].strip() and row[1].strip() and "\0" not in row[0]:
                yield row[0], row[1].strip()
                continue
            lacking = "with a NUL character" if "\0" in row[0] else "without a path or a label"
            fault = f"row {number} is {str(row)[:80]}, {lacking}"
            if malformed is None:
                raise ValueError(f"{data}: {fault}")
            malformed.append((number, fault))


def numbered_paths(data: str) -> Iterator[tuple[int, str]]:
    """Yield the row number and absolute path of each file in a list, except malformed rows."""
    malformed: list[tuple[int, str]] = []
    root = os.path.dirname(os.path.abspath(data))
    paths = [os.path.join(root, path) for path, _ in read_rows(data, malformed)]
    is_csv, skipped = data.lower().endswith(".csv"), {number for number, _ in malformed}
    with open(data, newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        rows = csv.reader(file) if is_csv else map(str.split, file)
        filled = [
            number
            for number, row in enumerate(rows, start=1)
            if row and not (is_csv and number == 1 and is_header(row))
        ]
    numbers = [each for each in filled if each not in skipped]
    yield from zip(numbers, paths, strict=True)


def is_numbered(data: Any) -> bool:
    """Return whether a list is a text file of paths and numbers, which DALI can read itself."""
    if not isinstance(data, str) or data.lower().endswith(".csv") or is_pattern(data):
        return False
    line = re.compile(rb"(?!\xef\xbb\xbf)[^\s\0](?:[^\0]*[^\s\0])? +\d{1,9}\r?\n?")
    with open(data, "rb") as file:
        return all(map(line.fullmatch, file))


def write_numbered(files: Any, labels: Any) -> str:
    """Write paths and numbers to a temporary list and return its path.

    Returns an empty string if a list file cannot represent them. DALI reads a million lines in a
    third of a second; passing them as arguments takes 3 s.
    """
    text = "".join(f"{file} {label}\n" for file, label in zip(files, labels, strict=True))
    odd = any(part in text for part in ("\0", "\r", "\t", "  ", "\n ")) or text[:1].isspace()
    if odd or text.count("\n") != len(files) or not 0 <= min(labels) <= max(labels) < 10**9:
        return ""
    content = text.encode(errors="surrogateescape")
    folder = os.path.join(tempfile.gettempdir(), f"file-lists-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.stat(folder).st_uid != os.getuid():
        raise PermissionError(
            f"{folder} belongs to another user. Set TMPDIR to a folder of your own"
        )
    path = os.path.join(folder, f"{hashlib.sha256(content).hexdigest()[:32]}.txt")
    if not os.path.isfile(path):
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(content)
        os.replace(file.name, path)
    return path


def read_list(data: Any) -> dict[str, Any]:
    """Return the arguments of the file reader for a list of files with labels.

    Paths are relative to the list. Labels that are not integers are class names, numbered in
    alphabetical order.
    """
    root = os.path.dirname(os.path.abspath(data)) if isinstance(data, str) else "/"
    root = pattern_folder(data) if is_pattern(data) else root
    if is_numbered(data):
        return {"file_root": root, "file_list": data}
    rows = list(read_rows(data))
    labels = [label for _, label in rows]
    try:
        numbers = [int(label) for label in labels]
    except ValueError:
        classes = {name: number for number, name in enumerate(sorted(set(labels)))}
        numbers = [classes[label] for label in labels]
    files = [path for path, _ in rows]
    if len(files) >= 10_000 and (numbered := write_numbered(files, numbers)):
        return {"file_root": root, "file_list": numbered}
    return {"file_root": root, "files": files, "labels": numbers}


@lru_cache(maxsize=8)
def _labels_in(dataset: Dataset, time: int, size: int) -> tuple[str, ...]:
    """Return the class names in a list, in label order; empty if its labels are numbers.

    Cached by time and size, because scanning a million rows takes a second.
    """
    path = Path(dataset.location)
    try:
        if is_numbered(dataset.argument):
            return ()
        return tuple(FILE_LIST._listed_labels(dataset))
    except PermissionError:
        raise DataError(f"The list {path} cannot be read. Check its permissions.") from None
    except ValueError as error:
        form = "path,label" if dataset.location.lower().endswith(".csv") else "path label"
        raise DataError(f"{error}. Write '{form}' in each row.") from None
    except (OSError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as a list of files: {error}.") from None


def _require_columns(path: Path) -> None:
    """Raise DataError for an unsupported separator, or if the meaning of columns is ambiguous."""
    is_csv = path.suffix.lower() == ".csv"
    with open(path, newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        rows = filter(None, csv.reader(file) if is_csv else (line.split() for line in file))
        first, second = next(rows, []), next(rows, [])
    _require_separator(path, first, "," if is_csv else " ")
    if is_csv:
        _require_label_column(path, first)
    _require_path(path, first, second, is_csv)


def _require_separator(path: Path, row: Sequence[str], expected: str) -> None:
    separator = next(
        (each for each in ";\t|," if each != expected and each in "".join(row[:1])), ""
    )
    if separator and not os.path.exists(path.parent / row[0]):
        form = expected.join(("path", "label"))
        raise DataError(
            f"{path}: the columns are separated by {separator!r} instead of {expected!r}. Write "
            f"'{form}' in each row."
        )


def _require_path(path: Path, first: Sequence[str], second: Sequence[str], is_csv: bool) -> None:
    """Raise DataError if it is unclear whether the first row is a header or a file."""
    if not first or {".", "/"} & set(first[0]):
        return
    shown, is_file = repr(", ".join(first)[:80]), os.path.isfile(path.parent / first[0])
    if is_header(first) and is_csv:
        if is_file and not label_column(first[1:]):
            raise DataError(
                f"{path}: row 1 is {shown}, either a header or the file named {first[0]!r}. If it "
                "is a header, replace it by path,label; otherwise add the row path,label above it."
            )
    elif not is_file and is_header(first):
        raise DataError(
            f"{path}: row 1 is the header {shown}, but a text list has no header. Remove row 1."
        )
    elif not is_file and {".", "/"} & set("".join(second[:1])):
        raise DataError(
            f"{path}: row 1 is {shown}, which is neither a file with a label nor a header with "
            "known column names. "
            f"{'Write the header path,label, or correct' if is_csv else 'Correct'} the path."
        )


def _require_label_column(path: Path, first: Sequence[str]) -> None:
    """Raise DataError if it is unclear whether the second column of a CSV file is the label."""
    names = [name.strip() for name in first]
    if not names or label_column(names[1:2]):
        return
    if not is_header(first):
        if any(names[2:]):
            raise DataError(
                f"{path} has no header and {len(names)} columns ({', '.join(names)[:80]}), so "
                "which one is the label is unknown. Add the header path,label, with the label "
                "second."
            )
    elif len(names) > 2 or label_column(names):
        raise DataError(
            f"{path}: the second column must be 'label' but is {names[1]!r} (columns: "
            f"{', '.join(names)[:120]}). Put the labels into the second column and name it "
            "'label'."
        )


def _is_fraction(label: str) -> bool:
    """Return whether a label is a non-integer number, which cannot be a class name."""
    with suppress(ValueError):
        return not float(label).is_integer() or not label.lstrip("+-").isdigit()
    return False


def file_pairs_dataset(
    items: Sequence[tuple[str, int | str]], classes: Sequence[str] = ()
) -> Dataset:
    """Return the dataset of (path, label) pairs. ``classes`` are the names of numeric labels."""
    dataset = Dataset("file_list", items=tuple(items))
    if len(items) < _MANY and not classes:
        return dataset
    files, labels = zip(*items, strict=True)
    names = [*classes]
    try:
        labels = tuple(map(int, labels))
    except ValueError:
        labels = tuple(map(str, labels))
        names = sorted({*labels})
        numbers = {name: number for number, name in enumerate(names)}
        labels = tuple(map(numbers.__getitem__, labels))
    if any("\n" in name for name in names) or not (path := write_numbered(files, labels)):
        return dataset
    if names:
        path = _with_names(Path(path), "\n".join(names))
    return Dataset("file_list", path, title=str(dataset))


def _with_names(path: Path, names: str) -> str:
    """Write a copy of a list with a file of class names next to it, and return its path.

    A copy is needed because other lists may have the same content but other class names.
    """
    content = names.encode(errors="surrogateescape")
    named = path.with_stem(f"{path.stem}-{hashlib.sha256(content).hexdigest()[:8]}")
    if not named.exists():
        shutil.copyfile(path, named)
        named.with_suffix(_NAMES).write_bytes(content)
    return str(named)


def is_list(path: Path) -> bool:
    """Return whether a path has the suffix of a list file and is not a folder."""
    return path.suffix.lower() in _SUFFIXES and not os.path.isdir(path)


def require_files(dataset: Dataset) -> None:
    """Raise DataError, with row numbers, if listed files do not exist.

    Rows of a Python list are counted from 0, rows of a text or CSV file from 1.
    """
    rows = list(FILE_LIST._listed_rows(dataset))
    missing = [(row, path) for row, path in rows if not os.path.exists(path)]
    if rows and not missing and os.path.isdir(rows[0][1]):
        raise DataError(
            f"Row {rows[0][0]} is the folder {rows[0][1]}, not a file. Pass one folder without a "
            f"list, or its files: sorted(pathlib.Path({rows[0][1]!r}).glob('*.jpg'))."
        )
    if missing:
        more = f" and {len(missing) - 5:,} more" if len(missing) > 5 else ""
        name = name_with_ending(missing[0][1])
        fix = (
            f"{name} exists: add the ending"
            if name
            else "Correct the path"
            if len(missing) == 1
            else "Correct these paths"
        )
        numbers = ", ".join(str(row) for row, _ in missing[:5])
        one = len(missing) == 1
        holder = "" if dataset.title or not dataset.location else f" in {dataset.location}"
        raise DataError(
            f"{len(missing):,} of {len(rows):,} files{holder} {'is' if one else 'are'} missing "
            f"({'row' if one else 'rows'} {numbers}{more}){':' if one else '; the first:'} "
            f"{missing[0][1]}. {fix}, or remove the {'row' if one else 'rows'}."
        )
    if not dataset.in_memory:
        warn_of_labels((label for _, label in dataset.items), "Row")


def _is_utf8(path: Path) -> bool:
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    except OSError:
        return True  # reported later
    return True


class FileList(SourceKind):
    """Source kind for files with labels in a text or CSV file, or in a Python list."""

    about = "list of files with labels (.txt or .csv), or a pattern"
    op = "readers.file"
    located_by = frozenset({"file_root", "files", "file_list"})
    find = staticmethod(read_list)
    sampled = staticmethod(read_sampled_files)
    helpers = (
        *PATTERN_HELPERS,
        *(is_header, read_rows, is_numbered, write_numbered),
    )
    sampler_helpers = (Sampler,)
    imports = ("csv", "glob", "hashlib", "os", "re", "tempfile")
    precedence = 1

    def require(self, dataset: Dataset) -> None:
        self._labels(dataset)

    def class_names(self, dataset: Dataset) -> list[str]:
        """Return the class names in label order. Raises DataError if the list is invalid."""
        found = list(self._labels(dataset))
        beside = os.path.splitext(dataset.location)[0] + _NAMES
        if found or not dataset.location or not os.path.isfile(beside):
            return found
        try:
            return Path(beside).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise DataError(f"{beside} cannot be read as class names: {reason}.") from None

    def _labels(self, dataset: Dataset) -> tuple[str, ...]:
        """Return the class names in the list, in label order; empty if labels are numbers.

        Raises DataError if the list is invalid.
        """
        if not dataset.location:
            return _labels_in(dataset, 0, 0)
        if is_pattern(dataset.location):
            labels = [label for _, label in matching_files(dataset.location)]
            if not labels:
                raise DataError(self.nothing_found(dataset))
            return tuple(sorted(map(str, {*labels} - {0})))
        path = Path(dataset.location)
        if not os.path.exists(path):
            raise DataError(f"There is no list of files {path}. Use a text or CSV file.")
        if not os.path.isfile(path):
            raise DataError(f"{path} is not a file. Use a list of files that ends in .txt or .csv.")
        found = os.stat(path)
        return _labels_in(dataset, found.st_mtime_ns, found.st_size)

    def _listed_labels(self, dataset: Dataset) -> list[str]:
        path = Path(dataset.location)
        if dataset.location:
            _require_columns(path)
        malformed: list[tuple[int, str]] = []
        labels = {label for _, label in read_rows(dataset.argument, malformed)}
        if malformed and not labels:
            raise ValueError(f"{path}: {malformed[0][1]}")
        if dataset.location.lower().endswith(".csv") and not _is_utf8(path):
            raise DataError(
                f"{path} is not UTF-8 text. Save it as UTF-8, or as a .txt file with 'path "
                "label' on each line."
            )
        try:
            numbers = {int(label) for label in labels}
        except ValueError:
            if fraction := next(filter(_is_fraction, sorted(labels)), None):
                raise DataError(
                    f"{dataset}: the label {fraction!r} is not an integer. Number the "
                    "classes from 0, or use class names."
                ) from None
            return sorted(labels)
        large = next((number for number in numbers if not -(2**31) <= number < 2**31), None)
        if large is not None:  # DALI would silently drop its upper bits
            raise DataError(
                f"{dataset}: the label {large} does not fit into DALI's 32-bit labels. "
                "Number the classes from 0, or use class names."
            )
        return []

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield the samples in list order, and then a faulty sample for each malformed row."""
        numbers = {name: number for number, name in enumerate(self._labels(dataset))}
        root = self.root(dataset)
        malformed: list[tuple[int, str]] = []
        for name, label in read_rows(dataset.argument, malformed):
            yield Sample(os.path.join(root, name), name, numbers[label] if numbers else int(label))
        holder = os.path.basename(dataset.location)
        for number, fault in malformed:
            yield Sample(dataset.location, f"{holder}:{number}", -1, nbytes=0, fault=fault)

    def root(self, dataset: Dataset) -> str:
        return folder_of(dataset) if dataset.location else "/"

    def watched_paths(self, dataset: Dataset) -> Iterator[str]:
        if is_pattern(dataset.location):
            return folders_below(pattern_folder(dataset.location))
        return super().watched_paths(dataset)

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        if not is_pattern(dataset.location):
            yield from describe_hidden([path for path, _ in read_rows(dataset.argument, [])])

    def _listed_rows(self, dataset: Dataset) -> Iterator[tuple[int, str]]:
        """Yield the row number and path of each listed file, if the data are a list."""
        if not dataset.in_memory and dataset.items:
            yield from enumerate(path for path, _ in dataset.items)
        elif is_list(Path(dataset.location)) and os.path.isfile(dataset.location):
            kind = load_source(dataset.kind)
            if "file_list" in kind.located_by or kind.op == "request":
                first = 0 if dataset.title else 1  # a title: ``file_pairs_dataset`` wrote the list
                for number, path in numbered_paths(dataset.location):
                    yield number - 1 + first, path

    def accepts(self, path: Path) -> bool:
        """Return whether a path is a list in UTF-8. Other text files are read as ``folder``."""
        return is_list(path) and (path.suffix.lower() == ".csv" or _is_utf8(path))

    def path_argument(self, dataset: Dataset | None) -> str:
        listed = dataset is not None and os.path.isfile(dataset.location)
        return "file_list" if listed and is_numbered(dataset.location) else ""  # type: ignore[union-attr]

    def write_placeholder(self, folder: Path) -> Path:
        path = folder / "list.txt"
        path.write_text("image.jpg 0\n", encoding="utf-8")
        return path

    def nothing_found(self, dataset: Dataset) -> str:
        if is_pattern(dataset.location):
            return (
                f"No visible file matches {dataset}. Use * for part of a name, and ** for folders "
                "at any depth: photos/**/*.jpg."
            )
        return f"{dataset} names no file. Add lines of the form 'path label'."


FILE_LIST = FileList()
SOURCES = {"file_list": FILE_LIST}
