"""Where the user may write files, and whether what is there may be overwritten."""

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
    """A place as typed, which is given a suffix where it has none."""
    path = path.strip()
    return Path(path if Path(path).suffix else path + suffix)


class OutputPath:
    """A place that the user has named.

    Parameters
    ----------
    path:
        As typed: absolute, below ``~``, or relative to the working folder, with ``roots`` to
        their ``save_folder``.
    suffix:
        What is added where there is none; empty for a folder.
    roots:
        Below which it must lie (the web app); None: anywhere.
    overwrite:
        Whether a file that is there may be overwritten.

    Raises SaveError for what is no such place.
    """

    def __init__(
        self, path: str, suffix: str, roots: Roots | None, overwrite: bool = False
    ) -> None:
        path = path.strip()
        if not path or "\0" in path:
            raise SaveError("Nothing was written: give a file name.")
        self.path = with_suffix(path, suffix).expanduser()
        if roots is not None:
            self.path = roots.save_folder() / self.path
        self._roots = roots
        self._overwrite = overwrite
        # A page may not write what a shell or Python reads by itself.
        if roots is not None and not (
            re.fullmatch(r"\w[\w. -]*", self.path.name) and self.path.name.endswith(suffix)
        ):
            end = f" that ends in {suffix}" if suffix else ""
            example = {".py": "pipe.py", "": "export"}.get(suffix, f"graph{suffix}")
            raise SaveError(
                f"{path!r} was not written: the web app takes a plain file name{end}, for example "
                f"{example}, also below a folder."
            )

    def write(self, data: bytes) -> Path:
        """Write a file; returns its absolute path. Raises OverwriteError and SaveError."""
        if self._roots is not None:
            return write_below(self._roots, self.path, data, self._overwrite)
        if not self._overwrite:
            require_new(self.path)
        return write_bytes(self.path, data)

    def write_folder(self, files: Mapping[str, str]) -> Path:
        """Write a new folder; returns its absolute path. Raises SaveError."""
        if self._roots is not None:
            return write_folder_below(self._roots, self.path, files)
        write_folder(self.path, files)
        return self.path.absolute()
