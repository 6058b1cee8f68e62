"""What the browser holds of every field, and who is told when a value has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from workbench.ui.alarm import Alarm

Publish = Callable[[str, str, Any], None]
"""``publish(component, field, value)``: called from any thread, with the lock held."""

Together = Callable[[str], AbstractContextManager[Any]]
"""``together(component)``: what is published of it meanwhile may reach the browser at the end."""

Fields = Mapping[str, Mapping[str, Any]]
"""Values by component and field."""


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
    ) -> None:
        """``present`` gives the fields as they are now; it is called with the lock held."""
        self._publish = publish
        self._together = together
        self._lock = lock
        self._present = present
        self._held: dict[tuple[str, str], Any] = {}
        self._publishing = self._stale = False
        self._alarm: Alarm[None] = Alarm(lambda _: self.refresh())
        self._due = False
        """Whether the alarm will refresh, unless something else does before."""

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
            if self._due:
                self._due = False
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

    def refresh_within(self, seconds: float) -> None:
        """Refresh after so many seconds, unless it happens before for another reason."""
        with self._lock:
            if not self._due:
                self._due = True
                self._alarm.watch(None, seconds)

    def close(self) -> None:
        """End the thread; a refresh that is due is dropped."""
        self._alarm.close()

    def _publish_present(self) -> None:
        for component, fields in self._present().items():
            with self._together(component):
                for field, value in fields.items():
                    self.show(component, field, value)
                    if self._stale:
                        return
