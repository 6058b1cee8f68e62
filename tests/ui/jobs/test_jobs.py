"""Work in the background: results that are still wanted, the heartbeat, and what is late."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest

from workbench.errors import CancelledError, GraphError
from workbench.ui.app import page_heartbeat
from workbench.ui.app.page_heartbeat import LEASE, PageHeartbeat
from workbench.ui.jobs.background_results import BackgroundResults
from workbench.ui.jobs.previewer import BackgroundJob, Previewer
from workbench.ui.timer import Timeout

# Each result is asked for once, and taken only where it is still wanted.


class Queue:
    """In place of the previewer: holds what was submitted."""

    def __init__(self) -> None:
        self.jobs: list[BackgroundJob] = []
        self.dropped: list[str] = []

    def submit_background(self, job: BackgroundJob) -> None:
        self.jobs.append(job)

    def drop_background(self, name: str) -> None:
        self.dropped.append(name)


class Asker:
    """Asks, and keeps what came."""

    def __init__(self) -> None:
        self.queue = Queue()
        self.came: list[Any] = []
        self.changes = 0
        self.results = BackgroundResults(
            cast(Previewer, self.queue), threading.RLock(), self._changed
        )

    def _changed(self) -> None:
        self.changes += 1

    def ask(self, name: str, key: object) -> None:
        self.results.request(name, key, lambda caller: None, self.came.append)


@pytest.fixture
def asker() -> Asker:
    return Asker()


def test_the_same_is_asked_for_once(asker: Asker) -> None:
    for key in ((1,), (1,), (2,)):
        asker.ask("cards", key)
    assert len(asker.queue.jobs) == 2
    assert asker.results.requested_key("cards") == (2,)
    asker.queue.jobs[1].done("two")
    assert (asker.came, asker.changes) == (["two"], 1)
    asker.ask("cards", (2,))
    assert len(asker.queue.jobs) == 2


@pytest.mark.parametrize(("name", "shown"), [("cards", ["older"]), ("effect", []), ("batch", [])])
def test_what_an_older_request_gave(asker: Asker, name: str, shown: list[str]) -> None:
    asker.ask(name, (1,))
    asker.ask(name, (2,))
    asker.queue.jobs[0].done("older")
    assert asker.came == shown
    assert asker.results.requested_key(name) == (2,)


@pytest.mark.parametrize(
    ("name", "retried"), [("cards", True), ("effect", True), ("compared", False)]
)
def test_what_failed_may_be_asked_for_again(asker: Asker, name: str, retried: bool) -> None:
    asker.ask(name, (1,))
    asker.queue.jobs[0].done(GraphError("no"))
    assert [str(each) for each in asker.came] == ["no"]
    assert (asker.results.requested_key(name) is None) == retried


def test_what_was_cancelled_or_forgotten_is_not_taken(asker: Asker) -> None:
    asker.ask("effect", (1,))
    asker.queue.jobs[0].done(CancelledError("given up"))
    assert (asker.came, asker.results.requested_key("effect")) == ([], None)
    asker.ask("effect", (1,))
    asker.results.forget("effect", "cards")
    asker.queue.jobs[1].done("late")
    assert (asker.came, asker.queue.dropped) == ([], ["effect", "cards"])


# It beats for whom looks, and for nobody else.

PATIENCE = 90.0


def test_it_beats_while_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_heartbeat, "PERIOD", 0.001)
    beats: queue.Queue[tuple[str, int]] = queue.Queue()
    heartbeat = PageHeartbeat(lambda component, beat: beats.put((component, beat)))
    heartbeat.watch("bar")
    first, second = beats.get(timeout=PATIENCE), beats.get(timeout=PATIENCE)
    assert first[0] == second[0] == "bar"
    assert second[1] > first[1]
    thread = heartbeat._thread
    heartbeat.close()
    assert thread is not None
    thread.join(PATIENCE)
    heartbeat.watch("bar")
    assert heartbeat._thread is None


def test_it_ends_when_nobody_looks_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(page_heartbeat, "PERIOD", 0.001)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    beats: queue.Queue[int] = queue.Queue()
    heartbeat = PageHeartbeat(lambda component, beat: beats.put(beat))
    for _ in range(2):  # and begins again
        heartbeat.watch("bar")
        beats.get(timeout=PATIENCE)
        thread = heartbeat._thread
        assert thread is not None
        now += LEASE
        thread.join(PATIENCE)
        assert heartbeat._thread is None
        while not beats.empty():
            beats.get()
    heartbeat.close()


# What is late is told of, what was done in time is not.


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
def timeout(bell: Bell) -> Iterator[Timeout[str]]:
    timeout = Timeout(bell.ring)
    yield timeout
    timeout.close()


def test_it_rings_for_what_is_late_and_once(timeout: Timeout[str], bell: Bell) -> None:
    for what in ("first", "second"):
        timeout.start(what, 0.001)
        assert bell.rung.acquire(timeout=PATIENCE)
    assert bell.late == ["first", "second"]


def test_it_is_silent_of_what_was_done(timeout: Timeout[str], bell: Bell) -> None:
    timeout.start("done", 60.0)
    timeout.clear()
    timeout.start("replaced", 60.0)
    timeout.start("late", 0.001)  # sooner than the thread would have looked
    assert bell.rung.acquire(timeout=PATIENCE)
    assert bell.late == ["late"]


def test_a_drag_does_not_wake_it(timeout: Timeout[str], monkeypatch: pytest.MonkeyPatch) -> None:
    timeout.start("first", 60.0)
    while timeout._wakes in (0.0, float("inf")):
        os.sched_yield()
    woken: list[object] = []
    monkeypatch.setattr(timeout._condition, "notify", lambda: woken.append(None))
    for key in range(100):
        timeout.clear()
        timeout.start(str(key), 61.0)
    monkeypatch.undo()
    assert woken == []
