"""The folders below which the web app opens and saves, also where symbolic links lead elsewhere.

A person at a notebook's kernel may read and write what the kernel may: there are no roots there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from workbench.errors import DataError, SaveError

VARIABLE = "DALI_WORKBENCH_ROOTS"
"""Tells a worker the roots, as a JSON list; without it there are none."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Roots:
    """Folders, absolute and without symbolic links."""

    folders: tuple[str, ...]
    extensible: bool = field(default=False, compare=False)
    """Whether a page may add a folder, once its user has confirmed it: on the user's own machine,
    unless ``--root`` names the folders."""
    added: list[str] = field(default_factory=list, compare=False)
    """Folders that were added, for every page of this process."""

    @classmethod
    def of(cls, folders: Iterable[str | Path]) -> Roots:
        """The folders that these paths lead to, each once."""
        found = (os.path.realpath(os.path.expanduser(folder)) for folder in folders)
        return cls(tuple(dict.fromkeys(found)))

    @property
    def environment(self) -> dict[str, str]:
        """What ``roots_of_worker`` reads."""
        return {VARIABLE: json.dumps([*self.folders, *self.added])}

    def add(self, path: str | Path) -> None:
        """Add the folder of some data. Raises DataError where none may be added, or there is none.

        Workers that run already do not know it: they are started with ``environment``.
        """
        if not self.extensible:
            raise DataError(f"{path} cannot be opened: {self.refusal(path)}.")
        folder = os.path.realpath(data_folder(path))
        if not os.path.isdir(folder):
            raise DataError(f"{path} cannot be opened: there is no such folder or file.")
        if self.root_of(folder) is None:
            self.added.append(folder)

    def root_of(self, path: str | Path) -> str | None:
        """The innermost root that a path without symbolic links lies in, or None."""
        found = (root for root in (*self.folders, *self.added) if _is_within(str(path), root))
        return max(found, key=len, default=None)

    def refusal(self, path: str | Path) -> str:
        """Why a path may not be opened, whatever is there; empty where it may."""
        try:
            real = os.path.realpath(os.path.expanduser(path))
        except ValueError:
            return "its name holds a NUL character"
        if self.root_of(real) is not None:
            return ""
        lies = "is a symbolic link to a place" if self._looks_inside(path) else "lies"
        outside = f"it {lies} outside {self}"
        if self.extensible:
            return outside
        return (
            f"{outside}; `workbench app --root DIR` names them in the place of the default ones: "
            "give it once for each"
        )

    def require(self, paths: Iterable[str]) -> None:
        """Raise DataError for the first path that may not be opened."""
        for path in paths:
            if outside := self.refusal(path):
                raise DataError(f"{path} cannot be opened: {outside}.")

    def _looks_inside(self, path: str | Path) -> bool:
        return self.root_of(os.path.abspath(os.path.expanduser(path))) is not None

    def open(self, path: str | Path) -> BinaryIO:
        """A file, which lies inside whatever links were changed meanwhile.

        Raises DataError for one outside, and OSError.
        """
        self.require([str(path)])
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe would wait for its other end
        file = os.fdopen(os.open(os.path.expanduser(path), flags), "rb")
        if self.root_of(os.readlink(f"/proc/self/fd/{file.fileno()}")) is None:
            file.close()
            raise DataError(f"{path} cannot be opened: a symbolic link leads outside {self}.")
        return file

    @contextmanager
    def folder(self, path: Path) -> Iterator[int]:
        """A descriptor of an open folder: what is written through it stays there.

        No symbolic link on the way is followed out of the roots, also none that is made meanwhile.
        Raises SaveError, and OSError where there is no such folder.
        """
        real = os.path.realpath(path, strict=True)
        root = self.root_of(real)
        if root is None:
            raise SaveError(f"{path} was not written to: {self.refusal(path)}.")
        names = Path(real).relative_to(root).parts
        if hidden := next((name for name in names if name.startswith(".")), None):
            raise SaveError(f"{path} was not written to: {hidden} is a hidden folder.")
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
        """Where plain names are saved: the working folder, or the first root if that is in none."""
        work = Path.cwd()
        inside = not self.folders or self.root_of(os.path.realpath(work)) is not None
        return work if inside else Path(self.folders[0])

    def __str__(self) -> str:
        named = ", ".join((*self.folders, *self.added))
        return f"the folders that this app may open ({named})"


def default_roots(data: Iterable[str | Path], loopback: bool) -> Roots:
    """The data, the working folder and, where only this machine gets in, the home folder."""
    home = [Path.home()] if loopback else []
    found = Roots.of([*map(data_folder, data), Path.cwd(), *home])
    return Roots(found.folders, extensible=loopback)


def data_folder(path: str | Path) -> Path:
    """A folder of data, or that of a list of files."""
    found = Path(path).expanduser()
    return found.parent if found.is_file() else found


def roots_of_worker(environment: Mapping[str, str] = os.environ) -> Roots | None:
    """The roots that this process was started with, or None."""
    told = environment.get(VARIABLE)
    return None if told is None else Roots(tuple(json.loads(told)))


def _is_within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)
