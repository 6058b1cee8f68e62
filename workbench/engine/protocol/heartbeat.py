"""Send heartbeats from a worker each second, and notice in its caller if they stop.

A thread of the worker sends them. They distinguish a long task from a process that is stopped,
hangs on a disk, or holds Python's global interpreter lock.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import psutil

from workbench.engine.protocol.channel import Channel
from workbench.engine.protocol.messages import Heartbeat

INTERVAL = 1.0
"""Seconds between two heartbeats."""
SILENCE_SHOWN = 3.0
"""Seconds without a message after which the user is notified."""
STOPPED_LIMIT = 10.0
"""Seconds without a message after which a stopped process (SIGSTOP, a debugger) is ended."""
SILENCE_LIMIT = 60.0
"""Seconds without a message after which a process that is not stopped is ended. The limit is high
because starting CUDA with eight GPUs and without persistence mode holds Python's lock for a long
time.
"""
_LARGEST_STEP = 1.0
"""Maximum number of seconds that a check adds. A longer gap means that this process was stopped."""


class HeartbeatSender:
    """Sends heartbeats from the worker: during calls, and from the start until the first call."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._busy = threading.Event()
        self._busy.set()
        threading.Thread(target=self._send, name="workbench-heartbeat", daemon=True).start()

    def resume(self) -> None:
        """Start sending, because a call begins."""
        self._busy.set()

    def pause(self) -> None:
        """Stop sending until the next call."""
        self._busy.clear()

    def _send(self) -> None:
        pause = threading.Event()
        with suppress(OSError):  # the connection is closed; this process ends soon
            while self._busy.wait():
                self._channel.send(Heartbeat())
                pause.wait(INTERVAL)


class SuspensionMonitor:
    """Detects that a process is stopped (SIGSTOP, a debugger). Used in the calling process."""

    def __init__(self, pid: int, on_silence: Callable[[bool], None]) -> None:
        """``on_silence`` is called with True when data stops, and with False when it resumes."""
        self._pid = pid
        self._on_silence = on_silence
        self._looked = time.monotonic()
        self._checked = 0.0
        self.stopped = False
        """True if the process was stopped at the last check."""
        self.seconds = 0.0
        """Seconds since data last arrived."""
        self.shown = False

    def on_data(self) -> None:
        """Reset the time without data, because data arrived."""
        self._looked, self.seconds, self._checked = time.monotonic(), 0.0, 0.0
        self.stopped = False
        if self.shown:
            self.shown = False
            self._on_silence(False)

    def missed(self) -> bool:
        """Update the time without data. Return True if the process must be ended."""
        now = time.monotonic()
        self.seconds += min(now - self._looked, _LARGEST_STEP)
        self._looked = now
        if self.seconds - self._checked > INTERVAL:
            self._checked = self.seconds
            self.stopped = is_stopped(self._pid)
            if not self._is_silent():
                self.on_data()
        if self.seconds < SILENCE_SHOWN or not self._is_silent():
            return False
        if not self.shown:
            self.shown = True
            self._on_silence(True)
        return self.seconds > (STOPPED_LIMIT if self.stopped else SILENCE_LIMIT)

    def describe(self) -> str:
        """Return how long no heartbeat arrived, and the reason if it is known."""
        why = ": its process is stopped (SIGSTOP)" if self.stopped else ""
        return f"No heartbeat for {self.seconds:.0f} s{why}"

    def _is_silent(self) -> bool:
        return self.stopped


class HeartbeatMonitor(SuspensionMonitor):
    """Detects that a worker sends no heartbeats, whether it is stopped or hangs."""

    def _is_silent(self) -> bool:
        return True


def warn_of_silence(silent: bool) -> None:
    """If ``silent``, log a warning. A shell shows it on standard error."""
    if silent:
        logging.getLogger("workbench").warning(
            "The worker does not respond, and will be terminated."
        )


def is_stopped(pid: int) -> bool:
    """Return True if a signal or a debugger stopped a process."""
    with suppress(psutil.Error):
        return psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
    return False
