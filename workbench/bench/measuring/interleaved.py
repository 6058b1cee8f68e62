"""Measure configurations interleaved (A B A B, in random order), each in new worker processes.

All speed measurements use the function ``measure``.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.bench.measuring.config import Config
from workbench.bench.measuring.measurement import Measurement, latency_of
from workbench.bench.measuring.measurement_config import MeasurementConfig, StopReason
from workbench.bench.measuring.worker_group import ReusableWorker, WorkerGroup
from workbench.bench.measuring.workload import Job, StartupStats, TimedRound
from workbench.engine.build.pipelines import PREVIEW_ADVICE
from workbench.engine.protocol.progress import Progress, WorkerProgress
from workbench.engine.protocol.worker_process import NEXT_WORKER
from workbench.engine.resources.machine import usable_cores
from workbench.errors import CancelledError, EngineError, WorkerCrashedError

_START_SECONDS = 3.0
"""Estimated seconds for a worker to start, build and return its first batch, until this is
measured.
"""
_WARM = 2
"""Expected number of warm-up rounds."""

OnRows = Callable[[tuple[Measurement, ...]], None]
WARM_UP_CUT = "the time budget ended during the warm-up"
ROUNDS_CUT = "the time budget ended before {} rounds"
ROUND_CUT = "the time budget ended during a round: allow more time"
"""Flag of a result whose last round was ended early by a time limit."""
TIME_UP = "the time budget ended before the first round: allow more time"
"""Reason why a configuration has no result if its time limit was reached."""
NOT_YET = "not measured yet"
"""Reason why a configuration has no result yet."""


@dataclass(frozen=True, slots=True)
class ConfigJobs:
    """Entry to measure: a configuration and its jobs, one for each worker process.

    ``environments`` and ``cores`` have one item per job, or are empty. ``limit`` is the maximum
    host and GPU memory in bytes; None means no limit. ``seconds`` is the total time limit for the
    worker's start, which may import a large library, and all rounds; unused time is shared by all
    entries. ``decodes`` is True if DALI decodes; otherwise there is no warning about idle JPEG
    engines.
    """

    config: Config
    jobs: tuple[Job, ...]
    label: str = ""
    notes: tuple[str, ...] = ()
    environments: tuple[Mapping[str, str], ...] = ()
    cores: tuple[tuple[int, ...], ...] = ()
    limit: tuple[int | None, int | None] = (None, None)
    decodes: bool = True
    seconds: float = math.inf

    @property
    def name(self) -> str:
        return self.label or self.config.label


@dataclass(slots=True)
class ConfigMeasurement:
    """State of a configuration in an interleaved measurement: its workers and results so far."""

    entry: ConfigJobs
    group: WorkerGroup | None = None
    startup: StartupStats | None = None
    warm_up: list[float] = field(default_factory=list)
    settled: bool = True
    rounds: list[TimedRound] = field(default_factory=list)
    peak: tuple[int, int | None] = (0, None)
    gpu_use: list[Any] = field(default_factory=list)
    reason: str = ""
    stop_reason: StopReason | None = None
    spent: float = 0.0
    """Seconds used by the worker for its start and all rounds."""
    round_seconds: float = 0.0
    """Seconds of the last round, including untimed parts."""
    batch_seconds: float = 0.0
    hurried: set[str] = field(default_factory=set)
    """Flags of the result, one for each time limit that ended the measurement early."""
    is_over: bool = False
    """True if the time limit ended a round."""

    @property
    def rates(self) -> list[float]:
        return [one.imgs_per_s for one in self.rounds]


class InterleavedRun:
    """A running interleaved measurement: one candidate per configuration, clock and progress."""

    def __init__(
        self,
        entries: Sequence[ConfigJobs],
        measurement_config: MeasurementConfig,
        stop: threading.Event,
        on_progress: Progress,
        before_round: Callable[[], None] | None = None,
        on_rows: OnRows = lambda rows: None,
        best: float = 0.0,
        reusable: ReusableWorker | None = None,
    ) -> None:
        self.measurement_config = measurement_config
        self._best = best
        self._kept = reusable
        self._pauses = len(entries) > 1 or before_round is not None
        """True if a candidate pauses between its rounds, for other candidates or for untimed
        work.
        """
        self._candidates = [ConfigMeasurement(entry) for entry in entries]
        self._stop = stop
        self._progress = WorkerProgress.of(on_progress)
        self._before_round = before_round
        self._on_rows = on_rows
        self._order = random.Random()
        self._began = time.monotonic()
        self._starts = 0
        self._rounds = 0
        self._spans: list[float] = []
        """Seconds of each completed round, including untimed parts."""
        self._share = 0.0
        self._seconds = 0.0
        self._process = 0
        self._text = ""
        self._failed = ""
        """Error of the last candidate that failed, or "" if none failed."""

    def run(self) -> tuple[Measurement, ...]:
        """Measure all candidates.

        Raises CancelledError. Any other error becomes the reason in the candidate's row.
        """
        try:
            for process in range(self.measurement_config.processes):
                self._process = process
                for candidate in self._shuffled():
                    self._run_guarded(candidate, self._start)
                self._interleave()
                for candidate in self._alive():
                    self._run_guarded(candidate, self._end)
                self._release_all_workers()
        finally:
            self._release_all_workers()
        return tuple(_measurement(candidate) for candidate in self._candidates)

    def _alive(self) -> list[ConfigMeasurement]:
        return [one for one in self._candidates if not (one.reason or one.is_over)]

    def _shuffled(self) -> list[ConfigMeasurement]:
        alive = self._alive()
        return self._order.sample(alive, len(alive))

    def _start(self, candidate: ConfigMeasurement) -> None:
        """Start a new worker and run its first batch and warm-up, while other candidates pause."""
        entry, config = candidate.entry, self.measurement_config
        self._report(f"{entry.name}: building")
        callbacks = self._progress.on_silence, self._progress.on_wait
        began = time.monotonic()
        group = self._kept.reuse(entry.jobs, *callbacks) if self._kept else None
        group = candidate.group = group or WorkerGroup(
            entry.jobs, self._stop, entry.environments, entry.cores, *callbacks
        )
        candidate.spent = 0.0
        group.allow(min(entry.seconds, self._total_left))
        startup = group.start(lambda _: self._check_cancelled())
        candidate.startup = candidate.startup or startup
        _require_room(entry, startup.host_bytes, startup.gpu_bytes)
        self._starts += 1
        candidate.spent = time.monotonic() - began
        candidate.batch_seconds = startup.first_batch_seconds
        rates: list[float] = []
        batches = 0
        while not config.is_warm(rates, batches) and len(rates) < config.warm_up_rounds:
            if rates and config.is_late_to_warm_up(candidate.spent):
                candidate.hurried.add(WARM_UP_CUT)
                break
            self._report(f"{entry.name}: warming up, round {len(rates) + 1}")
            one = self._round(candidate)
            rates.append(one.imgs_per_s)
            batches += one.batches
        candidate.settled &= config.is_warm(rates, batches)
        candidate.warm_up += rates
        self._rounds += _WARM

    def _interleave(self) -> None:
        last = self._process == self.measurement_config.processes - 1
        cycles = 0
        while alive := self._shuffled():
            for candidate in alive:
                self._run_guarded(candidate, self._timed_round)
            cycles += 1
            alive = self._alive()
            stop_reason = self.measurement_config.stop_reason(
                [c.rates for c in alive], self._seconds, self._best
            )
            late = self.measurement_config.is_late(
                [c.spent for c in alive], [c.round_seconds for c in alive], cycles
            )
            if late and cycles < self.measurement_config.rounds:
                for candidate in alive:
                    candidate.hurried.add(ROUNDS_CUT.format(self.measurement_config.rounds))
            if not last and (late or cycles >= self.measurement_config.rounds):
                return
            stop_reason = stop_reason or ("budget" if late else None)
            if last and stop_reason and cycles >= min(2, self.measurement_config.rounds):
                for candidate in alive:
                    candidate.stop_reason = stop_reason
                return

    def _timed_round(self, candidate: ConfigMeasurement) -> None:
        count = len(candidate.rounds) + 1
        self._report(f"{candidate.entry.name}: round {count}")
        one = self._round(candidate)
        candidate.rounds.append(replace(one, process=self._process))
        self._seconds += one.seconds
        self._on_rows(tuple(_partial_measurement(each) for each in self._candidates))
        self._rounds += 1

    def _round(self, candidate: ConfigMeasurement) -> TimedRound:
        assert candidate.group is not None
        began = time.monotonic()
        if self._before_round is not None:
            self._before_round()
        candidate.group.allow(self._seconds_left(candidate))

        def on_report(share: float) -> None:
            self._check_cancelled()
            candidate.gpu_use += candidate.group.gpu_use()  # type: ignore[union-attr]
            self._report("", share)

        one = candidate.group.run_round(
            *self.measurement_config.round_of(candidate.batch_seconds), on_report, self._pauses
        )
        span = max(one.seconds, time.monotonic() - began)
        self._spans.append(span)
        candidate.round_seconds = span
        candidate.spent += span
        candidate.batch_seconds = one.seconds * len(candidate.entry.jobs) / one.batches
        return one

    def _seconds_left(self, candidate: ConfigMeasurement) -> float:
        """Return the seconds left for a candidate's next round. Candidates share unused time."""
        own = candidate.entry.seconds - candidate.spent
        shared = sum(one.entry.seconds - one.spent for one in self._alive())
        return min(max(own, shared), self._total_left)

    @property
    def _total_left(self) -> float:
        """Seconds until the time limits of all entries together are used, also by failed ones."""
        limit = sum(one.entry.seconds for one in self._candidates) * (self._process + 1)
        return limit - (time.monotonic() - self._began)

    def _end(self, candidate: ConfigMeasurement) -> None:
        assert candidate.group is not None
        candidate.group.allow(math.inf)
        host, gpu = candidate.group.memory()
        # If the process's own share is unknown, the GPU memory that the build took is used.
        began_with = candidate.startup.gpu_bytes if candidate.startup else None
        candidate.peak = max(candidate.peak[0], host), gpu if gpu is not None else began_with
        _require_room(candidate.entry, *candidate.peak)

    def _release_all_workers(self) -> None:
        """End all workers in parallel, because each takes up to 0.05 s."""
        with ThreadPoolExecutor(max(1, len(self._candidates))) as pool:
            list(pool.map(self._release_workers, self._candidates))

    def _release_workers(self, candidate: ConfigMeasurement) -> None:
        group, candidate.group = candidate.group, None
        if group is not None and self._kept and not (candidate.reason or candidate.is_over):
            self._kept.store(group)
        elif group is not None:
            group.close()

    def _run_guarded(
        self, candidate: ConfigMeasurement, step: Callable[[ConfigMeasurement], None]
    ) -> None:
        """Call ``step`` for a candidate. An error ends only this candidate."""
        if candidate.reason or candidate.is_over:
            return
        try:
            self._check_cancelled()
            step(candidate)
        except CancelledError:
            self._check_cancelled()
            self._end_overdue(candidate)  # this candidate's time was over, not the run's
        except EngineError as error:
            size = candidate.entry.config.batch_size
            candidate.reason = f"not measured: {without_traceback(error, size)}"
            if isinstance(error, WorkerCrashedError) and error.killed:
                candidate.reason += " If memory ran out, use a smaller batch or fewer threads."
            self._failed = f"; {candidate.entry.name} {candidate.reason.partition('. ')[0]}"
            self._release_workers(candidate)
            self._report("")

    def _end_overdue(self, candidate: ConfigMeasurement) -> None:
        """End a candidate whose time limit is reached. Completed rounds are its result."""
        if candidate.rounds:
            candidate.is_over, candidate.stop_reason = True, "budget"
            candidate.hurried.add(ROUND_CUT)
        else:
            candidate.reason = f"not measured: {TIME_UP}"
        self._release_workers(candidate)

    def _check_cancelled(self) -> None:
        if self._stop.is_set():
            raise CancelledError("Cancelled.")

    def _report(self, text: str, in_round: float = 0.0) -> None:
        """Report the completed fraction, which never decreases, and the remaining time."""
        config = self.measurement_config
        span = sum(self._spans) / len(self._spans) if self._spans else config.round_seconds
        rounds = config.expected_rounds(max(span, config.round_seconds))
        each = _START_SECONDS + (_WARM + rounds) * span
        each = min(each, config.limit or each)
        whole = each * len(self._candidates) * config.processes
        done = _START_SECONDS * self._starts + span * (self._rounds + in_round)
        self._share = max(self._share, min(done / max(whole, done + span, 1e-9), 0.99))
        spent = time.monotonic() - self._began
        left = ""
        if self._share > 0.1:
            left = f", about {format_duration(spent * (1 / self._share - 1))} left"
        self._text = text or self._text
        self._progress(self._share, self._text + left + self._failed)


def measure(
    entries: Sequence[ConfigJobs],
    measurement_config: MeasurementConfig,
    stop: threading.Event,
    on_progress: Progress = lambda share, text: None,
    before_round: Callable[[], None] | None = None,
    on_rows: OnRows = lambda rows: None,
    best: float = 0.0,
    reusable: ReusableWorker | None = None,
) -> tuple[Measurement, ...]:
    """Measure configurations interleaved; return one Measurement each, in the same order.

    All configurations are built and warmed up before the first is timed. If one fails, its
    Measurement has the reason. ``before_round`` runs untimed before each round; ``on_rows`` is
    called after each timed round with all results so far. ``best`` is a known rate: a configuration
    that is much slower may be given up early, if the measurement config allows it. ``reusable``
    contains the previous measurement's worker, if any, and then the worker of this one; without it
    every configuration has a new worker. A single configuration runs without pauses between rounds.
    Once ``stop`` is set, CancelledError is raised within 0.1 s, and all processes are ended.
    """
    if not entries:
        return ()
    return InterleavedRun(
        entries, measurement_config, stop, on_progress, before_round, on_rows, best, reusable
    ).run()


def _require_room(entry: ConfigJobs, host: int, gpu: int | None) -> None:
    for what, used, most in zip(("host", "GPU"), (host, gpu), entry.limit, strict=True):
        if most is not None and used is not None and used > most:
            raise EngineError(
                f"it uses {used / 2**30:.2f} GiB of {what} memory, over the limit of "
                f"{most / 2**30:.2f} GiB"
            )


def without_traceback(error: Exception, batch_size: int = 0) -> str:
    """Return an error's message without a traceback, and without advice about the preview.

    If memory ran out, the message names ``batch_size``, unless it is 0.
    """
    text = str(error).partition("\nTraceback ")[0].replace(NEXT_WORKER, "")
    if batch_size and PREVIEW_ADVICE in text:
        size = f" with a batch size of {batch_size:,}. "
        fix = "`workbench check GRAPH --data DATA --memory` names a batch size that fits."
        return text.replace(f". {PREVIEW_ADVICE}", size + fix)
    return text.replace("Show fewer tiles, or make", "Make")


def format_duration(seconds: float) -> str:
    """Format a duration in seconds, or in minutes from 100 s."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _partial_measurement(candidate: ConfigMeasurement) -> Measurement:
    if candidate.rounds or candidate.reason:
        return _measurement(candidate)
    entry = candidate.entry
    return Measurement(entry.config, reason=NOT_YET, label=entry.label)


def _measurement(candidate: ConfigMeasurement) -> Measurement:
    entry, startup = candidate.entry, candidate.startup
    if candidate.reason:
        return Measurement(entry.config, reason=candidate.reason, label=entry.label)
    busy = [use.gpu for use in candidate.gpu_use if use.gpu is not None]
    jpeg = [use.jpeg for use in candidate.gpu_use if use.jpeg is not None]
    bus = [use.bus for use in candidate.gpu_use if use.bus is not None]
    made = Measurement(
        entry.config,
        tuple(replace(one, latencies=()) for one in candidate.rounds),
        label=entry.label,
        stop_reason=candidate.stop_reason,
        warm_up=tuple(candidate.warm_up),
        settled=candidate.settled,
        latency=latency_of(candidate.rounds),
        first_batch=startup.first_batch_seconds if startup else None,
        host_bytes=candidate.peak[0] or None,
        gpu_bytes=candidate.peak[1],
        gpu_busy=sum(busy) / len(busy) if busy else None,
        jpeg_busy=sum(jpeg) / len(jpeg) if jpeg else None,
        bus_busy=sum(bus) / len(bus) if bus else None,
        notes=entry.notes,
    )
    flags = made.quality_flags(usable_cores(), entry.decodes)
    return replace(made, flags=(*flags, *sorted(candidate.hurried)))
