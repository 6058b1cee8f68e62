"""What is noticed of a worker: silence, progress, memory, output, and how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.engine import tasks
from tests.engine.tasks import until
from tests.helpers import chain_graph, with_settings
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.engine.protocol import heartbeat
from workbench.engine.protocol.exit_status import (
    describe_exit,
    exit_remedy,
    printable,
    raise_oom_score,
)
from workbench.engine.protocol.heartbeat import HeartbeatMonitor, SuspensionMonitor, is_stopped
from workbench.engine.protocol.progress import NO_ANSWER, WorkerProgress
from workbench.engine.resources.machine import describe_machine
from workbench.engine.resources.process_memory import (
    KEPT_AT_MOST,
    default_budget,
    resident_bytes,
    thread_count,
    trim_heaps,
)
from workbench.engine.run.worker import BoundedOutput, memory_use, release
from workbench.errors import WorkerSilentError, WorkerTimeoutError
from workbench.graph.edits.edit import set_arg
from workbench.preview import PreviewRequest, preview_batch


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
    watch.on_data()
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
    with pytest.raises(WorkerTimeoutError, match="No response within 4 s") as raised:
        engine.call(tasks.hang, limit=4)
    assert not isinstance(raised.value, WorkerSilentError)


def test_of_what_is_not_there() -> None:
    assert not is_stopped(2**30)


# Reports while a worker waits or is silent, and afterwards.

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


def test_the_budget_is_a_part_of_this_machine() -> None:
    budget = default_budget()
    machine = describe_machine()
    assert 0 < budget["cpu"] <= min(KEPT_AT_MOST, machine.memory_gib * 2**30 / 8)
    assert (budget["gpu"] > 0) == bool(machine.gpu)


def test_figures_of_this_process() -> None:
    trim_heaps()  # what earlier tests freed would be taken again, and nothing grow
    before = resident_bytes()
    held = b"\1" * 50_000_000
    assert resident_bytes() - before > 40_000_000
    assert resident_bytes(os.getpid()) > len(held)
    assert thread_count() >= 1
    trim_heaps()


def test_what_is_kept_stays_within_the_budget(photos: Path) -> None:
    budget = 20_000_000
    graph = with_settings(chain_graph("resize", "rotate"), batch_size=4)
    with Engine(budget=budget) as engine:
        held = []
        for angle in range(12):
            edited = set_arg(graph, load_catalog(), "rotate", "angle", float(angle))
            preview = preview_batch(engine, PreviewRequest(edited, str(photos), tile_size=64))
            assert preview.memory is not None
            held.append(preview.memory.host)
            assert preview.memory.host_budget == budget
        # the encoded batch that the reader holds comes on top: 4 photos of 0.2 MB at most
        assert max(held) <= budget + 1_000_000
        assert held[-1] > budget / 2
        # until its threads rest: one may take or give back a page between the two looks
        tasks.until(
            lambda: engine.call(memory_use).resident == resident_bytes(engine.pid or 0), seconds=10
        )
        assert engine.call(memory_use).threads >= 1
        engine.call(release)
        assert engine.call(memory_use).host == 0


def test_the_worker_tidies_up_when_it_is_idle() -> None:
    with Engine() as engine:
        engine.call(tasks.fill_and_free, 200_000_000)
        pid = engine.pid or 0
        tasks.until(lambda: resident_bytes(pid) < 200_000_000, seconds=10)


# What an exit code says, and which process goes when memory runs out.


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (None, "closed its connection"),
        (0, "ended with exit code 0"),
        (3, "ended with exit code 3"),
        (-signal.SIGSEGV, "was terminated by SIGSEGV (segmentation fault)"),
        (-signal.SIGBUS, "was terminated by SIGBUS (bus error)"),
        (-signal.SIGKILL, "was terminated by SIGKILL: out of memory, or killed from outside"),
        (-signal.SIGRTMIN - 2, f"was terminated by signal {signal.SIGRTMIN + 2}"),
    ],
)
def test_in_words(code: int | None, words: str) -> None:
    assert describe_exit(code) == words


@pytest.mark.parametrize("word", ["MemoryError", "std::bad_alloc", "can't start new thread"])
def test_want_of_memory_is_told_by_its_name(word: str) -> None:
    assert describe_exit(1, word) == "ended with exit code 1 because memory was exhausted"
    assert exit_remedy(1, word).endswith("try again.")


def test_the_remedy_of_a_file_that_changed() -> None:
    assert "a file of the folder was changed" in exit_remedy(-signal.SIGBUS)
    assert "try again." in exit_remedy(-signal.SIGBUS)
    assert not any(map(exit_remedy, (None, 0, 1, signal.SIGBUS, -signal.SIGSEGV)))


def test_going_first() -> None:
    """A second call sets the maximum that Linux accepts; a missing process is not an error."""

    def score(pid: int) -> int:
        return int(Path(f"/proc/{pid}/oom_score_adj").read_text())

    program = "import sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as process:
        before = score(process.pid)
        raise_oom_score(process.pid)
        assert score(process.pid) == min(1000, before + 500)
        for _ in range(4):
            raise_oom_score(process.pid)
        assert score(process.pid) == 1000
        process.kill()
    raise_oom_score(process.pid)


def test_what_a_terminal_would_obey_is_written_out() -> None:
    assert printable("über 5 % 🙂") == "über 5 % 🙂"
    assert printable("\x1b[31m\x07\x9b\u202e\udc80") == r"\x1b[31m\x07\x9b\u202e\udc80"


# However much a worker prints, its log stays small and ends with what came last.


def test_the_file_begins_anew_and_has_what_came_last(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("a") as file:
        output = BoundedOutput(file, limit=100)
        for number in range(1000):
            assert output.write(f"line {number}\n") == len(f"line {number}\n")
        output.flush()  # type: ignore[operator]
        assert path.stat().st_size <= 100
        assert path.read_text().endswith("line 999\n")
        output.write("x" * 1000 + "end")
        output.flush()  # type: ignore[operator]
        assert path.stat().st_size == 100
        assert path.read_text().endswith("xend")
        assert output.fileno() == file.fileno()  # type: ignore[operator]
