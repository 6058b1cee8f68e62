"""Start the operating system process of a worker, communicate with it, and end it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from workbench.engine.protocol.channel import Channel
from workbench.engine.protocol.exit_status import describe_exit, exit_remedy, printable
from workbench.engine.protocol.heartbeat import SuspensionMonitor
from workbench.engine.protocol.messages import FromWorker
from workbench.engine.protocol.registry import known_packages
from workbench.errors import (
    CancelledError,
    EngineError,
    WorkerCrashedError,
    WorkerSilentError,
    WorkerTimeoutError,
)
from workbench.system_limits import describe_refusal, reports_out_of_memory

NEXT_WORKER = " The graph is unchanged; the next change starts a new worker."
_LONGEST_LINE = 500
"""Maximum number of characters per line of the worker's last output."""


class WorkerProcess:
    """The process of one worker, and the channel to it."""

    def __init__(self, budget: int | None, environment: Mapping[str, str]) -> None:
        """Start the process. Raises EngineError if the operating system cannot start it."""
        try:
            self.folder = tempfile.mkdtemp(prefix="workbench-")
        except OSError as error:
            raise EngineError(f"The worker could not be started: {_refusal(error)}") from None
        self.calls = 0
        self.running: tuple[str, ...] = ()
        """Nodes that the current call started most recently."""
        self.files: tuple[str, ...] = ()
        """Files that the current nodes decode."""
        self.ended = False
        self.ended_because = ""
        """Reason why the worker was ended, or an empty string if its current call was cancelled."""
        self.closed = False
        """True after complete cleanup."""
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise EngineError(f"The worker could not be started: {_refusal(error)}") from None
        paths = [path for path in sys.path if path and Path(path).exists()]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "TMPDIR": self.folder,  # so that leftovers of a killed worker are removed with it
            **environment,
        }
        self._log = Path(self.folder, "log")
        try:
            with self._log.open("ab") as log:
                self.popen = subprocess.Popen(
                    [
                        sys.executable,
                        "-P",  # do not import a numpy.py from the current directory
                        "-m",
                        "workbench.engine",
                        str(theirs.fileno()),
                        self.folder,
                        "default" if budget is None else str(budget),
                        *sorted(known_packages()),
                    ],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    start_new_session=True,  # Ctrl+C in the terminal is handled by the caller
                )
        except OSError as error:
            ours.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise EngineError(f"The worker could not be started: {_refusal(error)}") from None
        finally:
            theirs.close()
        self.channel = Channel(ours, FromWorker)

    @property
    def alive(self) -> bool:
        """True if the process runs and no one has ended it."""
        return not self.ended and self.popen.poll() is None

    def wait(self, seconds: float) -> int | None:
        """Return the exit code, or None if the process still runs after the timeout."""
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def output_tail(self) -> str:
        """Return the last lines of the worker's output, or an empty string if there is none."""
        try:
            text = self._log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        lines = [line for line in text.splitlines() if line.strip() and "libcuda" not in line]
        last = [printable(line.expandtabs())[:_LONGEST_LINE] for line in dict.fromkeys(lines)][-8:]
        return "\nIts last output:\n" + "\n".join(last) if last else ""

    def kill(self) -> None:
        """End the process on purpose. Waiting callers are notified. Thread-safe."""
        self.ended = True
        if self.popen.poll() is None:
            self._kill()

    def close(self) -> None:
        """End the process, and delete its files."""
        self._kill()
        self.popen.wait()
        self.channel.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.closed = True

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)  # including child processes of a task


def _refusal(error: OSError) -> str:
    """Return the reason why the system cannot start a process, and a fix."""
    return describe_refusal(error) or f"{error.strerror or error}."


# Errors of a call whose worker ended, became silent or takes too long.

_CRASHES = (-signal.SIGSEGV, -signal.SIGFPE, -signal.SIGABRT, -signal.SIGILL, -signal.SIGBUS)


def worker_lost(process: WorkerProcess, bad_data: Exception | None = None) -> EngineError:
    """Return the error for a worker that ended or sent ``bad_data``. Waits until it has exited."""
    if process.ended and not process.ended_because:
        return CancelledError("Cancelled: the worker was terminated.")
    if process.ended_because:
        return WorkerCrashedError(
            f"The worker{_where(process)} {process.ended_because}{NEXT_WORKER}",
            process.running,
            killed=True,
        )
    code = None if bad_data else process.wait(5.0)
    words = process.output_tail()
    crashed = "" if code not in _CRASHES or reports_out_of_memory(words) else _files(process)
    how = f"wrote an invalid response ({bad_data})" if bad_data else describe_exit(code, words)
    return WorkerCrashedError(
        f"The worker {how}{_where(process)}.{exit_remedy(code, words)}{crashed}{NEXT_WORKER}"
        f"{words}",
        process.running,
        killed=code == -signal.SIGKILL,
    )


def worker_silent(process: WorkerProcess, silence: SuspensionMonitor) -> WorkerSilentError:
    """Return the error for a worker that stopped sending heartbeats."""
    return WorkerSilentError(
        f"{silence.describe()}{_where(process)}, so the worker was terminated.{NEXT_WORKER}",
        process.running,
    )


def timeout_error(process: WorkerProcess, limit: float) -> WorkerTimeoutError:
    """Return the error for a worker that exceeds the timeout of its call."""
    return WorkerTimeoutError(
        f"No response within {limit:g} s{_where(process)}, so the worker was terminated. The next "
        "change starts a new worker; fewer tiles take less time.",
        process.running,
    )


def _where(process: WorkerProcess) -> str:
    running = ", ".join(map(repr, process.running))
    return f" while running {running}" if running else ""


def _files(process: WorkerProcess) -> str:
    files = process.files
    if not files:
        return ""
    more = f" and {len(files) - _MOST_FILES:,} more" if len(files) > _MOST_FILES else ""
    listed = f"{', '.join(map(printable, files[:_MOST_FILES]))}{more}"
    if len(files) == 1:
        return f" The file was {listed}: remove it."
    return (
        f" The files of the batch were {listed}. `workbench check DATA --full` decodes each file "
        "separately and names the faulty one."
    )


_MOST_FILES = 8
