"""Timer that can be set and cleared many times a second without starting a thread each time.

``threading.Timer`` starts a thread, and ``Thread.start`` waits until that thread runs. On two busy
cores that took 6 ms, two to three times between a key and its picture.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


IDLE = 60.0
"""Seconds without a watched value after which the thread ends, because a notebook may have many
widgets."""


class Timeout(Generic[T]):
    """Calls back when the time for a value is over, one value at a time. Thread-safe."""

    def __init__(self, callback: Callable[[T], None]) -> None:
        """``callback`` is called in this object's thread with a value whose time is over."""
        self._callback = callback
        self._condition = threading.Condition()
        self._watched: tuple[float, T] | None = None
        """Deadline (``time.monotonic``) and value, or None."""
        self._wakes = 0.0
        """Time at which the thread wakes up next; infinity while no value is watched."""
        self._closed = self._runs = self._rests = False

    def start(self, value: T, seconds: float) -> None:
        """Call back after ``seconds``, unless ``clear`` or another ``start`` is called before."""
        with self._condition:
            late = time.monotonic() + seconds
            self._watched = late, value
            if not (self._runs or self._closed):
                self._runs = True
                threading.Thread(target=self._run, name="workbench-timeout", daemon=True).start()
            elif late < self._wakes:
                self._condition.notify()

    def clear(self) -> None:
        """Cancel the timeout without waking the thread."""
        with self._condition:
            self._watched = None

    def end_if_idle(self) -> None:
        """End the thread if no value is watched; the next ``start`` starts another."""
        with self._condition:
            self._rests = True
            self._condition.notify()

    def close(self) -> None:
        with self._condition:
            self._closed = True
            self._condition.notify()

    def _run(self) -> None:
        while (late := self._await_late()) is not None:
            self._callback(late[0])

    def _await_late(self) -> tuple[T] | None:
        """Wait for a value whose time is over; return None when closed."""
        with self._condition:
            while not self._closed:
                if self._watched is None:
                    self._wakes = float("inf")
                    woken = not self._rests and self._condition.wait(IDLE)
                    if not woken and self._watched is None:
                        break
                    continue
                self._wakes, what = self._watched
                left = self._wakes - time.monotonic()
                if left <= 0:
                    self._watched = None
                    return (what,)
                self._condition.wait(left)
            self._runs = self._rests = False
            return None
