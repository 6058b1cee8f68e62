"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from workbench.errors import SaveError


def write_text(path: str | Path, text: str) -> Path:
    """Write a text file as UTF-8. As ``write_bytes``."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise SaveError(f"{path} was not written: {error}.") from None
    return write_bytes(path, data)


def write_bytes(path: str | Path, data: bytes) -> Path:
    """Write to a temporary file beside the target, then rename.

    Returns the absolute path. Raises SaveError (full disk, no such folder, no permission); what
    stood there before is then untouched.
    """
    target = Path(path).expanduser().absolute()
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as file:
            temporary = file.name
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise SaveError(f"{target} was not written: {error.strerror or error}.") from None
    return target
