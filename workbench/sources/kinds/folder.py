"""Read a folder of images: class folders, or one flat folder.

Follows DALI's ``readers.file`` with ``file_root``: the images of each subfolder are a class, and
folders and files are sorted by name. A folder without visible subfolders is flat, and its images
have label 0. DALI's ``file_list`` is accepted too, and can exclude faulty files.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind
from workbench.sources.class_folders import (
    FIND_CLASS_FILES,
    IMAGES,
    class_folders,
    describe_unread,
    ends_with,
    has_hidden,
    named_files,
)
from workbench.sources.file_names import is_hidden
from workbench.sources.headers import describe_compression
from workbench.sources.kinds._sampler import Sampler, read_sampled_files
from workbench.sources.kinds.coco import annotation_files
from workbench.sources.kinds.file_list import FILE_LIST, is_list

if TYPE_CHECKING:
    from nvidia.dali import fn  # the exported program has it


IMAGES_SOURCE = f"""\
IMAGES = (
    {", ".join(f'"{suffix}"' for suffix in IMAGES[:8])},
    {", ".join(f'"{suffix}"' for suffix in IMAGES[8:])},
)  # fmt: skip
"""

LIST_IMAGES = f"{IMAGES_SOURCE}\n\n{FIND_CLASS_FILES}"
"""Code that lists the images of a folder, for exported programs."""

OTHERS = (".gif", ".avif", ".avifs", ".ico", ".icns", ".tga", ".qoi", ".dds", ".pcx", ".sgi")
"""Suffixes of images that Pillow opens and DALI's readers skip."""

SOUNDS = (".flac", ".ogg", ".wav")
"""Suffixes of sounds that ``readers.file`` also finds in class folders."""

_MOST_NAMES = 10_000
"""Maximum number of folder entries searched for images."""
_LOOKED_INTO = 20
"""Maximum number of folders searched for images if the folder itself has none."""
_SHOWN = 200
"""Maximum number of characters of an unreadable path in a message."""


def find_files(data: str) -> dict[str, Any]:
    """Return the arguments of the file reader for class folders, a flat folder, or a list.

    The list is a DALI ``file_list``, with a path and a label per line. It can exclude files that
    DALI cannot decode; one of them would stop the program. DALI reads hidden files and folders too;
    if there are any, the visible ones are passed by name.
    """
    if os.path.isfile(data):
        return {"file_list": data}
    if class_folders(data) and not has_hidden(data, IMAGES):
        return {"file_root": data}
    found = named_files(data, IMAGES)
    files, labels = [name for name, _ in found], [label for _, label in found]
    return {"file_root": data, "files": files, "labels": labels}


def find_named_files(data: str) -> dict[str, Any]:
    """Return the images by name, with labels: of class folders, a flat folder, or a list."""
    if os.path.isfile(data):
        return {"file_list": data}
    found = named_files(data, IMAGES)
    files, labels = [name for name, _ in found], [label for _, label in found]
    return {"file_root": data, "files": files, "labels": labels}


def _lost_links(data: str) -> Iterator[Sample]:
    """Yield the broken or circular links next to the class folders, at which DALI stops."""
    with os.scandir(data) as entries:
        lost = sorted(e.name for e in entries if e.is_symlink() and not os.path.exists(e.path))
    for name in lost:
        yield Sample(os.path.join(data, name), name, 0)


def images_in(folder: str) -> list[str]:
    """Return the names of images among the first entries of a folder.

    Raises OSError if the folder cannot be listed.
    """
    with os.scandir(folder) as entries:
        some = list(islice(entries, _MOST_NAMES))
    return [e.name for e in some if e.name.lower().endswith(IMAGES) and not is_hidden(e.name)]


def _suggest_subfolder(data: str) -> str:
    """Suggest a path if the images are one folder level deeper, or return an empty string."""
    for name in islice(class_folders(data), _LOOKED_INTO):
        for inner in islice(class_folders(os.path.join(data, name)), _LOOKED_INTO):
            with suppress(OSError):
                if images_in(os.path.join(data, name, inner)):
                    return (
                        f"The images of {data} are one level deeper, in {name}/{inner}. "
                        f"Open {os.path.join(data, name)} if its folders are the classes, "
                        f"or video_frames:{data} if each inner folder has the frames of a "
                        "video."
                    )
    return ""


class Folder(SourceKind):
    """Source kind for class folders or a flat folder of images."""

    about = "folder of images"
    op = "readers.file"
    located_by = frozenset({"file_root", "files", "file_list"})
    find = staticmethod(find_files)
    sampled = staticmethod(read_sampled_files)
    helpers: tuple[Any, ...] = (LIST_IMAGES, has_hidden)
    sampler_helpers = (Sampler,)
    imports = ("os",)
    precedence = 0

    def with_sampler(self) -> SourceKind:
        kind = super().with_sampler()
        if self.find is find_files:
            kind.find, kind.helpers = find_named_files, (LIST_IMAGES, *self.sampler_helpers)
        return kind

    def _is_list(self, dataset: Dataset) -> bool:
        return is_list(Path(dataset.location)) and os.path.isfile(dataset.location)

    def require(self, dataset: Dataset) -> None:
        path = Path(dataset.location)
        if self._is_list(dataset):
            FILE_LIST.require(dataset)
            return
        shown = f"{str(path)[:_SHOWN]}..." if len(str(path)) > _SHOWN else str(path)
        try:
            found = path.stat()
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                fix = "Use a folder of images."
                if ".py:" in shown:
                    fix = "Use a folder of images, or pass the object instead of its name."
                raise DataError(f"There is no folder {shown}. {fix}") from None
            raise DataError(
                f"The folder {shown} cannot be read: {error.strerror}. Use a folder of images."
            ) from None
        if not stat.S_ISDIR(found.st_mode):
            raise DataError(
                describe_compression(str(path))
                or (
                    f"{path} is a file. Use the folder that contains the images, or a list of "
                    "files that ends in .txt or .csv."
                )
            )
        if not os.access(path, os.R_OK | os.X_OK):
            raise DataError(f"The folder {path} cannot be read. Check its permissions.")
        folders = self.class_names(dataset)
        if "annotations" in folders and (coco := [*annotation_files(str(path / "annotations"))]):
            images = next((path / name for name in folders if name != "annotations"), path)
            raise DataError(
                f"{path} has COCO annotations, so its folders ({', '.join(folders[:3])}) are not "
                f"classes. Open {' or '.join(coco[:2])}, or only the images: {images}."
            )

    def class_names(self, dataset: Dataset) -> list[str]:
        if self._is_list(dataset):
            return FILE_LIST.class_names(dataset)
        return class_folders(dataset.location)

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        self.require(dataset)
        if self._is_list(dataset):
            yield from FILE_LIST.list_samples(dataset)
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

    def pillow_only(self, dataset: Dataset) -> Iterator[str]:
        """Yield names of images in the folder and its subfolders that only Pillow can open."""
        places = [dataset.location] if not self._is_list(dataset) else []
        with suppress(OSError):
            places += [
                os.path.join(dataset.location, name) for name in self.class_names(dataset) if places
            ]
            for place in places:
                with os.scandir(place) as entries:
                    yield from (
                        entry.name
                        for entry in entries
                        if entry.name.lower().endswith(OTHERS) and not is_hidden(entry.name)
                    )

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        if self._is_list(dataset):
            return FILE_LIST.unread_notes(dataset)
        return describe_unread(dataset.location, ends_with(*IMAGES))

    def watched_paths(self, dataset: Dataset) -> Iterator[str]:
        """Yield the folder and its subfolders: adding or removing files modifies one of them."""
        yield dataset.location
        try:
            with os.scandir(dataset.location) as entries:
                yield from (entry.path for entry in entries if os.path.isdir(entry.path))
        except OSError:
            return  # the reader reports the cause

    def root(self, dataset: Dataset) -> str:
        return FILE_LIST.root(dataset) if self._is_list(dataset) else dataset.location

    def nothing_found(self, dataset: Dataset) -> str:
        if self._is_list(dataset):
            return FILE_LIST.nothing_found(dataset)
        data = dataset.location
        entries = sorted(entry for entry in Path(data).iterdir() if not is_hidden(entry.name))
        if not entries:
            return f"The folder {data} is empty. Use a folder of images."
        if any(entry.suffix.lower() in IMAGES and entry.is_file() for entry in entries):
            return (
                f"The subfolders of {data} are its classes, and they contain no image; "
                "images next to them are not read. Use a folder with images only, or "
                "with class folders."
            )
        if annotations := next(annotation_files(data), ""):
            return f"There is no image in {data} itself. Open its COCO annotations: {annotations}."
        if deeper := _suggest_subfolder(data):
            return deeper
        names = ", ".join(entry.name for entry in entries[:3]) + (
            ", ..." if len(entries) > 3 else ""
        )
        return (
            f"There is no image in {data} (found: {names}). Use a folder of images, or of "
            f"class folders with images: {', '.join(IMAGES)}."
        )

    def path_argument(self, dataset: Dataset | None) -> str:
        """Return ``file_root`` or ``file_list``, or an empty string if files are passed by name."""
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
        return os.path.isdir(path) or is_list(path)


# A folder of images that includes formats DALI does not decode: GIF, AVIF and others of Pillow.
#
# Class folders or one flat folder, as in ``folder``, decoded by ``decoders.pillow``. A folder with
# any image that DALI decodes is opened as ``folder``, which skips the others;
# ``pillow_images:PATH`` opens all of them.

_LOOKED_AT = 1000


def find_images(data: str) -> dict[str, Any]:
    """Return the arguments of the file reader for class folders, or a flat folder.

    Includes images in formats that only Pillow can decode.
    """
    found = named_files(data, (*IMAGES, *OTHERS))
    files, labels = [name for name, _ in found], [label for _, label in found]
    return {"file_root": data, "files": files, "labels": labels}


_OTHERS_SOURCE = f"""\
OTHERS = (
    {", ".join(f'"{suffix}"' for suffix in OTHERS)},
)  # fmt: skip
"""


def _names(path: Path) -> Iterator[str]:
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir() and not is_hidden(entry.name):
                with os.scandir(entry.path) as inner:
                    yield from (each.name for each in islice(inner, _LOOKED_AT // 10))
            else:
                yield entry.name


class PillowImages(Folder):
    """Source kind for a folder of images that Pillow decodes."""

    about = "folder of images, including GIF and AVIF"
    find = staticmethod(find_images)
    helpers = (FIND_CLASS_FILES, f"{IMAGES_SOURCE}{_OTHERS_SOURCE}")
    precedence = 1
    decoder = "decoders.pillow"

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        self.require(dataset)
        try:
            found = find_images(dataset.location)
        except OSError as error:
            raise DataError(f"{error.filename} cannot be listed: {error.strerror}.") from None
        for name, label in zip(found["files"], found["labels"], strict=True):
            path = os.path.join(dataset.location, name)
            yield Sample(path, name, label, with_pillow=True)

    def accepts(self, path: Path) -> bool:
        """Return whether a folder's first entries include images, but none that DALI can decode."""
        if not os.path.isdir(path):
            return False
        try:
            names = [name.lower() for name in islice(_names(path), _LOOKED_AT)]
        except OSError:
            return False
        return any(name.endswith(OTHERS) for name in names) and not any(
            name.endswith(IMAGES) for name in names
        )

    def nothing_found(self, dataset: Dataset) -> str:
        return (
            f"There is no image in {dataset}. Use a folder of images, or of class folders "
            f"with images: {', '.join((*IMAGES, *OTHERS))}."
        )

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        return describe_unread(dataset.location, ends_with(*IMAGES, *OTHERS))

    def pillow_only(self, dataset: Dataset) -> Iterator[str]:
        return iter(())

    def path_argument(self, dataset: Dataset | None) -> str:
        return ""


# A request: encoded images sent by another program, one per sample, as with Triton.
#
# When a graph is previewed, measured or run as a script, files of a folder or list serve as
# requests: ``request:photos``. For Triton it is the model's input, named like the node.


def request_arguments(data: Any) -> dict[str, Any]:
    """Return the arguments of the file reader for example requests: a folder or a ``file_list``."""
    return find_files(data)


def read_requests(**options: Any) -> Any:
    """Read example requests from files instead of using ``fn.external_source``."""
    jpegs, _ = fn.readers.file(**options)
    return jpegs


class Request(Folder):
    """Source kind for images that clients send to a server; without a server, a folder is read."""

    about = "folder of sample requests"
    op = "request"
    located_by: frozenset[str] = frozenset()
    find = staticmethod(request_arguments)
    reader = staticmethod(read_requests)
    outputs = ("jpegs",)
    options: frozenset[str] = frozenset()
    sampled = None  # type: ignore[assignment]
    seeded = False
    takes = frozenset({"folder"})
    helpers = (*Folder.helpers, find_files)

    def accepts(self, path: Path) -> bool:
        return False

    def class_names(self, dataset: Dataset) -> list[str]:
        return []

    def path_argument(self, dataset: Dataset | None) -> str:
        return ""


SOURCES = {"folder": Folder(), "pillow_images": PillowImages(), "request": Request()}
