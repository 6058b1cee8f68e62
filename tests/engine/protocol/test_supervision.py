"""A worker that was stopped shows after 3 s and is ended after a limit, whatever it does."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import psutil
import pytest

from tests.engine import tasks
from tests.engine.tasks import until
from workbench.engine import Engine
from workbench.engine.protocol import heartbeat
from workbench.engine.protocol.heartbeat import HeartbeatMonitor, SuspensionMonitor, is_stopped
from workbench.errors import WorkerSilentError, WorkerTimeoutError


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(heartbeat, "time", made)
    return made


def wait(watch: SuspensionMonitor, clock: Clock, seconds: float) -> bool:
    for _ in range(round(seconds / 0.5)):
        clock.now += 0.5
        if watch.missed():
            return True
    return False


def test_silence_shows_and_ends(clock: Clock) -> None:
    told: list[bool] = []
    watch = HeartbeatMonitor(os.getpid(), told.append)
    assert not wait(watch, clock, heartbeat.SILENCE_SHOWN - 0.5)
    assert told == []
    wait(watch, clock, 1)
    assert told == [True]
    watch.heard()
    assert told == [True, False]
    assert not wait(watch, clock, heartbeat.SILENCE_LIMIT - 1)
    assert wait(watch, clock, 2)


def test_a_pause_of_the_caller_is_no_silence_of_the_worker(clock: Clock) -> None:
    told: list[bool] = []
    watch = HeartbeatMonitor(os.getpid(), told.append)
    clock.now += 3600
    assert not watch.missed()
    assert told == []


def test_a_script_that_runs_is_never_silent(clock: Clock) -> None:
    watch = SuspensionMonitor(os.getpid(), lambda silent: pytest.fail("it runs"))
    assert not wait(watch, clock, 600)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setattr(heartbeat, "SILENCE_SHOWN", 0.3)
    monkeypatch.setattr(heartbeat, "STOPPED_LIMIT", 1.3)
    with Engine() as made:
        yield made


def test_a_stopped_worker_is_ended_and_the_next_call_works(engine: Engine) -> None:
    shown: list[bool] = []
    engine._on_silence = shown.append
    pid, _ = engine.call(tasks.where)
    with pytest.raises(WorkerSilentError, match=r"stopped \(SIGSTOP\)"):
        engine.call(tasks.hang, on_report=lambda _: os.kill(pid, signal.SIGSTOP))
    assert shown == [True, False]
    assert not psutil.pid_exists(pid)
    assert engine.call(tasks.echo, 1) == 1


@pytest.mark.usefixtures("started_workers")  # a forked one has no start to be stopped at
def test_a_worker_that_is_stopped_at_its_start(engine: Engine) -> None:
    failed: list[Exception] = []

    def start() -> None:
        try:
            engine.call(tasks.echo, 1)
        except WorkerTimeoutError as error:
            failed.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    until(lambda: engine.pid is not None, 30)
    os.kill(engine.pid or 0, signal.SIGSTOP)
    thread.join(60)
    assert "SIGSTOP" in str(failed[0])


@pytest.mark.thorough
def test_a_long_task_gives_signs_of_life(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its limit ends it, not its silence."""
    engine._on_silence = lambda silent: pytest.fail("it is not silent")
    engine.call(tasks.echo, 1)
    monkeypatch.setattr(heartbeat, "SILENCE_SHOWN", 2.5)
    with pytest.raises(WorkerTimeoutError, match="No answer within 4 s") as raised:
        engine.call(tasks.hang, limit=4)
    assert not isinstance(raised.value, WorkerSilentError)


def test_of_what_is_not_there() -> None:
    assert not is_stopped(2**30)
