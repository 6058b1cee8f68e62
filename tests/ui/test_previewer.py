"""Of what waits, the latest wins."""

import threading
from typing import Any

import pytest

from workbench.engine.process import Engine
from workbench.errors import PipelineError
from workbench.graph import Graph
from workbench.preview import PreviewRequest
from workbench.ui.previewer import Outcome, Previewer


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
    previewer.close()


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
    previewer.close()
    previewer._thread.join(30)
    assert not previewer._thread.is_alive()
