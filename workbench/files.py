"""Write files and folders atomically: completely or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from workbench.errors import OverwriteError, SaveError
from workbench.roots import Roots

TRIAL_BYTES = 2**16
"""Size in bytes of the trial file of ``require_place``, similar to a measurement record."""
IMAGE_SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
"""Suffixes of image files, to which a graph or program cannot be written."""
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)
"""Error numbers of file systems that do not support hard links."""


def write_text(path: str | Path, text: str) -> Path:
    """Write a text file atomically as UTF-8. Returns and raises the same as ``write_bytes``."""
    return write_bytes(path, encode_text(text, path))


def encode_text(text: str, path: str | Path) -> bytes:
    """Encode text as UTF-8. Raises SaveError, with the path, if that is impossible."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise SaveError(f"{path} was not written: {_surrogate_text(error)}.") from None


def _surrogate_text(error: UnicodeEncodeError) -> str:
    found = ascii(error.object[error.start])
    return f"the text contains half a character ({found}), which UTF-8 cannot store"


def write_folder(path: str | Path, files: Mapping[str, str | bytes]) -> list[Path]:
    """Write files to a new folder. If a file cannot be written, the folder is not created.

    ``files`` maps paths in the folder to contents. The folder may exist if it is empty. Returns the
    absolute paths. Raises SaveError.
    """
    target = Path(path).expanduser().absolute()
    temporary = target.with_name(f".workbench-{secrets.token_hex(8)}")
    try:
        require_new_folder(target)
        for name, content in files.items():
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            data = content.encode() if isinstance(content, str) else content
            (temporary / name).write_bytes(data)
        os.replace(temporary, target)  # replaces an empty folder
    except (OSError, UnicodeEncodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else _surrogate_text(error)
        raise SaveError(f"{target} was not written: {reason or error}.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return [target / name for name in files]


def write_bytes(path: str | Path, data: bytes) -> Path:
    """Write a file atomically: write a temporary file next to the target, then rename it.

    A symbolic link is preserved, and its target is written. An existing file keeps its mode. A pipe
    or a device (``/dev/stdout``) is written directly. Returns the absolute path. Raises SaveError
    (full disk, no such folder, no permission); the previous content is then unchanged.
    """
    target = Path(path).expanduser().absolute()
    try:
        mode = _mode(target)
        if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            target.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(target)), mode, data)
    except FileNotFoundError:
        raise SaveError(
            f"{target} was not written: there is no folder {target.parent}. Create it."
        ) from None
    except OSError as error:
        raise SaveError(f"{target} was not written: {error.strerror or error}.") from None
    return target


def require_place(path: str | Path) -> None:
    """Raise SaveError unless a file of ``TRIAL_BYTES`` can be written. Call it before long work."""
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
        with tempfile.TemporaryFile(dir=folder, prefix=".workbench-") as trial:
            trial.write(bytes(TRIAL_BYTES))  # on a full disk writing fails, not creating the file
    except OSError as error:
        raise SaveError(f"{target} cannot be written: {error.strerror or error}.") from None


def require_new_folder(path: str | Path) -> None:
    """Raise SaveError if the path exists and is not an empty folder."""
    target = Path(path).expanduser().absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise SaveError(f"{target} was not written: it already exists. Use a new folder.")


def require_new(path: str | Path) -> None:
    """Raise OverwriteError if the path exists already."""
    target = Path(path).expanduser().absolute()
    if os.path.lexists(target):
        raise OverwriteError(str(target))


def write_below(roots: Roots, path: Path, data: bytes, overwrite: bool = False) -> Path:
    """Write a file atomically, in an existing folder below the roots.

    Returns the absolute path. Raises OverwriteError if the path exists, unless it is a file and
    ``overwrite`` is True, and SaveError if writing fails. Symbolic links are never followed.
    """
    target = path.absolute()
    try:
        with roots.folder(target.parent) as folder:
            _write_in(folder, target, data, overwrite)
    except OSError as error:
        raise SaveError(f"{target} was not written: {error.strerror or error}.") from None
    return target


def write_folder_below(roots: Roots, path: Path, files: Mapping[str, str]) -> Path:
    """Write text files to a new folder inside an existing folder below the roots.

    Returns the new folder. Raises SaveError like ``write_folder``.
    """
    target = path.absolute()
    try:
        with roots.folder(target.parent) as folder:
            if _mode_in(folder, target.name) is not None:
                raise SaveError(f"{target} was not written: it already exists. Use a new folder.")
            opened = f"/proc/self/fd/{folder}"
            try:
                write_folder(f"{opened}/{target.name}", files)
            except SaveError as error:
                raise SaveError(str(error).replace(opened, str(target.parent))) from None
    except OSError as error:
        raise SaveError(f"{target} was not written: {error.strerror or error}.") from None
    return target


def _write_in(folder: int, target: Path, data: bytes, overwrite: bool) -> None:
    mode = _mode_in(folder, target.name)
    if mode is not None and not stat.S_ISREG(mode):
        kind = "a symbolic link" if stat.S_ISLNK(mode) else "no file"
        raise SaveError(f"{target} was not written: it is {kind}. Use another name.")
    if mode is not None and not overwrite:
        raise OverwriteError(str(target))
    temporary = f".workbench-{secrets.token_hex(8)}"
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW
    descriptor = os.open(temporary, flags, 0o666, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            os.fsync(file.fileno())
        if overwrite:
            os.replace(temporary, target.name, src_dir_fd=folder, dst_dir_fd=folder)
            return
        _rename_to_new(folder, temporary, target.name)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        if isinstance(error, FileExistsError):
            raise OverwriteError(str(target)) from None
        raise


def _rename_to_new(folder: int, temporary: str, name: str) -> None:
    """Rename a file, or raise FileExistsError if the target was created meanwhile."""
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if _mode_in(folder, name) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        os.unlink(temporary, dir_fd=folder)


def _mode_in(folder: int, name: str) -> int | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _replace(target: Path, mode: int | None, data: bytes) -> None:
    # Not named after the target, whose name may already have the maximum length.
    temporary = target.with_name(f".workbench-{secrets.token_hex(8)}")
    # 0o666 minus the umask, which only the operating system can apply without a race.
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
