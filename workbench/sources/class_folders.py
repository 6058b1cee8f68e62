"""List files with given suffixes in class folders, in a flat folder, or in a list."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from workbench.errors import DataError
from workbench.sources import Dataset, SourceKind
from workbench.sources.file_names import (
    PATTERN_HELPERS,
    is_pattern,
    matching_files,
    pattern_folder,
)
from workbench.sources.file_names import is_hidden as is_hidden

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
_BESIDE = (".names", ".idx", ".lst")
"""Suffixes of files that describe the data files next to them."""
_ANNOTATIONS = (".json", ".yaml", ".yml", ".xml", ".txt", ".cache")
"""Suffixes of annotation files, and of files that training programs write next to them."""


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
    """Return the relative path and label of each file in class folders or a flat folder."""
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
    """Return paths and labels for class folders, a flat folder, a file, a list, or a pattern."""
    data = matching_files(data) if is_pattern(data) else data
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


def holds_records(path: Path, is_record: Callable[[str], bool]) -> bool:
    """Return whether a folder has record files, but neither images nor folders of other files."""
    try:
        with os.scandir(path) as entries:
            shown = [e for e in islice(entries, _LOOKED_AT) if not is_hidden(e.name)]
        folders = [entry.path for entry in shown if is_folder(entry)]
        names = [entry.name for entry in shown if entry.path not in folders]
        below = [name for place in folders for name in os.listdir(place) if not is_hidden(name)]
        below = [name for name in below if not name.endswith(_BESIDE)]
    except OSError:
        return False
    images = any(name.lower().endswith(IMAGES) for name in names)
    return any(map(is_record, names)) and all(map(is_record, below)) and not images


def describe_unread(
    data: str,
    is_read: Callable[[str], bool],
    noun: str = "image",
    folders: Collection[str] | None = None,
    classes: Sequence[str] | None = None,
    listed: Collection[str] = (),
    beside: tuple[str, ...] = _BESIDE,
) -> Iterator[str]:
    """Describe, in one line, the files and folders in a dataset folder that are not read.

    ``is_read`` accepts the names of data files. ``folders`` are the folders that contain them, and
    ``classes`` the class folders; by default both are the visible subfolders, if there are any.
    Files in ``listed`` are read even if they are hidden, and files that end in ``beside`` are
    neither data nor reported. Class folders without data files are named with their numbers.
    Raises OSError if a folder cannot be listed.
    """
    classes = class_folders(data) if classes is None else classes
    folders = (classes or [""]) if folders is None else folders
    inside = (each for each in folders if not each.startswith(".."))
    parents = {"", *(str(path) for each in inside for path in Path(each).parents)} - {"."}
    found: dict[str, list[str]] = {"hidden": [], "loose": [], "deeper": [], "other": [], "read": []}
    for place in sorted({*parents, *folders}):
        with os.scandir(os.path.join(data, place)) as entries:
            for entry in entries:
                path = os.path.join(place, entry.name)
                inner = is_folder(entry)
                if is_hidden(entry.name) and path not in folders and path not in listed:
                    found["hidden"].append(f"{path}/" if inner else path)
                elif inner and path not in parents and path not in folders:
                    found["deeper"] += (
                        os.path.join(path, name) for name in _files_below(entry.path, is_read)
                    )
                elif not inner and not is_read(entry.name):
                    found["other"] += [path] * (not path.endswith(beside))
                elif not inner:
                    found["read" if place in folders else "loose"].append(path)
    named = {
        "hidden": "hidden and system files and folders",
        "loose": f"{noun}s next to the folders that are read",
        "deeper": f"{noun}s in other folders",
        "other": "files with other endings",
    }
    unread = [f"{text} {_counted(found[kind])}" for kind, text in named.items() if found[kind]]
    read = {each.partition("/")[0] for each in found["read"]}
    empty = [f"{name}/ ({at})" for at, name in enumerate(classes) if name not in read]
    sentences = [f"Not read: {'; '.join(unread)}."] if unread else []
    if empty:
        sentences.append(f"Class folders without {noun}s keep their number: {', '.join(empty)}.")
    sentences += describe_hidden(listed)
    if sentences:
        yield " ".join(sentences)


def describe_unlisted(
    data: str, root: str, names: Sequence[str], watched: Iterable[str]
) -> Iterator[str]:
    """Describe the files in ``root`` that annotations do not name, like ``describe_unread``.

    The folders among the paths ``watched`` are searched too.
    """
    place = os.path.abspath(data)
    inner = os.path.relpath(root, place)
    listed = {name if inner == "." else os.path.join(inner, name) for name in names}
    above = {place, *map(str, Path(place).parents)}
    folders = {*map(os.path.dirname, listed)}
    folders |= {os.path.relpath(path, place) for path in watched if path not in above}
    folders = {each for each in folders if os.path.isdir(os.path.join(place, each))}
    is_image = ends_with(*IMAGES)
    yield from describe_unread(place, is_image, "image", folders, (), listed, _ANNOTATIONS)


def describe_hidden(listed: Collection[str]) -> Iterator[str]:
    """Describe the listed files that are hidden, belong to the system, or are in such folders."""
    if hidden := [p for p in listed if any(map(is_hidden, p.rsplit(os.sep, 2)[-2:]))]:
        yield f"Read because they are listed: hidden and system files {_counted(hidden)}."


def _counted(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"({len(names):,}: {', '.join(sorted(names)[:_NAMED])}{more})"


def _files_below(folder: str, is_read: Callable[[str], bool]) -> list[str]:
    found = []
    for place in islice(folders_below(folder), _LOOKED_INTO):
        shown = (name for name in os.listdir(place) if is_read(name) and not is_hidden(name))
        found += [os.path.relpath(os.path.join(place, name), folder) for name in shown]
    return found


def folders_below(folder: str) -> Iterator[str]:
    """Yield a folder and its visible subfolders at any depth."""
    for place, folders, _ in os.walk(folder):
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        yield place


def ends_with(*suffixes: str) -> Callable[[str], bool]:
    """Return a function that returns whether a file name has one of the suffixes."""
    return lambda name: name.lower().endswith(suffixes)


def require_whole_labels(dataset: Dataset, noun: str) -> None:
    """Raise DataError if a label passed in Python is not an integer."""
    named = next((label for _, label in dataset.items if isinstance(label, str)), None)
    if named is not None:
        raise DataError(f"The label of {noun} is {named!r}. Use an integer.")


class ClassFiles(SourceKind):
    """Source kind for files with certain suffixes: one file, a folder, class folders, or a list."""

    imports: tuple[str, ...] = ("glob", "os")
    helpers: tuple[Any, ...] = (
        *PATTERN_HELPERS,
        *(is_folder, class_folders, named_files, files_of),
    )

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
        matched = is_pattern(dataset.location)
        items = matching_files(dataset.location) if matched else dataset.items
        if not items or all(isinstance(label, int) for _, label in items):
            return class_folders(dataset.location)
        return sorted({str(label) for _, label in items})

    def watched_paths(self, dataset: Dataset) -> Iterator[str]:
        """Yield the folder and its class folders, or the listed files."""
        if not dataset.location:
            yield from (path for path, _ in dataset.items)
            return
        if is_pattern(dataset.location):
            yield from folders_below(pattern_folder(dataset.location))
            return
        yield dataset.location
        for name in class_folders(dataset.location):
            yield os.path.join(dataset.location, name)

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        if os.path.isdir(dataset.location):
            yield from describe_unread(dataset.location, ends_with(*self.suffixes), self.noun)
        elif not is_pattern(dataset.location):
            yield from describe_hidden([path for path, _ in self.files(dataset)])

    def write_without(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        if self.lists_files:
            return super().write_without(dataset, names, place)
        place.mkdir()
        return self.write_list(dataset, names, place / f"{self.noun}s")
