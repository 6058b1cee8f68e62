"""The one reading of a data folder: which files the exported script reads, in which order.

As DALI's ``readers.file`` with ``file_root``: the images of each subfolder are a class, folders and
files sorted by name. A folder without (visible) subfolders is one of images with label 0, as
``find_files`` in the exported script has it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from workbench.emit.parts import IMAGES
from workbench.errors import DataError

SOUNDS = (".flac", ".ogg", ".wav")
"""What ``readers.file`` looks for besides ``IMAGES`` in class folders."""


def require_folder(data: str) -> None:
    """Raise DataError with the remedy where ``data`` is no folder that can be read."""
    path = Path(data)
    if not path.exists():
        raise DataError(f"There is no folder {data}. Give a folder of images.")
    if not path.is_dir():
        raise DataError(f"{data} is a file. Give the folder that holds the images.")
    if not os.access(path, os.R_OK | os.X_OK):
        raise DataError(f"The folder {data} may not be read. Check its permissions.")


def class_folders(data: str) -> list[str]:
    """Names of the class folders, sorted; empty for a flat folder."""
    with os.scandir(data) as entries:
        folders = sorted(entry.name for entry in entries if entry.is_dir())
    return folders if any(not name.startswith(".") for name in folders) else []


def list_files(data: str) -> Iterator[tuple[os.DirEntry[str], str, int]]:
    """Each file with its path relative to ``data`` and its label, in the reader's order.

    Raises DataError where a folder cannot be listed.
    """
    require_folder(data)
    folders = class_folders(data)
    suffixes = IMAGES + SOUNDS if folders else IMAGES
    for label, folder in enumerate(folders or [""]):
        try:
            with os.scandir(os.path.join(data, folder)) as entries:
                found = [e for e in entries if e.name.lower().endswith(suffixes)]
        except OSError as error:
            raise DataError(f"{data}/{folder} cannot be listed: {error.strerror}.") from None
        for entry in sorted(found, key=lambda entry: entry.name):
            if not entry.is_dir() and (folders or not entry.name.startswith(".")):
                yield entry, os.path.join(folder, entry.name), label


def unreadable(entry: os.DirEntry[str]) -> str | None:
    """Why the operating system cannot hand out a file's bytes, or None."""
    try:
        if entry.stat().st_size == 0:
            return "the file is empty"
    except OSError as error:
        return error.strerror or str(error)
    return None if os.access(entry.path, os.R_OK) else "no permission to read it"


def no_images(data: str) -> str:
    """Why the reader finds no file in a folder that can be read, and what to do."""
    entries = sorted(entry for entry in Path(data).iterdir() if not entry.name.startswith("."))
    if not entries:
        return f"The folder {data} is empty. Give a folder of images."
    if any(entry.suffix.lower() in IMAGES and entry.is_file() for entry in entries):
        return (
            f"The folders in {data} count as class folders, and there is no image in them; images "
            "beside folders are not read. Give a folder with images only, or with class folders."
        )
    names = ", ".join(entry.name for entry in entries[:3]) + (", ..." if len(entries) > 3 else "")
    return (
        f"There is no image in {data} (found: {names}). Give a folder of images, or of class "
        f"folders with images: {', '.join(IMAGES)}."
    )
