"""Publish the fields whose value differs from the value in the browser."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from workbench.ui.timer import Timeout

Publish = Callable[[str, str, Any], None]
"""Signature of ``publish(component, field, value)``, called from any thread with the lock held."""

Together = Callable[[str], AbstractContextManager[Any]]
"""Signature of ``together(component)``: a context in which fields may be sent in one message."""

Fields = Mapping[str, Mapping[str, Any]]
"""Field values by component and field name."""

PICTURE_FIRST = 0.05
"""Maximum seconds for which other fields are delayed until an edit's picture arrives. If the page
rendered these fields first, the picture would appear 10 ms later.
"""
PAINTING = 0.02
"""Seconds for which other fields are delayed while the page decodes and paints a picture."""


class FieldPublisher:
    """Publishes fields whose value differs from the value in the browser. Thread-safe."""

    def __init__(
        self,
        publish: Publish,
        lock: threading.RLock,
        current_fields: Callable[[], Fields],
        together: Together = nullcontext,
        on_due: Callable[[], None] | None = None,
    ) -> None:
        """``current_fields`` computes all fields. It is called with the lock held.

        ``on_due`` is called, with the lock held, when a delayed refresh is due; by default it is
        ``refresh``.
        """
        self._publish = publish
        self._together = together
        self._lock = lock
        self._present = current_fields
        self._held: dict[tuple[str, str], Any] = {}
        self._publishing = self._stale = False
        self._on_due = on_due or self.refresh
        self._timeout: Timeout[None] = Timeout(lambda _: self._end_wait())
        self._due = math.inf
        """``time.monotonic`` of the delayed refresh; infinity if there is none."""

    def browser_value(self, component: str, field: str, default: Any = None) -> Any:
        return self._held.get((component, field), default)

    def record_browser_value(self, component: str, field: str, value: Any) -> None:
        """Record the value that the browser has set, whether valid or not."""
        with self._lock:
            self._held[component, field] = value

    def show(self, component: str, field: str, value: Any) -> None:
        """Publish a field if its value differs from the value in the browser."""
        with self._lock:
            key = component, field
            if key not in self._held or self._held[key] != value:
                self._held[key] = value
                self._publish(component, field, value)

    def refresh(self) -> None:
        """Publish all changed fields. Repeat this if a callback has changed fields meanwhile."""
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
        """Refresh in ``PICTURE_FIRST`` seconds, or earlier if the picture arrives."""
        self._refresh_within(PICTURE_FIRST)

    def refresh_after_painting(self) -> None:
        """Refresh in ``PAINTING`` seconds, so that the page can paint a picture first."""
        self._refresh_within(PAINTING)

    def _refresh_within(self, seconds: float) -> None:
        with self._lock:
            due = time.monotonic() + seconds
            if due < self._due:
                self._due = due
                self._timeout.start(None, seconds)

    def close(self) -> None:
        """Cancel a delayed refresh and end the thread."""
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
