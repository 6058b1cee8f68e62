"""Restrict the folders in which the web app opens and saves files, even through symbolic links.

In a notebook there are no roots: the user can read and write what the Jupyter kernel can.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from glob import has_magic
from pathlib import Path
from typing import BinaryIO

from workbench.errors import DataError, SaveError

VARIABLE = "DALI_WORKBENCH_ROOTS"
"""Environment variable that passes the roots to a worker as a JSON list; unset if there are none.
"""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Roots:
    """Folders whose contents may be opened, as absolute paths without symbolic links."""

    folders: tuple[str, ...]
    extensible: bool = field(default=False, compare=False)
    """Whether a page may add a folder after its user has confirmed it. True on the user's own
    machine, unless ``--root`` lists the folders."""
    added: list[str] = field(default_factory=list, compare=False)
    """Folders that users added, shared by all pages of this process."""

    @classmethod
    def of(cls, folders: Iterable[str | Path]) -> Roots:
        """Return roots for paths. Symbolic links are resolved and duplicates removed."""
        found = (os.path.realpath(os.path.expanduser(folder)) for folder in folders)
        return cls(tuple(dict.fromkeys(found)))

    @property
    def environment(self) -> dict[str, str]:
        """Return environment variables that pass the roots to a worker (``roots_of_worker``)."""
        return {VARIABLE: json.dumps([*self.folders, *self.added])}

    def add(self, path: str | Path) -> None:
        """Add the folder of a data path as a root.

        Raises DataError if the folder may not be added or does not exist. Running workers are not
        updated: they were started with ``environment``.
        """
        if not self.extensible:
            raise DataError(f"{path} cannot be opened: {self.refusal(path)}.")
        folder = os.path.realpath(data_folder(path))
        if not os.path.isdir(folder):
            raise DataError(f"{path} cannot be opened: there is no such folder or file.")
        if self.root_of(folder) is None:
            self.added.append(folder)

    def root_of(self, path: str | Path) -> str | None:
        """Return the innermost root that contains a resolved path, or None."""
        found = (root for root in (*self.folders, *self.added) if _is_within(str(path), root))
        return max(found, key=len, default=None)

    def refusal(self, path: str | Path) -> str:
        """Return why a path may not be opened, or an empty string. The path need not exist."""
        try:
            real = os.path.realpath(os.path.expanduser(path))
        except ValueError:
            return "its name contains a NUL character"
        if self.root_of(real) is not None:
            return ""
        what = "is a symbolic link to a place" if self._looks_inside(path) else "is"
        outside = f"it {what} outside {self}"
        if self.extensible:
            return outside
        return (
            f"{outside}. To replace the default folders, start `workbench app --root DIR` (repeat "
            "--root for several)"
        )

    def is_missing(self, path: str | Path) -> bool:
        """Return whether a path does not exist. Always False if users may not add folders."""
        try:
            return self.extensible and not os.path.exists(_without_split(path))
        except ValueError:  # a NUL
            return False

    def require(self, paths: Iterable[str]) -> None:
        """Raise DataError for the first path that may not be opened."""
        for path in paths:
            if outside := self.refusal(path):
                if self.is_missing(path):
                    outside = "there is no such folder or file"
                raise DataError(f"{path} cannot be opened: {outside}.")

    def _looks_inside(self, path: str | Path) -> bool:
        return self.root_of(os.path.abspath(os.path.expanduser(path))) is not None

    def open(self, path: str | Path) -> BinaryIO:
        """Open a file inside the roots. Safe even if symbolic links are changed meanwhile.

        Raises DataError if the file is outside the roots, and OSError if it cannot be opened.
        """
        self.require([str(path)])
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe would block
        file = os.fdopen(os.open(os.path.expanduser(path), flags), "rb")
        if self.root_of(os.readlink(f"/proc/self/fd/{file.fileno()}")) is None:
            file.close()
            raise DataError(f"{path} cannot be opened: a symbolic link leads outside {self}.")
        return file

    @contextmanager
    def folder(self, path: Path) -> Iterator[int]:
        """Yield the file descriptor of a folder inside the roots, for writing files into it.

        No symbolic link in the path is followed out of the roots, even if it is created meanwhile.
        Raises SaveError if the folder is outside, and OSError if it does not exist.
        """
        real = os.path.realpath(path, strict=True)
        root = self.root_of(real)
        if root is None:
            raise SaveError(f"Cannot write to {path}: {self.refusal(path)}.")
        names = Path(real).relative_to(root).parts
        if hidden := next((name for name in names if name.startswith(".")), None):
            raise SaveError(
                f"Cannot write to {path}: {hidden} is a hidden folder. Use another folder."
            )
        folder = os.open(root, _FOLDER)
        try:
            for name in names:
                inner = os.open(name, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)

    def save_folder(self) -> Path:
        """Return the folder for relative file names: the working folder if allowed, else a root."""
        work = Path.cwd()
        inside = not self.folders or self.root_of(os.path.realpath(work)) is not None
        return work if inside else Path(self.folders[0])

    def __str__(self) -> str:
        named = ", ".join((*self.folders, *self.added))
        return f"the folders that this app may open ({named})"


def default_roots(data: Iterable[str | Path], loopback: bool) -> Roots:
    """Return the data folders, the working folder and, on loopback, the home folder as roots."""
    home = [Path.home()] if loopback else []
    found = Roots.of([*map(data_folder, data), Path.cwd(), *home])
    return Roots(found.folders, extensible=loopback)


def data_folder(path: str | Path) -> Path:
    """Return a data folder itself, or the folder that contains a list or the matching files."""
    found = _without_split(path)
    while has_magic(str(found)) and not found.exists():
        found = found.parent
    return found.parent if found.is_file() else found


def _without_split(path: str | Path) -> Path:
    """Return the path of a file without the name of a split: data.yaml for data.yaml:val."""
    found = Path(path).expanduser()
    stem, colon, _ = str(found).rpartition(":")
    return Path(stem) if colon and not os.path.exists(found) and os.path.isfile(stem) else found


def roots_of_worker(environment: Mapping[str, str] = os.environ) -> Roots | None:
    """Return the roots that this process was started with, or None if it has none."""
    roots = environment.get(VARIABLE)
    return None if roots is None else Roots(tuple(json.loads(roots)))


def _is_within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)
