"""The operating system's side of a worker: start the process, talk to it, end it."""

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
from workbench.system_limits import describe_refusal, says_memory_refusal

_LONGEST_LINE = 500
"""Characters of a line of its last words."""


class WorkerProcess:
    """The operating system's side of one worker, and the channel to it."""

    def __init__(self, budget: int | None, environment: Mapping[str, str]) -> None:
        """Start it. Raises EngineError where the system refuses."""
        try:
            self.folder = tempfile.mkdtemp(prefix="workbench-")
        except OSError as error:
            raise EngineError(f"The worker could not be started: {_refusal(error)}") from None
        self.calls = 0
        """How many were sent to it."""
        self.running: tuple[str, ...] = ()
        """The nodes that its call began last."""
        self.files: tuple[str, ...] = ()
        """The files that these nodes decode."""
        self.ended = False
        """Whether it was ended on purpose."""
        self.ended_because = ""
        """Why it was, where its call is to fail for it; else that is cancelled."""
        self.closed = False
        """Whether nothing of it is left."""
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise EngineError(f"The worker could not be started: {_refusal(error)}") from None
        paths = [path for path in sys.path if path and Path(path).exists()]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "TMPDIR": self.folder,  # so that what a killed worker leaves behind goes with it
            **environment,
        }
        self._log = Path(self.folder, "log")
        try:
            with self._log.open("ab") as log:
                self.popen = subprocess.Popen(
                    [
                        sys.executable,
                        "-P",  # a numpy.py where the user happens to stand is not numpy
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
                    start_new_session=True,  # Ctrl+C in the terminal is the kernel's affair
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
        """Whether it runs and was not ended."""
        return not self.ended and self.popen.poll() is None

    def wait(self, seconds: float) -> int | None:
        """The exit code, or None where it still runs after so many seconds."""
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
        last = [printable(line.expandtabs())[:_LONGEST_LINE] for line in dict.fromkeys(lines)][-8:]
        return "\nIts last words:\n" + "\n".join(last) if last else ""

    def kill(self) -> None:
        """End it on purpose; whoever waits for its answer sees the end. From any thread."""
        self.ended = True
        if self.popen.poll() is None:
            self._kill()

    def close(self) -> None:
        """End it, and leave nothing of it behind."""
        self._kill()
        self.popen.wait()
        self.channel.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.closed = True

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)  # with the processes that a task started


def _refusal(error: OSError) -> str:
    """What the system's refusal of a process means, and what to do."""
    return describe_refusal(error) or f"{error.strerror or error}."


# What a call raises whose worker ended, fell silent or takes too long.

_CRASHES = (-signal.SIGSEGV, -signal.SIGFPE, -signal.SIGABRT, -signal.SIGILL, -signal.SIGBUS)
"""Exit codes of a process that its own code ended."""


def worker_lost(process: WorkerProcess, garbled: Exception | None = None) -> EngineError:
    """Of a worker that is gone, or sent what is no answer. Waits for its end."""
    if process.ended and not process.ended_because:
        return CancelledError("Cancelled: the worker was ended.")
    if process.ended_because:
        return WorkerCrashedError(
            f"The worker{_where(process)} {process.ended_because} The graph is untouched; the next "
            "change starts a fresh worker.",
            process.running,
            killed=True,
        )
    code = None if garbled else process.wait(5.0)
    words = process.last_words()
    crashed = "" if code not in _CRASHES or says_memory_refusal(words) else _files(process)
    how = f"wrote what is no answer ({garbled})" if garbled else describe_exit(code, words)
    return WorkerCrashedError(
        f"The worker {how}{_where(process)}.{exit_remedy(code, words)}{crashed} "
        f"The graph is untouched; the next change starts a fresh worker.{words}",
        process.running,
        killed=code == -signal.SIGKILL,
    )


def worker_silent(process: WorkerProcess, silence: SuspensionMonitor) -> WorkerSilentError:
    """Of one that gives no sign of life."""
    return WorkerSilentError(
        f"{silence.describe()}{_where(process)}: the worker was ended. The graph is "
        "untouched; the next change starts a fresh one.",
        process.running,
    )


def worker_too_late(process: WorkerProcess, limit: float) -> WorkerTimeoutError:
    """Of one that lives, and has not answered within so many seconds."""
    return WorkerTimeoutError(
        f"No answer within {limit:g} s{_where(process)}: the worker was "
        "ended. The next change starts a fresh one; fewer tiles take less time.",
        process.running,
    )


def _where(process: WorkerProcess) -> str:
    return f" while it ran {', '.join(process.running)}" if process.running else ""


def _files(process: WorkerProcess) -> str:
    """The files that were decoded when the worker crashed, and how to find the one at fault."""
    files = process.files
    if not files:
        return ""
    more = f" and {len(files) - _MOST_FILES:,} more" if len(files) > _MOST_FILES else ""
    listed = f"{', '.join(map(printable, files[:_MOST_FILES]))}{more}"
    if len(files) == 1:
        return f" It decoded {listed}: remove that file."
    return (
        f" It decoded {listed}. `workbench check DATA --full` decodes each file by itself and "
        "names the one at fault."
    )


_MOST_FILES = 8
