"""Where the user may write files."""

from __future__ import annotations

import re
from pathlib import Path

from workbench.errors import SaveError


def writable_path(path: str, suffix: str, confined: bool) -> Path:
    """Where ``path`` leads: below the working folder, or, ``confined``, right in it.

    ``suffix`` is added where there is none. Confined (the web app), only a plain file name with
    that suffix will do. Raises SaveError.
    """
    path = path.strip()
    if not path or "\0" in path:
        raise SaveError("Nothing was written: give a file name.")
    target = Path(path if Path(path).suffix else path + suffix)
    if confined and not (
        re.fullmatch(r"\w[\w. -]*", target.name)
        and target.name == path.removesuffix(suffix) + suffix
    ):
        end = f" that ends in {suffix}" if suffix else ""
        example = {".py": "pipe.py", "": "export"}.get(suffix, f"graph{suffix}")
        raise SaveError(
            f"{path!r} was not written: the web app takes a plain file name{end}, for example "
            f"{example}."
        )
    return target.expanduser()
