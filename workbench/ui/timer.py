"""Timer that can be started and cleared often, because all timeouts share one thread.

``threading.Timer`` starts a thread, and ``Thread.start`` waits until that thread runs. On two busy
cores this took 6 ms, two to three times between a key press and its picture.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


IDLE = 60.0
"""Seconds without a timeout after which the thread ends. A notebook may have many widgets."""


class Timeout(Generic[T]):
    """Calls a function when a timeout expires. Only one timeout can be pending. Thread-safe."""

    def __init__(self, callback: Callable[[T], None]) -> None:
        """``callback`` is called in this object's thread with the value passed to ``start``."""
        self._callback = callback
        self._condition = threading.Condition()
        self._watched: tuple[float, T] | None = None
        """Deadline (``time.monotonic``) and value of the pending timeout, or None."""
        self._wakes = 0.0
        """Time at which the thread wakes up next; infinity if no timeout is pending."""
        self._closed = self._runs = self._rests = False

    def start(self, value: T, seconds: float) -> None:
        """Call the callback in ``seconds``, unless ``clear`` or ``start`` is called earlier."""
        with self._condition:
            late = time.monotonic() + seconds
            self._watched = late, value
            if not (self._runs or self._closed):
                self._runs = True
                threading.Thread(target=self._run, name="workbench-timeout", daemon=True).start()
            elif late < self._wakes:
                self._condition.notify()

    def clear(self) -> None:
        """Cancel the pending timeout without waking the thread."""
        with self._condition:
            self._watched = None

    def end_if_idle(self) -> None:
        """End the thread if no timeout is pending. The next ``start`` starts another thread."""
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
        """Wait until a timeout has expired and return its value as a tuple; None once closed."""
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
