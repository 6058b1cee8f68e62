"""Files with given suffixes in class folders, in a flat folder, or in a list."""

from __future__ import annotations

import inspect
import os
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from workbench.errors import DataError
from workbench.sources import Dataset, SourceKind

IMAGES = (
    *(".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".pnm", ".ppm"),
    *(".pgm", ".pbm", ".jp2", ".webp"),
)
"""Suffixes of images that DALI's file reader finds by default (``file_filters``)."""
_LOOKED_AT = 10_000
"""Maximum number of folder entries checked for a matching file."""
_NAMED = 3
"""Maximum number of unread files that a message names."""
_LOOKED_INTO = 1000
"""Maximum number of folders searched for unread files."""


def is_hidden(name: str) -> bool:
    """Return whether a file or folder is hidden or belongs to the system, judged by its name."""
    system = ("__macosx", "@eadir", "#recycle", "$recycle.bin", "lost+found")
    others = ("__pycache__", "system volume information")
    return name.startswith(".") or name.lower() in system + others


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether a folder entry is a folder; False for circular links."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def class_folders(data: str) -> list[str]:
    """Return the visible subfolders of a folder, sorted by name."""
    if not os.path.isdir(data):
        return []
    with os.scandir(data) as entries:
        return sorted(e.name for e in entries if is_folder(e) and not is_hidden(e.name))


def first_names(path: str, limit: int) -> list[str]:
    """Return the lower-case file names in the first non-empty class folder, or in a flat folder.

    Returns at most ``limit`` names. Raises OSError if a folder cannot be listed.
    """
    for folder in class_folders(path) or [""]:
        with os.scandir(os.path.join(path, folder)) as entries:
            shown = (entry for entry in entries if not is_hidden(entry.name))
            if names := [e.name.lower() for e in islice(shown, limit) if not is_folder(e)]:
                return names
    return []


def named_files(data: str, suffixes: tuple[str, ...]) -> list[tuple[str, int]]:
    """Return relative path and label of each file in class folders or a flat folder."""
    found = []
    for label, folder in enumerate(class_folders(data) or [""]):
        with os.scandir(os.path.join(data, folder)) as entries:
            names = [entry.name for entry in entries if not is_folder(entry)]
        named = sorted(name for name in names if name.lower().endswith(suffixes))
        shown = [name for name in named if not is_hidden(name)]
        found += [(os.path.join(folder, name), label) for name in shown]
    return found


def has_hidden(data: str, suffixes: tuple[str, ...]) -> bool:
    """Return whether DALI would read hidden folders, or hidden files in class folders."""
    with os.scandir(data) as entries:
        folders = [e.name for e in entries if is_folder(e)]
    return any(map(is_hidden, folders)) or any(
        name.lower().endswith(suffixes) and is_hidden(name)
        for folder in folders
        for name in os.listdir(os.path.join(data, folder))
    )


def files_of(data: Any, suffixes: tuple[str, ...]) -> tuple[list[str], list[int]]:
    """Return paths and labels for class folders, a flat folder, one file, or a list of files."""
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
"""Code for exported programs that lists the files of class folders."""


def describe_unread(data: str, suffixes: tuple[str, ...], noun: str = "image") -> Iterator[str]:
    """Describe the files and folders in a dataset folder that are not read.

    Includes class folders without readable files. Raises OSError if a folder cannot be listed.
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
            yield f"The class folder {name}/ has no {noun}; its class number {number} stays."


def _entries(data: str, classes: list[str]) -> Iterator[tuple[str, str, bool]]:
    """Yield (folder relative to ``data``, name, True for a folder) for each folder entry."""
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


def require_whole_labels(dataset: Dataset, noun: str) -> None:
    """Raise DataError if a label passed in Python is not an integer."""
    named = next((label for _, label in dataset.items if isinstance(label, str)), None)
    if named is not None:
        raise DataError(f"The label of {noun} is {named!r}. Use an integer.")


class ClassFiles(SourceKind):
    """Source kind for files with certain suffixes: one file, a folder, class folders, or a list."""

    imports: tuple[str, ...] = ("os",)
    helpers: tuple[Any, ...] = (is_hidden, is_folder, class_folders, named_files, files_of)

    def files(self, dataset: Dataset) -> list[tuple[str, int]]:
        """Return the files with their labels. Raises DataError if they cannot be listed."""
        try:
            files, labels = files_of(dataset.argument, self.suffixes)
        except OSError as error:
            raise DataError(f"{dataset} cannot be read: {error.strerror}.") from None
        except ValueError:
            raise DataError(
                f"{dataset} is not a list of {self.noun}s. Write a path and a class number in each "
                "row."
            ) from None
        return list(zip(files, labels, strict=True))

    def accepts(self, path: Path) -> bool:
        """Return whether a path is a matching file, a list of such files, or a folder of them.

        A folder that also contains images is not accepted.
        """
        try:
            if path.suffix.lower() == ".txt" and path.is_file():
                with open(path, "rb") as file:
                    first = file.readline().rstrip().rpartition(b" ")[0].lower()
                return first.endswith(tuple(map(os.fsencode, self.suffixes)))
            if not os.path.isdir(path):
                return path.suffix.lower() in self.suffixes
            names = first_names(str(path), _LOOKED_AT)
        except OSError:
            return False
        return any(each.endswith(self.suffixes) for each in names) and not any(
            each.endswith(IMAGES) for each in names
        )

    def class_names(self, dataset: Dataset) -> list[str]:
        """Return the names of the class folders, or the sorted text labels of a list in Python."""
        if dataset.location or all(isinstance(label, int) for _, label in dataset.items):
            return class_folders(dataset.location)
        return sorted({str(label) for _, label in dataset.items})

    def watched_paths(self, dataset: Dataset) -> Iterator[str]:
        """Yield the folder and its class folders, or the listed files."""
        if not dataset.location:
            yield from (path for path, _ in dataset.items)
            return
        yield dataset.location
        for name in class_folders(dataset.location):
            yield os.path.join(dataset.location, name)

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        if os.path.isdir(dataset.location):
            yield from describe_unread(dataset.location, self.suffixes, self.noun)

    def write_without(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        if self.lists_files:
            return super().write_without(dataset, names, place)
        place.mkdir()
        return self.write_list(dataset, names, place / f"{self.noun}s")
