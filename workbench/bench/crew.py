"""The workers of one configuration: mostly one, several where GPUs work side by side."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from workbench.bench.usage import Gpu, GpuUse, visible_gpu
from workbench.bench.work import Begun, Job, Round, begin, memory_now, run_round
from workbench.engine.process import Engine

SILENCE_LIMIT = 300.0
"""Seconds without a batch before the measurement counts as hung: the first one fills the queues."""
_TOGETHER = 0.05
"""Seconds ahead that several workers are told to begin together: a message takes far less."""


class Crew:
    """Fresh workers, one for each job. Once ``stop`` is set its calls raise CancelledError."""

    def __init__(
        self,
        jobs: Sequence[Job],
        stop: threading.Event,
        environments: Sequence[Mapping[str, str]] = (),
        cores: Sequence[tuple[int, ...]] = (),
    ) -> None:
        """``environments`` and ``cores`` have an entry for each job, or are empty."""
        self._jobs = jobs
        self._cores = cores or [()] * len(jobs)
        found = environments or [{}] * len(jobs)
        self._engines = [Engine(environment=each, stop=stop) for each in found]
        self._stop = stop
        self._gpus = [Gpu(n) for n in sorted({visible_gpu({**os.environ, **e}) for e in found})]
        self._lead: float | None = None

    def begin(self, hear: Callable[[float], None]) -> Begun:
        """Start the workers, one after the other, up to the first batch of each."""
        begun: list[Begun] = [
            engine.call(begin, job, cores, limit=SILENCE_LIMIT, on_report=hear)
            for engine, job, cores in zip(self._engines, self._jobs, self._cores, strict=True)
        ]
        gpus = [one.gpu_bytes for one in begun if one.gpu_bytes is not None]
        return Begun(
            max(one.first_batch_seconds for one in begun),
            sum(one.host_bytes for one in begun),
            sum(gpus) if gpus else None,
        )

    def round(self, seconds: float, batches: int, hear: Callable[[float], None]) -> Round:
        """One round; of several workers, at the same time."""
        if len(self._engines) == 1:
            engine = self._engines[0]
            return _timed(engine, seconds, batches, None, hear)
        # Workers that were paused take a while to get going; after the first round it is known.
        start_at = time.perf_counter() + (self._lead or _TOGETHER)
        with ThreadPoolExecutor(len(self._engines)) as pool:
            try:
                waiting = [
                    pool.submit(_timed, engine, seconds, batches, start_at, heard)
                    for engine, heard in zip(
                        self._engines, [hear, *[_deaf] * (len(self._engines) - 1)], strict=True
                    )
                ]
                rounds = [one.result() for one in waiting]
            except KeyboardInterrupt:  # the pool would wait for the rounds to end by themselves
                self._stop.set()
                raise
        self._lead = _TOGETHER + 6 * max(one.seconds / len(one.latencies) for one in rounds)
        return together(rounds, overlapping=not any(self._cores))

    def memory(self) -> tuple[int, int | None]:
        """Peak host memory and GPU memory of all workers together, in bytes."""
        found = [engine.call(memory_now) for engine in self._engines]
        gpus = [gpu for _, gpu in found if gpu is not None]
        return sum(host for host, _ in found), sum(gpus) if gpus else None

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the workers that are alive."""
        return tuple(engine.pid for engine in self._engines if engine.pid is not None)

    def gpu_use(self) -> tuple[GpuUse, ...]:
        """How busy each of its GPUs was just now."""
        return tuple(gpu.use() for gpu in self._gpus)

    def close(self) -> None:
        """End the workers and what they started."""
        for engine in self._engines:
            engine.close()


def _timed(
    engine: Engine,
    seconds: float,
    batches: int,
    start_at: float | None,
    hear: Callable[[float], None],
) -> Round:
    found: Any = engine.call(
        run_round, seconds, batches, start_at, limit=SILENCE_LIMIT, on_report=hear
    )
    assert isinstance(found, Round)
    return found


def _deaf(_: float) -> None:
    pass


def together(rounds: Sequence[Round], overlapping: bool) -> Round:
    """Rounds that ran at the same time, as one whose rate is the sum of theirs.

    ``overlapping`` says that they shared their cores: then what each saw as the work of others is
    mostly that of its neighbours.
    """
    seconds = statistics.fmean(one.seconds for one in rounds)
    known = [one.others for one in rounds if one.others is not None]
    others = sum(known) if known else None
    if known and overlapping:
        cores = [one.cpu_seconds / one.seconds for one in rounds]
        busy = statistics.fmean(o + c for o, c in zip(known, cores, strict=True))
        others = max(0.0, busy - sum(cores))
    return Round(
        seconds,
        sum(one.batches for one in rounds),
        round(sum(one.imgs_per_s for one in rounds) * seconds),
        sum(one.cpu_seconds for one in rounds),
        others,
        latencies=tuple(latency for one in rounds for latency in one.latencies),
    )
