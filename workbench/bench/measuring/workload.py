"""Build a job and run its rounds. This part of a measurement runs in the worker.

The loop is that of a plain script, except that it reads the clock for each batch. Only the message
classes are used outside the worker process.
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
from workbench.engine.resources.process_memory import trim_heaps
from workbench.engine.run.worker import Worker
from workbench.errors import DataError, EngineError, PipelineError, WorkbenchError
from workbench.sources import Datasets, failure_reason, require_dataset

REPORT_EVERY = 0.5
"""Maximum seconds between progress reports in a round, at which the use of the GPU is read too.
Sending a report takes 12 µs, and displaying it uses the cores being measured.
"""
_KEY, _END = "bench", "bench: end of a round without a pause behind it"
_LEAD, _LONGEST_LEAD = 0.2, 1.0
_QUIET = 0.03
_QUIET_LIMIT = 3.0
_SECONDS = 5
"""Minimum seconds of a round for which rates per second are reported."""


class Workload(Protocol):
    """Protocol of an object that produces batches."""

    lead: int
    """Maximum number of batches that may be queued after a pause. These run before timing
    starts.
    """

    def run(self) -> int:
        """Compute one batch, wait for it, and return its number of samples without padding."""
        ...


class Job(Protocol):
    """Protocol of a job that a worker measures: a dataclass decorated with ``@sendable``."""

    def start(self) -> Workload:
        """Build and return the workload. Called in the worker."""
        ...


@dataclass(frozen=True, slots=True)
class StartupStats:
    """Seconds until the first batch, and memory of the worker in bytes (None if unknown)."""

    first_batch_seconds: float
    host_bytes: int
    gpu_bytes: int | None


@dataclass(frozen=True, slots=True)
class TimedRound:
    """Timing of one round.

    ``cpu_seconds`` is the CPU time of the worker and its children. ``others`` is the number of the
    worker's cores that other processes used, or None if unknown. ``latencies`` (seconds per batch)
    are not stored in a record. ``by_second`` has the imgs/s of each whole second of a long round.
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
        """Number of samples per second, without padding."""
        return self.samples / self.seconds

    @property
    def slowest_second(self) -> float | None:
        """Rate of the slowest second relative to the median second, or None for a short round."""
        if not self.by_second:
            return None
        return min(self.by_second) / statistics.median(self.by_second)


@sendable
@dataclass(frozen=True, slots=True)
class ScriptJob:
    """Job that runs the exported script as a user would.

    If ``to_host`` is True, every output is copied to the host.
    """

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
            raise self._as_workbench_error(error) from None
        self.lead = len(pipes) * (job.prefetch + 2)

    def run(self) -> int:
        try:
            outputs = next(self._batches)
            if self._job.to_host:
                for output in outputs:
                    if hasattr(output, "as_cpu"):
                        output.as_cpu()
        except Exception as error:
            raise self._as_workbench_error(error) from None
        self._batch += 1
        return min(len(outputs[0]), next(self._real))

    def _as_workbench_error(self, error: Exception) -> WorkbenchError:
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
            except DataError as reason:  # it may decode on the other device
                return EngineError(str(reason))
        explained = self._compiled.error(error)
        if self._batch:
            return PipelineError(f"batch {self._batch}: {explained}", explained.node)
        return explained


def real_samples(readers: list[dict[str, Any]], batch_size: int) -> Iterator[int]:
    """Yield the number of samples of each batch, without padding.

    ``readers`` are DALI's ``reader_meta``. With ``pad_last_batch``, a reader pads the last batch of
    each epoch, and a short shard, by repeating its last sample. Without it, a batch continues with
    the samples of the next epoch, which all count.
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
    """Return the size of the shard read in an epoch.

    As in DALI, shard s of n starts at size * s / n, rounded down.
    """
    size, shards, shard = meta["epoch_size"], meta["number_of_shards"], meta["shard_id"]
    if not meta.get("stick_to_shard"):
        shard = (shard + epoch) % shards
    return int(size * (shard + 1) // shards - size * shard // shards)


@dataclass(frozen=True, slots=True)
class _Clocks:
    """Wall time, CPU time of the worker, and CPU time of all processes on its cores, in seconds.

    ``queued`` is the time for which the workload continues computing while no batch is requested.
    """

    time: float
    cpu: float
    busy: float | None
    queued: float = 0.0

    @classmethod
    def read(cls, children: list[int]) -> _Clocks:
        cpu, busy = cpu_seconds(children), busy_seconds()
        return cls(time.perf_counter(), cpu, busy)


@task
def start_workload(worker: Worker, job: Job, cores: tuple[int, ...] = ()) -> StartupStats:
    """Task: build a job and run its first batch. ``cores`` sets the CPU affinity unless empty.

    The worker's previous workload and its memory are released.
    """
    if cores:
        os.sched_setaffinity(0, cores)
    worker.report(0.0)
    if worker.kept.pop(_KEY, None) is not None:
        _release_previous(worker)
    gpu = Gpu(first_visible_gpu())
    before = gpu.memory_used()
    start = time.perf_counter()
    workload = job.start()
    workload.run()
    spent = time.perf_counter() - start
    worker.kept[_KEY] = workload
    after = gpu.memory_used()
    # Some containers hide the process's share: then use the whole GPU's memory before and after.
    used = gpu.memory_of(os.getpid())
    if used is None and before is not None and after is not None:
        used = max(0, after - before)
    return StartupStats(spent, peak_host_bytes(descendants(os.getpid())), used)


def _release_previous(worker: Worker) -> None:
    """Release the previous workload, so that the next one starts as in a new process."""
    worker.kept.pop(_END, None)
    gc.collect()
    backend: Any = import_module("nvidia.dali.backend")
    backend.ReleaseUnusedMemory()  # DALI's pools keep memory of former pipelines
    trim_heaps()
    forget_peak()


@task
def run_round(
    worker: Worker,
    seconds: float,
    batches: int,
    start_at: float | None = None,
    pause: bool = True,
) -> TimedRound:
    """Task: run one round of at least ``seconds`` and ``batches``.

    Two things run first and are not counted, so that the round starts in a steady state: the
    batches queued during the preceding pause, and a fifth of the round's time (at most 1 s), in
    which clock frequencies rise. ``start_at`` (``time.perf_counter``, which all processes of a
    machine share) synchronises several workers. With ``pause``, the task waits until the worker is
    idle. Without it, the next round follows immediately: its time starts when this one ends, unless
    the workload was idle in between. Then the queued batches run first and are not counted.
    """
    workload: Workload = worker.kept[_KEY]
    children = descendants(os.getpid())
    began: _Clocks | None = worker.kept.pop(_END, None)
    ready = workload.lead if pause else 0
    hot = time.perf_counter() + min(_LEAD * seconds, _LONGEST_LEAD)
    if began is not None and time.perf_counter() - began.time > began.queued:
        began, ready, hot = None, workload.lead, 0.0
    if began is None:
        while ready > 0 or time.perf_counter() < hot:
            workload.run()
            ready -= 1
        while start_at is not None and time.perf_counter() < start_at:
            workload.run()  # not asleep: the queues would fill again
        began = _Clocks.read(children)
    latencies: list[float] = []
    samples = 0
    every = min(REPORT_EVERY, seconds / 2)
    start = before = reported = began.time
    while True:
        samples += workload.run()
        now = time.perf_counter()
        latencies.append(now - before)
        before = now
        if now - start >= seconds and len(latencies) >= batches:
            break
        if now - reported > every:
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
        # A queue of n batches is computed within n - 1 batches' time; ``lead`` is n + 2.
        queued = (workload.lead - 3) * spent / len(latencies)
        worker.kept[_END] = replace(ended, queued=queued)
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
    """Return the imgs/s of each whole second of a round, or () if it is shorter than five seconds.

    ``latencies`` are the times of the batches in seconds. A batch counts proportionally for each
    second it spans, so that a few large batches per second do not appear as bursts.
    """
    ends = np.cumsum(latencies)
    whole = int(ends[-1]) if len(ends) else 0
    if whole < _SECONDS:
        return ()
    at = np.interp(np.arange(whole + 1), [0.0, *ends], np.linspace(0.0, samples, len(ends) + 1))
    return tuple(map(float, np.diff(at)))


def _wait_until_idle(children: list[int]) -> None:
    """Wait until the queues are full, so that filling them does not disturb the next round."""
    deadline = time.perf_counter() + _QUIET_LIMIT
    while time.perf_counter() < deadline:
        before = cpu_seconds(children)
        time.sleep(_QUIET)
        if cpu_seconds(children) - before < _QUIET / 10:
            return


@task
def memory_usage(worker: Worker) -> tuple[int, int | None]:
    """Task: return the peak host memory and the current GPU memory of the process, in bytes.

    GPU memory is None if unknown. The current value is also the peak, because DALI's GPU pools do
    not shrink.
    """
    pid = os.getpid()
    return peak_host_bytes(descendants(pid)), Gpu(first_visible_gpu()).memory_of(pid)


# Resources used by a measurement, and by other processes meanwhile.
#
# What psutil lacks, a process's peak memory and the time of a core by number, comes from ``/proc``
# (proc(5)). Unknown values are None and written as "not measured".

_TICKS = os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    """Return the process ids of all descendants of a process."""
    with suppress(psutil.NoSuchProcess):
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return []


def cpu_seconds(children: list[int]) -> float:
    """Return the CPU time in seconds of this process with all its threads, and of ``children``."""
    return time.process_time() + sum(map(_process_seconds, children))


def _process_seconds(pid: int) -> float:
    with suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return 0.0


def busy_seconds() -> float | None:
    """Return the CPU time in seconds that all processes and guests used on this process's cores."""
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
    """Return the peak host memory in bytes of this process and ``children`` (VmHWM)."""
    return sum(_peak_resident_bytes(pid) for pid in [os.getpid(), *children])


def _peak_resident_bytes(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def forget_peak() -> None:
    """Reset ``peak_host_bytes`` of this process to its current memory (proc(5))."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
