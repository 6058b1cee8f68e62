"""Measurements in the background: one at a time on a server, and whom they tell."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engine.tasks import until
from tests.ui.speed.conftest import Bed, Fake
from workbench.errors import CancelledError
from workbench.ui.jobs import background_task
from workbench.ui.jobs.background_task import (
    BackgroundTask,
    MeasurementQueue,
    OwnedTasks,
    TaskListener,
)

# A measurement belongs to the server: it waits for others, and outlives the page that began it.

OWNER = "a tab"


@pytest.fixture
def other(fake: Fake, photos: Path, tmp_path: Path) -> Iterator[Bed]:
    """The panel of another page."""
    made = Bed(str(photos), tmp_path / "records")
    yield made
    made.speed.cancel()


def leave(bed: Bed) -> None:
    with bed._condition:
        bed.speed.detach()


def own(bed: Bed, owner: str = OWNER) -> None:
    with bed._condition:
        bed.speed.adopt_session(owner)


def hold(bed: Bed, fake: Fake) -> None:
    bed.hold(fake, what="compare")
    fake.hold = False


def test_a_second_session_waits_and_says_so(bed: Bed, other: Bed, fake: Fake) -> None:
    hold(bed, fake)
    other.do("measure", what="compare")
    other.wait(lambda bed: bed["message"] == "waiting for another measurement", "the wait")
    assert other["running"]
    bed.do("cancel")
    other.wait(lambda bed: not bed["running"], "the end")
    assert other["compare"] != {}


def test_a_remaining_time_that_has_passed_is_not_shown(bed: Bed, fake: Fake) -> None:
    hold(bed, fake)
    assert "about" in bed["message"]
    bed.wait(lambda bed: bed["message"].endswith("longer than estimated"), "the end of that time")
    assert "about" not in bed["message"]


def test_one_that_waits_is_cancelled(bed: Bed, other: Bed, fake: Fake) -> None:
    hold(bed, fake)
    other.do("measure", what="compare")
    other.do("cancel")
    other.wait(lambda bed: not bed["running"], "the end")
    assert other["message"] == "Cancelled."
    assert bed["running"]


@pytest.mark.parametrize("first", ["leave", "come"])
def test_the_next_page_finds_it(bed: Bed, other: Bed, fake: Fake, first: str) -> None:
    """The page before may close after the next one has come."""
    own(bed)
    hold(bed, fake)
    if first == "leave":
        leave(bed)
        own(other)
    else:
        own(other)
        leave(bed)
    assert (other["running"], other["what"], other["progress"]) == (True, "compare", 0.5)
    other.do("cancel")
    other.wait(lambda bed: not bed["running"], "the end")
    assert not bed["running"]


def test_what_has_ended_meanwhile_is_found(bed: Bed, other: Bed, fake: Fake) -> None:
    own(bed)
    hold(bed, fake)
    bed.cancel()
    fake.holding.clear()
    with bed._condition:  # it cannot end before the page has left
        bed.do("measure", what="compare")
        run = bed.speed.run
        assert run is not None
        bed.speed.detach()
    run._thread.join(30)
    assert run.outcome is not None
    assert len(list((bed.speed.store.folder or Path()).glob("*.json"))) == 2, (
        "and what the first had"
    )
    own(other)
    other.wait(lambda bed: not bed["running"], "the end")
    assert other["compare"] != {}
    assert len(other.speed.store.records) == 2


def test_nobody_else_finds_it(bed: Bed, other: Bed, fake: Fake) -> None:
    own(bed)
    hold(bed, fake)
    leave(bed)
    own(other, "another tab")
    assert not other["running"]
    own(other)
    assert other["running"]


def test_without_a_session_it_ends_with_its_page(bed: Bed, fake: Fake) -> None:
    hold(bed, fake)
    run = bed.speed.run
    assert run is not None
    leave(bed)
    run._thread.join(30)
    assert not run._thread.is_alive()


# A measurement in the background tells whoever looks, and keeps no page that is gone.

PATIENCE = 90


class Ended:
    """A measurement that is over at once."""

    def run(self, on_progress: Callable[[float, str], None]) -> int:
        on_progress(1.0, "done")
        return 1

    def cancel(self) -> None:
        pass


def ended() -> tuple[BackgroundTask[int], list[tuple[int | None, str]]]:
    heard: list[tuple[int | None, str]] = []
    listener: TaskListener[int] = TaskListener(
        threading.RLock(), lambda: None, lambda found, wrong: heard.append((found, wrong))
    )
    job: BackgroundTask[int] = BackgroundTask("measurement", Ended(), listener)
    job.start()
    job._thread.join(PATIENCE)
    return job, heard


def test_after_the_end_nobody_is_kept_and_who_comes_hears() -> None:
    job, heard = ended()
    assert heard == [(1, "")]
    assert job.listener is None
    later: list[int | None] = []
    job.listen(TaskListener(threading.RLock(), lambda: None, lambda found, _: later.append(found)))
    assert later == [1]
    assert job.listener is None


def test_of_those_that_ended_the_newest_are_kept() -> None:
    jobs: OwnedTasks[BackgroundTask[int]] = OwnedTasks()
    job, _ = ended()
    for owner in range(background_task.MOST_ENDED + 5):
        jobs.put(str(owner), job)
    assert jobs.find("4") is None
    assert jobs.find("5") is job
    jobs.drop(job)
    assert jobs.find("5") is None


# Two sessions never measure at once, and the one that waits says so.


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
    until(lambda: second.told == ["waiting for another measurement"], PATIENCE)
    third = Turn(queue)
    until(lambda: third.told == ["waiting for 2 other measurements"], PATIENCE)
    assert not second.has_it.is_set()
    assert first.end() == "done"
    assert second.has_it.wait(PATIENCE)
    until(lambda: third.told[-1] == "waiting for another measurement", PATIENCE)
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
