"""Files of one kind in class folders, in a flat folder, or in a list."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

from workbench.sources import Dataset

_NAMED = 3
"""Files that a sentence names of those that are not read."""
_LOOKED_INTO = 1000
"""Folders in which files are looked for, of those that are not read."""


def is_hidden(name: str) -> bool:
    """Whether a file or folder belongs to the system or to a tool, by its name: it is no data."""
    system = ("__macosx", "@eadir", "#recycle", "$recycle.bin", "lost+found")
    others = ("__pycache__", "system volume information")
    return name.startswith(".") or name.lower() in system + others


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a folder is a folder; a link in a circle is none."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def class_folders(data: str) -> list[str]:
    """The names of the folders in a folder, sorted, without hidden ones."""
    if not os.path.isdir(data):
        return []
    with os.scandir(data) as entries:
        return sorted(e.name for e in entries if is_folder(e) and not is_hidden(e.name))


def first_names(path: str, most: int) -> list[str]:
    """Names in small letters of the first class folder with a file, or of a flat folder.

    Raises OSError.
    """
    for folder in class_folders(path) or [""]:
        with os.scandir(os.path.join(path, folder)) as entries:
            shown = (entry for entry in entries if not is_hidden(entry.name))
            if names := [e.name.lower() for e in islice(shown, most) if not is_folder(e)]:
                return names
    return []


def named_files(data: str, suffixes: tuple[str, ...]) -> list[tuple[str, int]]:
    """The files of class folders, or of a flat folder: the path inside ``data``, and the label."""
    found = []
    for label, folder in enumerate(class_folders(data) or [""]):
        with os.scandir(os.path.join(data, folder)) as entries:
            names = [entry.name for entry in entries if not is_folder(entry)]
        named = sorted(name for name in names if name.lower().endswith(suffixes))
        shown = [name for name in named if not is_hidden(name)]
        found += [(os.path.join(folder, name), label) for name in shown]
    return found


def has_hidden(data: str, suffixes: tuple[str, ...]) -> bool:
    """Whether DALI would find hidden folders in a folder, or hidden files in class folders."""
    with os.scandir(data) as entries:
        folders = [e.name for e in entries if is_folder(e)]
    return any(map(is_hidden, folders)) or any(
        name.lower().endswith(suffixes) and is_hidden(name)
        for folder in folders
        for name in os.listdir(os.path.join(data, folder))
    )


def files_of(data: Any, suffixes: tuple[str, ...]) -> tuple[list[str], list[int]]:
    """The files and their labels: of class folders, a flat folder, a file, a list or pairs."""
    if not isinstance(data, str):
        labels = [label for _, label in data]
        if any(isinstance(label, str) for label in labels):
            numbers = {name: at for at, name in enumerate(sorted(set(map(str, labels))))}
            labels = [numbers[str(label)] for label in labels]
        return [path for path, _ in data], labels
    if os.path.isfile(data) and data.lower().endswith(suffixes):
        return [data], [0]
    if os.path.isfile(data):
        with open(data, encoding="utf-8", errors="surrogateescape") as lines:
            rows = [line.strip().rsplit(maxsplit=1) for line in lines if line.strip()]
        root = os.path.dirname(os.path.abspath(data))
        return [os.path.join(root, path) for path, _ in rows], [int(label) for _, label in rows]
    found = named_files(data, suffixes)
    return [os.path.join(data, name) for name, _ in found], [label for _, label in found]


_LISTING: tuple[Any, ...] = (is_hidden, is_folder, class_folders, named_files)
FIND_CLASS_FILES = "\n\n".join(map(inspect.getsource, _LISTING))
"""Source of what finds the files of class folders, for programs."""


def class_names_of(dataset: Dataset) -> list[str]:
    """The names of the class folders, or of the classes of files that are listed in Python."""
    if dataset.location or all(isinstance(label, int) for _, label in dataset.items):
        return class_folders(dataset.location)
    return sorted({str(label) for _, label in dataset.items})


def watched_class_folders(dataset: Dataset) -> Iterator[str]:
    """What changes where a file comes or goes: the folder and its classes, or the files listed."""
    if not dataset.location:
        yield from (path for path, _ in dataset.items)
        return
    yield dataset.location
    yield from (os.path.join(dataset.location, name) for name in class_folders(dataset.location))


def describe_unread(data: str, suffixes: tuple[str, ...], noun: str = "image") -> Iterator[str]:
    """Which files and folders in class folders, or in a flat folder, are not read, in sentences.

    Also the class folders without a file to read. Raises OSError.
    """
    classes = class_folders(data)
    kinds: dict[str, list[str]] = {}
    for place, name, is_folder in _entries(data, classes):
        path = os.path.join(place, name)
        wanted = name.lower().endswith(suffixes)
        if is_folder and is_hidden(name):
            kinds.setdefault("hidden", []).append(f"{path}/")
        elif is_folder and place:
            found = _files_below(os.path.join(data, path), suffixes)
            kinds.setdefault("deeper", []).extend(os.path.join(path, each) for each in found)
        elif not is_folder and is_hidden(name):
            kinds.setdefault("hidden", []).extend([path] * wanted)
        elif not is_folder and wanted and classes and not place:
            kinds.setdefault("loose", []).append(path)
        elif not is_folder and not wanted:
            kinds.setdefault("other", []).append(path)
        elif not is_folder:
            kinds.setdefault("read", []).append(place)
    why = {
        "hidden": "Hidden and system files and folders are not read",
        "loose": f"{noun.capitalize()}s next to the class folders are not read",
        "deeper": f"{noun.capitalize()}s in folders inside a class folder are not read",
        "other": f"Files with other endings than {', '.join(suffixes)} are not read",
    }
    for kind, text in why.items():
        if names := sorted(kinds.get(kind, [])):
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            yield f"{text} ({len(names):,}): {', '.join(names[:_NAMED])}{more}."
    with_files = set(kinds.get("read", []))
    for number, name in enumerate(classes):
        if name not in with_files:
            yield f"The class folder {name}/ has no {noun}; its class number {number} is kept."


def _entries(data: str, classes: list[str]) -> Iterator[tuple[str, str, bool]]:
    """Folder inside ``data``, name, and whether it is a folder, of what could be data."""
    for place in ["", *classes]:
        with os.scandir(os.path.join(data, place)) as entries:
            for entry in entries:
                yield place, entry.name, is_folder(entry)


def _files_below(folder: str, suffixes: tuple[str, ...]) -> list[str]:
    below = islice(os.walk(folder), _LOOKED_INTO)
    return [
        os.path.relpath(os.path.join(place, name), folder)
        for place, _, names in below
        for name in names
        if name.lower().endswith(suffixes)
    ]
