"""Send heartbeats, by which visible pages detect that their server or kernel is alive.

A visible page sets the field ``watched`` of a component regularly. The field ``beat`` of this
component then changes every 0.4 s, and a page without a heartbeat for 1.3 s reports that the
connection is lost. Hidden or closed pages get no messages, so that an idle kernel can be culled.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PERIOD = 0.4
"""Seconds between heartbeats."""
LEASE = 30.0
"""Seconds for which a page receives heartbeats after each request."""


class PageHeartbeat:
    """Sends heartbeats from a thread while a page requests them. Thread-safe."""

    def __init__(self, beat: Callable[[str, int], None]) -> None:
        """``beat(component, number)`` is called to send a heartbeat to the views of a component."""
        self._beat = beat
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._number = 0

    def watch(self, component: str) -> None:
        """Send heartbeats to a component for the next ``LEASE`` seconds."""
        with self._lock:
            self._until[component] = time.monotonic() + LEASE
            if self._thread is None and not self._ended.is_set():
                self._thread = threading.Thread(
                    target=self._run, name="workbench-heartbeat", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
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
