"""What is late is told of, what was done in time is not."""

import os
import threading
from collections.abc import Iterator

import pytest

from workbench.ui.jobs.previewer import SlowAlarm

PATIENCE = 90.0


class Bell:
    def __init__(self) -> None:
        self.late: list[str] = []
        self.rung = threading.Semaphore(0)

    def ring(self, what: str) -> None:
        self.late.append(what)
        self.rung.release()


@pytest.fixture
def bell() -> Bell:
    return Bell()


@pytest.fixture
def alarm(bell: Bell) -> Iterator[SlowAlarm[str]]:
    alarm = SlowAlarm(bell.ring)
    yield alarm
    alarm.close()


def test_it_rings_for_what_is_late_and_once(alarm: SlowAlarm[str], bell: Bell) -> None:
    for what in ("first", "second"):
        alarm.watch(what, 0.001)
        assert bell.rung.acquire(timeout=PATIENCE)
    assert bell.late == ["first", "second"]


def test_it_is_silent_of_what_was_done(alarm: SlowAlarm[str], bell: Bell) -> None:
    alarm.watch("done", 60.0)
    alarm.clear()
    alarm.watch("replaced", 60.0)
    alarm.watch("late", 0.001)  # sooner than the thread would have looked
    assert bell.rung.acquire(timeout=PATIENCE)
    assert bell.late == ["late"]


def test_a_drag_does_not_wake_it(alarm: SlowAlarm[str], monkeypatch: pytest.MonkeyPatch) -> None:
    alarm.watch("first", 60.0)
    while alarm._wakes in (0.0, float("inf")):
        os.sched_yield()
    woken: list[object] = []
    monkeypatch.setattr(alarm._condition, "notify", lambda: woken.append(None))
    for key in range(100):
        alarm.clear()
        alarm.watch(str(key), 61.0)
    monkeypatch.undo()
    assert woken == []
