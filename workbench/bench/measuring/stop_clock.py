"""An event that is set once another is, or once a time is up: what bounds a step of a worker."""

from __future__ import annotations

import math
import threading
import time


class StopClock(threading.Event):
    """Set once ``stop`` is, or so many seconds after the last ``allow``.

    An ``Engine`` that is given it ends whatever its worker does then: start, import or round.
    """

    def __init__(self, stop: threading.Event) -> None:
        super().__init__()
        self._stop = stop
        self._until = math.inf

    def allow(self, seconds: float) -> None:
        """Let what comes now take so many seconds; infinite: as long as it takes."""
        self._until = time.monotonic() + seconds

    def is_set(self) -> bool:
        """Whether it is time to stop, for either reason."""
        return self._stop.is_set() or time.monotonic() >= self._until
