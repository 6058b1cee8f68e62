"""Enforce a memory budget for all workers of this process, on the host and on the GPU.

If memory runs short, idle workers drop their caches. If this is not enough, the workers that have
been idle longest are ended, and their next call starts a new worker. A new worker starts only when
there is enough memory for it.

Workers that run measurements count towards the budget, but are never ended to free memory.
Measurements wait for previews in progress, and previews wait for measurements that use the memory.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import psutil

from workbench.engine.resources.gpu import Gpu, first_visible_gpu
from workbench.engine.resources.machine import describe_machine, usable_memory
from workbench.engine.resources.process_memory import default_budget, private_bytes, tree_bytes

FRESH_HOST = 320 * 2**20
"""Estimated host memory in bytes that a new worker needs for DALI and a first preview."""
FRESH_GPU = 768 * 2**20
"""Estimated GPU memory in bytes of a new worker: CUDA's context and a mixed decoder."""
LEAST_KEPT = 32 * 2**20
"""Minimum cache limit in bytes per worker, regardless of the number of workers."""
TIGHT = 0.8
"""Fraction of the budget above which idle workers drop their caches."""
RESTING_LIMIT = 600.0
"""Seconds without a call after which a worker is ended."""
_TICK = 0.05
_LOOK = 1.0
"""Seconds between two checks of the workers' memory."""


class BudgetMember(Protocol):
    """Interface of an engine that shares a memory budget."""

    @property
    def pid(self) -> int | None: ...

    resting_since: float | None
    """Time when the last call ended (``time.monotonic``), or None during a call or start."""

    measures: bool
    """True for a measuring worker: it counts towards the budget, but is left undisturbed."""

    def end_if_idle(self) -> bool:
        """End the worker unless a call runs. Return True if the worker was ended."""
        ...

    def drop_caches(self) -> bool:
        """Make the worker drop its caches unless a call runs. Return True if no call runs."""
        ...

    def end_for_memory(self, reason: str) -> None:
        """End the worker during its call. The call fails with this reason."""
        ...


class CountedProcess:
    """Process of a measured script, which counts towards the budget but is not a worker."""

    measures = True
    resting_since: float | None = None

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @property
    def pid(self) -> int | None:
        """Process id, or None once the process has ended."""
        return self._process.pid if self._process.poll() is None else None

    def end_if_idle(self) -> bool:
        """Return False: the process is never ended."""
        return False

    def drop_caches(self) -> bool:
        """Return False: the process has no caches."""
        return False

    def end_for_memory(self, reason: str) -> None:
        """Do nothing: the process is never ended."""


@dataclass(eq=False, frozen=True, slots=True)
class _Ticket:
    measures: bool


class MemoryBudget:
    """Memory budget in bytes that all workers share. Thread-safe."""

    def __init__(
        self,
        host: int,
        gpu: int,
        *,
        resting_limit: float = RESTING_LIMIT,
        starting: int | None = None,
        measure_host: Callable[[int], int] = private_bytes,
        measured_bytes: Callable[[int], int] = tree_bytes,
        gpu_bytes: Callable[[Sequence[int]], int] | None = None,
    ) -> None:
        """``host`` and ``gpu`` are in bytes; ``gpu`` is 0 without a GPU.

        At most ``starting`` workers start at the same time, by default one per core.
        ``measure_host`` and ``gpu_bytes`` return the memory of preview workers, and
        ``measured_bytes`` returns the host memory of measuring workers.
        """
        self.host = host
        self.gpu = gpu
        self.resting_limit = resting_limit
        self._starting_limit = starting or max(2, len(os.sched_getaffinity(0)))
        self._measure_host = measure_host
        self._measured_bytes = measured_bytes
        self._gpu_bytes = gpu_bytes or GpuMeter()
        self._members: weakref.WeakSet[BudgetMember] = weakref.WeakSet()
        self._taken: weakref.WeakKeyDictionary[BudgetMember, int] = weakref.WeakKeyDictionary()
        self._told: weakref.WeakKeyDictionary[BudgetMember, float] = weakref.WeakKeyDictionary()
        """Time of the last request to drop caches while idle, by member."""
        self._crowded = False
        """True if there was not enough memory for the last worker that waited to start."""
        self._gpu_each = 0
        """Average GPU memory per worker at the last check, in bytes."""
        self._starting: list[BudgetMember] = []
        self._waiting: list[_Ticket] = []
        "Workers waiting to start, in order."
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None

    def join(self, member: BudgetMember) -> None:
        """Add an engine. Its worker counts towards the budget as long as the engine exists."""
        with self._lock:
            self._members.add(member)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=_watch, args=(weakref.ref(self),), name="workbench-memory", daemon=True
                )
                self._thread.start()

    def share(self) -> tuple[int, int]:
        """Return the cache limit of each preview worker in bytes, on the host and on the GPU."""
        with self._lock:
            previews = [member for member in self._alive() if not member.measures]
            count = max(1, len(previews) + len(self._starting))
            rest = int(self.host * TIGHT) - self._measuring()
        usual = default_budget()
        host = min(usual["cpu"], rest // count - FRESH_HOST)
        gpu = min(usual["gpu"], int(self.gpu * TIGHT) // count - FRESH_GPU)
        return max(LEAST_KEPT, host), max(LEAST_KEPT, gpu) if self.gpu else 0

    @contextmanager
    def starting(
        self,
        member: BudgetMember,
        require_wanted: Callable[[], None],
        on_wait: Callable[[str], None] = lambda words: None,
    ) -> Iterator[None]:
        """Wait until there is enough memory for a worker, then count it as starting.

        ``require_wanted`` is called repeatedly and raises to cancel. ``on_wait`` is called with the
        reason for waiting, and then with an empty text. Measurements start before previews.
        """
        ticket = _Ticket(member.measures)
        reported = ""
        with self._lock:
            self._waiting.append(ticket)
            self._waiting.sort(key=lambda each: not each.measures)
        try:
            pause = threading.Event()
            while not self._admit(ticket, member):
                require_wanted()
                reason = self._reason(member)
                if reason != reported:
                    reported = reason
                    on_wait(reported)
                pause.wait(_TICK)
        finally:
            with self._lock:
                self._waiting.remove(ticket)
            if reported:
                on_wait("")
        try:
            yield
        finally:
            with self._lock:
                self._starting.remove(member)

    def _admit(self, ticket: object, member: BudgetMember) -> bool:
        with self._lock:
            if self._waiting[0] is not ticket or len(self._starting) >= self._starting_limit:
                return False
            room = self._make_room(FRESH_HOST, self._estimated_gpu_bytes())
            self._crowded = not room
            if not room and not (member.measures and not self._previews_at_work()):
                return False
            self._starting.append(member)
            return True

    def _reason(self, member: BudgetMember) -> str:
        """Return why a worker waits, or "" if it waits only for other workers that start."""
        with self._lock:
            if not self._crowded:
                return ""
            if member.measures:
                return "waiting for memory that previews use"
            if any(each.measures for each in self._alive()):
                return "waiting for memory that a measurement uses"
        return "waiting for memory"

    def _previews_at_work(self) -> bool:
        return any(
            not member.measures and member.resting_since is None
            for member in (*self._alive(), *self._starting)
        )

    def _measuring(self) -> int:
        """Return the number of bytes that measurements used at the last check."""
        return sum(self._taken.get(member, 0) for member in self._alive() if member.measures)

    def enforce(self) -> None:
        """Measure the memory of all workers, and enforce the budget. Called every second."""
        with self._lock:
            now = time.monotonic()
            for member in self._idle_workers():
                if now - (member.resting_since or now) > self.resting_limit:
                    member.end_if_idle()
            host, gpu = self.used()
            if host > self.host * TIGHT or gpu > self.gpu * TIGHT:
                self._drop_idle_caches()
            if not self._make_room(0, 0):
                self._end_largest()

    def used(self) -> tuple[int, int]:
        """Return the number of bytes that all workers use now, on the host and on the GPU.

        For a worker that is starting, its estimated size is added.
        """
        with self._lock:
            host = 0
            for member in self._alive():
                measure = self._measured_bytes if member.measures else self._measure_host
                try:
                    bytes_used = measure(member.pid or 0)
                except (psutil.Error, ValueError):  # it has just ended
                    bytes_used = 0
                self._taken[member] = bytes_used
                host += max(bytes_used, FRESH_HOST) if member in self._starting else bytes_used
            alive = self._alive()
            host += FRESH_HOST * sum(member not in alive for member in self._starting)
            if not self.gpu:
                return host, 0
            pids = [member.pid for member in alive if member.pid is not None]
            bytes_used = self._gpu_bytes(pids)
            known = len(pids) - sum(member in alive for member in self._starting)
            if known > 0 and not any(member.measures for member in alive):
                self._gpu_each = bytes_used // known
            return host, bytes_used + self._estimated_gpu_bytes() * len(self._starting)

    def _estimated_gpu_bytes(self) -> int:
        """Return a new worker's estimated GPU memory: at least the existing workers' average."""
        return max(FRESH_GPU, self._gpu_each) if self.gpu else 0

    def _alive(self) -> list[BudgetMember]:
        return [member for member in self._members if member.pid is not None]

    def _idle_workers(self) -> list[BudgetMember]:
        """Return the idle preview workers, starting with the one that has been idle longest."""
        found = [
            member
            for member in self._alive()
            if member.resting_since is not None and not member.measures
        ]
        return sorted(found, key=lambda member: member.resting_since or 0.0)

    def _fits(self, host: int, gpu: int) -> bool:
        used = self.used()
        alone = not self._alive() and not self._starting  # at least one may start
        return (used[0] + host <= self.host or alone) and (
            not self.gpu or used[1] + gpu <= self.gpu or alone
        )

    def _make_room(self, host: int, gpu: int) -> bool:
        for member in self._idle_workers():
            if self._fits(host, gpu):
                return True
            member.end_if_idle()
        return self._fits(host, gpu)

    def _drop_idle_caches(self) -> None:
        for member in self._idle_workers():
            since = member.resting_since or 0.0
            if self._told.get(member) != since and member.drop_caches():
                self._told[member] = since

    def _end_largest(self) -> None:
        """If the budget is exceeded and no worker is idle, end the worker with the most memory."""
        busy = [member for member in self._alive() if not member.measures]
        if not busy:
            return
        host = self.used()[0]
        if host <= self.host:  # lack of GPU memory is reported by DALI
            return
        largest = max(busy, key=lambda member: self._taken.get(member, 0))
        largest.end_for_memory(
            f"was terminated: it used {self._taken.get(largest, 0) / 2**30:.1f} GiB, and all "
            f"workers together used {host / 2**30:.1f} GiB; the limit is {self.host / 2**30:.1f} "
            "GiB. Use fewer tiles or smaller images."
        )


def _watch(budget: weakref.ref[MemoryBudget]) -> None:
    pause = threading.Event()
    while not pause.wait(_LOOK):
        alive = budget()
        if alive is None:
            return
        alive.enforce()
        del alive


@cache
def shared_budget() -> MemoryBudget:
    """Return the budget for previews in this process: half of the host's and the GPU's memory."""
    gpu = int(describe_machine().gpu_memory_gib * 2**30)
    return MemoryBudget(usable_memory() // 2, gpu // 2)


class GpuMeter:
    """Measures the memory that processes use on CUDA's device 0.

    In most containers the driver does not report individual processes. Then the result is the
    increase of the GPU's used memory since the meter was last called without processes.
    """

    def __init__(self) -> None:
        self._gpu: Gpu | None = None
        self._before: int | None = None

    def __call__(self, pids: Sequence[int]) -> int:
        """Return the number of bytes that these processes use together, or 0 if unknown."""
        if self._gpu is None:
            self._gpu = Gpu(first_visible_gpu())
        if not pids:
            self._before = self._gpu.memory_used()
            return 0
        measured = [self._gpu.memory_of(pid) for pid in pids]
        known = [bytes_ for bytes_ in measured if bytes_ is not None]
        if len(known) == len(measured):
            return sum(known)
        now = self._gpu.memory_used()
        if now is None:
            return sum(known)
        return max(0, now - (self._before or 0))
