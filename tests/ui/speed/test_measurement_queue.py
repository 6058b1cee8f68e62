"""Two sessions never measure at once, and the one that waits says so."""

from __future__ import annotations

import threading

import pytest

from tests.engine.tasks import until
from workbench.errors import CancelledError
from workbench.ui.jobs.measurement_queue import MeasurementQueue

PATIENCE = 60


class Turn:
    """One that asks for a turn in a thread of its own."""

    def __init__(self, queue: MeasurementQueue) -> None:
        self.told: list[str] = []
        self.cancelled = False
        self.has_it, self.done = threading.Event(), threading.Event()
        self.ended = ""
        self._queue = queue
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with self._queue.turn(self.told.append, lambda: self.cancelled):
                self.has_it.set()
                assert self.done.wait(PATIENCE)
            self.ended = "done"
        except CancelledError:
            self.ended = "cancelled"

    def end(self) -> str:
        self.done.set()
        self._thread.join(PATIENCE)
        return self.ended


def test_turns_come_in_order() -> None:
    queue = MeasurementQueue()
    first = Turn(queue)
    assert first.has_it.wait(PATIENCE)
    second = Turn(queue)
    until(lambda: second.told == ["waits for another measurement"], PATIENCE)
    third = Turn(queue)
    until(lambda: third.told == ["waits for 2 other measurements"], PATIENCE)
    assert not second.has_it.is_set()
    assert first.end() == "done"
    assert second.has_it.wait(PATIENCE)
    until(lambda: third.told[-1] == "waits for another measurement", PATIENCE)
    assert second.end() == "done"
    assert third.has_it.wait(PATIENCE)
    assert third.end() == "done"
    assert first.told == []


def test_one_that_waits_can_be_cancelled() -> None:
    queue = MeasurementQueue()
    first, second = Turn(queue), None
    assert first.has_it.wait(PATIENCE)
    second = Turn(queue)
    until(lambda: bool(second.told), PATIENCE)
    second.cancelled = True
    assert second.end() == "cancelled"
    third = Turn(queue)
    first.end()
    assert third.has_it.wait(PATIENCE)
    third.end()


def test_a_failure_gives_the_turn_back() -> None:
    queue = MeasurementQueue()
    with pytest.raises(ZeroDivisionError), queue.turn(print, lambda: False):
        raise ZeroDivisionError
    with queue.turn(print, lambda: False):
        pass
