"""The worker's side of a measurement: builds what is measured, runs rounds of it.

The loop is that of a plain script with a clock reading for each batch. Runs inside the worker
process only, but for the values that it sends.
"""

from __future__ import annotations

import gc
import itertools
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import psutil

from workbench.emit.core.code import Code
from workbench.engine.build.pipelines import CompiledSource
from workbench.engine.protocol.registry import sendable, task
from workbench.engine.resources.gpu import Gpu, first_visible_gpu
from workbench.engine.resources.process_memory import give_back_free
from workbench.engine.run.worker import Worker
from workbench.errors import DataError, EngineError, PipelineError, WorkbenchError
from workbench.sources import Datasets, failure_reason, require_dataset

REPORT_EVERY = 0.5
"""Seconds between reports in a round. One takes 12 µs to send; the listener draws it, on the cores
that are being measured."""
_KEY, _END = "bench", "bench: end of a round without a pause behind it"
_LEAD, _LONGEST_LEAD = 0.2, 1.0
_QUIET = 0.03
_QUIET_LIMIT = 3.0
_SECONDS = 5
"""A round of fewer has no rate by the second."""


class Workload(Protocol):
    """Something that gives batches."""

    lead: int
    """Batches that may lie ready after a pause; so many are run before a round is timed."""

    def run(self) -> int:
        """Bring one batch to its end, on its device; gives the number of real samples in it."""
        ...


class Job(Protocol):
    """What a worker is told to measure: a dataclass with ``@sendable``."""

    def start(self) -> Workload:
        """Build it, in the worker."""
        ...


@dataclass(frozen=True, slots=True)
class StartupStats:
    """What is known after the first batch; memory in bytes, None where it cannot be told."""

    first_batch_seconds: float
    host_bytes: int
    gpu_bytes: int | None


@dataclass(frozen=True, slots=True)
class TimedRound:
    """One round.

    ``cpu_seconds`` is the CPU time of the worker and its children; ``others`` is how many cores
    something else kept busy meanwhile (of those that the worker may use), None where the system
    does not tell. ``latencies`` (s, one for each batch) are not kept in a record; ``by_second`` is
    imgs/s of each whole second of a round that is long enough to have several.
    """

    seconds: float
    batches: int
    samples: int
    cpu_seconds: float
    others: float | None = None
    process: int = 0
    latencies: tuple[float, ...] = field(default=(), repr=False)
    by_second: tuple[float, ...] = field(default=(), repr=False)

    @property
    def imgs_per_s(self) -> float:
        """Real samples a second."""
        return self.samples / self.seconds

    @property
    def slowest_second(self) -> float | None:
        """The slowest second's rate as a share of the median second's; None of a short round."""
        if not self.by_second:
            return None
        return min(self.by_second) / statistics.median(self.by_second)


@sendable
@dataclass(frozen=True, slots=True)
class ScriptJob:
    """The exported source, as the user runs it. ``to_host`` copies every output to the host."""

    source: Code
    data: Datasets
    device: str
    prefetch: int
    to_host: bool = False

    def start(self) -> Workload:
        return _ScriptWorkload(self)


class _ScriptWorkload:
    def __init__(self, job: ScriptJob) -> None:
        self._job = job
        self._compiled = CompiledSource(job.source)
        self._batch = 0
        try:
            pipes = self._compiled.build(job.data, job.device)
            self._batches = self._compiled.batches(pipes)
            real = [
                real_samples(list(pipe.reader_meta().values()), pipe.max_batch_size)
                for pipe in pipes
            ]
            self._real: Iterator[int] = itertools.chain.from_iterable(zip(*real, strict=True))
        except Exception as error:
            raise self._explained(error) from None
        self.lead = len(pipes) * (job.prefetch + 2)

    def run(self) -> int:
        try:
            outputs = next(self._batches)
            if self._job.to_host:
                for output in outputs:
                    if hasattr(output, "as_cpu"):
                        output.as_cpu()
        except Exception as error:
            raise self._explained(error) from None
        self._batch += 1
        return min(len(outputs[0]), next(self._real))

    def _explained(self, error: Exception) -> WorkbenchError:
        if isinstance(error, WorkbenchError):
            return error
        for dataset in self._job.data.values():
            if why := failure_reason(dataset, str(error)):
                return DataError(why)
            try:
                require_dataset(dataset)
            except DataError as reason:
                return reason
            try:
                require_dataset(dataset, self._job.device)
            except DataError as reason:  # the other side may decode it
                return EngineError(str(reason))
        explained = self._compiled.error(error)
        if self._batch:
            return PipelineError(f"batch {self._batch}: {explained}", explained.node)
        return explained


def real_samples(readers: list[dict[str, Any]], batch_size: int) -> Iterator[int]:
    """How many samples of each batch are no padding, batch after batch.

    ``readers`` are DALI's ``reader_meta``. A reader pads where ``pad_last_batch`` is set: each
    epoch then fills its last batch, and a shard that is shorter than another, with its last sample.
    Otherwise the next epoch's samples fill it, which are as real as any.
    """
    padding = [meta for meta in readers if meta.get("pad_last_batch")]
    epoch = 0
    while not padding:
        yield batch_size
    while True:
        for batch in range(max(_batches(meta, batch_size) for meta in padding)):
            yield min(
                max(0, min(batch_size, _shard_size(meta, epoch) - batch * batch_size))
                for meta in padding
            )
        epoch += 1


def _batches(meta: dict[str, Any], batch_size: int) -> int:
    shard: int = meta["epoch_size_padded"] // meta["number_of_shards"]
    return max(1, -(-shard // batch_size))


def _shard_size(meta: dict[str, Any], epoch: int) -> int:
    """As DALI's ``start_index``: shard s of n begins at size * s / n, rounded down."""
    size, shards, shard = meta["epoch_size"], meta["number_of_shards"], meta["shard_id"]
    if not meta.get("stick_to_shard"):
        shard = (shard + epoch) % shards
    return int(size * (shard + 1) // shards - size * shard // shards)


@dataclass(frozen=True, slots=True)
class _Clocks:
    """The time, the CPU time of the worker and its children, and that of all on its cores; in s."""

    time: float
    cpu: float
    busy: float | None

    @classmethod
    def read(cls, children: list[int]) -> _Clocks:
        cpu, busy = cpu_seconds(children), busy_seconds()
        return cls(time.perf_counter(), cpu, busy)


@task
def start_workload(worker: Worker, job: Job, cores: tuple[int, ...] = ()) -> StartupStats:
    """Task: build it and run its first batch. ``cores`` is where it may run, empty for anywhere.

    What this worker had built before goes, with its memory.
    """
    if cores:
        os.sched_setaffinity(0, cores)
    worker.report(0.0)
    if worker.kept.pop(_KEY, None) is not None:
        _drop_the_last(worker)
    gpu = Gpu(first_visible_gpu())
    before = gpu.memory_used()
    start = time.perf_counter()
    workload = job.start()
    workload.run()
    spent = time.perf_counter() - start
    worker.kept[_KEY] = workload
    after = gpu.memory_used()
    # That of the process is not told in every container: then the whole GPU's, before and after.
    taken = gpu.memory_of(os.getpid())
    if taken is None and before is not None and after is not None:
        taken = max(0, after - before)
    return StartupStats(spent, peak_host_bytes(descendants(os.getpid())), taken)


def _drop_the_last(worker: Worker) -> None:
    """Give back what the workload before took, so that the next begins as in a fresh process."""
    worker.kept.pop(_END, None)
    gc.collect()
    backend: Any = import_module("nvidia.dali.backend")
    backend.ReleaseUnusedMemory()  # DALI's pools keep what pipelines of the past had
    give_back_free()
    forget_peak()


@task
def run_round(
    worker: Worker,
    seconds: float,
    batches: int,
    start_at: float | None = None,
    pause: bool = True,
) -> TimedRound:
    """Task: one round of at least so many seconds and batches.

    What lay ready from the pause before is run first and not counted, and a fifth of the round's
    time (1 s at most), in which clocks rise again: a round begins and ends in the midst of steady
    work. ``start_at`` (of ``time.perf_counter``, which all processes of a machine share) lets
    several workers begin together. Returns when the worker is quiet again. Without ``pause`` it
    returns at once, and the next round begins where this one ended: its time counts from there.
    """
    workload: Workload = worker.kept[_KEY]
    children = descendants(os.getpid())
    began: _Clocks | None = worker.kept.pop(_END, None)
    if began is None:
        ready = workload.lead if pause else 0
        hot = time.perf_counter() + min(_LEAD * seconds, _LONGEST_LEAD)
        while ready > 0 or time.perf_counter() < hot:
            workload.run()
            ready -= 1
        while start_at is not None and time.perf_counter() < start_at:
            workload.run()  # not asleep: the queues would fill again
        began = _Clocks.read(children)
    latencies: list[float] = []
    samples = 0
    start = before = reported = began.time
    while True:
        samples += workload.run()
        now = time.perf_counter()
        latencies.append(now - before)
        before = now
        if now - start >= seconds and len(latencies) >= batches:
            break
        if now - reported > REPORT_EVERY:
            reported = now
            worker.report(min(1.0, (now - start) / max(seconds, 1e-9)))
    spent = now - start
    ended = replace(_Clocks.read(children), time=now)
    used = ended.cpu - began.cpu
    others = None
    if began.busy is not None and ended.busy is not None:
        others = max(0.0, (ended.busy - began.busy - used) / spent)
    if pause:
        _wait_until_idle(children)
    else:
        worker.kept[_END] = ended
    return TimedRound(
        spent,
        len(latencies),
        samples,
        used,
        others,
        latencies=tuple(latencies),
        by_second=rates_by_second(latencies, samples),
    )


def rates_by_second(latencies: Sequence[float], samples: int) -> tuple[float, ...]:
    """imgs/s of each whole second of a round of five seconds or more, else none.

    ``latencies`` are those of its batches in s. A batch counts to each second in the share of its
    time that falls into it, so that a few large batches a second do not seem to come in bursts.
    """
    ends = np.cumsum(latencies)
    whole = int(ends[-1]) if len(ends) else 0
    if whole < _SECONDS:
        return ()
    at = np.interp(np.arange(whole + 1), [0.0, *ends], np.linspace(0.0, samples, len(ends) + 1))
    return tuple(map(float, np.diff(at)))


def _wait_until_idle(children: list[int]) -> None:
    """Wait until the queues are full, so that they do not fill in somebody else's round."""
    deadline = time.perf_counter() + _QUIET_LIMIT
    while time.perf_counter() < deadline:
        before = cpu_seconds(children)
        time.sleep(_QUIET)
        if cpu_seconds(children) - before < _QUIET / 10:
            return


@task
def memory_usage(worker: Worker) -> tuple[int, int | None]:
    """Task: the most host memory so far, and the GPU memory of the process now, in bytes.

    DALI's pools on the GPU do not shrink, so that is their peak; None where it is not told.
    """
    pid = os.getpid()
    return peak_host_bytes(descendants(pid)), Gpu(first_visible_gpu()).memory_of(pid)


# What a measurement takes of the machine, and what something else takes meanwhile.
#
# What psutil has not got, the peak of a process and the time of a core by its number, comes from
# ``/proc`` (proc(5)). What cannot be told is None, which is written as "not measured".

_TICKS = os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    """Process ids of the children of a process, and of theirs."""
    with suppress(psutil.NoSuchProcess):
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return []


def cpu_seconds(children: list[int]) -> float:
    """CPU time of this process, all its threads included, and of some other processes."""
    return time.process_time() + sum(map(_process_seconds, children))


def _process_seconds(pid: int) -> float:
    with suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return 0.0


def busy_seconds() -> float | None:
    """CPU time that all processes, and other guests of the host, took of the cores of this one."""
    usable = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    ticks = 0
    try:
        for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
            name, *fields = line.split()
            if name in usable:  # user, nice, system, (idle, iowait), irq, softirq, steal
                values = [int(field) for field in fields[:8]]
                ticks += sum(values[:3]) + sum(values[5:8])
    except (OSError, ValueError):
        return None
    return ticks / _TICKS


def peak_host_bytes(children: list[int]) -> int:
    """The most host memory that this process, and some others, have occupied (VmHWM)."""
    return sum(_high_water(pid) for pid in [os.getpid(), *children])


def _high_water(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def forget_peak() -> None:
    """Let ``peak_host_bytes`` of this process begin anew from what it occupies now (proc(5))."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
