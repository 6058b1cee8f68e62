"""Compute results in the background, once per key, and deliver them with the lock held."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from workbench.engine.protocol.call_handle import Caller
from workbench.errors import CancelledError, WorkbenchError
from workbench.ui.jobs.previewer import BackgroundJob, Previewer


@dataclass(frozen=True, slots=True)
class _Kind:
    rank: int
    interactive: bool = False
    """True to run the job after each picture, as in ``BackgroundJob``."""
    shows_older: bool = False
    """True to display the result of an older request until the new result arrives."""
    retries: bool = True
    """True to repeat a failed request after the next change; False if it may crash the worker."""


KINDS = {
    "batch": _Kind(0),
    "closeup": _Kind(0, interactive=True, shows_older=True),
    "compared": _Kind(0, interactive=True, retries=False),
    "compared_closeup": _Kind(0, interactive=True, retries=False),
    "values": _Kind(1, interactive=True, shows_older=True),
    "detail": _Kind(2, interactive=True, shows_older=True),
    "cards": _Kind(3, interactive=True, shows_older=True),
    "distances": _Kind(4, retries=False),
    "statistics": _Kind(4, shows_older=True),
    "card_targets": _Kind(4, retries=False),
    "times": _Kind(5, shows_older=True),
    "branch_shares": _Kind(6),
    "policy": _Kind(8),
    "effect": _Kind(9),
    "idle_arguments": _Kind(10),
}
"""Kinds of background results, by name."""


class BackgroundResults:
    """Starts background jobs by name. Call methods with the lock held."""

    def __init__(
        self, previewer: Previewer, lock: threading.RLock, changed: Callable[[], None]
    ) -> None:
        """``changed`` is called, with the lock held, after each result."""
        self._previewer = previewer
        self._changed = changed
        self._asked: dict[str, Any] = {}
        self._data = 0
        self.lock = lock

    def requested_key(self, name: str) -> Any:
        """Return the key of the last request; None if there was no request or it failed."""
        return self._asked.get(name)

    def request(
        self, name: str, key: Any, run: Callable[[Caller], Any], done: Callable[[Any], None]
    ) -> None:
        """Run ``run`` in another thread, unless the last request had the same ``key``.

        ``done`` is called with the result or the exception of ``run``, unless the job was
        cancelled.
        """
        if self._asked.get(name) == key:
            return
        self._asked[name] = key
        kind, data = KINDS[name], self._data

        def take(outcome: Any) -> None:
            cancelled = isinstance(outcome, CancelledError)
            failed = isinstance(outcome, WorkbenchError)
            with self.lock:
                if data != self._data:
                    return
                newest = self._asked.get(name) is key
                if newest and (cancelled or (failed and kind.retries)):
                    del self._asked[name]
                if not cancelled and (newest or kind.shows_older):
                    done(outcome)
                    self._changed()

        self._previewer.submit_background(
            BackgroundJob(name, kind.rank, kind.interactive, run, take)
        )

    def drop_all(self) -> None:
        """Discard all requests, because the user has opened other data."""
        self._data += 1
        self.forget(*KINDS)

    def forget(self, *names: str) -> None:
        """Discard requests that are no longer needed. A running job continues."""
        for name in names:
            self._asked.pop(name, None)
            self._previewer.drop_background(name)


# Debounced results: a value may still be dragged.

W = TypeVar("W")
DELAY = 0.25
"""Seconds to wait before a request is computed, because a newer one may replace it."""


class DebouncedJob(Generic[W]):
    """One kind of background result. Only the latest request is computed, after a delay.

    Call methods with the lock held, except ``compute``.
    """

    def __init__(
        self, background: BackgroundResults, name: str, begin: Callable[[W], None]
    ) -> None:
        """``begin(request)`` runs in a new thread without the lock, and must call ``compute``."""
        self._background = background
        self._name = name
        self._begin = begin
        self._timer: threading.Timer | None = None
        self.wanted: W | None = None
        """Request that waits for the end of the delay."""

    def is_wanted(self, request: W) -> bool:
        """Return whether ``request`` is waiting or was computed last."""
        return request in (self.wanted, self._background.requested_key(self._name))

    def request(self, request: W) -> None:
        """Replace the waiting request and restart the delay."""
        if self.is_wanted(request):
            return
        self.forget()
        self.wanted = request
        self._timer = threading.Timer(DELAY, self._begin, [request])
        self._timer.daemon = True
        self._timer.start()

    def forget(self) -> None:
        """Cancel the waiting request."""
        if self._timer is not None:
            self._timer.cancel()
        self.wanted = self._timer = None
        self._background.forget(self._name)

    def compute(
        self, request: W, run: Callable[[Caller], Any], done: Callable[[Any], None]
    ) -> None:
        """Call ``run`` for a request, unless another request has replaced it."""
        with self._background.lock:
            if self.wanted is request:
                self.wanted = None
                self._background.request(self._name, request, run, done)
