"""Recognise hidden files, and patterns of file names such as ``photos/**/*.jpg``."""

from __future__ import annotations

import glob
import os
from typing import Any


def is_hidden(name: str) -> bool:
    """Return whether a file or folder is hidden or belongs to the system, judged by its name."""
    system = ("__macosx", "@eadir", "#recycle", "$recycle.bin", "lost+found")
    others = ("__pycache__", "system volume information", "thumbs.db", "desktop.ini")
    return name.startswith(".") or name.lower() in system + others


def is_pattern(data: Any) -> bool:
    """Return whether data are a pattern of file names, such as photos/**/*.jpg."""
    return isinstance(data, str) and glob.has_magic(data) and not os.path.exists(data)


def matching_files(pattern: str) -> list[tuple[str, Any]]:
    """Return the path and label of each visible file that matches a pattern, sorted by path.

    The label is the name of the file's folder, or 0 if all files are in one folder.
    """
    parts = os.path.abspath(pattern).split(os.sep)
    first = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    paths = [
        path
        for path in sorted(glob.glob(os.sep.join(parts), recursive=True))
        if not any(map(is_hidden, path.split(os.sep)[first:])) and not os.path.isdir(path)
    ]
    folders = [os.path.basename(os.path.dirname(path)) for path in paths]
    several = len({os.path.dirname(path) for path in paths}) > 1
    return list(zip(paths, folders if several else [0] * len(paths), strict=True))


def pattern_folder(pattern: str) -> str:
    """Return the absolute path of the folder in which a pattern is searched: ``photos``."""
    path = os.path.abspath(pattern)
    while glob.has_magic(path):
        path = os.path.dirname(path)
    return path


PATTERN_HELPERS: tuple[Any, ...] = (is_hidden, is_pattern, matching_files, pattern_folder)
"""Functions that an exported program needs to list the files that match a pattern."""
