"""Measure the time of a training loop on the host and, with CUDA, on the GPU's stream.

A step that trains on a GPU returns before the GPU has finished. An event that is recorded at the
start or end of a step completes when the GPU has done all work before it. Times between events
therefore measure the GPU: its idle time while it waits for data, and the work of the step.
"""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple


class Mark(NamedTuple):
    """A point in time: the host's clock in seconds, and a CUDA event if the loop uses CUDA."""

    host: float
    event: Any = None


class Clock:
    """Marks points in time and measures the seconds between them."""

    def __init__(self) -> None:
        self._cuda: Any = None
        self._stream: Any = None

    @property
    def uses_cuda(self) -> bool:
        return self._cuda is not None

    @property
    def now(self) -> float:
        """Current time of the host's clock in seconds."""
        return time.perf_counter()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def use_cuda(self, device: str) -> None:
        """Record events on the current stream of a device, such as ``cuda:0``, from now on."""
        self._cuda = sys.modules["torch"].cuda
        self._stream = self._cuda.current_stream(device)

    def mark(self) -> Mark:
        """Mark the current time. The GPU is not synchronised."""
        if self._cuda is None:
            return Mark(self.now)
        event = self._cuda.Event(enable_timing=True)
        event.record(self._stream)
        return Mark(self.now, event)

    def synchronize(self) -> None:
        """Wait until the GPU has reached all events."""
        if self._stream is not None:
            self._stream.synchronize()

    @staticmethod
    def seconds(begin: Mark, end: Mark) -> float:
        """Return the seconds between two marks, on the GPU's clock if both have an event."""
        if begin.event is None or end.event is None:
            return end.host - begin.host
        return float(begin.event.elapsed_time(end.event)) / 1000
