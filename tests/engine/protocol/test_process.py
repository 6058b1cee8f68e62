"""Whatever happens in the worker process ends as an exception here, and the next call works."""

from __future__ import annotations

import errno
import os
import signal
import struct
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.engine import tasks
from tests.engine.calls import gone, in_thread
from tests.engine.tasks import until
from tests.helpers import chain_graph, with_settings
from tests.thorough import one_in
from workbench.engine import Engine
from workbench.engine.protocol.channel import VERSION
from workbench.engine.run.worker import release
from workbench.errors import EngineError, GraphFaultsError, PipelineError, WorkerCrashedError
from workbench.graph import Graph, load_recipe
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.requests.fault_isolation import call_isolating_faults
from workbench.preview.requests.render import render


def frame(message: bytes) -> bytes:
    """A message as a worker sends it, which may be none."""
    return struct.pack("!3sBIQ", b"DWB", VERSION, len(message), 0) + message


@pytest.mark.usefixtures("started_worker")
@pytest.mark.parametrize(
    ("code", "words"),
    one_in(
        3,
        [
            (errno.EAGAIN, "the limit of processes or threads is reached"),
            (errno.ENOMEM, "there is not enough memory"),
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
    with pytest.raises(EngineError, match=r"Out of memory while running 'rotate', 'hue'\. Show"):
        engine.call(tasks.run_out_of_memory)
    assert engine.call(tasks.kept) == [], "what was kept is given back"
    assert engine.call(tasks.where)[0] == pid


def test_what_cannot_be_sent(engine: Engine) -> None:
    engine.call(tasks.echo, 1)
    with pytest.raises(EngineError, match=r"<lambda> cannot be run .* not registered.*@task"):
        engine.call(lambda worker: worker)
    with pytest.raises(
        EngineError, match=r"tasks:echo cannot be called .* Values of type 'function' cannot be"
    ):
        engine.call(tasks.echo, until)
    with pytest.raises(EngineError, match="has 1 arguments, but 2 were passed"):
        engine.call(tasks.echo, 1, 2)
    assert engine.call(tasks.echo, 2) == 2


@pytest.mark.parametrize(
    ("task", "arguments", "words"),
    one_in(
        2,
        [
            (tasks.abort, (), r"was terminated by SIGABRT \(aborted\)\. The graph"),
            (
                tasks.end_by,
                (signal.SIGSEGV,),
                r"was terminated by SIGSEGV \(segmentation fault\)\. The",
            ),
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
    assert "The graph is unchanged" in str(caught.value)
    assert ("the last words" in str(caught.value)) == (task is tasks.abort)


@pytest.mark.parametrize(
    ("code", "files", "words"),
    [
        (
            signal.SIGFPE,
            ["a.jp2"],
            r"running 'decode'\. The file was a\.jp2: remove it\. The graph",
        ),
        (
            signal.SIGSEGV,
            list("abcdefghij"),
            r"batch were a, b, c, d, e, f, g, h and 2 more\. `work",
        ),
        (signal.SIGFPE, [], r"running 'decode'\. The graph"),
        (signal.SIGKILL, ["a.jp2"], r"from outside while running 'decode'\. The graph"),
    ],
)
def test_a_crash_names_the_files_that_were_decoded(
    code: int, files: list[str], words: str, hurt: Engine
) -> None:
    with pytest.raises(WorkerCrashedError, match=words):
        hurt.call(tasks.end_by_while_decoding, code, files)


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
    with pytest.raises(WorkerCrashedError, match=r"worker wrote an invalid response \(") as caught:
        hurt.call(tasks.garble, data)
    assert str(caught.value).endswith("Its last output:\n\\x1b[31mred")


def test_a_file_that_is_cut_short_while_it_is_read(
    hurt: Engine, worker: tuple[int, Path], tmp_path: Path
) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(bytes(100_000))
    with pytest.raises(WorkerCrashedError) as caught:
        hurt.call(tasks.read_while_it_is_cut_short, str(path))
    text = str(caught.value)
    assert text.startswith(
        "The worker was terminated by SIGBUS (bus error) while running 'reader'. "
    )
    assert "Probably a file of the folder was changed or truncated while it was read" in text
    assert "move it into the folder, then try again. The graph is unchanged" in text


def test_the_worker_goes_before_the_notebook_when_memory_runs_out(engine: Engine) -> None:
    pid, _ = engine.call(tasks.where)
    own, workers = (int(Path(f"/proc/{p}/oom_score_adj").read_text()) for p in ("self", pid))
    assert workers == min(1000, own + 500)


def test_a_worker_killed_in_the_midst_of_a_call(hurt: Engine, worker: tuple[int, Path]) -> None:
    def kill(_: object) -> None:
        os.kill(worker[0], signal.SIGKILL)

    with pytest.raises(WorkerCrashedError, match="SIGKILL: out of memory, or killed") as caught:
        hurt.call(tasks.run_nodes_and_hang, on_report=kill)
    assert "while running 'rotate', 'hue'" in str(caught.value)


def test_a_worker_killed_between_calls_is_replaced(hurt: Engine, worker: tuple[int, Path]) -> None:
    os.kill(worker[0], signal.SIGKILL)
    assert gone(worker[0])
    assert hurt.call(tasks.count_calls) == 1


def test_a_cuda_fault_gets_a_fresh_process(hurt: Engine, worker: tuple[int, Path]) -> None:
    with pytest.raises(PipelineError, match="CUDA"):
        hurt.call(tasks.spoil_the_gpu)


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
        assert str(named.value).startswith("color_twist: DALI crashed in this node")
        assert "remove it" in str(named.value)
        colour = chain_graph("color_twist")
        request = PreviewRequest(with_settings(colour, batch_size=2), str(photos), tiles=2)
        assert len(preview_batch(hurt, request).tiles) == 2


@pytest.mark.usefixtures("started_worker")
def test_modules_where_the_user_stands_are_not_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("numpy", "queue", "types"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    with Engine() as engine:
        assert engine.call(tasks.echo, 3) == 3
