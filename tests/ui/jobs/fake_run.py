"""What a job runs, ended by the test, and what a job has told."""

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


class Outcomes:
    """A callback of a job that keeps each outcome."""

    def __init__(self) -> None:
        self.found: list[Any] = []
        self._there = threading.Semaphore(0)

    def __call__(self, of: object, outcome: Any) -> None:
        self.found.append(outcome)
        self._there.release()

    def wait(self, count: int = 1) -> None:
        """Wait for so many more outcomes."""
        for _ in range(count):
            assert self._there.acquire(timeout=60)
