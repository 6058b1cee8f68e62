"""Publish the fields that differ from their value in the browser."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from workbench.ui.timer import Timeout

Publish = Callable[[str, str, Any], None]
"""``publish(component, field, value)``: called from any thread with the lock held."""

Together = Callable[[str], AbstractContextManager[Any]]
"""``together(component)``: fields published inside may be sent to the browser in one message."""

Fields = Mapping[str, Mapping[str, Any]]
"""Values by component and field."""

PICTURE_FIRST = 0.05
"""Maximum seconds for which other fields wait for the picture of an edit. If the page rendered them
first, it would show the picture 10 ms later."""
PAINTING = 0.02
"""Seconds that a page gets to decode and paint a picture before other fields are sent."""


class FieldPublisher:
    """Publishes the fields that differ from their value in the browser. Thread-safe."""

    def __init__(
        self,
        publish: Publish,
        lock: threading.RLock,
        present: Callable[[], Fields],
        together: Together = nullcontext,
        on_due: Callable[[], None] | None = None,
    ) -> None:
        """``present`` returns the current fields; it is called with the lock held.

        ``on_due`` is called, with the lock held, when a wait for a picture or for its painting
        ends; by default it is ``refresh``.
        """
        self._publish = publish
        self._together = together
        self._lock = lock
        self._present = present
        self._held: dict[tuple[str, str], Any] = {}
        self._publishing = self._stale = False
        self._on_due = on_due or self.refresh
        self._timeout: Timeout[None] = Timeout(lambda _: self._end_wait())
        self._due = math.inf
        """Time of the next scheduled refresh (``time.monotonic``)."""

    def browser_value(self, component: str, field: str, default: Any = None) -> Any:
        return self._held.get((component, field), default)

    def record_browser_value(self, component: str, field: str, value: Any) -> None:
        """Store a value that the browser has set itself, valid or not."""
        with self._lock:
            self._held[component, field] = value

    def show(self, component: str, field: str, value: Any) -> None:
        """Publish a field if it has changed."""
        with self._lock:
            key = component, field
            if key not in self._held or self._held[key] != value:
                self._held[key] = value
                self._publish(component, field, value)

    def refresh(self) -> None:
        """Publish all fields that have changed.

        If a callback changes fields meanwhile, all fields are compared again.
        """
        with self._lock:
            if self._due < math.inf:
                self._due = math.inf
                self._timeout.clear()
            self._stale = True
            if self._publishing:
                return
            self._publishing = True
            try:
                while self._stale:
                    self._stale = False
                    self._publish_present()
            finally:
                self._publishing = False

    def refresh_after_picture(self) -> None:
        """Refresh when the picture of an edit arrives, after ``PICTURE_FIRST`` seconds at most."""
        self._refresh_within(PICTURE_FIRST)

    def refresh_after_painting(self) -> None:
        """Refresh after ``PAINTING`` seconds, in which the page can paint a picture."""
        self._refresh_within(PAINTING)

    def _refresh_within(self, seconds: float) -> None:
        with self._lock:
            due = time.monotonic() + seconds
            if due < self._due:
                self._due = due
                self._timeout.start(None, seconds)

    def close(self) -> None:
        """End the thread. A pending refresh is cancelled."""
        self._timeout.close()

    def _end_wait(self) -> None:
        with self._lock:
            if self._due < math.inf:
                self._due = math.inf
                self._on_due()

    def _publish_present(self) -> None:
        for component, fields in self._present().items():
            with self._together(component):
                for field, value in fields.items():
                    self.show(component, field, value)
                    if self._stale:
                        return
