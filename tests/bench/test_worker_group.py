"""Workers of a configuration: what they start ends with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from tests.engine.tasks import until
from tests.helpers import with_settings
from tests.sources.test_video import GOLDEN, a_graph
from tests.thorough import one_in
from workbench.bench.experiments.compared_program import search_workers
from workbench.bench.experiments.peers import compared_peers
from workbench.bench.experiments.stages import CachedBatchJob, StageCostExperiment
from workbench.bench.measuring.pixels import compare_decoders
from workbench.bench.measuring.worker_group import ReusableWorker, StopClock, WorkerGroup
from workbench.bench.measuring.workload import (
    ScriptJob,
    Workload,
    busy_seconds,
    cpu_seconds,
    descendants,
    peak_host_bytes,
    real_samples,
)
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.engine.protocol import heartbeat
from workbench.engine.protocol.progress import NO_ANSWER
from workbench.engine.protocol.registry import sendable
from workbench.engine.resources.machine import describe_machine
from workbench.errors import CancelledError, DataError, EngineError, WorkerCrashedError
from workbench.graph import load_recipe
from workbench.sources import open_datasets
from workbench.sources.kinds import video

WAIT = "import sys; sys.stdin.read()"


class _Idle:
    lead = 1

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self.child = child

    def run(self) -> int:
        time.perf_counter()
        return 3


@sendable
@dataclass(frozen=True)
class ChildJob:
    """Starts a process, as a DataLoader does, and notes its id."""

    note: str

    def start(self) -> Workload:
        child = subprocess.Popen([sys.executable, "-c", WAIT], stdin=subprocess.PIPE)
        Path(self.note).write_text(str(child.pid))
        return _Idle(child)


def running(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def test_children_of_a_worker_end_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    group = WorkerGroup((ChildJob(str(note)),), threading.Event())
    startup = group.start(lambda share: None)
    pid = int(note.read_text())
    assert running(pid)
    assert startup.first_batch_seconds > 0
    one = group.run_round(0.01, 5, lambda share: None)
    assert one.samples == 3 * one.batches
    assert one.batches >= 5
    assert group.memory()[0] >= startup.host_bytes
    group.close()
    deadline = time.monotonic() + 5
    while running(pid) and time.monotonic() < deadline:
        pass
    assert not running(pid)


def test_a_worker_that_is_killed_while_it_rests_is_told_and_not_replaced(tmp_path: Path) -> None:
    group = WorkerGroup((ChildJob(str(tmp_path / "pid")),), threading.Event())
    try:
        group.start(lambda share: None)
        process = group._engines[0]._process
        assert process is not None
        process.popen.kill()
        process.popen.wait(30)
        with pytest.raises(WorkerCrashedError, match="SIGKILL"):
            group.run_round(0.01, 5, lambda share: None)
        assert group.pids == ()
    finally:
        group.close()


def test_a_group_that_was_stopped_starts_nothing(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    group = WorkerGroup((ChildJob(str(tmp_path / "pid")),), stop)
    with pytest.raises(CancelledError):
        group.start(lambda share: None)
    group.close()
    assert list(tmp_path.iterdir()) == []


def test_the_gpu_that_is_watched_is_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[str] = []
    monkeypatch.setattr("workbench.bench.measuring.worker_group.Gpu", watched.append)
    monkeypatch.setattr(
        "workbench.bench.measuring.worker_group.first_visible_gpu",
        lambda env: env["CUDA_VISIBLE_DEVICES"],
    )
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    WorkerGroup((ChildJob("unused"),), threading.Event())
    WorkerGroup((ChildJob("unused"),), threading.Event(), [{"CUDA_VISIBLE_DEVICES": "5"}])
    WorkerGroup(
        (ChildJob("unused"),) * 2, threading.Event(), [{"CUDA_VISIBLE_DEVICES": n} for n in "10"]
    )
    assert watched == ["2", "5", "1", "0"], "each of them"


def test_ctrl_c_ends_a_round_of_several_at_once(tmp_path: Path) -> None:
    jobs = [ChildJob(str(tmp_path / name)) for name in "ab"]
    stop = threading.Event()
    group = WorkerGroup(jobs, stop)
    group.start(lambda share: None)
    sent: list[float] = []

    def interrupt(_: float) -> None:
        if not sent:
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job has none
    try:
        with pytest.raises(KeyboardInterrupt):
            group.run_round(10.0, 5, interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - sent[0] < 2, "8 s of the round are left"
    assert stop.is_set()
    group.close()


@sendable
@dataclass(frozen=True)
class MeetingJob:
    """Notes that it starts, and is ready once another one has done so too."""

    own: str
    other: str

    def start(self) -> Workload:
        Path(self.own).touch()
        deadline = time.monotonic() + 60
        while not Path(self.other).exists():
            if time.monotonic() > deadline:
                raise EngineError("the other one has not started")
        return _Large(bytearray())


def test_several_start_at_the_same_time(tmp_path: Path) -> None:
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    group = WorkerGroup([MeetingJob(a, b), MeetingJob(b, a)], threading.Event())
    try:
        assert group.start(lambda share: None).host_bytes > 0
        assert len(group.pids) == 2
    finally:
        group.close()


def test_workers_begin_together_on_their_own_cores(tmp_path: Path) -> None:
    jobs = [ChildJob(str(tmp_path / name)) for name in "ab"]
    group = WorkerGroup(jobs, threading.Event(), [{"CUDA_VISIBLE_DEVICES": "0"}] * 2, [(0,), (0,)])
    group.start(lambda share: None)
    one = group.run_round(0.2, 5, lambda share: None)
    assert one.batches >= 10
    assert one.others is not None
    assert one.others + one.cpu_seconds / one.seconds < 1.5, "the core that both use, once"
    group.close()


@sendable
@dataclass(frozen=True)
class LargeJob:
    """Allocate this many MiB of memory until it is released."""

    mebibytes: int

    def start(self) -> Workload:
        return _Large(bytearray(self.mebibytes * 2**20))


class _Large(_Idle):
    def __init__(self, block: bytearray) -> None:
        self.block = block


def test_the_next_job_of_a_worker_begins_without_the_memory_of_the_last() -> None:
    kept, stop = ReusableWorker(), threading.Event()
    large = WorkerGroup((LargeJob(500),), stop)
    try:
        most = large.start(lambda share: None).host_bytes
        first = large.pids
        kept.store(large)
        small = kept.reuse((LargeJob(1),), lambda silent: None, lambda words: None)
        assert small is large
        least = small.start(lambda share: None).host_bytes
        assert small.pids == first
        assert most - least > 400 * 2**20
        assert small.memory()[0] == pytest.approx(least, rel=0.1)
    finally:
        large.close()
    assert large.pids == ()


@sendable
@dataclass(frozen=True)
class QueuedJob:
    """A workload of 2 ms batches that has ``lead`` batches in a queue after a pause."""

    lead: int

    def start(self) -> Workload:
        return _Queued(self.lead)


class _Queued:
    def __init__(self, lead: int) -> None:
        self.lead = lead

    def run(self) -> int:
        time.sleep(0.002)
        return 1


@pytest.mark.parametrize(("lead", "counted"), [(4, False), (10_000, True)])
def test_the_time_between_two_rounds_counts_only_if_the_queue_was_not_full(
    lead: int, counted: bool
) -> None:
    group = WorkerGroup((QueuedJob(lead),), threading.Event())
    try:
        group.start(lambda share: None)
        group.run_round(0.01, 5, lambda share: None, False)
        time.sleep(0.3)
        later = group.run_round(0.01, 5, lambda share: None, False)
        assert (later.seconds > 0.3) == counted
        reports: list[float] = []
        group.run_round(0.1, 5, reports.append, False)
        assert reports, "a short round has one as well"
    finally:
        group.close()


def test_it_is_set_by_the_other_event_or_once_the_time_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    fake_time = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("workbench.bench.measuring.worker_group.time", fake_time)
    stop = threading.Event()
    clock = StopClock(stop)
    now[0] = 1e9
    assert not clock.is_set(), "nothing bounds it yet"
    clock.allow(5.0)
    now[0] += 4.9
    assert not clock.is_set()
    now[0] += 0.1
    assert clock.is_set()
    clock.allow(5.0)
    assert not clock.is_set(), "a next step has its own time"
    stop.set()
    assert clock.is_set()


Run = StageCostExperiment


def alone(run: Run) -> None:
    assert run._alone(run.graph, ["decode"]) == {}


def decoders(run: Run) -> None:
    found = compare_decoders(run.graph, run.data, run.stop, run.progress)
    assert "SIGSTOP" in found["reason"]


def peer(run: Run) -> None:
    machine = describe_machine()
    Path("own_peer.py").write_text(
        "def batches(files, batch_size, threads):\n"
        "    while True:\n"
        "        yield [files[:batch_size]]\n"
    )
    (found,) = compared_peers(run, ["own_peer:batches"], ("cpu",), machine, {})
    search_workers(run, found, machine.cores, run.progress)
    assert "SIGSTOP" in found.reason


def stop_a_new_worker(known: set[int]) -> Callable[[], bool]:
    def look() -> bool:
        for child in psutil.Process().children(recursive=True):
            if child.pid not in known and "workbench.engine" in child.cmdline():
                os.kill(child.pid, signal.SIGSTOP)
                return True
        return False

    return look


@pytest.mark.thorough
@pytest.mark.usefixtures("started_workers")  # known by their command
@pytest.mark.parametrize("work", [alone, decoders, peer])
def test_a_stopped_worker_is_told_of(
    work: Callable[[Run], Any], photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(heartbeat, "SILENCE_SHOWN", 0.3)
    monkeypatch.setattr(heartbeat, "STOPPED_LIMIT", 1.3)
    heard: list[tuple[float, str]] = []
    run = Run(with_settings(load_recipe("imagenet-train"), batch_size=4), str(photos))
    run.progress.listener = lambda share, text: heard.append((share, text))
    run.progress(0.95, "at work")
    known = {child.pid for child in psutil.Process().children(recursive=True)}
    stopping = threading.Thread(target=until, args=(stop_a_new_worker(known), 60))
    stopping.start()
    work(run)
    stopping.join()
    at = [words for _, words in heard].index(NO_ANSWER)
    share, words = heard[at - 1]
    assert heard[at : at + 2] == [(share, NO_ANSWER), (share, words)]


# Padded samples of an epoch are not counted as samples.


def meta(size: int, shards: int = 1, shard: int = 0, pad: bool = True, stick: bool = False):
    padded = -(-size // shards) * shards
    return {
        "epoch_size": size,
        "epoch_size_padded": padded,
        "number_of_shards": shards,
        "shard_id": shard,
        "pad_last_batch": pad,
        "stick_to_shard": stick,
    }


def test_without_padding_every_sample_is_real() -> None:
    assert list(islice(real_samples([meta(10, pad=False)], 4), 5)) == [4] * 5
    assert list(islice(real_samples([], 4), 2)) == [4, 4]


def test_the_last_batch_of_an_epoch_is_cut() -> None:
    assert list(islice(real_samples([meta(10)], 4), 6)) == [4, 4, 2, 4, 4, 2]
    assert list(islice(real_samples([meta(3)], 4), 2)) == [3, 3]
    assert list(islice(real_samples([meta(8)], 4), 3)) == [4, 4, 4]


@pytest.mark.parametrize("stick", [True, False])
def test_shards_of_different_length(stick: bool) -> None:
    # 10 in 3 shards: 3, 3 and 4; each epoch has as many batches as the longest needs.
    found = list(islice(real_samples([meta(10, 3, 1, stick=stick)], 2), 6))
    assert found == ([2, 1, 2, 1, 2, 1] if stick else [2, 1, 2, 2, 2, 1])


def test_of_two_readers_the_shorter_counts() -> None:
    assert list(islice(real_samples([meta(10), meta(6)], 4), 3)) == [4, 2, 0]


@pytest.mark.parametrize("pipelines", one_in(2, [2, 3]))
def test_of_several_pipelines_an_epoch_has_every_sample_once(photos: Path, pipelines: int) -> None:
    """120 photos in shards of 60 or 40, in batches of 7: the last ones are cut."""
    graph = with_settings(load_recipe("imagenet-eval"), batch_size=7, pipelines=pipelines)
    source, data = emit_script(graph, load_catalog()), open_datasets(photos)
    workload = ScriptJob(source, data, "cpu", 2).start()
    assert workload.lead == 4 * pipelines
    batches = pipelines * -(-120 // pipelines // 7)
    for _ in range(2):
        assert sum(workload.run() for _ in range(batches)) == 120


def test_a_side_that_does_not_decode_ends_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a GPU: H.264 is measured there, and the CPU's row has the reason why it is not."""
    monkeypatch.setattr(video, "has_gpu", lambda: True)
    clip = Path(GOLDEN, "h264.mp4")
    job = ScriptJob(emit_script(a_graph()), open_datasets(clip), "cpu", 2)
    with pytest.raises(EngineError, match=r"Decode on the GPU \(mixed\)"):
        job.start()
    clip = clip.with_name("no.mp4")
    with pytest.raises(DataError, match=r"no\.mp4 does not exist"):
        ScriptJob(job.source, open_datasets(clip), "cpu", 2).start()


def test_what_lies_behind_the_decoders_runs_in_as_many_pipelines(photos: Path) -> None:
    graph = with_settings(load_recipe("imagenet-eval"), batch_size=4, pipelines=2)
    workload = CachedBatchJob(graph, open_datasets(photos)).start()
    assert [workload.run() for _ in range(workload.lead)] == [4] * 8


# What /proc reports about this process and others.

SAY_AND_WAIT = "import sys; print('here', flush=True); sys.stdin.read()"
CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SAY_AND_WAIT!r}])"


def test_children_and_theirs_are_found() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        found = descendants(os.getpid())
        assert child.pid in found
        assert len(found) >= 2
        own = peak_host_bytes([])
        assert 5e6 < own < peak_host_bytes([child.pid])
        child.communicate()
    assert child.pid not in descendants(os.getpid())


def test_cpu_time_rises_with_work() -> None:
    before, busy = cpu_seconds([]), busy_seconds()
    while cpu_seconds([]) - before < 0.1:
        pass
    after = busy_seconds()
    assert busy is not None
    assert after is not None
    assert after - busy > 0.05, "in steps of 10 ms"
    assert cpu_seconds([2**22 + 1]) >= before, "a process that is gone counts nothing"
