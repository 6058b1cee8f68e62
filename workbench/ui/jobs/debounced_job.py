"""Background results that are debounced: a value may still be dragged."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from workbench.engine.protocol.call_handle import Caller
from workbench.preview import PreviewRequest
from workbench.ui.jobs.background_results import BackgroundResults
from workbench.ui.state.view_state import ViewState

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


def small_pictures(request: PreviewRequest, side: int) -> PreviewRequest:
    """The request of a preview's picture, for pictures of its results of so many pixels."""
    return replace(
        request, shown="augmented", baseline="", lossless=False, raw=False, tile_size=side
    )


def shown_sample(state: ViewState, request: PreviewRequest) -> int:
    """The place of the sample that is looked at, of those that a request has."""
    return min(state.sample, request.tiles - 1, request.graph.settings.batch_size - 1)
