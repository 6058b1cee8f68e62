"""List the subfolders of a folder, for a dialog that opens data."""

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
"""Maximum number of subfolders in a listing, which contains the first ones by name."""
COUNTED = 1000
"""Maximum number of entries that are counted per subfolder, so that a listing takes at most
0.5 s.
"""
NO_FOLDERS = empty(FolderListing)


def list_folders(path: str, roots: Roots | None, anywhere: bool = False) -> FolderListing:
    """List the subfolders of ``path`` by name, except hidden ones and those outside the ``roots``.

    Symbolic links to targets outside the roots are not followed, even if created during the
    listing, and their targets are not revealed. With ``anywhere``, the first root is listed instead
    of a path that is not allowed. Does not raise: if listing fails, the result contains the reason.
    """
    try:
        real = os.path.realpath(os.path.expanduser(path))
    except ValueError:  # a NUL character, or a name that the file system cannot encode
        return {**NO_FOLDERS, "error": f"{path!r} is not a valid path."}
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
def _opened(path: str, roots: Roots | None) -> Iterator[int]:
    """Open a folder and yield its descriptor. Raises DataError for a folder outside the roots."""
    if roots is not None:
        if outside := roots.refusal(path):
            raise DataError(f"{outside}.")
        with roots.folder(Path(path)) as folder:
            yield folder
        return
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
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
    except (WorkbenchError, OSError):  # reported when it is opened
        pass
    return {
        "name": name,
        "path": inside,
        "images": images,
        "folders": folders,
        "more": seen > COUNTED,
    }


def _is_text(name: str) -> bool:
    """Return whether a file name is valid UTF-8, so that it can be sent to the browser."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
