"""Measurements of all sessions of a server take turns: two at once would measure each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from workbench.errors import CancelledError

_TICK = 0.05


class MeasurementQueue:
    """Gives turns in the order in which they were asked for. May be used from any thread."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._tickets: list[object] = []
        """Of those that have their turn (the first) and that wait."""

    @contextmanager
    def turn(
        self, on_wait: Callable[[str], None], is_cancelled: Callable[[], bool]
    ) -> Iterator[None]:
        """Wait for the turn, and have it for as long as the block runs.

        ``on_wait`` hears what is waited for, again whenever that changes. Raises CancelledError
        once ``is_cancelled``.
        """
        ticket = object()
        with self._condition:
            self._tickets.append(ticket)
        try:
            self._wait(ticket, on_wait, is_cancelled)
            yield
        finally:
            with self._condition:
                self._tickets.remove(ticket)
                self._condition.notify_all()

    def _wait(
        self, ticket: object, on_wait: Callable[[str], None], is_cancelled: Callable[[], bool]
    ) -> None:
        told = 0
        while True:
            with self._condition:
                before = self._tickets.index(ticket)
                if before and before == told:
                    self._condition.wait(_TICK)
                    before = self._tickets.index(ticket)
            if is_cancelled():
                raise CancelledError("Cancelled.")
            if not before:
                return
            if before != told:
                told = before
                on_wait(describe_wait(before))


def describe_wait(before: int) -> str:
    """What is said while so many others have their turn first."""
    if before == 1:
        return "waits for another measurement"
    return f"waits for {before} other measurements"


SHARED_QUEUE = MeasurementQueue()
"""That of this process: a server's, or a kernel's."""
