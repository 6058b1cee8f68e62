"""Define a handle for calls to a worker, with which another thread can cancel the calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from workbench.errors import CancelledError

ReportListener = Callable[[Any], None]
"""Callback for the progress that a task reports while it runs."""


class Caller(Protocol):
    """Interface for running tasks in a worker: an ``Engine``, or a ``CallHandle``."""

    def call(
        self,
        task: Callable[..., Any],
        *arguments: Any,
        limit: float | None = None,
        on_report: ReportListener | None = None,
    ) -> Any:
        """Run ``task(worker, *arguments)`` in the worker and return its result."""
        ...


Run = Callable[
    ["CallHandle", Callable[..., Any], tuple[Any, ...], float | None, ReportListener | None], Any
]
"""Function of an engine that runs a call (handle, task, arguments, limit, ``on_report``)."""


class CallHandle:
    """One call, or several successive calls, that can be cancelled together.

    Create the handle with ``Engine.handle``. Use ``call`` in one thread, and ``interrupt`` or
    ``cancel`` in any other. Both are permanent: later calls through the same handle do not start. A
    call that waits for other calls ends at once, and calls through other handles are not affected.
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
        """Run a task like ``Engine.call``. Raises CancelledError if interrupted or cancelled."""
        return self._run(self, task, arguments, limit, on_report)

    def interrupt(self) -> None:
        """Make the call raise CancelledError before its next stage.

        The worker continues to run, and all cached data is retained. A call without further stages
        ends normally.
        """
        with self._lock:
            self._interrupted = True
            if self._send_interrupt is not None:
                self._send_interrupt()

    def cancel(self) -> None:
        """Make the call raise CancelledError within 0.1 s, and end the worker if the call runs."""
        self.cancelled = True

    def require_wanted(self) -> None:
        """Raise CancelledError if the handle was interrupted or cancelled. For use by engines."""
        if self.cancelled:
            raise CancelledError("Cancelled.")
        if self._interrupted:
            raise CancelledError("Cancelled by a newer request.")

    @contextmanager
    def running(self, begin: Callable[[], None], interrupt: Callable[[], None]) -> Iterator[None]:
        """Start a call with ``begin``. Within the context, ``interrupt`` can end the call.

        For use by engines. Raises CancelledError if the handle was cancelled or interrupted before.
        """
        with self._lock:
            self.require_wanted()
            begin()
            self._send_interrupt = interrupt
        try:
            yield
        finally:
            with self._lock:
                self._send_interrupt = None
