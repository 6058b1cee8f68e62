"""Tells pages that their server or kernel is alive, as long as one looks.

A page that is visible asks for it again and again (the field ``watched`` of a component); the
field ``beat`` of that component then changes every 0.4 s. A page that sees no beat for 1.3 s says
that it has lost its server. Nothing is sent to a page that is hidden or gone, so an idle kernel may
be culled.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PERIOD = 0.4
"""Seconds between two beats."""
LEASE = 30.0
"""Seconds for which a page that looked is told."""


class PageHeartbeat:
    """A thread that beats while somebody looks. May be called from any thread."""

    def __init__(self, beat: Callable[[str, int], None]) -> None:
        """``beat(component, number)`` tells the views of a component."""
        self._beat = beat
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._number = 0

    def watch(self, component: str) -> None:
        """Beat for this component from now on, for ``LEASE`` seconds."""
        with self._lock:
            self._until[component] = time.monotonic() + LEASE
            if self._thread is None and not self._ended.is_set():
                self._thread = threading.Thread(
                    target=self._run, name="workbench-heartbeat", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """End, for good."""
        self._ended.set()

    def _run(self) -> None:
        while True:
            with self._lock:
                now = time.monotonic()
                self._until = {name: end for name, end in self._until.items() if end > now}
                if not self._until or self._ended.is_set():
                    self._thread = None
                    return
                names = list(self._until)
                self._number += 1
            for name in names:
                self._beat(name, self._number)
            self._ended.wait(PERIOD)
