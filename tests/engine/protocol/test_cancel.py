"""Cancelled calls, calls over their time limit, and closed engines: waiting calls continue."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine import tasks
from tests.engine.calls import PROMPTLY, gone, in_thread
from tests.thorough import one_in
from workbench.engine import Engine
from workbench.engine.protocol.call_handle import CallHandle
from workbench.engine.run.worker import release
from workbench.errors import CancelledError, EngineClosedError, WorkerTimeoutError

ROOT = Path(__file__).parents[3]


def test_a_stopped_worker_counts_as_hung(hurt: Engine, worker: tuple[int, Path]) -> None:
    def stop(_: object) -> None:
        os.kill(worker[0], signal.SIGSTOP)

    started = time.monotonic()
    with pytest.raises(
        WorkerTimeoutError, match=r"No response within 0\.3 s while running 'rotate'"
    ):
        hurt.call(tasks.run_nodes_and_hang, limit=0.3, on_report=stop)
    assert time.monotonic() - started < 0.3 + PROMPTLY


def test_a_call_that_hangs_is_ended(hurt: Engine, worker: tuple[int, Path]) -> None:
    with pytest.raises(WorkerTimeoutError, match=r"within 0\.2 s, so the worker was terminated"):
        hurt.call(tasks.hang, limit=0.2)


@pytest.mark.parametrize("error", one_in(3, [KeyboardInterrupt, ZeroDivisionError, CancelledError]))
def test_an_interrupted_call_does_not_answer_the_next(
    error: type[BaseException], hurt: Engine, worker: tuple[int, Path]
) -> None:
    def interrupt(_: object) -> None:
        raise error

    with pytest.raises(error):
        hurt.call(tasks.report, 5, on_report=interrupt)


@pytest.mark.parametrize("task", one_in(2, [tasks.hang, tasks.report_for_ever]))
@pytest.mark.parametrize("way", ["cancel", "end_worker"])
def test_a_call_is_ended_from_another_thread(
    task: Callable[..., Any], way: str, hurt: Engine, worker: tuple[int, Path]
) -> None:
    running, handle = threading.Event(), hurt.handle()
    thread, raised = in_thread(lambda: handle.call(task, on_report=lambda _: running.set()))
    assert running.wait(30)
    started = time.monotonic()
    handle.cancel() if way == "cancel" else hurt.end_worker()
    thread.join()
    assert time.monotonic() - started < PROMPTLY
    assert isinstance(raised[0], CancelledError)
    assert gone(worker[0], 0)


@pytest.mark.usefixtures("started_worker")
def test_a_start_is_cancelled() -> None:
    with Engine() as fresh:
        handle = fresh.handle()
        thread, raised = in_thread(lambda: handle.call(tasks.echo, 1))
        while fresh.pid is None and thread.is_alive():
            pass
        started = time.monotonic()
        handle.cancel()
        thread.join()
        assert time.monotonic() - started < PROMPTLY
        assert isinstance(raised[0], CancelledError)
        assert fresh.call(tasks.echo, 2) == 2


def test_a_call_given_up_between_stages_leaves_the_worker_as_it_is(engine: Engine) -> None:
    engine.call(release)
    pid = engine.call(tasks.where)[0]
    engine.call(tasks.count_calls)
    handle = engine.handle()
    with pytest.raises(CancelledError, match="newer request"):
        handle.call(tasks.wait_for_a_newer_request, on_report=lambda _: handle.interrupt())
    assert engine.call(tasks.count_calls) == 2, "what was kept is still there"
    assert engine.call(tasks.where)[0] == pid


def test_giving_up_what_has_ended_does_nothing(engine: Engine) -> None:
    handle = engine.handle()
    assert handle.call(tasks.echo, 1) == 1
    handle.interrupt()
    handle.cancel()
    assert engine.call(tasks.echo, 1) == 1
    assert engine.call(tasks.report, 2) == "done"


@pytest.mark.parametrize("way", ["interrupt", "cancel"])
def test_a_call_that_waits_is_given_up_without_the_one_that_runs(way: str, engine: Engine) -> None:
    """A1: a caller cancels its own call, whatever runs meanwhile."""
    running, mine, theirs = threading.Event(), engine.handle(), engine.handle()
    pid = engine.call(tasks.where)[0]
    thread, raised = in_thread(
        lambda: mine.call(tasks.wait_for_a_newer_request, on_report=lambda _: running.set())
    )
    assert running.wait(30)
    waiting, given_up = in_thread(lambda: theirs.call(tasks.echo, 1))
    getattr(theirs, way)()
    waiting.join(30)
    assert isinstance(given_up[0], CancelledError)
    with pytest.raises(CancelledError):
        theirs.call(tasks.echo, 2)
    assert thread.is_alive(), "another caller's call is running"
    mine.interrupt()
    thread.join(30)
    assert isinstance(raised[0], CancelledError)
    assert engine.call(tasks.where)[0] == pid


def test_a_call_that_hangs_ends_alone(hurt: Engine) -> None:
    """A1: the next one in the queue gets a fresh worker."""
    running = threading.Event()
    thread, raised = in_thread(
        lambda: hurt.call(tasks.hang, limit=0.3, on_report=lambda _: running.set())
    )
    assert running.wait(30)
    assert hurt.call(tasks.echo, "next") == "next"
    thread.join(30)
    assert isinstance(raised[0], WorkerTimeoutError)


@pytest.mark.usefixtures("started_worker")
def test_close_is_for_good() -> None:
    """A2: what runs, what waits and what comes later ends at once, and no worker is left."""
    engine = Engine()
    pid, folder = engine.call(tasks.where)
    running = threading.Event()
    thread, raised = in_thread(lambda: engine.call(tasks.hang, on_report=lambda _: running.set()))
    assert running.wait(30)
    waiting = [in_thread(lambda: engine.call(tasks.where)) for _ in range(3)]
    started = time.monotonic()
    engine.close()
    for each, _ in [(thread, raised), *waiting]:
        each.join(30)
    assert time.monotonic() - started < PROMPTLY
    for _, errors in [(thread, raised), *waiting]:
        assert isinstance(errors[0], EngineClosedError)
    with pytest.raises(EngineClosedError, match=r"closed\. Create another Engine"):
        engine.call(tasks.echo, 1)
    assert engine.pid is None
    assert gone(pid, 0)
    assert not Path(folder).exists()
    engine.close()


@pytest.mark.usefixtures("started_worker")
def test_close_while_the_worker_starts_leaves_none() -> None:
    engine = Engine()
    thread, raised = in_thread(lambda: engine.call(tasks.echo, 1))
    while engine.pid is None and thread.is_alive():
        pass
    pid = engine.pid
    engine.close()
    thread.join(30)
    assert isinstance(raised[0], EngineClosedError)
    assert pid is not None
    assert gone(pid)


def test_a_worker_is_ended_by_a_report(hurt: Engine, worker: tuple[int, Path]) -> None:
    with pytest.raises(CancelledError, match="the worker was terminated"):
        hurt.call(tasks.hang, on_report=lambda _: hurt.end_worker())


def test_a_worker_ended_leaves_nothing_and_a_later_call_starts_anew(
    hurt: Engine, worker: tuple[int, Path]
) -> None:
    hurt.end_worker()
    assert hurt.pid is None
    assert gone(worker[0], 0)
    assert not worker[1].exists()
    hurt.end_worker()


@pytest.mark.usefixtures("started_worker")
def test_an_engine_that_is_forgotten_leaves_nothing() -> None:
    engine = Engine()
    pid, folder = engine.call(tasks.where)
    del engine
    assert gone(pid)
    assert not Path(folder).exists()


@pytest.mark.parametrize("when", ["idle", "busy"])
def test_the_worker_ends_with_its_parent(when: str) -> None:
    call = "lambda: engine.call(tasks.hang, on_report=die)" if when == "busy" else "lambda: die(0)"
    code = f"""
import os, signal
from tests.engine import tasks
from tests.engine.tasks import until
from workbench.engine import Engine
from workbench.engine.protocol.channel import VERSION
engine = Engine()
def die(_):
    os.kill(os.getpid(), signal.SIGKILL)
print(*engine.call(tasks.where), flush=True)
({call})()
"""
    parent = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert parent.returncode == -signal.SIGKILL, parent.stderr
    pid, folder = parent.stdout.split()
    assert gone(int(pid))
    assert not Path(folder).exists()


def test_an_engine_never_called_starts_nothing() -> None:
    engine = Engine()
    assert engine.pid is None
    engine.close()


# What a handle promises by itself; with a worker in ``test_process.py``.


class Calls:
    """Start every call and record its messages."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def __call__(
        self, handle: CallHandle, task: Any, arguments: tuple[Any, ...], limit: Any, on_report: Any
    ) -> Any:
        with handle.running(lambda: self.log.append("begin"), lambda: self.log.append("interrupt")):
            self.begun.set()
            assert self.go_on.wait(30)
        return arguments


def test_a_call_is_interrupted_only_while_it_runs() -> None:
    calls = Calls()
    handle = CallHandle(calls)
    assert handle.call(print, 1, 2) == (1, 2)
    calls.begun.clear()
    calls.go_on.clear()
    thread = threading.Thread(target=handle.call, args=(print,))
    thread.start()
    assert calls.begun.wait(30)
    handle.interrupt()
    calls.go_on.set()
    thread.join(30)
    handle.interrupt()
    assert calls.log == ["begin", "begin", "interrupt"]


@pytest.mark.parametrize("way", ["interrupt", "cancel"])
def test_what_was_given_up_is_not_begun(way: str) -> None:
    calls = Calls()
    one, other = CallHandle(calls), CallHandle(calls)
    getattr(one, way)()
    with pytest.raises(CancelledError):
        one.call(print)
    assert calls.log == []
    assert other.call(print, 1) == (1,)
