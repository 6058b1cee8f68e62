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
from workbench.engine.protocol.exit_status import printable
from workbench.engine.protocol.messages import FromWorker
from workbench.engine.protocol.registry import known_packages
from workbench.errors import EngineError
from workbench.system_limits import describe_refusal

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
