"""A shared picture is drawn with a call of its own, and never shows that another was given up."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.engine import tasks
from tests.helpers import chain_graph, with_settings
from workbench.engine import Engine
from workbench.engine.protocol.call_handle import Caller
from workbench.errors import CancelledError, PipelineError
from workbench.graph.storage.layout import Document
from workbench.preview import PreviewRequest
from workbench.preview.views.share import read_shared
from workbench.ui.jobs.share_image_job import ShareImageJob


def request_of(document: Document, photos: Path) -> PreviewRequest:
    return PreviewRequest(document.graph, str(photos), tiles=2)


@pytest.fixture
def document() -> Document:
    return Document(with_settings(chain_graph("resize"), batch_size=2))


class Outcomes:
    """What a job gave, once it is there."""

    def __init__(self) -> None:
        self.found: list[Any] = []
        self.there = threading.Semaphore(0)

    def __call__(self, document: Document, outcome: Any) -> None:
        self.found.append(outcome)
        self.there.release()


def test_a_picture_is_drawn_with_the_graph_in_it(
    engine: Engine, document: Document, photos: Path
) -> None:
    outcomes = Outcomes()
    ShareImageJob(engine, outcomes).start(document, request_of(document, photos), "")
    assert outcomes.there.acquire(timeout=60)
    assert '"op": "resize"' in read_shared(outcomes.found[0])


@pytest.mark.parametrize(
    ("error", "drawn"),
    [(PipelineError("resize: no", "resize"), True), (CancelledError("Given up."), False)],
)
def test_a_reason_is_drawn_but_no_cancellation(
    error: Exception,
    drawn: bool,
    engine: Engine,
    document: Document,
    photos: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> bytes:
        raise error

    monkeypatch.setattr("workbench.ui.jobs.share_image_job.share_sheet", fail)
    outcomes = Outcomes()
    ShareImageJob(engine, outcomes).start(document, request_of(document, photos), "")
    assert outcomes.there.acquire(timeout=60)
    assert isinstance(outcomes.found[0], bytes) is drawn
    assert (outcomes.found[0] is error) is not drawn


def test_what_is_drawn_ends_with_its_job_alone(
    engine: Engine, document: Document, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, ended = threading.Event(), threading.Event()

    def draw(caller: Caller, *_: Any) -> bytes:
        try:
            caller.call(tasks.wait_for_a_newer_request, on_report=lambda _: running.set())
        finally:
            ended.set()
        raise AssertionError

    monkeypatch.setattr("workbench.ui.jobs.share_image_job.share_sheet", draw)
    pid = engine.call(tasks.where)[0]
    outcomes = Outcomes()
    job = ShareImageJob(engine, outcomes)
    job.start(document, request_of(document, photos), "")
    assert running.wait(30)
    job.close()
    assert ended.wait(30)
    assert engine.call(tasks.where)[0] == pid
    job.start(document, request_of(document, photos), "")
    assert not outcomes.found, "nobody is told any more"
