"""What is computed besides the picture: each thing once for what it is of, taken with the lock."""

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
    """Both as of a ``BackgroundJob``."""
    shows_older: bool = False
    """Whether what an older request gave is shown until the newer one's is there."""
    retries: bool = True
    """Whether what failed is asked for again at the next change; not what may end the worker."""


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
"""By name."""


class BackgroundResults:
    """Asks for background jobs by name. Every method is called with the lock held."""

    def __init__(
        self, previewer: Previewer, lock: threading.RLock, changed: Callable[[], None]
    ) -> None:
        """``changed`` is called, with the lock held, after each result."""
        self._previewer = previewer
        self._changed = changed
        self._asked: dict[str, Any] = {}
        self._data = 0
        """Number of the data that are open."""
        self.lock = lock

    def asked(self, name: str) -> Any:
        """What was last asked for, running or done; None where nothing was, or it failed."""
        return self._asked.get(name)

    def ask(
        self, name: str, key: Any, run: Callable[[Caller], Any], done: Callable[[Any], None]
    ) -> None:
        """Have ``run`` called, in another thread, unless it was for the same ``key``.

        ``done`` is called with what it gave or raised, not where it was cancelled.
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
        """Other data are opened: nothing that was asked for until now is taken any more."""
        self._data += 1
        self.forget(*KINDS)

    def forget(self, *names: str) -> None:
        """They are looked at no more. One that runs goes on."""
        for name in names:
            self._asked.pop(name, None)
            self._previewer.drop_background(name)


# Results that are debounced: a value may still be dragged.

W = TypeVar("W")
DELAY = 0.25
"""Seconds without another request after which the last one is computed."""


class DebouncedJob(Generic[W]):
    """One kind of background result, of the latest request.

    Called with the lock held, but for ``ask``.
    """

    def __init__(
        self, background: BackgroundResults, name: str, begin: Callable[[W], None]
    ) -> None:
        """``begin`` is called in a thread of its own, without the lock; it calls ``ask``."""
        self._background = background
        self._name = name
        self._begin = begin
        self._timer: threading.Timer | None = None
        self.wanted: W | None = None
        """What will be computed after the delay."""

    def is_wanted(self, wanted: W) -> bool:
        """Whether that is what is wanted, or was computed last."""
        return wanted in (self.wanted, self._background.asked(self._name))

    def want(self, wanted: W) -> None:
        """Have this computed, in the place of what was wanted."""
        if self.is_wanted(wanted):
            return
        self.forget()
        self.wanted = wanted
        self._timer = threading.Timer(DELAY, self._begin, [wanted])
        self._timer.daemon = True
        self._timer.start()

    def forget(self) -> None:
        """Compute nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
        self.wanted = self._timer = None
        self._background.forget(self._name)

    def ask(self, wanted: W, run: Callable[[Caller], Any], done: Callable[[Any], None]) -> None:
        """Have ``run`` compute it, unless something else is wanted by now."""
        with self._background.lock:
            if self.wanted is wanted:
                self.wanted = None
                self._background.ask(self._name, wanted, run, done)
