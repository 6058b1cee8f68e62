"""Search for the fastest number of workers of a program in a comparison, within a time limit.

First the program's probes run one after another in one worker process, which imports the library
once. The remaining time is for rounds that are interleaved with other programs, in a new process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from workbench.bench.experiments.speed_experiment import (
    INTERRUPTED,
    SpeedExperiment,
    interrupted_rows,
)
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.deadline import Deadline, minimum_seconds, start_seconds
from workbench.bench.measuring.interleaved import NOT_YET, TIME_UP, ConfigJobs, without_traceback
from workbench.bench.measuring.measurement import BY_ITSELF, Measurement
from workbench.bench.measuring.measurement_config import PROBE_CONFIG, MeasurementConfig
from workbench.bench.measuring.worker_group import ReusableWorker
from workbench.bench.records.record import Report
from workbench.engine.protocol.progress import WorkerProgress
from workbench.errors import CancelledError, EngineError

GIVE_MORE = "the time limit was reached: allow more time"
_LONG = 300
"""Maximum number of characters in a failure reason. An import error may list all searched paths."""
_CROWDED = 4
"""Maximum number of workers per core."""
_SEARCH = 0.5
"""Fraction of the time limit that the search may use. Only its first probe may take longer."""
_PROBES_WITHIN = 3
"""Number of probes that must fit into the search time."""
_LEAST_SEARCH = 3.0
"""Minimum seconds for a search. With less time, only one worker per core is tried."""

Check = Callable[[Callable[..., Any]], tuple[str, ...]]
"""Function that checks a program in its worker, called through ``Engine.call``, and returns notes.

Raises EngineError. A CancelledError may mean that the time limit was reached.
"""


@dataclass(slots=True)
class ComparedProgram:
    """DALI or a peer library in a comparison.

    ``jobs`` creates the program's jobs for a number of workers (or threads). If it is None,
    ``reason`` explains why the program cannot be measured. ``seconds`` is the total time limit.
    ``check`` validates the program after the first probe. ``label`` is the name of its row.
    """

    config: Config
    jobs: Callable[[int], ConfigJobs] | None = None
    reason: str = ""
    seconds: float = math.inf
    check: Check | None = None
    searches: bool = False
    label: str = ""
    spent: float = 0.0
    start: float = 0.0
    """Seconds from the start of the search to a worker's first round."""
    tried: dict[int, Measurement] = field(default_factory=dict)
    """Probe results by number of workers."""
    notes: tuple[str, ...] = ()
    measured: Measurement | None = None
    """Results of the interleaved rounds, or None."""

    @property
    def seconds_left(self) -> float:
        """Seconds left for interleaved rounds."""
        return self.seconds - self.spent

    @property
    def best(self) -> Measurement | None:
        """Fastest probe, or None if no probe succeeded."""
        found = [row for row in self.tried.values() if row.rounds]
        return max(found, key=lambda row: row.median or 0.0, default=None)

    @property
    def rates(self) -> dict[str, float | None]:
        """Probe results in imgs/s by number of workers (as a string). A failed probe has None."""
        return {str(count): row.median for count, row in sorted(self.tried.items())}

    @property
    def entry(self) -> ConfigJobs | None:
        """The job with the fastest number of workers, or None if nothing can be measured."""
        if self.jobs is None or self.reason:
            return None
        entry = self.jobs(self.best.threads if self.best else self.config.threads)
        if self.tried:
            tried = sorted(self.tried.items())
            rates = ", ".join(f"{count}: {row.figure}" for count, row in tried)
            entry = replace(entry, notes=(*entry.notes, f"workers tried, imgs/s: {rates}"))
        notes = (*entry.notes, *self.notes)
        return replace(entry, notes=notes, seconds=self.seconds_left, label=self.label)

    @property
    def has_time(self) -> bool:
        """True if enough time is left for interleaved rounds."""
        return self.best is None or self.seconds_left >= minimum_seconds([self.best], self.start)

    def row(self, why: str = GIVE_MORE) -> Measurement:
        """Return the program's result. If only a probe was measured, its flag contains ``why``."""
        if self.reason:
            return Measurement(self.config, reason=self.reason, label=self.label)
        known = self.measured
        if known and (known.rounds or (TIME_UP not in known.reason and known.reason != NOT_YET)):
            return known
        if self.best is not None:
            entry = self.entry
            flags = (*self.best.flags, f"{BY_ITSELF}: {why}")
            return replace(self.best, flags=flags, notes=entry.notes if entry else ())
        return known or Measurement(self.config, reason=NOT_YET, label=self.label)


@dataclass(slots=True)
class Control(ComparedProgram):
    """Second measurement of a program with its best number of workers, to estimate the noise."""

    of: ComparedProgram | None = None

    @property
    def entry(self) -> ConfigJobs | None:
        """Measurement job of the program that is measured again, or None if it has no job."""
        found = self.of.entry if self.of else None
        if found is None:
            return None
        config = replace(found.config, program=self.config.program)
        return replace(found, config=config, notes=(), seconds=self.seconds_left)

    def row(self, why: str = GIVE_MORE) -> Measurement:
        """Return the result, with the reason of the other program if that cannot be measured."""
        if self.of is not None and self.of.reason:
            return Measurement(self.config, reason=self.of.reason)
        return ComparedProgram.row(self, why)


class ComparedExperiment(SpeedExperiment):
    """Base class of experiments whose record has one row per program."""

    _compared: Sequence[ComparedProgram] = ()
    """All programs in the order of the record."""
    _in_turns: Sequence[ComparedProgram] = ()
    """Programs in the current interleaved measurement."""

    def extra_results(self, rows: Sequence[Measurement]) -> dict[str, Any]:
        """Return results to store in the record in addition to the rows."""
        return {}

    def measure_programs(
        self,
        programs: Sequence[ComparedProgram],
        progress: WorkerProgress,
        measurement_config: MeasurementConfig | None = None,
    ) -> None:
        """Measure the programs in interleaved rounds, skipping those that cannot be measured."""
        found = [(one, one.entry) for one in programs]
        self._in_turns = [one for one, entry in found if entry is not None]
        entries = [entry for _, entry in found if entry is not None]
        self.on_rows(self.measure(entries, progress, measurement_config))

    def on_rows(self, rows: tuple[Measurement, ...]) -> None:
        """Store the results of a timed round, and publish the rows of all programs."""
        for one, row in zip(self._in_turns, rows, strict=True):
            one.measured = row
        known = [one.row("so far") for one in self._compared]
        self.publish_rows(known, **self.extra_results(known))

    def interrupted_report(self) -> Report | None:
        """Return a report of the rows measured before an interrupt, or None if there are none."""
        rows = interrupted_rows([one.row(INTERRUPTED) for one in self._compared])
        return self.report_so_far(rows, **self.extra_results(rows))


def search_workers(
    experiment: SpeedExperiment, compared: ComparedProgram, cores: int, progress: WorkerProgress
) -> None:
    """Search for the fastest number of workers (or threads), storing each probe in ``tried``.

    The search starts with one worker per core and doubles the number while this is faster;
    otherwise, it halves the number. With a time limit, half of the time is for the search, which
    continues while there is time for another probe. If the first probe fails, its error becomes
    the program's reason. Raises CancelledError if the run is cancelled.
    """
    bounded = math.isfinite(compared.seconds)
    deadline = Deadline(compared.seconds if bounded else None)
    most = _SEARCH * compared.seconds
    how = replace(PROBE_CONFIG, limit=most / _PROBES_WITHIN) if bounded else PROBE_CONFIG
    reusable, last, tried = ReusableWorker(), 0.0, compared.tried
    assert compared.jobs is not None
    jobs = compared.jobs
    config = compared.config
    whose = "threads" if config.program == "DALI" else "workers"

    def rate(workers: int) -> float:
        nonlocal last
        has_room = most >= _LEAST_SEARCH and deadline.seconds_left(_SEARCH) > last
        if workers not in tried and (not tried or has_room):
            began = time.monotonic()
            part = progress.part(
                1 - 0.5 ** len(tried), 1 - 0.5 ** (len(tried) + 1),
                f"{config.program}, {config.device}: {workers} {whose}",
            )  # fmt: skip
            left = deadline.seconds_left(_SEARCH) if tried else deadline.seconds_left()
            entry = replace(jobs(workers), seconds=left)
            best = (compared.best.median if compared.best else None) or 0.0
            row = experiment.measure([entry], part, how, best, reusable)[0]
            last = time.monotonic() - began
            compared.start = compared.start or start_seconds(row, last)
            tried[workers] = row
        found = tried.get(workers)
        return (found.median if found else None) or 0.0

    try:
        rate(cores)
        if first := tried[cores].reason:
            compared.reason = _shortened(first)
            return
        if compared.check is not None:
            compared.notes = compared.check(partial(reusable.call, deadline.seconds_left()))
        best = cores
        for factor in (2.0, 0.5):
            while 1 <= (there := int(best * factor)) <= _CROWDED * cores:
                if rate(there) <= rate(best):
                    break
                best = there
            if best != cores:
                break
    except CancelledError:
        raise
    except EngineError as error:
        compared.reason = refusal(error)
    finally:
        reusable.close()
        compared.spent = deadline.elapsed


def refusal(error: EngineError) -> str:
    """Return the reason why a program is not measured, on one line."""
    return _shortened(f"not measured: {without_traceback(error)}")


def _shortened(reason: str) -> str:
    return reason if len(reason) < _LONG else f"{reason[:_LONG]} …"
