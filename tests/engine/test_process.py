"""Whatever happens in the worker process ends as an exception here, and the next call works."""

from __future__ import annotations

import errno
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.engine import tasks
from tests.engine.tasks import until
from tests.helpers import chain_graph, with_settings
from tests.thorough import one_in
from workbench.engine import Engine
from workbench.engine.channel import VERSION
from workbench.engine.worker import release
from workbench.errors import (
    CancelledError,
    EngineClosedError,
    EngineError,
    GraphFaultsError,
    PipelineError,
    WorkerCrashedError,
    WorkerTimeoutError,
)
from workbench.graph import Graph, load_recipe
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.fault_isolation import call_isolating_faults
from workbench.preview.render import render

pytestmark = pytest.mark.usefixtures("started_workers")

PROMPTLY = 0.5
"""Seconds within which a cancelled call ends."""


def frame(message: bytes) -> bytes:
    """A message as a worker sends it, which may be none."""
    return struct.pack("!3sBIQ", b"DWB", VERSION, len(message), 0) + message


def gone(pid: int, seconds: float = 10.0) -> bool:
    """Whether the process has ended, now or within the time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


@pytest.fixture(scope="module")
def hurt() -> Iterator[Engine]:
    """A worker that each of these tests may end."""
    with Engine() as engine:
        yield engine


@pytest.fixture
def worker(hurt: Engine) -> Iterator[tuple[int, Path]]:
    """The worker's process and folder. Afterwards they must be gone, and the engine must work."""
    pid, folder = hurt.call(tasks.where)
    yield pid, Path(folder)
    assert hurt.call(tasks.echo, "next") == "next"
    assert hurt.pid != pid
    assert gone(pid)
    assert not Path(folder).exists()


@pytest.mark.parametrize(
    ("code", "words"),
    one_in(
        3,
        [
            (errno.EAGAIN, "the limit of processes or threads is reached"),
            (errno.ENOMEM, "the memory does not suffice"),
            (errno.EMFILE, "too many files are open"),
        ],
    ),
)
def test_a_worker_that_cannot_be_started_says_what_to_do(
    code: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with Engine() as fresh:
        with pytest.raises(EngineError, match=f"could not be started: {words}") as found:
            fresh.call(tasks.echo, 1)
        assert "then try again" in str(found.value)
        monkeypatch.undo()
        assert fresh.call(tasks.echo, 1) == 1


def test_values_go_there_and_back(engine: Engine) -> None:
    value = {"a": (1, 2.5, "ü"), "b": [b"\x00", None]}
    assert engine.call(tasks.echo, value) == value
    assert engine.pid != os.getpid()


def test_the_worker_stays_and_keeps(engine: Engine) -> None:
    engine.call(release)
    assert [engine.call(tasks.count_calls) for _ in range(3)] == [1, 2, 3]
    engine.call(release)
    assert engine.call(tasks.count_calls) == 1


def test_reports_come_in_order_before_the_result(engine: Engine) -> None:
    heard: list[int] = []
    assert engine.call(tasks.report, 5, on_report=heard.append) == "done"
    assert heard == [0, 1, 2, 3, 4]
    assert engine.call(tasks.report, 3) == "done", "nobody has to listen"


def test_calls_from_several_threads_take_turns(engine: Engine) -> None:
    answers: dict[int, object] = {}

    def ask(number: int) -> None:
        answers[number] = engine.call(tasks.echo, number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: number for number in range(8)}


def test_an_error_in_a_task_leaves_the_worker_alive(engine: Engine) -> None:
    pid = engine.call(tasks.where)[0]
    with pytest.raises(EngineError, match="ValueError: seven is not eight") as caught:
        engine.call(tasks.fail)
    assert "tasks.py" in str(caught.value)
    with pytest.raises(PipelineError, match="rotate: no") as refused:
        engine.call(tasks.refuse)
    assert refused.value.node == "rotate"
    with pytest.raises(EngineError, match="The worker failed"):
        engine.call(tasks.give_a_lambda)
    with pytest.raises(EngineError, match=r"Out of memory while it ran rotate, hue\. Show"):
        engine.call(tasks.run_out_of_memory)
    assert engine.call(tasks.kept) == [], "what was kept is given back"
    assert engine.call(tasks.where)[0] == pid


def test_what_cannot_be_sent(engine: Engine) -> None:
    engine.call(tasks.echo, 1)
    with pytest.raises(EngineError, match=r"<lambda> cannot be run .* not registered.*@task"):
        engine.call(lambda worker: worker)
    with pytest.raises(EngineError, match=r"tasks:echo cannot be called .* A function cannot be"):
        engine.call(tasks.echo, until)
    with pytest.raises(EngineError, match="takes 1 arguments, not 2"):
        engine.call(tasks.echo, 1, 2)
    assert engine.call(tasks.echo, 2) == 2


@pytest.mark.parametrize(
    ("task", "arguments", "words"),
    one_in(
        2,
        [
            (tasks.abort, (), r"was ended by SIGABRT \(aborted\)\. The graph"),
            (tasks.end_by, (signal.SIGSEGV,), r"was ended by SIGSEGV \(segmentation fault\)\. The"),
            (tasks.leave, (3,), "ended with exit code 3"),
            (tasks.leave, (0,), "ended with exit code 0"),
            (tasks.leave_politely, (4,), "ended with exit code 4"),
        ],
    ),
)
def test_a_worker_that_ends_by_itself(
    task: Callable[..., Any], arguments: tuple[int, ...], words: str,
    hurt: Engine, worker: tuple[int, Path],
) -> None:  # fmt: skip
    with pytest.raises(WorkerCrashedError, match=words) as caught:
        hurt.call(task, *arguments)
    assert "The graph is untouched" in str(caught.value)
    assert ("the last words" in str(caught.value)) == (task is tasks.abort)


@pytest.mark.parametrize(
    "data",
    one_in(
        3,
        [
            b"hello",
            b"\x80\x05K\x03.",  # as pickle writes a 3
            frame(b"hello"),
            frame(msgspec.msgpack.encode(["result", 999])),
            frame(msgspec.msgpack.encode(["failure", 1, "SystemExit"])),
            frame(msgspec.msgpack.encode(["ready"])),
        ],
    ),
)
def test_a_worker_that_answers_with_something_else(
    data: bytes, hurt: Engine, worker: tuple[int, Path]
) -> None:
    with pytest.raises(WorkerCrashedError, match=r"worker wrote what is no answer \(") as caught:
        hurt.call(tasks.garble, data)
    assert str(caught.value).endswith("Its last words:\n\\x1b[31mred")


def test_a_file_that_is_cut_short_while_it_is_read(
    hurt: Engine, worker: tuple[int, Path], tmp_path: Path
) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(bytes(100_000))
    with pytest.raises(WorkerCrashedError) as caught:
        hurt.call(tasks.read_while_it_is_cut_short, str(path))
    text = str(caught.value)
    assert text.startswith("The worker was ended by SIGBUS (bus error) while it ran reader. ")
    assert "Probably a file of the folder was changed or cut short while it was read" in text
    assert "move it into the folder, then try again. The graph is untouched" in text


def test_the_worker_goes_before_the_notebook_when_memory_runs_out(engine: Engine) -> None:
    pid, _ = engine.call(tasks.where)
    own, workers = (int(Path(f"/proc/{p}/oom_score_adj").read_text()) for p in ("self", pid))
    assert workers == min(1000, own + 500)


def test_a_worker_killed_in_the_midst_of_a_call(hurt: Engine, worker: tuple[int, Path]) -> None:
    def kill(_: object) -> None:
        os.kill(worker[0], signal.SIGKILL)

    with pytest.raises(WorkerCrashedError, match="SIGKILL: out of memory, or killed") as caught:
        hurt.call(tasks.run_nodes_and_hang, on_report=kill)
    assert "while it ran rotate, hue" in str(caught.value)


def test_a_worker_killed_between_calls_is_replaced(hurt: Engine, worker: tuple[int, Path]) -> None:
    os.kill(worker[0], signal.SIGKILL)
    assert gone(worker[0])
    assert hurt.call(tasks.count_calls) == 1


def test_a_stopped_worker_counts_as_hung(hurt: Engine, worker: tuple[int, Path]) -> None:
    def stop(_: object) -> None:
        os.kill(worker[0], signal.SIGSTOP)

    started = time.monotonic()
    with pytest.raises(WorkerTimeoutError, match=r"No answer within 0\.3 s while it ran rotate"):
        hurt.call(tasks.run_nodes_and_hang, limit=0.3, on_report=stop)
    assert time.monotonic() - started < 0.3 + PROMPTLY


def test_a_call_that_hangs_is_ended(hurt: Engine, worker: tuple[int, Path]) -> None:
    with pytest.raises(WorkerTimeoutError, match=r"within 0\.2 s: the worker was ended"):
        hurt.call(tasks.hang, limit=0.2)


def test_a_cuda_fault_gets_a_fresh_process(hurt: Engine, worker: tuple[int, Path]) -> None:
    with pytest.raises(PipelineError, match="CUDA"):
        hurt.call(tasks.spoil_the_gpu)


@pytest.mark.parametrize("error", one_in(3, [KeyboardInterrupt, ZeroDivisionError, CancelledError]))
def test_an_interrupted_call_does_not_answer_the_next(
    error: type[BaseException], hurt: Engine, worker: tuple[int, Path]
) -> None:
    def interrupt(_: object) -> None:
        raise error

    with pytest.raises(error):
        hurt.call(tasks.report, 5, on_report=interrupt)


def in_thread(call: Callable[[], object]) -> tuple[threading.Thread, list[BaseException | None]]:
    raised: list[BaseException | None] = []

    def run() -> None:
        try:
            call()
            raised.append(None)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised


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
    """A1: what one caller gives up is that caller's call, whatever runs meanwhile."""
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
    assert thread.is_alive(), "the one that runs is somebody else's"
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
    with pytest.raises(EngineClosedError, match=r"closed\. Make a new one"):
        engine.call(tasks.echo, 1)
    assert engine.pid is None
    assert gone(pid, 0)
    assert not Path(folder).exists()
    engine.close()


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
    with pytest.raises(CancelledError, match="the worker was ended"):
        hurt.call(tasks.hang, on_report=lambda _: hurt.end_worker())


def test_a_worker_ended_leaves_nothing_and_a_later_call_starts_anew(
    hurt: Engine, worker: tuple[int, Path]
) -> None:
    hurt.end_worker()
    assert hurt.pid is None
    assert gone(worker[0], 0)
    assert not worker[1].exists()
    hurt.end_worker()


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
from workbench.engine.channel import VERSION
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


ROOT = Path(__file__).parents[2]


def test_an_engine_never_called_starts_nothing() -> None:
    engine = Engine()
    assert engine.pid is None
    engine.close()


class TestRealWork:
    """The same, while DALI runs."""

    @pytest.fixture
    def graph(self) -> Graph:
        return with_settings(load_recipe("imagenet-eval"), batch_size=4)

    def test_killed_in_mid_preview(self, hurt: Engine, graph: Graph, photos: Path) -> None:
        request = PreviewRequest(graph, str(photos), tiles=4, tile_size=64)
        before = preview_batch(hurt, request)
        pid = hurt.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)  # so that the call is under way when the worker is killed
        thread, raised = in_thread(lambda: preview_batch(hurt, request))
        os.kill(pid, signal.SIGKILL)
        thread.join()
        assert raised[0] is None or isinstance(raised[0], WorkerCrashedError)
        again = preview_batch(hurt, request)
        assert again.image == before.image
        # a call that was sent after the kill ran in a fresh worker, which keeps what it gave
        assert again.reran == (before.reran if raised[0] else ())

    @pytest.mark.thorough
    def test_dali_itself_aborts(self, hurt: Engine, photos: Path) -> None:
        """DALI 2.4 ends the process where color_twist gets an image of one channel.

        The check of the graph refuses it beforehand; the worker is asked past it.
        """
        graph = chain_graph("resize", "color_twist", "flip", decode={"output_type": "GRAY"})
        request = PreviewRequest(with_settings(graph, batch_size=2), str(photos), tiles=2)
        with pytest.raises(GraphFaultsError, match="channel"):
            preview_batch(hurt, request)
        with pytest.raises(WorkerCrashedError) as caught:
            hurt.call(render, request)
        assert caught.value.nodes == ("resize", "color_twist", "flip")
        assert caught.value.node is None
        with pytest.raises(WorkerCrashedError) as named:
            call_isolating_faults(hurt, render, request)
        assert named.value.node == "color_twist"
        assert str(named.value).startswith("color_twist: DALI ended the worker process in this")
        assert "remove it" in str(named.value)
        colour = chain_graph("color_twist")
        request = PreviewRequest(with_settings(colour, batch_size=2), str(photos), tiles=2)
        assert len(preview_batch(hurt, request).tiles) == 2


def test_modules_where_the_user_stands_are_not_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("numpy", "queue", "types"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    with Engine() as engine:
        assert engine.call(tasks.echo, 3) == 3
