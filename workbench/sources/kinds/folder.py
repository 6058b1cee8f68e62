"""A folder of images: class folders, or one flat folder.

As DALI's ``readers.file`` with ``file_root``: the images of each subfolder are a class, folders and
files sorted by name. A folder without (visible) subfolders is one of images with label 0. In its
place DALI's ``file_list`` is read too: the same files without those that are bad.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind
from workbench.sources.class_folders import (
    FIND_CLASS_FILES,
    IMAGES,
    class_folders,
    describe_unread,
    has_hidden,
    is_hidden,
    named_files,
)
from workbench.sources.compression import describe_compression
from workbench.sources.kinds import file_list

IMAGES_SOURCE = f"""\
IMAGES = (
    {", ".join(f'"{suffix}"' for suffix in IMAGES[:8])},
    {", ".join(f'"{suffix}"' for suffix in IMAGES[8:])},
)  # fmt: skip
"""

LIST_IMAGES = f"{IMAGES_SOURCE}\n\n{FIND_CLASS_FILES}"
"""Source of what lists the images of a folder, for programs: ``named_files(data, IMAGES)``."""

OTHERS = (".gif", ".avif", ".avifs", ".ico", ".icns", ".tga", ".qoi", ".dds", ".pcx", ".sgi")
"""Endings of images that Pillow opens, and DALI's readers pass over."""

SOUNDS = (".flac", ".ogg", ".wav")
"""What ``readers.file`` looks for besides ``IMAGES`` in class folders."""

_MOST_NAMES = 10_000
"""Entries of a folder among which images are looked for."""
_LOOKED_INTO = 20
"""Folders in which images are looked for where there are none."""
_SHOWN = 200
"""Characters of a path that cannot be read, in a message."""


def find_files(data: str) -> dict[str, Any]:
    """Arguments of the file reader for class folders, a flat folder of images, or a list.

    The list is DALI's ``file_list``, with a path and a label on each line. It may leave out
    what DALI does not decode: one such file ends the program. DALI reads hidden files and folders
    too: where there are some, it is given the names of the others.
    """
    if os.path.isfile(data):
        return {"file_list": data}
    if class_folders(data) and not has_hidden(data, IMAGES):
        return {"file_root": data}
    found = named_files(data, IMAGES)
    files, labels = [name for name, _ in found], [label for _, label in found]
    return {"file_root": data, "files": files, "labels": labels}


def _lost_links(data: str) -> Iterator[Sample]:
    """Links beside the class folders that lead nowhere, or in a circle: DALI stops at one."""
    with os.scandir(data) as entries:
        lost = sorted(e.name for e in entries if e.is_symlink() and not os.path.exists(e.path))
    for name in lost:
        yield Sample(os.path.join(data, name), name, 0)


def images_in(folder: str) -> list[str]:
    """The names of the images among the first entries of a folder. Raises OSError."""
    with os.scandir(folder) as entries:
        some = list(islice(entries, _MOST_NAMES))
    return [e.name for e in some if e.name.lower().endswith(IMAGES) and not is_hidden(e.name)]


def _deeper(data: str) -> str:
    """What to give instead where the images lie in the folders of the folders; else empty."""
    for name in islice(class_folders(data), _LOOKED_INTO):
        for inner in islice(class_folders(os.path.join(data, name)), _LOOKED_INTO):
            with suppress(OSError):
                if images_in(os.path.join(data, name, inner)):
                    return (
                        f"The images of {data} lie a folder deeper, in {name}/{inner}. Give "
                        f"{os.path.join(data, name)}, whose folders are the classes; or "
                        f"video_frames:{data}, where each of the inner folders has the frames of "
                        "a video."
                    )
    return ""


class Folder(SourceKind):
    """Class folders or a flat folder of images."""

    about = "folder of images"
    op = "readers.file"
    located_by = frozenset({"file_root", "files", "file_list"})
    find = staticmethod(find_files)
    helpers: tuple[Any, ...] = (LIST_IMAGES, has_hidden)
    imports = ("os",)
    precedence = 0

    def _is_list(self, dataset: Dataset) -> bool:
        return file_list.is_list(Path(dataset.location)) and os.path.isfile(dataset.location)

    def require(self, dataset: Dataset) -> None:
        path = Path(dataset.location)
        if self._is_list(dataset):
            file_list.SOURCE.require(dataset)
            return
        shown = f"{str(path)[:_SHOWN]}..." if len(str(path)) > _SHOWN else str(path)
        try:
            found = path.stat()
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                factory = (
                    " In Python give what a function makes, not its name."
                    if ".py:" in shown
                    else ""
                )
                raise DataError(
                    f"There is no folder {shown}. Give a folder of images.{factory}"
                ) from None
            raise DataError(
                f"The folder {shown} cannot be read: {error.strerror}. Give a folder of images."
            ) from None
        if not stat.S_ISDIR(found.st_mode):
            raise DataError(
                describe_compression(str(path))
                or f"{path} is a file. Give the folder that holds the images, or a list of files "
                "that ends in .txt or .csv."
            )
        if not os.access(path, os.R_OK | os.X_OK):
            raise DataError(f"The folder {path} may not be read. Check its permissions.")

    def class_names(self, dataset: Dataset) -> list[str]:
        if self._is_list(dataset):
            return file_list.SOURCE.class_names(dataset)
        return class_folders(dataset.location)

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        self.require(dataset)
        if self._is_list(dataset):
            yield from file_list.SOURCE.list_samples(dataset)
            return
        data, folders = dataset.location, self.class_names(dataset)
        if folders:
            yield from _lost_links(data)
        try:
            suffixes = IMAGES if "files" in find_files(data) else IMAGES + SOUNDS
            found = named_files(data, suffixes)
        except OSError as error:
            raise DataError(f"{error.filename} cannot be listed: {error.strerror}.") from None
        yield from (Sample(os.path.join(data, name), name, label) for name, label in found)

    def passed_over(self, dataset: Dataset) -> Iterator[str]:
        """The names of images in the folder, and in those in it, that only Pillow opens."""
        places = [dataset.location] if not self._is_list(dataset) else []
        with suppress(OSError):
            places += [
                os.path.join(dataset.location, name) for name in self.class_names(dataset) if places
            ]
            for place in places:
                with os.scandir(place) as entries:
                    yield from (e.name for e in entries if e.name.lower().endswith(OTHERS))

    def not_read(self, dataset: Dataset) -> Iterator[str]:
        if not self._is_list(dataset):
            yield from describe_unread(dataset.location, IMAGES)

    def watched(self, dataset: Dataset) -> Iterator[str]:
        """The folder and those in it. A file added or removed changes the time of its folder."""
        yield dataset.location
        try:
            with os.scandir(dataset.location) as entries:
                yield from (entry.path for entry in entries if os.path.isdir(entry.path))
        except OSError:
            return  # the reader says what is wrong

    def root(self, dataset: Dataset) -> str:
        return file_list.SOURCE.root(dataset) if self._is_list(dataset) else dataset.location

    def nothing_found(self, dataset: Dataset) -> str:
        if self._is_list(dataset):
            return file_list.SOURCE.nothing_found(dataset)
        data = dataset.location
        entries = sorted(entry for entry in Path(data).iterdir() if not entry.name.startswith("."))
        if not entries:
            return f"The folder {data} is empty. Give a folder of images."
        if any(entry.suffix.lower() in IMAGES and entry.is_file() for entry in entries):
            return (
                f"The folders in {data} count as class folders, and there is no image in them; "
                "images beside folders are not read. Give a folder with images only, or with "
                "class folders."
            )
        if deeper := _deeper(data):
            return deeper
        names = ", ".join(entry.name for entry in entries[:3]) + (
            ", ..." if len(entries) > 3 else ""
        )
        return (
            f"There is no image in {data} (found: {names}). Give a folder of images, or of class "
            f"folders with images: {', '.join(IMAGES)}."
        )

    def directly(self, dataset: Dataset | None) -> str:
        """DALI's reader takes class folders and lists; of a flat folder it is told the files."""
        if dataset is None:
            return "file_root"
        if os.path.isfile(dataset.location):
            return "file_list"
        with suppress(OSError):
            return "" if find_files(dataset.location).get("files") else "file_root"
        return "file_root"

    def write_placeholder(self, folder: Path) -> Path:
        (folder / "class").mkdir()
        return folder

    def accepts(self, path: Path) -> bool:
        return os.path.isdir(path) or file_list.is_list(path)


SOURCE = Folder()
