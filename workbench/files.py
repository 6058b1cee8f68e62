"""Files are written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from workbench.errors import SaveError


def write_text(path: str | Path, text: str) -> Path:
    """Write a text file as UTF-8. As ``write_bytes``."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise SaveError(f"{path} was not written: {error}.") from None
    return write_bytes(path, data)


def write_folder(path: str | Path, files: Mapping[str, str]) -> list[Path]:
    """Write text files, by path inside a new folder, which then has all of them or is not there.

    An empty folder may be there before. Returns the absolute paths. Raises SaveError.
    """
    target = Path(path).expanduser().absolute()
    temporary = target.with_name(f".workbench-{secrets.token_hex(8)}")
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise SaveError(f"{target} was not written: it is there already. Name a new folder.")
        for name, text in files.items():
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            (temporary / name).write_text(text, encoding="utf-8")
        os.replace(temporary, target)  # takes the place of an empty folder
    except (OSError, UnicodeEncodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SaveError(f"{target} was not written: {reason or error}.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return [target / name for name in files]


def write_bytes(path: str | Path, data: bytes) -> Path:
    """Write to a temporary file beside the target, then rename.

    A symbolic link stays and what it points to is written; a file keeps its mode; a pipe or a
    device (``/dev/stdout``) is written to as it is. Returns the absolute path. Raises SaveError
    (full disk, no such folder, no permission); what stood there before is then untouched.
    """
    target = Path(path).expanduser().absolute()
    try:
        mode = _mode(target)
        if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            target.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(target)), mode, data)
    except OSError as error:
        raise SaveError(f"{target} was not written: {error.strerror or error}.") from None
    return target


def require_place(path: str | Path) -> None:
    """Raise SaveError where there is no folder to write a file in: for before long work."""
    target = Path(path).expanduser().absolute()
    try:
        mode = _mode(target)
        folder = Path(os.path.realpath(target)).parent
        if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            return  # a pipe or a device
        if not stat.S_ISDIR(folder.stat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise SaveError(f"{target} cannot be written: {error.strerror or error}.") from None


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _replace(target: Path, mode: int | None, data: bytes) -> None:
    # Not named after the target, whose name may be as long as a name can be.
    temporary = target.with_name(f".workbench-{secrets.token_hex(8)}")
    # 0o666 less the umask, which only the kernel can apply without a race between threads.
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
