"""Signs of life: a worker sends one each second, its caller notices where they stay away.

A thread of the worker sends them, so that a task which takes long is told from a process that was
stopped, waits for a disk for good, or holds Python's lock.
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
"""Seconds between two signs of life."""
SILENCE_SHOWN = 3.0
"""Seconds of silence after which the user is told."""
STOPPED_LIMIT = 10.0
"""Seconds of silence after which a stopped process (SIGSTOP, a debugger) is ended."""
SILENCE_LIMIT = 60.0
"""Seconds of silence after which any other is ended: CUDA's start, with eight GPUs and without
the driver's persistence, holds Python's lock for many."""
_LARGEST_STEP = 1.0
"""Seconds that one look can add: while this process itself was stopped nothing was missed."""


class HeartbeatSender:
    """The worker's side: sends while a call runs, and from the start until the first one."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._busy = threading.Event()
        self._busy.set()
        threading.Thread(target=self._send, name="workbench-heartbeat", daemon=True).start()

    def resume(self) -> None:
        """A call begins."""
        self._busy.set()

    def pause(self) -> None:
        """Nobody listens until the next call."""
        self._busy.clear()

    def _send(self) -> None:
        pause = threading.Event()
        with suppress(OSError):  # the other side is gone, and so will be this process
            while self._busy.wait():
                self._channel.send(Heartbeat())
                pause.wait(INTERVAL)


class SuspensionMonitor:
    """The caller's side of a process that sends nothing by itself: how long it is stopped."""

    def __init__(self, pid: int, on_silence: Callable[[bool], None]) -> None:
        """``on_silence`` hears True once the silence is to be shown, False when it is over."""
        self._pid = pid
        self._on_silence = on_silence
        self._looked = time.monotonic()
        self._checked = 0.0
        self.stopped = False
        """Whether the process was stopped, as far as was looked."""
        self.seconds = 0.0
        """Of silence."""
        self.shown = False

    def heard(self) -> None:
        """Something came."""
        self._looked, self.seconds, self._checked = time.monotonic(), 0.0, 0.0
        self.stopped = False
        if self.shown:
            self.shown = False
            self._on_silence(False)

    def missed(self) -> bool:
        """Nothing came since the last look. Whether the process is to be ended for it."""
        now = time.monotonic()
        self.seconds += min(now - self._looked, _LARGEST_STEP)
        self._looked = now
        if self.seconds - self._checked > INTERVAL:
            self._checked = self.seconds
            self.stopped = is_stopped(self._pid)
            if not self._is_silent():
                self.heard()
        if self.seconds < SILENCE_SHOWN or not self._is_silent():
            return False
        if not self.shown:
            self.shown = True
            self._on_silence(True)
        return self.seconds > (STOPPED_LIMIT if self.stopped else SILENCE_LIMIT)

    def describe(self) -> str:
        """How long it was silent, and why where that can be told."""
        why = ": its process is stopped (SIGSTOP)" if self.stopped else ""
        return f"No sign of life for {self.seconds:.0f} s{why}"

    def _is_silent(self) -> bool:
        return self.stopped


class HeartbeatMonitor(SuspensionMonitor):
    """The caller's side of a worker: how long nothing has come from it."""

    def _is_silent(self) -> bool:
        return True


def warn_of_silence(silent: bool) -> None:
    """Log it: from a shell, on standard error."""
    if silent:
        logging.getLogger("workbench").warning(
            "The worker does not answer; if it stays silent it is ended."
        )


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal or a debugger."""
    with suppress(psutil.Error):
        return psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
    return False
