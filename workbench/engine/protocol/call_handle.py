"""A handle for calls of a worker: to end these, and no others, from another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from workbench.errors import CancelledError

ReportListener = Callable[[Any], None]
"""Hears what a task reports while it runs."""


class Caller(Protocol):
    """What tasks can be called through: an ``Engine``, or a handle of its calls."""

    def call(
        self,
        task: Callable[..., Any],
        *arguments: Any,
        limit: float | None = None,
        on_report: ReportListener | None = None,
    ) -> Any:
        """Run ``task(worker, *arguments)`` in the worker and return what it gives."""
        ...


Run = Callable[
    ["CallHandle", Callable[..., Any], tuple[Any, ...], float | None, ReportListener | None], Any
]
"""How an engine runs a call: handle, task, arguments, limit, ``on_report``."""


class CallHandle:
    """One call, or several one after the other, that end together.

    Make it with ``Engine.handle``, ``call`` in one thread, ``interrupt`` or ``cancel`` in any
    other. Both last: what is called later through the same handle is not begun. A call that waits
    for its turn ends at once, and what runs meanwhile is not touched.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._send_interrupt: Callable[[], None] | None = None
        self._interrupted = False
        self.cancelled = False

    def call(
        self,
        task: Callable[..., Any],
        *arguments: Any,
        limit: float | None = None,
        on_report: ReportListener | None = None,
    ) -> Any:
        """As ``Engine.call``; raises CancelledError where the handle was given up."""
        return self._run(self, task, arguments, limit, on_report)

    def interrupt(self) -> None:
        """Have the call end before its next stage, where it raises CancelledError.

        The worker stays, with all that it keeps. A call that comes to no stage any more ends as
        usual.
        """
        with self._lock:
            self._interrupted = True
            if self._send_interrupt is not None:
                self._send_interrupt()

    def cancel(self) -> None:
        """End the call: it raises CancelledError within 0.1 s. One that runs ends the worker."""
        self.cancelled = True

    def require_wanted(self) -> None:
        """Raise CancelledError where the handle was given up. For engines."""
        if self.cancelled:
            raise CancelledError("Cancelled.")
        if self._interrupted:
            raise CancelledError("Given up for a newer request.")

    @contextmanager
    def running(self, begin: Callable[[], None], interrupt: Callable[[], None]) -> Iterator[None]:
        """Begin a call, unless given up, which is interrupted by ``interrupt``. For engines."""
        with self._lock:
            self.require_wanted()
            begin()
            self._send_interrupt = interrupt
        try:
            yield
        finally:
            with self._lock:
                self._send_interrupt = None
