"""The kernel's side of the worker process: start it, call it, end it, start it again.

No DALI pipeline runs in the user's process. Whatever happens in the worker (a crash, a hang, out of
memory) ends as an exception here, and the next call starts a fresh worker.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from workbench.engine.exit_status import describe_exit, exit_remedy, printable
from workbench.errors import (
    CancelledError,
    EngineError,
    WorkerCrashedError,
    WorkerTimeoutError,
)

START_LIMIT = 120.0
"""Seconds for a worker to import DALI: 1 s usually, a minute on a cold network disk."""
CALL_LIMIT = 60.0
"""Seconds for one call before it counts as a hang. A mixed decoder takes 1.6 s to build."""
_TICK = 0.05


class Engine:
    """One worker process, started when first needed.

    Calls from several threads take turns. ``cancel`` and ``close`` may come from any thread.
    """

    def __init__(
        self,
        call_limit: float = CALL_LIMIT,
        budget: int | None = None,
        environment: Mapping[str, str] | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """``budget`` limits what the worker keeps between calls, in bytes on each device.

        Without, it is an eighth of the memory there, 2 GiB at most. ``environment`` adds variables
        to the worker's. Once ``stop`` is set every call, now and later, raises CancelledError.
        """
        self.call_limit = call_limit
        self.budget = budget
        self._environment = dict(environment or {})
        self._stop = stop or threading.Event()
        self._number = 0
        self._sending = threading.Lock()
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._cancelled = False
        self._finalizer: weakref.finalize[Any, Any] | None = None

    def call(
        self,
        task: Callable[..., Any],
        *arguments: Any,
        limit: float | None = None,
        on_report: Callable[[Any], None] | None = None,
    ) -> Any:
        """Run ``task(worker, *arguments)`` in the worker and return what it gives.

        ``limit`` is in seconds without any sign of life. Raises what the task raises if that is a
        WorkbenchError, and WorkerCrashedError, WorkerTimeoutError or CancelledError.
        """
        with self._lock:
            self._cancelled = False
            process = self._alive() or self._start()
            process.running = ()
            try:
                with self._sending:
                    self._number += 1
                    process.connection.send(("call", self._number, task, arguments))
                kind, value = self._await(process, limit or self.call_limit, on_report)
            except (EOFError, OSError):
                raise self._crashed(process) from None
            except BaseException:  # an interrupt: the answer would be taken for the next call's
                self._end()
                raise
            if kind == "error":
                if "CUDA" in str(value):  # a CUDA fault spoils the process's context for good
                    self._end()
                raise value
            return value

    def _await(
        self, process: _Process, limit: float, on_report: Callable[[Any], None] | None
    ) -> tuple[str, Any]:
        """The answer: ``result`` and what the task gave, or ``error`` and what it raised."""
        deadline = time.monotonic() + limit
        while True:
            if self._given_up():
                raise CancelledError("Cancelled.")
            if process.connection.poll(_TICK):
                kind, value = process.receive()
                if kind in ("result", "error"):
                    return kind, value
                if kind == "running":
                    process.running = value
                elif kind == "report" and on_report is not None:
                    on_report(value)
                deadline = time.monotonic() + limit
            elif time.monotonic() > deadline:
                raise WorkerTimeoutError(
                    f"No answer within {limit:g} s{_where(process.running)}: the worker was ended. "
                    "The next change starts a fresh one; fewer tiles take less time.",
                    process.running,
                )

    def _alive(self) -> _Process | None:
        if self._process is not None and self._process.popen.poll() is not None:
            self._end()
        return self._process

    def _start(self) -> _Process:
        try:
            process = _Process(self.budget, self._environment)
        except OSError as error:
            raise EngineError(f"The worker could not be started: {_refusal(error)}") from None
        self._process = process
        self._finalizer = weakref.finalize(self, process.end)
        try:
            deadline = time.monotonic() + START_LIMIT
            while not process.connection.poll(_TICK):
                if self._given_up():
                    self._end()
                    raise CancelledError("Cancelled.")
                if time.monotonic() > deadline:
                    self._end()
                    raise WorkerTimeoutError(f"The worker did not start within {START_LIMIT:g} s.")
            process.receive()
        except (EOFError, OSError):
            raise self._crashed(process) from None
        return process

    def _crashed(self, process: _Process) -> EngineError:
        if self._given_up():
            self._end()
            return CancelledError("Cancelled.")
        code = None if process.garbled else process.wait(5.0)
        how = "wrote what is no answer" if process.garbled else describe_exit(code)
        words = process.last_words()
        self._end()
        return WorkerCrashedError(
            f"The worker {how}{_where(process.running)}.{exit_remedy(code)} "
            f"The graph is untouched; the next change starts a fresh worker.{words}",
            process.running,
            killed=code == -signal.SIGKILL,
        )

    def _given_up(self) -> bool:
        return self._cancelled or self._stop.is_set()

    def _end(self) -> None:
        if self._finalizer is not None:
            self._finalizer()
        self._finalizer = None
        self._process = None

    @property
    def pid(self) -> int | None:
        """Process id of the worker, or None while there is none."""
        process = self._process
        return process.popen.pid if process is not None and process.popen.poll() is None else None

    def cancel(self) -> None:
        """End the call that runs now, if one does: it raises CancelledError within 0.1 s."""
        self._cancelled = True

    def interrupt(self) -> None:
        """Ask the call that runs now to end before its next stage, where it raises CancelledError.

        The worker stays, with all that it keeps. A call that comes to no stage any more ends as
        usual. May come from any thread.
        """
        process = self._process
        if process is None:
            return
        with self._sending, suppress(OSError):
            process.connection.send(("stop", self._number))

    def close(self) -> None:
        """End the worker. Host and GPU memory go back to the system; a later call starts anew."""
        self._cancelled = True
        with self._lock:
            self._end()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Process:
    """The operating system's side of one worker."""

    def __init__(self, budget: int | None, environment: Mapping[str, str]) -> None:
        self.folder = tempfile.mkdtemp(prefix="workbench-")
        self.running: tuple[str, ...] = ()
        self.garbled = False
        """Whether something came that is no message of the worker's."""
        ours, theirs = socket.socketpair()
        paths = [path for path in sys.path if path and Path(path).exists()]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "TMPDIR": self.folder,  # so that what a killed worker leaves behind goes with it
            **environment,
        }
        self._log = Path(self.folder, "log")
        try:
            with self._log.open("wb") as log:
                self.popen = subprocess.Popen(
                    [
                        sys.executable,
                        "-P",  # a numpy.py where the user happens to stand is not numpy
                        "-m",
                        "workbench.engine.worker",
                        str(theirs.fileno()),
                        self.folder,
                        *([] if budget is None else [str(budget)]),
                    ],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    start_new_session=True,  # Ctrl+C in the terminal is the kernel's affair
                )
        except OSError:
            ours.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        finally:
            theirs.close()
        self.connection = Connection(ours.detach())

    def receive(self) -> tuple[str, Any]:
        """The next message: its kind and value. Raises EOFError or OSError where none comes."""
        try:
            kind, value = self.connection.recv()
        except (EOFError, OSError):
            raise
        except Exception as error:  # a task that wrote into the connection: unpickling may fail so
            self.garbled = True
            raise EOFError(str(error)) from None
        return kind, value

    def wait(self, seconds: float) -> int | None:
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def last_words(self) -> str:
        """The end of what the worker printed, or nothing."""
        try:
            text = self._log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        lines = [line for line in text.splitlines() if line.strip() and "libcuda" not in line]
        last = [printable(line.expandtabs()) for line in lines[-8:]]
        return "\nIts last words:\n" + "\n".join(last) if last else ""

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)  # with the processes that a task started
        self.popen.wait()
        self.connection.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _refusal(error: OSError) -> str:
    """What the system's refusal of a process means, and what to do."""
    reason = error.strerror or str(error)
    match error.errno:
        case errno.EAGAIN:
            why = "the limit of processes or threads is reached"
            remedy = "End other notebooks or programs, or raise it (`ulimit -u`), then try again."
        case errno.ENOMEM:
            why = "the memory does not suffice"
            remedy = "End other notebooks or programs, then try again."
        case errno.EMFILE | errno.ENFILE:
            why = "too many files are open"
            remedy = "End other notebooks or programs, or raise it (`ulimit -n`), then try again."
        case errno.ENOSPC | errno.EDQUOT:
            why = f"there is no space left in {tempfile.gettempdir()}"
            remedy = "Free some, or set TMPDIR to another folder, then try again."
        case _:
            return f"{reason}."
    return f"{why} ({reason}). {remedy}"


def _where(nodes: tuple[str, ...]) -> str:
    return f" while it ran {', '.join(nodes)}" if nodes else ""
