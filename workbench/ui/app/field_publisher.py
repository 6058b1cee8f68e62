"""What the browser holds of every field, and who is told when a value has changed."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from workbench.ui.timer import Alarm

Publish = Callable[[str, str, Any], None]
"""``publish(component, field, value)``: called from any thread, with the lock held."""

Together = Callable[[str], AbstractContextManager[Any]]
"""``together(component)``: what is published of it meanwhile may reach the browser at the end."""

Fields = Mapping[str, Mapping[str, Any]]
"""Values by component and field."""

PICTURE_FIRST = 0.05
"""Seconds that the fields of an edited value wait for its picture: a page that draws them takes
the picture 10 ms later."""
PAINTING = 0.02
"""Seconds that a page has to decode and paint a picture before it gets other fields."""


class FieldPublisher:
    """Publishes what differs from the value that the browser holds.

    Every method may be called from any thread.
    """

    def __init__(
        self,
        publish: Publish,
        lock: threading.RLock,
        present: Callable[[], Fields],
        together: Together = nullcontext,
        on_due: Callable[[], None] | None = None,
    ) -> None:
        """``present`` returns the present fields; it is called with the lock held.

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
        self._alarm: Alarm[None] = Alarm(lambda _: self._end_wait())
        self._due = math.inf
        """When the alarm refreshes (``time.monotonic``), unless something else does before."""

    def held(self, component: str, field: str, default: Any = None) -> Any:
        """The value that the browser holds."""
        return self._held.get((component, field), default)

    def hold(self, component: str, field: str, value: Any) -> None:
        """Take note of a value that the browser has set itself, right or wrong."""
        with self._lock:
            self._held[component, field] = value

    def show(self, component: str, field: str, value: Any) -> None:
        """Publish one field where it has changed."""
        with self._lock:
            key = component, field
            if key not in self._held or self._held[key] != value:
                self._held[key] = value
                self._publish(component, field, value)

    def refresh(self) -> None:
        """Publish every field that has changed.

        Who is told may change something at once: then what is left to tell is out of date, and all
        is looked at anew.
        """
        with self._lock:
            if self._due < math.inf:
                self._due = math.inf
                self._alarm.clear()
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
        """Refresh when the picture of an edit is there, at the latest after ``PICTURE_FIRST``."""
        self._refresh_within(PICTURE_FIRST)

    def refresh_after_painting(self) -> None:
        """Refresh once the page has had time to paint a picture."""
        self._refresh_within(PAINTING)

    def _refresh_within(self, seconds: float) -> None:
        with self._lock:
            due = time.monotonic() + seconds
            if due < self._due:
                self._due = due
                self._alarm.watch(None, seconds)

    def close(self) -> None:
        """End the thread; a refresh that is due is dropped."""
        self._alarm.close()

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
