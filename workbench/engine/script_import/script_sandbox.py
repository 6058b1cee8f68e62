"""Limit the time, memory, output and processes of a user's script in the worker process.

The script runs in the main thread and may do anything. Therefore a monitoring thread enforces the
limits: it reports the script's current line to the caller, and ends the process.
"""

from __future__ import annotations

import ctypes
import fcntl
import linecache
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from types import FrameType, TracebackType
from typing import NoReturn

from workbench.engine.protocol.exit_status import printable
from workbench.engine.resources.landlock import restrict_writing
from workbench.engine.resources.machine import usable_memory
from workbench.engine.resources.process_memory import private_bytes
from workbench.errors import ImportFailedError

MEMORY = 8 * 2**30
"""Memory limit in bytes. The limit is half of the machine's memory if that is less."""
_OUTPUT = 4 * 2**20
"""Maximum size in bytes of the script's output on disk."""
_LAST_LINES, _LONGEST_LINE = 8, 200
_WRITTEN: Mapping[str, tuple[tuple[int, int], ...]] = {
    "open": ((0, -1),),
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, -1),),
}
"""Audit events of writes, with pairs of argument indices: a path, and the folder to which the path
is relative (-1 if there is none).
"""
_KEEPING = (
    *("TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "MPLCONFIGDIR"),
    *("NUMBA_CACHE_DIR", "TORCH_HOME"),
)
"""Environment variables that name folders in which libraries store files."""
_TICK = 0.1
_ENDING = 5.0
"""Timeout in seconds for ending the script's processes."""
_PR_SET_CHILD_SUBREAPER = 36
"""Code from ``linux/prctl.h`` that makes orphaned descendants children of this process."""


class ScriptSandbox:
    """Context manager that limits a running script.

    The thread that enters the context can never write the user's files afterwards.
    """

    def __init__(
        self,
        files: Collection[str],
        seconds: float,
        reply_error: Callable[[ImportFailedError], None],
    ) -> None:
        """``files`` are the user's files. ``reply_error`` answers the call with an error."""
        self._files = files
        self._seconds = seconds
        self._reply_error = reply_error
        self._main = threading.main_thread().ident
        self._over = threading.Event()
        self._log = Path(os.environ.get("TMPDIR", "/tmp"), "log")
        paths = (os.environ[name] for name in _KEEPING if os.environ.get(name))
        allowed = ("/dev", "/proc", str(Path.home() / ".cache"), *paths)
        self._folders = [os.path.realpath(folder) for folder in allowed]
        self._written = tuple(f"{folder}/" for folder in self._folders)
        self._memory = min(MEMORY, usable_memory() // 2)
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> ScriptSandbox:
        sys.stdout.flush()
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        fcntl.fcntl(1, fcntl.F_SETFL, fcntl.fcntl(1, fcntl.F_GETFL) | os.O_APPEND)
        os.ftruncate(1, 0)  # earlier output is not the script's
        self._opened = os.fstat(1)
        sys.addaudithook(_refuse_forks)
        sys.addaudithook(self._refuse_writing)  # unlike Landlock, it names the file
        restrict_writing(self._folders)
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        _end_children()

    def _refuse_writing(self, event: str, arguments: tuple[object, ...]) -> None:
        """Audit hook that allows writes only to the worker's own folder and to cache folders."""
        if self._over.is_set() or event not in _WRITTEN:
            return
        flags = arguments[2] if event == "open" else os.O_WRONLY
        if not isinstance(flags, int) or not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        for place, folder in _WRITTEN[event]:
            named, below = arguments[place], arguments[folder] if folder >= 0 else -1
            if not isinstance(named, str | bytes):
                continue
            path = os.fsdecode(named)
            if isinstance(below, int) and below >= 0:
                path = os.path.join(f"/proc/self/fd/{below}", path)
            path = os.path.realpath(path)
            if not f"{path}/".startswith(self._written):
                raise PermissionError(f"a script cannot write files while it is imported: {path}")

    def _watch(self) -> None:
        deadline = monotonic() + self._seconds
        while not self._over.wait(_TICK):
            if monotonic() > deadline:
                self._end(
                    f"the script did not finish within {self._seconds:g} s. Increase the limit, "
                    "or use a script that only defines the pipeline"
                )
            if private_bytes() > self._memory:
                self._end(f"the script used more than {self._memory / 2**30:.1f} GiB of memory")
            self._cut_output()

    def _cut_output(self) -> None:
        """Truncate a log that is too long, even if the script removed it or closed its stream."""
        for stream in (1, 2):
            with suppress(OSError):
                now = os.fstat(stream)
                if os.path.samestat(now, self._opened) and now.st_size > _OUTPUT:
                    os.ftruncate(stream, 0)

    def _end(self, why: str) -> NoReturn:
        frame = sys._current_frames().get(self._main or 0)
        message = self._message(self._innermost(frame), f"{why}.")
        _end_children()
        self._reply_error(message)
        os._exit(1)

    def _innermost(self, frame: FrameType | None) -> tuple[str, int] | None:
        """Return the innermost line of the user's code as (file, line), or None."""
        while frame is not None:
            if frame.f_code.co_filename in self._files:
                return frame.f_code.co_filename, frame.f_lineno
            frame = frame.f_back
        return None

    def _message(self, line: tuple[str, int] | None, text: str) -> ImportFailedError:
        if line is None:
            where, source = Path(next(iter(self._files))).name, ""
        else:
            where, source = source_location(*line), one_printable_line(linecache.getline(*line))
        quoted = f"\n    {source}" if source else ""
        return ImportFailedError(f"{where}: {text}{quoted}{self.output_tail()}")

    def output_tail(self) -> str:
        """Return the last lines of the script's output, or an empty string if there are none."""
        try:
            with self._log.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - _LAST_LINES * _LONGEST_LINE * 4))
                text = log.read().decode("utf-8", errors="replace")
        except OSError:
            return ""
        lines = [one_printable_line(line) for line in text.splitlines() if line.strip()]
        return "\nIt printed last:\n" + "\n".join(lines[-_LAST_LINES:]) if lines else ""

    def describe_error(self, error: BaseException, hint: str = "") -> ImportFailedError:
        """Convert an error of the script to an ImportFailedError with the script's line."""
        unread = error if isinstance(error, SyntaxError) and error.filename in self._files else None
        try:
            words = unread.msg if unread else error
            text = one_printable_line(f"{type(error).__name__}: {words}").removesuffix(":")
        except Exception:
            text = type(error).__name__
        if isinstance(error, SystemExit) and error.code == 2:  # as argparse does
            text += ". No command line: move code that needs one under `if __name__ == '__main__'`"
        frames = [
            (frame.f_code.co_filename, number)
            for frame, number in traceback.walk_tb(error.__traceback__)
            if frame.f_code.co_filename in self._files
        ]
        if unread:
            frames.append((str(unread.filename), unread.lineno or 0))
        return self._message(frames[-1] if frames else None, text + hint)


def source_location(file: str, line: int) -> str:
    """Format a location in the user's code for messages: ``train.py:12``."""
    return f"{Path(file).name}:{line}"


def one_printable_line(text: str) -> str:
    """Return text as one line of limited length, without control characters."""
    text = printable(" ".join(text[: 20 * _LONGEST_LINE].split()))
    return text if len(text) <= 3 * _LONGEST_LINE else text[: 3 * _LONGEST_LINE - 3] + "..."


def _end_children() -> None:
    """End all descendants of this process, including those in their own sessions.

    Orphans become children of this process, so every descendant is found.
    """
    deadline = monotonic() + _ENDING
    while monotonic() < deadline:
        for child in _children():
            with suppress(OSError):  # ended already, or another user's
                os.kill(child, signal.SIGKILL)
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not ended:
            sleep(0.01)


def _children() -> Iterator[int]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            # the name in parentheses may contain anything: state and parent follow it
            parent = stat.read_text(errors="replace").rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                yield int(stat.parent.name)


def _refuse_forks(event: str, _: tuple[object, ...]) -> None:
    """Audit hook that prevents forks: a forked process would answer instead of the worker."""
    if event in ("os.fork", "os.forkpty"):
        raise PermissionError(
            "A script cannot fork while it is being imported. Move the code that forks under "
            "`if __name__ == '__main__'`"
        )
