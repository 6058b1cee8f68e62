"""Of what waits, the latest wins."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tests.engine import tasks
from tests.ui.jobs.fake_run import Outcomes
from workbench.engine.protocol.call_handle import Caller, CallHandle
from workbench.engine.protocol.process import Engine
from workbench.errors import CancelledError, PipelineError
from workbench.graph import Graph
from workbench.preview import PreviewRequest
from workbench.ui.jobs.previewer import BackgroundJob, Outcome, Previewer


class FakeEngine:
    """An engine whose calls wait to be let through. Handles are real: each ends its own calls."""

    pid: int | None = None

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.entered = threading.Semaphore(0)
        self.open = threading.Semaphore(0)
        self.error: Exception | None = None
        self.given_up: list[str] = []
        self.told = threading.Semaphore(0)
        self.deaf = False
        """Whether a call that is interrupted comes to no stage any more."""
        self._turn = threading.Lock()

    def handle(self) -> CallHandle:
        return CallHandle(self._run)

    def _run(
        self,
        handle: CallHandle,
        task: Callable[..., Any],
        arguments: tuple[Any, ...],
        limit: float | None,
        on_report: Any,
    ) -> Any:
        interrupted = threading.Event()

        def interrupt() -> None:
            self.given_up.append("interrupt")
            interrupted.set()
            self.told.release()

        while not self._turn.acquire(timeout=0.01):
            handle.require_wanted()
        try:
            with handle.running(lambda: None, interrupt):
                self.asked.append(arguments[0])
                self.entered.release()
                while not self.open.acquire(timeout=0.01):
                    if handle.cancelled:
                        self.given_up.append("cancel")
                        handle.require_wanted()
                    if interrupted.is_set() and not self.deaf:
                        handle.require_wanted()
                if self.error is not None:
                    raise self.error
                return arguments[0]
        finally:
            self._turn.release()


class HandTimeout:
    """A ``Timeout`` that is rung by the test, not by a clock."""

    def __init__(self, ring: Callable[[Any], None]) -> None:
        self._ring = ring
        self._watched: Any = None

    def start(self, what: Any, seconds: float) -> None:
        self._watched = what

    def clear(self) -> None:
        self._watched = None

    def close(self) -> None:
        pass

    def ring(self) -> None:
        self._ring(self._watched)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("workbench.ui.jobs.previewer.render_batch", batch_number)
    monkeypatch.setattr("workbench.ui.jobs.previewer.Timeout", HandTimeout)
    return FakeEngine()


def grow_slow(previewer: Previewer) -> None:
    """What is being rendered has taken its time."""
    timeout: Any = previewer._timeout
    timeout.ring()


def end_grace(previewer: Previewer) -> None:
    """The worker has had its time to give way."""
    grace: Any = previewer._grace
    grace.ring()


def batch_number(engine: Caller, request: PreviewRequest, on_report: object = None) -> Any:
    """Stands in for ``render_batch``."""
    return engine.call(tasks.echo, request.batch)


def request(batch: int) -> PreviewRequest:
    return PreviewRequest(Graph(), "data", batch)


Start = Callable[..., Previewer]


@pytest.fixture
def start(fake: Any) -> Iterator[Start]:
    """Makes a previewer of the fake engine; its end lets nothing reach into the next test."""
    made: list[Previewer] = []

    def start(on_done: Any, on_slow: Callable[[], None] = lambda: None) -> Previewer:
        made.append(Previewer(fake, on_done, on_slow))
        return made[-1]

    yield start
    for previewer in made:
        previewer.close()
        for _ in range(4):
            fake.open.release()
        previewer._thread.join(30)
        assert not previewer._thread.is_alive()


def test_the_newest_request_replaces_the_one_that_waits(fake: Any, start: Start) -> None:
    done = Outcomes()
    previewer = start(done)
    previewer.request(request(0))
    assert fake.entered.acquire(timeout=30)
    for batch in (1, 2, 3):
        previewer.request(request(batch))
    fake.open.release()
    fake.open.release()
    done.wait(2)
    assert fake.asked == done.found == [0, 3]


def test_a_burst_shows_a_picture_for_every_rendering_that_its_time_allows(
    fake: Any, start: Start
) -> None:
    keys, keys_a_rendering = 60, 3
    done = Outcomes()
    previewer = start(done)
    previewer.request(request(0))
    for key in range(1, keys):
        if key % keys_a_rendering == 1:
            assert fake.entered.acquire(timeout=30)
        previewer.request(request(key))
        if key % keys_a_rendering == 0:
            fake.open.release()
            done.wait()
    for _ in ("the one that runs", "the newest"):
        fake.open.release()
        done.wait()
    assert done.found == [*range(0, keys, keys_a_rendering), keys - 1]


def test_what_waits_can_be_dropped_and_errors_are_handed_on(fake: Any, start: Start) -> None:
    done, slow = Outcomes(), threading.Event()
    previewer = start(done, slow.set)
    previewer.request(request(0))
    assert fake.entered.acquire(timeout=30)
    assert previewer.running == request(0)
    previewer.request(request(1))
    previewer.request(None)
    grow_slow(previewer)
    assert slow.is_set()
    fake.error = PipelineError("refused", "rotate")
    fake.open.release()
    done.wait()
    assert done.found == [fake.error]
    assert fake.asked == [0]


def test_a_slow_one_gives_way_but_not_two_in_a_row(fake: Any, start: Start) -> None:
    done: list[Any] = []
    finished = threading.Semaphore(0)

    def on_done(request: PreviewRequest, outcome: Outcome) -> None:
        done.append((request.batch, isinstance(outcome, CancelledError)))
        finished.release()

    previewer = start(on_done)
    previewer.request(request(0))
    assert fake.entered.acquire(timeout=30)
    previewer.request(request(1))
    assert fake.given_up == []
    grow_slow(previewer)
    assert finished.acquire(timeout=30)
    assert fake.entered.acquire(timeout=30)
    previewer.request(request(2))
    grow_slow(previewer)
    previewer.request(request(3))
    assert fake.given_up == ["interrupt"]
    fake.open.release()
    fake.open.release()
    assert finished.acquire(timeout=30)
    assert finished.acquire(timeout=30)
    assert done == [(0, True), (1, False), (3, False)]


def test_one_that_does_not_give_way_loses_its_worker(fake: Any, start: Start) -> None:
    done = Outcomes()
    fake.deaf = True
    previewer = start(done)
    previewer.request(request(0))
    assert fake.entered.acquire(timeout=30)
    previewer.request(request(1))
    grow_slow(previewer)
    assert fake.given_up == ["interrupt"]
    end_grace(previewer)
    done.wait()
    assert fake.given_up == ["interrupt", "cancel"]


def test_a_worker_that_starts_has_its_time(fake: Any, start: Start) -> None:
    fake.deaf, fake.pid = True, 4711
    previewer = start(Outcomes())
    previewer.request(request(0))
    assert fake.entered.acquire(timeout=30)
    previewer.request(request(1))
    grow_slow(previewer)
    end_grace(previewer)
    assert fake.told.acquire(timeout=30)
    fake.open.release()
    assert fake.entered.acquire(timeout=30)  # the next one, with the same worker
    fake.open.release()
    assert fake.given_up == ["interrupt"]


def test_asides_wait_for_pictures_and_live_ones_take_turns(fake: Any, start: Start) -> None:
    order: list[str] = []
    finished = threading.Semaphore(0)
    held = threading.Event()

    def aside(name: str, rank: int, live: bool) -> BackgroundJob:
        def run(engine: Any) -> str:
            held.wait(30)
            return name

        def told(outcome: Any) -> None:
            order.append(outcome)
            finished.release()

        return BackgroundJob(name, rank, live, run, told)

    def on_done(request: PreviewRequest, outcome: Outcome) -> None:
        order.append(str(outcome))
        if outcome == 0:
            previewer.submit_background(aside("live", 2, True))
            previewer.submit_background(aside("late", 1, False))
            previewer.submit_background(aside("dropped", 1, False))
            previewer.drop_background("dropped")
        finished.release()

    previewer = start(on_done)
    held.set()
    previewer.request(request(0))
    assert fake.entered.acquire(timeout=30)
    previewer.request(request(1))
    for _ in range(2):
        fake.open.release()
    for _ in range(4):
        assert finished.acquire(timeout=30)
    assert order == ["0", "live", "1", "late"]


def test_a_job_that_gave_way_runs_again(fake: Any, start: Start) -> None:
    done = Outcomes()
    previewer = start(Outcomes())
    job = BackgroundJob(
        "steps", 0, False, lambda engine: engine.call(tasks.echo, "job"), partial(done, None)
    )
    previewer.submit_background(job)
    assert fake.entered.acquire(timeout=30)
    previewer.request(request(0))
    for _ in range(2):
        assert fake.entered.acquire(timeout=30)
        fake.open.release()
    done.wait()
    assert done.found == ["job"]
    assert fake.asked == ["job", 0, "job"]
    assert fake.given_up == ["interrupt"]


def test_two_requests_do_not_end_a_third_callers_call(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A1, with a real worker."""
    monkeypatch.setattr("workbench.ui.jobs.previewer.render_batch", batch_number)
    done, raised = Outcomes(), list[BaseException]()
    running, slow = threading.Event(), threading.Event()
    third = engine.handle()

    def share() -> None:
        try:
            third.call(tasks.wait_for_a_newer_request, on_report=lambda _: running.set())
        except CancelledError as error:
            raised.append(error)

    thread = threading.Thread(target=share)
    thread.start()
    assert running.wait(30)
    previewer = Previewer(engine, done, slow.set)
    previewer.request(request(0))
    assert slow.wait(30)
    previewer.request(request(1))
    done.wait()
    assert isinstance(done.found[0], CancelledError), "the first request gives way to the second"
    assert thread.is_alive(), "the third caller's call goes on"
    third.interrupt()
    thread.join(30)
    assert len(raised) == 1
    done.wait()
    assert done.found[1:] == [1]
    previewer.close()
    previewer._thread.join(30)
