"""What lies in a folder, for finding another folder of images to open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from workbench.errors import DataError, WorkbenchError
from workbench.roots import Roots
from workbench.sources.class_folders import IMAGES
from workbench.ui.contract.data_payloads import FolderEntry, FolderListing
from workbench.ui.contract.encoding import empty

LISTED = 500
"""Folders of one listing, the first by name."""
COUNTED = 1000
"""Entries of a folder that are counted, so that a listing takes no longer than 0.5 s."""
NO_FOLDERS = empty(FolderListing)


def list_folders(path: str, roots: Roots | None, anywhere: bool = False) -> FolderListing:
    """The folders in ``path``, by name; hidden ones and those outside the ``roots`` left out.

    No symbolic link is followed out of the roots, also none that is made meanwhile, nor is it told
    where one leads. With ``anywhere`` the first root is listed in place of a path that may not be.
    Raises nothing: a listing says why it is empty.
    """
    try:
        real = os.path.realpath(os.path.expanduser(path))
    except ValueError:  # a NUL, or what no file system can encode
        return {**NO_FOLDERS, "error": f"{path!r} is no path of a folder."}
    if roots is not None and roots.refusal(real):
        real = roots.folders[0] if anywhere else os.path.abspath(os.path.expanduser(path))
    around = os.path.dirname(real)
    listing: FolderListing = {
        **NO_FOLDERS,
        "path": real,
        "parent": "" if around == real or (roots and roots.refusal(around)) else around,
        "places": list(roots.folders) if roots is not None else [str(Path.home()), os.getcwd()],
    }
    try:
        with _opened(real, roots) as folder:
            names = sorted(_folders_in(folder, real, roots))
            listing["entries"] = [_entry(real, name, roots) for name in names[:LISTED]]
            listing["more"] = len(names) > LISTED
    except (WorkbenchError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        listing["error"] = f"{real} cannot be listed: {reason}"
    return listing


@contextmanager
def _opened(real: str, roots: Roots | None) -> Iterator[int]:
    """A descriptor of a folder. Raises DataError for one outside the roots, and OSError."""
    if roots is not None:
        if outside := roots.refusal(real):
            raise DataError(f"{outside}.")
        with roots.folder(Path(real)) as folder:
            yield folder
        return
    folder = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)


def _folders_in(folder: int, path: str, roots: Roots | None) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or not _is_text(entry.name):
                continue
            if not entry.is_symlink():
                if entry.is_dir(follow_symlinks=False):
                    yield entry.name
                continue
            inside = os.path.join(path, entry.name)
            if not (roots and roots.refusal(inside)) and os.path.isdir(inside):
                yield entry.name


def _entry(path: str, name: str, roots: Roots | None) -> FolderEntry:
    inside = os.path.join(path, name)
    images = folders = seen = 0
    try:
        with _opened(os.path.realpath(inside), roots) as inner, os.scandir(inner) as entries:
            for entry in islice(entries, COUNTED + 1):
                seen += 1
                if entry.name.startswith(".") or seen > COUNTED:
                    continue
                if entry.name.lower().endswith(IMAGES):
                    images += 1
                elif entry.is_dir(follow_symlinks=False):
                    folders += 1
    except (WorkbenchError, OSError):  # which says so when it is opened
        pass
    return {
        "name": name,
        "path": inside,
        "images": images,
        "folders": folders,
        "more": seen > COUNTED,
    }


def _is_text(name: str) -> bool:
    """Whether a name can be shown and handed back: file names need not be UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
