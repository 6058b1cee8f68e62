"""What is heard while a worker waits or is silent, and what after that."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from tests.engine import tasks
from workbench.engine.protocol import heartbeat
from workbench.engine.protocol.worker_progress import NO_ANSWER, WorkerProgress
from workbench.errors import WorkerSilentError

Heard = list[tuple[float, str]]


@pytest.fixture
def heard() -> Heard:
    return []


@pytest.fixture
def progress(heard: Heard) -> WorkerProgress:
    return WorkerProgress(lambda share, text: heard.append((share, text)))


def test_silence_is_heard_and_then_what_is_being_done(
    progress: WorkerProgress, heard: Heard
) -> None:
    progress(0.5, "round 3")
    progress.on_silence(True)
    progress.on_silence(False)
    progress.on_wait("waits for 1 GiB")
    progress.on_wait("")
    assert heard == [
        (0.5, "round 3"),
        (0.5, NO_ANSWER),
        (0.5, "round 3"),
        (0.5, "waits for 1 GiB"),
        (0.5, "round 3"),
    ]


def test_a_part_says_what_the_whole_does_but_for_its_worker(
    progress: WorkerProgress, heard: Heard
) -> None:
    part = progress.part(0.5, 0.75, "probe 2 of 4")
    part(0.5, "round 3")
    part.on_silence(True)
    part.on_silence(False)
    assert heard == [(0.625, "probe 2 of 4"), (0.625, NO_ANSWER), (0.625, "probe 2 of 4")]


def test_the_whole_knows_what_its_part_said_last(progress: WorkerProgress, heard: Heard) -> None:
    progress.part(0.0, 0.5).part(0.5, 1.0)(0.5, "round 3")
    progress.on_silence(False)
    assert heard == [(0.375, "round 3")] * 2


def test_a_listener_that_is_one_is_taken_as_it_is(progress: WorkerProgress) -> None:
    assert WorkerProgress.of(progress) is progress


def test_a_stopped_worker_is_heard_of(
    progress: WorkerProgress, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "SILENCE_SHOWN", 0.3)
    monkeypatch.setattr(heartbeat, "STOPPED_LIMIT", 1.3)
    progress(0.95, "each operator alone")
    with progress.engine(threading.Event()) as engine:
        pid, _ = engine.call(tasks.where)
        with pytest.raises(WorkerSilentError):
            engine.call(tasks.hang, on_report=lambda _: os.kill(pid, signal.SIGSTOP))
    assert (0.95, NO_ANSWER) in heard
    assert heard[-1] == (0.95, "each operator alone")
