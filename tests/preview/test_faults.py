"""What goes wrong during a change is shown where it happened, and the next change works."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.engine.tasks import until
from tests.helpers import CATALOG, chain_graph, with_settings
from tests.thorough import one_in
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.engine.protocol.call_handle import Caller
from workbench.engine.protocol.channel import Channel
from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.errors import (
    CancelledError,
    DataError,
    EngineError,
    PipelineError,
    WorkbenchError,
    WorkerCrashedError,
    WorkerSilentError,
    WorkerTimeoutError,
)
from workbench.graph import Graph
from workbench.graph.builder.function_node import node
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.edit import randomise_arg, set_arg
from workbench.preview import PreviewRequest, PreviewResult, preview_batch
from workbench.preview.requests.fault_isolation import call_isolating_faults, run_nodes_separately
from workbench.preview.requests.render import render

COUNT = 6


@pytest.fixture(scope="module")
def hurt() -> Iterator[Engine]:
    """A worker that each of these tests may end."""
    with Engine() as engine:
        yield engine


@pytest.fixture
def folder(photos: Path, tmp_path: Path) -> Path:
    """Photos that a test may spoil."""
    for name in ("astronaut", "cat"):
        shutil.copytree(photos / name, tmp_path / "data" / name)
    return tmp_path / "data"


def graph_of(angle: float = 5.0) -> Graph:
    graph = chain_graph("resize", "rotate", "hue", resize={"size": (64, 64)})
    graph = randomise_arg(graph, CATALOG, "hue", "hue")
    graph = set_arg(graph, CATALOG, "rotate", "angle", angle)
    return with_settings(graph, batch_size=COUNT)


def show(engine: Caller, data: Path, angle: float = 5.0, **options: object) -> PreviewResult:
    request = PreviewRequest(graph_of(angle), str(data), tile_size=64, lossless=True)
    return preview_batch(engine, replace(request, **options))  # type: ignore[arg-type]


def in_a_change(
    engine: Engine, data: Path, happens: Callable[[int], None], caller: Caller | None = None
) -> WorkbenchError:
    """The error of a change during which something happens to the suspended worker."""
    show(engine, data)
    pid = engine.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)  # so that the change is under way for sure
    raised: list[WorkbenchError] = []

    def change() -> None:
        try:
            show(caller or engine, data, angle=50.0)
        except WorkbenchError as error:
            raised.append(error)

    sent = threading.Event()
    send = Channel.send

    def tell(channel: Channel, message: msgspec.Struct, payload: bytes = b"") -> None:
        send(channel, message, payload)
        sent.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Channel, "send", tell)
        thread = threading.Thread(target=change)
        thread.start()
        assert sent.wait(60), "the change was not asked for"
        happens(pid)
        thread.join(60)
    assert raised, "the change went well"
    return raised[0]


def assert_the_next_change_works(engine: Engine, data: Path) -> None:
    expected = show(engine, data, angle=7.0)
    with Engine() as fresh:
        assert show(fresh, data, angle=7.0).image == expected.image
    assert not any(tile.sample.error for tile in expected.tiles)


def test_kill_9(hurt: Engine, folder: Path) -> None:
    error = in_a_change(hurt, folder, lambda pid: os.kill(pid, signal.SIGKILL))
    assert isinstance(error, WorkerCrashedError)
    assert error.killed
    assert "SIGKILL: out of memory, or killed from outside" in str(error)
    assert "the next change starts a new worker" in str(error)
    assert_the_next_change_works(hurt, folder)


@pytest.mark.thorough
def test_sigstop(hurt: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hurt, "call_limit", 2.0)
    error = in_a_change(hurt, folder, lambda pid: None)
    assert isinstance(error, WorkerTimeoutError)
    assert "No response within 2 s" in str(error)
    assert "The next change starts a new worker; fewer tiles take less time" in str(error)
    monkeypatch.undo()
    assert_the_next_change_works(hurt, folder)


def test_a_cancelled_change(hurt: Engine, folder: Path) -> None:
    handle = hurt.handle()

    def cancel(_: int) -> None:
        handle.cancel()
        hurt.end_worker()  # where the change was not under way yet: it stands still

    assert isinstance(in_a_change(hurt, folder, cancel, handle), CancelledError)
    assert_the_next_change_works(hurt, folder)


@task
def limit_memory(_: Worker, more: int) -> None:
    """Task: let the process take no more than these bytes above what it has."""
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (now + more, now + more))


def test_a_memory_limit(folder: Path) -> None:
    """DALI either says that memory is short, or its threads end the process."""
    with Engine() as engine:
        show(engine, folder)
        engine.call(limit_memory, 100_000_000)
        graph = set_arg(graph_of(), CATALOG, "resize", "size", (4000.0, 4000.0))
        with pytest.raises(EngineError) as caught:
            preview_batch(engine, PreviewRequest(graph, str(folder), tile_size=64))
        assert "memory" in str(caught.value).lower() or isinstance(caught.value, WorkerCrashedError)
        assert_the_next_change_works(engine, folder)


def test_the_data_folder_is_deleted(hurt: Engine, folder: Path) -> None:
    show(hurt, folder)
    away = folder.parent / "away"
    folder.rename(away)
    with pytest.raises(DataError, match=r"There is no folder .*data\. Use a folder of images"):
        until_noticed(lambda: show(hurt, folder, angle=9.0))
    away.rename(folder)
    assert_the_next_change_works(hurt, folder)


def until_noticed(change: Callable[[], object]) -> None:
    """Change again and again: a slow look at the folder is followed by a rest."""

    def raises() -> bool:
        change()
        return False

    until(raises, 20)


@pytest.mark.parametrize("kept", one_in(2, [True, False]))
def test_a_file_becomes_corrupt(kept: bool, hurt: Engine, folder: Path) -> None:
    victim = "astronaut/astronaut_03.jpg"
    before = show(hurt, folder)
    (folder / victim).write_text("this was a photo")
    if not kept:
        os.kill(hurt.pid or 0, signal.SIGKILL)
        until(lambda: hurt.pid is None, 10)
    shown: list[PreviewResult] = []

    def noticed() -> bool:
        shown.append(show(hurt, folder, angle=5.0))
        return any(tile.sample.error for tile in shown[-1].tiles)

    until(noticed, 20)
    errors = {tile.sample.file: tile.sample.error for tile in shown[-1].tiles}
    assert errors.pop(victim) == "text, not an image"
    assert not any(errors.values())
    assert [tile.draws for tile in shown[-1].tiles] == [tile.draws for tile in before.tiles]
    shutil.copy(folder / "astronaut/astronaut_04.jpg", folder / victim)
    until(lambda: not any(tile.sample.error for tile in show(hurt, folder).tiles), 20)
    assert_the_next_change_works(hurt, folder)


def test_a_new_file_moves_the_others_as_in_the_script(hurt: Engine, folder: Path) -> None:
    show(hurt, folder)
    shutil.copy(folder / "cat/cat_01.jpg", folder / "astronaut/a_new_one.jpg")
    until(lambda: show(hurt, folder).tiles[0].sample.file == "astronaut/a_new_one.jpg", 20)
    assert_the_next_change_works(hurt, folder)


def test_nothing_runs_again_where_nothing_changed(hurt: Engine, folder: Path) -> None:
    show(hurt, folder)
    for _ in range(3):
        assert show(hurt, folder).reran == ()


# Which error stands for a worker that ended; engine/protocol/test_process.py ends real ones.

REQUEST = PreviewRequest(chain_graph("rotate", "hue"), "photos")
SEVERAL = ("rotate", "hue")


class Scripted:
    """An engine whose calls end as planned: a value, or an error to raise."""

    def __init__(self, *ends: Any) -> None:
        self.ends = list(ends)
        self.tasks: list[Any] = []

    def call(self, task: Any, *_: Any, limit: float | None = None) -> Any:
        self.tasks.append(task)
        end = self.ends.pop(0)
        if isinstance(end, Exception):
            raise end
        return end


def raised(engine: Scripted) -> WorkbenchError:
    with pytest.raises(WorkbenchError) as caught:
        call_isolating_faults(engine, render, REQUEST)  # type: ignore[arg-type]
    return caught.value


def test_what_goes_well_runs_once() -> None:
    engine = Scripted("picture")
    assert call_isolating_faults(engine, render, REQUEST) == "picture"  # type: ignore[arg-type]
    assert engine.tasks == [render]


def test_several_nodes_are_run_one_by_one() -> None:
    engine = Scripted(WorkerCrashedError("ended", SEVERAL), WorkerCrashedError("ended", ["hue"]))
    error = raised(engine)
    assert engine.tasks == [render, run_nodes_separately]
    assert isinstance(error, WorkerCrashedError)
    assert error.node == "hue"
    assert str(error).startswith("hue: DALI crashed in this node. Change its")


def test_a_node_that_hangs_alone_is_named_too() -> None:
    error = raised(Scripted(WorkerCrashedError("x", SEVERAL), WorkerTimeoutError("y", ["rotate"])))
    assert isinstance(error, WorkerTimeoutError)
    assert error.node == "rotate"


def test_a_refusal_of_the_second_run_says_more() -> None:
    told = PipelineError("rotate: no", "rotate")
    assert raised(Scripted(WorkerCrashedError("x", SEVERAL), told)) is told


def test_what_does_not_happen_again_stays_as_it_was() -> None:
    first = WorkerCrashedError("ended", SEVERAL)
    assert raised(Scripted(first, None)) is first
    assert first.node is None


@node
def never_returns(image: Any) -> Any:
    while True:
        pass


@pytest.mark.parametrize("kind", [WorkerTimeoutError, WorkerSilentError])
def test_of_what_does_not_answer_a_function_is_named(kind: type[WorkerTimeoutError]) -> None:
    graph = never_returns.after(REQUEST.graph, "rotate")
    graph, block = wrap_in_block(graph, load_catalog(), ["never_returns"])
    engine = Scripted(kind("No answer.", ("rotate", block)))
    with pytest.raises(kind, match=r"^never_returns: its function does not return.* No a") as told:
        call_isolating_faults(engine, render, replace(REQUEST, graph=graph))  # type: ignore[arg-type]
    assert told.value.node == "never_returns"


@pytest.mark.parametrize(
    "error",
    [
        WorkerCrashedError("killed", SEVERAL, killed=True),
        WorkerCrashedError("ended", ["rotate"]),
        WorkerTimeoutError("hung", SEVERAL),
        PipelineError("no", "rotate"),
    ],
)
def test_others_are_not_run_again(error: WorkbenchError) -> None:
    engine = Scripted(error)
    assert raised(engine) is error
    assert engine.tasks == [render]
