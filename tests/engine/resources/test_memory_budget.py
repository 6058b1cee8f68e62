"""All workers share a budget: idle ones free memory, then end, then others wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest

from tests.engine import tasks
from tests.engine.tasks import until
from tests.helpers import chain_graph, import_script, with_settings
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.engine import Engine
from workbench.engine.resources.batch_store import Batch, BatchStore
from workbench.engine.resources.memory_budget import FRESH_HOST, LEAST_KEPT, MemoryBudget
from workbench.errors import CancelledError, WorkerCrashedError

MIB = 2**20


class Member:
    """An engine that takes what a test says."""

    def __init__(
        self,
        pid: int,
        host: int = 0,
        gpu: int = 0,
        rested: float | None = 1.0,
        measures: bool = False,
    ) -> None:
        self.pid: int | None = pid
        self.measures = measures
        self.host, self.gpu = host, gpu
        self.resting_since = None if rested is None else time.monotonic() - rested
        self.gave_back = 0
        self.ended = ""

    def end_if_idle(self) -> bool:
        if self.resting_since is None:
            return False
        self.pid = None
        return True

    def drop_caches(self) -> bool:
        self.gave_back += 1
        return True

    def end_for_memory(self, reason: str) -> None:
        self.pid, self.ended = None, reason


def budget(
    members: Sequence[Member], host: int = 4096 * MIB, gpu: int = 0, resting_limit: float = 600
) -> MemoryBudget:
    by_pid = {member.pid: member for member in members}
    made = MemoryBudget(
        host,
        gpu,
        resting_limit=resting_limit,
        starting=2,
        measure_host=lambda pid: by_pid[pid].host,
        measured_bytes=lambda pid: by_pid[pid].host,
        gpu_bytes=lambda pids: sum(by_pid[pid].gpu for pid in pids),
    )
    made._thread = threading.current_thread()  # looks only when it is told to
    for member in members:
        made.join(member)
    return made


def test_what_rests_gives_back_once_where_memory_is_tight() -> None:
    members = [Member(pid, 1100 * MIB) for pid in (1, 2, 3)]
    made = budget(members)
    made.enforce()
    made.enforce()
    assert [member.gave_back for member in members] == [1, 1, 1]
    assert all(member.pid for member in members)


def test_the_longest_rested_end_first() -> None:
    old, new, busy = Member(1, 2000 * MIB, rested=9), Member(2, 2000 * MIB), Member(3, 1500 * MIB)
    busy.resting_since = None
    budget([new, old, busy]).enforce()
    assert (old.pid, new.pid, busy.pid) == (None, 2, 3)


def test_the_gpu_counts_likewise() -> None:
    old, new = Member(1, gpu=3000 * MIB, rested=9), Member(2, gpu=3000 * MIB)
    budget([old, new], gpu=4096 * MIB).enforce()
    assert (old.pid, new.pid) == (None, 2)


def test_after_a_while_a_resting_worker_ends() -> None:
    old, new = Member(1, rested=11), Member(2, rested=9)
    budget([old, new], resting_limit=10).enforce()
    assert (old.pid, new.pid) == (None, 2)


def test_where_none_rests_the_largest_ends_with_the_reason() -> None:
    small, large = Member(1, 1000 * MIB, rested=None), Member(2, 5000 * MIB, rested=None)
    budget([small, large]).enforce()
    assert small.pid == 1
    assert (
        "it used 4.9 GiB, and all workers together used 5.9 GiB; the limit is 4.0 GiB"
        in large.ended
    )


def test_a_new_worker_waits_for_room() -> None:
    busy = Member(1, 4000 * MIB, rested=None)
    made, fresh = budget([busy]), Member(0)
    fresh.pid = None
    given_up = threading.Event()

    def require_wanted() -> None:
        if given_up.is_set():
            raise CancelledError("Cancelled.")

    threading.Timer(0.2, given_up.set).start()
    with pytest.raises(CancelledError), made.starting(fresh, require_wanted):
        pytest.fail("there was no room")
    busy.resting_since = time.monotonic()
    with made.starting(fresh, require_wanted=lambda: None):
        assert busy.pid is None


def test_one_may_start_in_any_case() -> None:
    with budget([], host=MIB).starting(Member(1), lambda: pytest.fail("it waits")):
        pass


def test_the_share_falls_with_the_number_of_workers() -> None:
    few = budget([Member(1)]).share()
    many = budget([Member(pid) for pid in range(1, 9)]).share()
    assert few[0] > many[0]
    assert many[0] == max(LEAST_KEPT, int(4096 * MIB * 0.8) // 8 - FRESH_HOST)
    assert few[1] == 0


def test_what_measures_counts_and_is_left_alone() -> None:
    measuring = Member(1, 5000 * MIB, rested=99, measures=True)
    resting, busy = Member(2, 100 * MIB), Member(3, 100 * MIB, rested=None)
    made = budget([measuring, resting, busy], resting_limit=10)
    assert made.used()[0] == 5200 * MIB
    assert made.share() == (LEAST_KEPT, 0)
    made.enforce()
    assert (measuring.pid, measuring.gave_back, measuring.ended) == (1, 0, "")
    assert resting.pid is None
    assert "all workers together used 5.0 GiB; the limit is 4.0 GiB" in busy.ended


class Start:
    """A worker that is to start, in a thread of its own."""

    def __init__(self, made: MemoryBudget, member: Member) -> None:
        self.told: list[str] = []
        self.started, self.end = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._run, args=(made, member), daemon=True)
        self.thread.start()

    def _run(self, made: MemoryBudget, member: Member) -> None:
        with made.starting(member, lambda: None, self.told.append):
            self.started.set()
            assert self.end.wait(30)


def fresh(measures: bool = False) -> Member:
    made = Member(0, rested=None, measures=measures)
    made.pid = None
    return made


def test_a_measurement_waits_for_a_preview_at_work_and_comes_before_others() -> None:
    busy = Member(1, 4000 * MIB, rested=None)
    made = budget([busy])
    preview = Start(made, fresh())
    until(lambda: preview.told == ["waiting for memory"], 30)
    measuring = Start(made, fresh(measures=True))
    until(lambda: measuring.told == ["waiting for memory that previews use"], 30)
    busy.resting_since = time.monotonic()
    assert measuring.started.wait(30)
    assert measuring.told[1:] == [""]
    assert busy.pid is None
    measuring.end.set()
    assert preview.started.wait(30)
    preview.end.set()


def test_a_preview_waits_for_a_measurement_and_says_so() -> None:
    measuring = Member(1, 4000 * MIB, rested=None, measures=True)
    made = budget([measuring])
    preview = Start(made, fresh())
    until(lambda: preview.told == ["waiting for memory that a measurement uses"], 30)
    another = Start(made, fresh(measures=True))
    assert another.started.wait(30), "one measurement does not wait for its own workers"
    another.end.set()
    measuring.pid = None
    assert preview.started.wait(30)
    assert preview.told[1:] == [""]
    preview.end.set()


@pytest.fixture
def room() -> MemoryBudget:
    return MemoryBudget(4096 * MIB, 0)


def test_a_worker_that_was_ended_while_it_rested_starts_again(room: MemoryBudget) -> None:
    with Engine(memory=room) as engine:
        engine.call(tasks.echo, 1)
        pid = engine.pid
        assert engine.resting_since is not None
        room.resting_limit = 0
        room.enforce()
        assert engine.pid is None
        assert engine.call(tasks.echo, 2) == 2
        assert engine.pid != pid


def test_what_a_task_keeps_is_given_back(room: MemoryBudget) -> None:
    with Engine(memory=room) as engine:
        engine.call(tasks.count_calls)
        assert engine.drop_caches()
        assert engine.call(tasks.kept) == []


def test_a_call_that_takes_too_much_says_so(room: MemoryBudget) -> None:
    failed: list[Exception] = []
    with Engine(memory=room) as engine:
        engine.call(tasks.echo, 1)

        def hang() -> None:
            try:
                engine.call(tasks.hang, on_report=lambda _: running.set())
            except WorkerCrashedError as error:
                failed.append(error)

        running = threading.Event()
        thread = threading.Thread(target=hang)
        thread.start()
        assert running.wait(30)
        room.host = MIB
        room.enforce()
        thread.join(30)
        assert "all workers together" in str(failed[0])
        room.host = 4096 * MIB
        until(lambda: engine.pid is None, 5)
        assert engine.call(tasks.echo, 1) == 1


def test_a_worker_that_measures_counts_with_what_it_started(room: MemoryBudget) -> None:
    with Engine(memory=room, measures=True) as engine:
        engine.call(tasks.echo, 1)
        alone = room.used()[0]
        assert alone > 0
        engine.call(tasks.start_a_process, 100 * MIB)
        assert room.used()[0] > alone + 90 * MIB
        room.resting_limit = 0
        room.enforce()
        assert engine.pid is not None


def batch(size: int) -> Batch:
    return Batch([np.zeros(size, np.uint8)])


def test_host_arrays() -> None:
    arrays = [np.zeros((4, 2, 3), np.float32), np.zeros((1, 2, 3), np.float32)]
    held = Batch(arrays)
    assert (len(held), held.shapes, held.dtype, held.layout) == (
        2,
        [(4, 2, 3), (1, 2, 3)],
        "float32",
        "",
    )
    assert held.nbytes == sum(array.nbytes for array in arrays)
    assert held.arrays() is arrays


def test_dalis_tensors(photos, tmp_path) -> None:  # type: ignore[no-untyped-def]
    graph = chain_graph("resize", "cast", resize={"size": (8, 6)}, cast={"dtype": "FLOAT16"})
    script = import_script(
        emit_script(with_settings(graph, batch_size=3), load_catalog()).text, tmp_path
    )
    held = Batch(script.build_pipeline(str(photos)).run()[0])
    assert (len(held), held.shapes, held.dtype) == (3, [(8, 6, 3)] * 3, "float16")
    assert held.layout == "HWC"
    assert held.nbytes == 3 * 8 * 6 * 3 * 2
    assert [a.shape for a in held.arrays()] == held.shapes


def test_the_least_recently_used_goes_first() -> None:
    store = BatchStore(dict.fromkeys(("cpu", "gpu"), 250))
    for key in "abc":
        store.put(key, [batch(100)])
        assert store.get("a") is not None, "used each time, so it stays"
    assert store.get("b") is None
    assert store.get("c") is not None
    assert store.used == {"cpu": 200, "gpu": 0}


def test_one_that_is_too_large_is_kept_alone() -> None:
    store = BatchStore(dict.fromkeys(("cpu", "gpu"), 100))
    store.put("a", [batch(50)])
    store.put("b", [batch(500)])
    assert store.get("a") is None
    assert store.get("b") is not None


def test_the_same_key_replaces() -> None:
    store = BatchStore(dict.fromkeys(("cpu", "gpu"), 1000))
    store.put("a", [batch(100)])
    store.put("a", [batch(10), batch(20)])
    assert store.used["cpu"] == 30
    store.clear()
    assert store.get("a") is None
    assert store.used == {"cpu": 0, "gpu": 0}


def test_each_device_has_its_own_limit() -> None:
    store = BatchStore(dict.fromkeys(("cpu", "gpu"), 100))
    store.put("a", [batch(90)])
    store.put("b", [Batch([np.zeros(90, np.uint8)], "gpu")])
    assert store.get("a") is not None
    assert store.get("b") is not None
