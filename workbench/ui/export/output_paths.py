"""Resolve paths that the user enters to save files, and check for existing files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from workbench.errors import SaveError
from workbench.files import (
    require_new,
    write_below,
    write_bytes,
    write_folder,
    write_folder_below,
)
from workbench.roots import Roots


def with_suffix(path: str, suffix: str) -> Path:
    """Return ``path`` with ``suffix``, unless ``path`` has a suffix already."""
    path = path.strip()
    return Path(path if Path(path).suffix else path + suffix)


class OutputPath:
    """Path entered by the user for saving a file or folder.

    Parameters
    ----------
    path:
        Path as typed: absolute, below ``~``, or relative to the working folder (with ``roots``, to
        their ``save_folder``).
    suffix:
        Suffix to add if the path has none; empty for a folder.
    roots:
        Folders below which the path must be (in the web app); None means anywhere.
    overwrite:
        True if an existing file may be overwritten.

    Raises SaveError for an invalid path.
    """

    def __init__(
        self, path: str, suffix: str, roots: Roots | None, overwrite: bool = False
    ) -> None:
        path = path.strip()
        if not path or "\0" in path:
            raise SaveError("Nothing was written. Enter a file name.")
        self.path = with_suffix(path, suffix).expanduser()
        if roots is not None:
            self.path = roots.save_folder() / self.path
        self._roots = roots
        self._overwrite = overwrite
        # A page may not write files that a shell or Python reads automatically.
        if roots is not None and not (
            re.fullmatch(r"\w[\w. -]*", self.path.name) and self.path.name.endswith(suffix)
        ):
            end = f" that ends in {suffix}" if suffix else ""
            example = {".py": "pipe.py", "": "export"}.get(suffix, f"graph{suffix}")
            raise SaveError(
                f"{path!r} was not written. Use a plain file name{end}, for example {example}; it "
                "may be in a folder."
            )

    def write(self, data: bytes) -> Path:
        """Write a file and return its absolute path.

        Raises OverwriteError if the file exists, and SaveError if it cannot be written.
        """
        if self._roots is not None:
            return write_below(self._roots, self.path, data, self._overwrite)
        if not self._overwrite:
            require_new(self.path)
        return write_bytes(self.path, data)

    def write_folder(self, files: Mapping[str, str]) -> Path:
        """Write files to a new folder and return its absolute path. Raises SaveError on failure."""
        if self._roots is not None:
            return write_folder_below(self._roots, self.path, files)
        write_folder(self.path, files)
        return self.path.absolute()
