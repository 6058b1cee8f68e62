"""A measurement or comparison that runs until it is told how to end."""

from __future__ import annotations

import threading
from typing import Any

from workbench.errors import CancelledError


class FakeRun:
    """Stands in for what a job runs; ``outcome`` is returned, or raised if it is an error."""

    outcome: Any = None

    def __init__(self, *_: Any, **options: Any) -> None:
        self.ended = threading.Event()
        self.options = options
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True
        self.ended.set()

    def run(self, progress: Any) -> Any:
        progress(0.5, "batch 2 of 3")
        assert self.ended.wait(30)
        if self.cancelled:
            raise CancelledError("Cancelled.")
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome
