"""Run the workers of one configuration: usually one, or several for parallel processes or GPUs."""

from __future__ import annotations

import math
import os
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from workbench.bench.measuring.workload import (
    Job,
    StartupStats,
    TimedRound,
    memory_usage,
    run_round,
    start_workload,
)
from workbench.engine.protocol.heartbeat import warn_of_silence
from workbench.engine.protocol.process import Engine
from workbench.engine.resources.gpu import Gpu, GpuUse, first_visible_gpu
from workbench.errors import EngineError

SILENCE_LIMIT = 300.0
"""Seconds without a batch after which a worker is considered hung. The first batch fills the
queues, which takes longest.
"""
_TOGETHER = 0.05
"""Seconds from sending parallel workers a start time until they start. Sending takes less."""


T = TypeVar("T")


class StopClock(threading.Event):
    """Event that is set if ``stop`` is set, or if the timeout of the last ``allow`` has expired.

    An ``Engine`` with this event cancels whatever its worker does: start, import or round.
    """

    def __init__(self, stop: threading.Event) -> None:
        super().__init__()
        self._stop = stop
        self._until = math.inf

    def allow(self, seconds: float) -> None:
        """Start a timeout for the next step, in seconds. Infinity means no timeout."""
        self._until = time.monotonic() + seconds

    def is_set(self) -> bool:
        """Return whether the stop event is set or the timeout has expired."""
        return self._stop.is_set() or time.monotonic() >= self._until


class WorkerGroup:
    """New workers, one for each job. Once ``stop`` is set, calls raise CancelledError."""

    def __init__(
        self,
        jobs: Sequence[Job],
        stop: threading.Event,
        environments: Sequence[Mapping[str, str]] = (),
        cores: Sequence[tuple[int, ...]] = (),
        on_silence: Callable[[bool], None] = warn_of_silence,
        on_wait: Callable[[str], None] = lambda words: None,
    ) -> None:
        """``environments`` and ``cores`` have one item per job, or are empty.

        ``on_silence`` and ``on_wait`` are the callbacks of each worker's ``Engine``.
        """
        self._jobs = jobs
        self._cores = cores or [()] * len(jobs)
        self._on_silence, self._on_wait = on_silence, on_wait
        found = environments or [{}] * len(jobs)
        self._clock = StopClock(stop)
        self._engines = [
            Engine(
                environment=each,
                stop=self._clock,
                on_silence=lambda silent: self._on_silence(silent),
                on_wait=lambda words: self._on_wait(words),
                measures=True,
                restarts=False,
            )
            for each in found
        ]
        self._stop = stop
        uuids = dict.fromkeys(first_visible_gpu({**os.environ, **each}) for each in found)
        self._gpus = [Gpu(uuid) for uuid in uuids]
        self._lead: float | None = None

    def allow(self, seconds: float) -> None:
        """Limit all following steps to ``seconds`` in total. Later steps raise CancelledError."""
        self._clock.allow(seconds)

    def call(self, task: Callable[..., Any], *arguments: Any) -> Any:
        """Run a task other than a round in the first worker, and return its result."""
        return self._engines[0].call(task, *arguments, limit=SILENCE_LIMIT)

    def start(self, on_report: Callable[[float], None]) -> StartupStats:
        """Start the workers in parallel, and run each up to its first batch."""

        def start(index: int, on_report: Callable[[float], None]) -> StartupStats:
            found: Any = self._engines[index].call(
                start_workload,
                self._jobs[index],
                self._cores[index],
                limit=SILENCE_LIMIT,
                on_report=on_report,
            )
            assert isinstance(found, StartupStats)
            return found

        startups = self._together(start, on_report)
        gpus = [one.gpu_bytes for one in startups if one.gpu_bytes is not None]
        return StartupStats(
            max(one.first_batch_seconds for one in startups),
            sum(one.host_bytes for one in startups),
            sum(gpus) if gpus else None,
        )

    def run_round(
        self,
        seconds: float,
        batches: int,
        on_report: Callable[[float], None],
        pause: bool = True,
    ) -> TimedRound:
        """Run one round on all workers at the same time.

        Without ``pause``, a single worker continues with the next round immediately.
        """
        if len(self._engines) == 1:
            engine = self._engines[0]
            return _run_round(engine, seconds, batches, None, on_report, pause)
        # Paused workers take a while to resume; known after the first round.
        start_at = time.perf_counter() + (self._lead or _TOGETHER)
        rounds = self._together(
            lambda place, report: _run_round(
                self._engines[place], seconds, batches, start_at, report
            ),
            on_report,
        )
        self._lead = _TOGETHER + 6 * max(one.seconds / len(one.latencies) for one in rounds)
        own = [core for cores in self._cores for core in cores]
        return merge_rounds(rounds, overlapping=not own or len({*own}) < len(own))

    def _together(
        self,
        task: Callable[[int, Callable[[float], None]], T],
        on_report: Callable[[float], None],
    ) -> list[T]:
        """Call ``task`` for each worker in parallel. The first worker reports progress."""
        if len(self._engines) == 1:
            return [task(0, on_report)]
        with ThreadPoolExecutor(len(self._engines)) as pool:
            try:
                waiting = [
                    pool.submit(task, place, _ignore_report if place else on_report)
                    for place in range(len(self._engines))
                ]
                return [one.result() for one in waiting]
            except KeyboardInterrupt:  # the pool would wait for the tasks to end by themselves
                self._stop.set()
                raise

    def memory(self) -> tuple[int, int | None]:
        """Return the peak host memory and the GPU memory of all workers together, in bytes."""
        found = [engine.call(memory_usage) for engine in self._engines]
        gpus = [gpu for _, gpu in found if gpu is not None]
        return sum(host for host, _ in found), sum(gpus) if gpus else None

    def replace_jobs(
        self,
        jobs: Sequence[Job],
        on_silence: Callable[[bool], None],
        on_wait: Callable[[str], None],
    ) -> None:
        """Replace the jobs. The new jobs run in the same processes after the next ``start``."""
        self._jobs, self._on_silence, self._on_wait = jobs, on_silence, on_wait

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the workers that are alive."""
        return tuple(engine.pid for engine in self._engines if engine.pid is not None)

    def gpu_use(self) -> tuple[GpuUse, ...]:
        """Return the current utilisation of each GPU that the workers use."""
        return tuple(gpu.use() for gpu in self._gpus)

    def close(self) -> None:
        """End the workers and their child processes."""
        for engine in self._engines:
            engine.close()


class ReusableWorker:
    """Worker that successive measurements reuse, to avoid starting processes.

    A worker can only be reused for configurations with one job and without an environment or cores
    of their own. Its memory is released between measurements; a worker whose measurement failed is
    discarded.
    """

    def __init__(self) -> None:
        self._group: WorkerGroup | None = None
        self.reused = False
        """True if the last measurement ran in a reused worker."""

    def reuse(
        self,
        jobs: Sequence[Job],
        on_silence: Callable[[bool], None],
        on_wait: Callable[[str], None],
    ) -> WorkerGroup | None:
        """Assign new jobs to the last measurement's worker, and return it if there is one."""
        group, self._group = self._group, None
        self.reused = group is not None
        if group is not None:
            group.replace_jobs(jobs, on_silence, on_wait)
        return group

    def store(self, group: WorkerGroup) -> None:
        self.close()
        self._group = group

    def call(self, seconds: float, task: Callable[..., Any], *arguments: Any) -> Any:
        """Run a task in the reusable worker, limited to ``seconds``.

        Raises the task's errors, CancelledError after the timeout, and EngineError if there is no
        worker.
        """
        if self._group is None:
            raise EngineError("the worker has ended")
        self._group.allow(seconds)
        try:
            return self._group.call(task, *arguments)
        except EngineError:  # its process may have ended
            self.close()
            raise

    def close(self) -> None:
        if self._group is not None:
            self._group.close()
        self._group = None


def _run_round(
    engine: Engine,
    seconds: float,
    batches: int,
    start_at: float | None,
    on_report: Callable[[float], None],
    pause: bool = True,
) -> TimedRound:
    found: Any = engine.call(
        run_round, seconds, batches, start_at, pause, limit=SILENCE_LIMIT, on_report=on_report
    )
    assert isinstance(found, TimedRound)
    return found


def _ignore_report(_: float) -> None:
    pass


def merge_rounds(rounds: Sequence[TimedRound], overlapping: bool) -> TimedRound:
    """Combine simultaneous rounds of several workers into one round with the sum of the rates.

    ``overlapping`` is True if the workers shared their cores. The load of other processes that a
    worker measures is then mostly the load of the other workers, and is corrected.
    """
    seconds = statistics.fmean(one.seconds for one in rounds)
    known = [one.others for one in rounds if one.others is not None]
    others = sum(known) if known else None
    if known and overlapping:
        cores = [one.cpu_seconds / one.seconds for one in rounds]
        busy = statistics.fmean(o + c for o, c in zip(known, cores, strict=True))
        others = max(0.0, busy - sum(cores))
    return TimedRound(
        seconds,
        sum(one.batches for one in rounds),
        round(sum(one.imgs_per_s for one in rounds) * seconds),
        sum(one.cpu_seconds for one in rounds),
        others,
        latencies=tuple(latency for one in rounds for latency in one.latencies),
    )
