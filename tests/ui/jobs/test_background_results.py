"""Each result is asked for once, and taken only where it is still wanted."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from workbench.errors import CancelledError, GraphError
from workbench.ui.jobs.background_results import BackgroundResults
from workbench.ui.jobs.previewer import BackgroundJob, Previewer


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
        self.results.ask(name, key, lambda caller: None, self.came.append)


@pytest.fixture
def asker() -> Asker:
    return Asker()


def test_the_same_is_asked_for_once(asker: Asker) -> None:
    for key in ((1,), (1,), (2,)):
        asker.ask("cards", key)
    assert len(asker.queue.jobs) == 2
    assert asker.results.asked("cards") == (2,)
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
    assert asker.results.asked(name) == (2,)


@pytest.mark.parametrize(
    ("name", "retried"), [("cards", True), ("effect", True), ("compared", False)]
)
def test_what_failed_may_be_asked_for_again(asker: Asker, name: str, retried: bool) -> None:
    asker.ask(name, (1,))
    asker.queue.jobs[0].done(GraphError("no"))
    assert [str(each) for each in asker.came] == ["no"]
    assert (asker.results.asked(name) is None) == retried


def test_what_was_cancelled_or_forgotten_is_not_taken(asker: Asker) -> None:
    asker.ask("effect", (1,))
    asker.queue.jobs[0].done(CancelledError("given up"))
    assert (asker.came, asker.results.asked("effect")) == ([], None)
    asker.ask("effect", (1,))
    asker.results.forget("effect", "cards")
    asker.queue.jobs[1].done("late")
    assert (asker.came, asker.queue.dropped) == ([], ["effect", "cards"])
