"""Of what waits, the latest wins."""

import threading
from typing import Any

import pytest

from workbench.engine.process import Engine
from workbench.errors import CancelledError, PipelineError
from workbench.graph import Graph
from workbench.preview import PreviewRequest
from workbench.ui.previewer import BackgroundJob, Outcome, Previewer


class Gate:
    """Stands in for ``preview_batch``: notes what it is asked, and waits to be let through."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.entered = threading.Semaphore(0)
        self.open = threading.Semaphore(0)
        self.error: Exception | None = None

    def __call__(self, engine: Engine, request: PreviewRequest) -> Any:
        self.asked.append(request.batch)
        self.entered.release()
        assert self.open.acquire(timeout=30)
        if self.error is not None:
            raise self.error
        return request.batch


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate = Gate()
    monkeypatch.setattr("workbench.ui.previewer.preview_batch", gate)
    return gate


def request(batch: int) -> PreviewRequest:
    return PreviewRequest(Graph(), "data", batch)


def end(previewer: Previewer, gate: Gate) -> None:
    """Let nothing of it reach into the next test."""
    previewer.close()
    for _ in range(4):
        gate.open.release()
    previewer._thread.join(30)
    assert not previewer._thread.is_alive()


class Worker:
    """Stands in for an engine: notes what it is asked to give up, and does so."""

    pid: int | None = None

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.given_up: list[str] = []
        self.told = threading.Semaphore(0)
        self.deaf = False

    def interrupt(self) -> None:
        self.given_up.append("interrupt")
        if not self.deaf:
            self.gate.error = CancelledError("Given up for a newer request.")
            self.gate.open.release()
        self.told.release()

    def cancel(self) -> None:
        self.given_up.append("cancel")
        self.gate.error = CancelledError("Cancelled.")
        self.gate.open.release()


def test_the_newest_request_replaces_the_one_that_waits(gate: Gate) -> None:
    done: list[Any] = []
    finished = threading.Semaphore(0)

    def on_done(request: PreviewRequest, outcome: Outcome) -> None:
        done.append(outcome)
        finished.release()

    previewer = Previewer(Engine(), on_done, lambda: None)
    previewer.ask(request(0))
    assert gate.entered.acquire(timeout=30)
    for batch in (1, 2, 3):
        previewer.ask(request(batch))
    gate.open.release()
    gate.open.release()
    assert finished.acquire(timeout=30)
    assert finished.acquire(timeout=30)
    assert gate.asked == done == [0, 3]
    end(previewer, gate)


def test_what_waits_can_be_dropped_and_errors_are_handed_on(gate: Gate) -> None:
    done: list[Any] = []
    finished, slow = threading.Event(), threading.Event()

    def on_done(request: PreviewRequest, outcome: Outcome) -> None:
        done.append(outcome)
        finished.set()

    previewer = Previewer(Engine(), on_done, slow.set)
    previewer.ask(request(0))
    assert gate.entered.acquire(timeout=30)
    assert previewer.running == request(0)
    previewer.ask(request(1))
    previewer.ask(None)
    assert slow.wait(30)
    gate.error = PipelineError("refused", "rotate")
    gate.open.release()
    assert finished.wait(30)
    assert done == [gate.error]
    assert gate.asked == [0]
    end(previewer, gate)


def test_a_slow_one_gives_way_but_not_two_in_a_row(gate: Gate) -> None:
    done: list[Any] = []
    finished, slow = threading.Semaphore(0), threading.Semaphore(0)
    worker: Any = Worker(gate)

    def on_done(request: PreviewRequest, outcome: Outcome) -> None:
        done.append((request.batch, isinstance(outcome, CancelledError)))
        gate.error = None
        finished.release()

    previewer = Previewer(worker, on_done, slow.release)
    previewer.ask(request(0))
    assert gate.entered.acquire(timeout=30)
    previewer.ask(request(1))  # it waits until the first has become slow
    assert finished.acquire(timeout=30)
    assert gate.entered.acquire(timeout=30)
    previewer.ask(request(2))
    assert slow.acquire(timeout=30)
    assert slow.acquire(timeout=30)
    previewer.ask(request(3))
    assert worker.given_up == ["interrupt"]
    gate.open.release()
    gate.open.release()
    assert finished.acquire(timeout=30)
    assert finished.acquire(timeout=30)
    assert done == [(0, True), (1, False), (3, False)]
    end(previewer, gate)


def test_one_that_does_not_give_way_loses_its_worker(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.ui.previewer.GRACE", 0.01)
    finished = threading.Event()
    worker: Any = Worker(gate)
    worker.deaf = True
    previewer = Previewer(worker, lambda request, outcome: finished.set(), lambda: None)
    previewer.ask(request(0))
    assert gate.entered.acquire(timeout=30)
    previewer.ask(request(1))
    assert finished.wait(30)
    assert worker.given_up == ["interrupt", "cancel"]
    end(previewer, gate)


def test_a_worker_that_starts_has_its_time(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.ui.previewer.GRACE", 0.0)
    worker: Any = Worker(gate)
    worker.deaf, worker.pid = True, 4711
    previewer = Previewer(worker, lambda request, outcome: None, lambda: None)
    previewer.ask(request(0))
    assert gate.entered.acquire(timeout=30)
    previewer.ask(request(1))
    assert worker.told.acquire(timeout=30)
    gate.open.release()
    assert gate.entered.acquire(timeout=30)  # the next one, with the same worker
    gate.open.release()
    assert worker.given_up == ["interrupt"]
    end(previewer, gate)


def test_asides_wait_for_pictures_and_live_ones_take_turns(gate: Gate) -> None:
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

    previewer = Previewer(Engine(), on_done, lambda: None)
    held.set()
    previewer.ask(request(0))
    assert gate.entered.acquire(timeout=30)
    previewer.ask(request(1))
    for _ in range(2):
        gate.open.release()
    for _ in range(4):
        assert finished.acquire(timeout=30)
    assert order == ["0", "live", "1", "late"]
    end(previewer, gate)


def test_an_aside_that_gave_way_runs_again(gate: Gate) -> None:
    runs: list[str] = []
    entered, finished = threading.Event(), threading.Event()
    worker: Any = Worker(gate)

    def run(engine: Any) -> str:
        runs.append("begun")
        if len(runs) == 1:
            entered.set()
            assert worker.told.acquire(timeout=30)
            raise CancelledError("Given up for a newer request.")
        return "there"

    outcomes: list[Any] = []

    def told(outcome: Any) -> None:
        outcomes.append(outcome)
        finished.set()

    worker.deaf = True
    previewer = Previewer(worker, lambda request, outcome: None, lambda: None)
    previewer.submit_background(BackgroundJob("steps", 0, False, run, told))
    assert entered.wait(30)
    gate.open.release()
    previewer.ask(request(0))
    assert finished.wait(30)
    assert outcomes == ["there"]
    assert gate.asked == [0]
    assert worker.given_up == ["interrupt"]
    end(previewer, gate)
