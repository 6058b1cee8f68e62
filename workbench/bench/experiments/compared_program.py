"""A program that is compared: its search for the best number of workers, and its time.

Each has so many seconds in all. First its probes run one after another in one worker process, which
loads its library once; what is left is for its rounds in turns with the others, in a fresh one.
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
from workbench.bench.measuring.deadline import Deadline, least_seconds, start_seconds
from workbench.bench.measuring.interleaved import NOT_YET, TIME_UP, ConfigJobs, without_traceback
from workbench.bench.measuring.measurement import BY_ITSELF, Measurement
from workbench.bench.measuring.measurement_config import PROBE_CONFIG, MeasurementConfig
from workbench.bench.measuring.worker_group import KeptWorker
from workbench.bench.records.record import Report
from workbench.engine.protocol.progress import WorkerProgress
from workbench.errors import CancelledError, EngineError

GIVE_MORE = "the time was up: give more"
_LONG = 300
"""Characters of a reason: a library that cannot be loaded may list every place it looked at."""
_CROWDED = 4
"""Workers for each core, at most."""
_SEARCH = 0.5
"""Share of the time that the search may take, but for its first probe."""
_PROBES_WITHIN = 3
"""So many probes of workers have room in the time that there is for them."""
_LEAST_SEARCH = 3.0
"""Seconds for a search below which nothing but all cores is tried."""

Check = Callable[[Callable[..., Any]], tuple[str, ...]]
"""Gives notes on what a worker finds, told how to call it (``Engine.call``); or raises EngineError.
A CancelledError of the call may say that the time is up."""


@dataclass(slots=True)
class ComparedProgram:
    """DALI or a peer, as it takes part in a comparison.

    ``jobs`` gives it with so many workers (or threads); without, ``reason`` says why it cannot be
    measured. ``seconds`` is how long it may take in all, ``check`` looks at it after its first
    probe. ``label`` is its rows'.
    """

    config: Config
    jobs: Callable[[int], ConfigJobs] | None = None
    reason: str = ""
    seconds: float = math.inf
    check: Check | None = None
    searches: bool = False
    label: str = ""
    spent: float = 0.0
    """Seconds that its search took."""
    start: float = 0.0
    """Of them, what a worker takes until its first round."""
    tried: dict[int, Measurement] = field(default_factory=dict)
    """The probe of each number of workers."""
    notes: tuple[str, ...] = ()
    measured: Measurement | None = None
    """What is known of its rounds in turns."""

    @property
    def left(self) -> float:
        """Seconds that it has for its rounds in turns."""
        return self.seconds - self.spent

    @property
    def best(self) -> Measurement | None:
        """The fastest probe."""
        found = [row for row in self.tried.values() if row.rounds]
        return max(found, key=lambda row: row.median or 0.0, default=None)

    @property
    def rates(self) -> dict[str, float | None]:
        """imgs/s of each number of workers that was tried."""
        return {str(count): row.median for count, row in sorted(self.tried.items())}

    @property
    def entry(self) -> ConfigJobs | None:
        """It with its best number of workers; None where it cannot be measured."""
        if self.jobs is None or self.reason:
            return None
        entry = self.jobs(self.best.threads if self.best else self.config.threads)
        if self.tried:
            told = ", ".join(f"{count}: {rate or 0:,.0f}" for count, rate in self.rates.items())
            entry = replace(entry, notes=(*entry.notes, f"workers tried, imgs/s: {told}"))
        notes = (*entry.notes, *self.notes)
        return replace(entry, notes=notes, seconds=self.left, label=self.label)

    @property
    def has_time(self) -> bool:
        """Whether what is left is enough for rounds in turns."""
        return self.best is None or self.left >= least_seconds([self.best], self.start)

    def row(self, why: str = GIVE_MORE) -> Measurement:
        """What is known of it. ``why`` says why there may be no more than its best probe."""
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
    """Another program once more, with the number of workers that is best for that."""

    of: ComparedProgram | None = None

    @property
    def entry(self) -> ConfigJobs | None:
        """As of the other, without its notes."""
        found = self.of.entry if self.of else None
        if found is None:
            return None
        config = replace(found.config, program=self.config.program)
        return replace(found, config=config, notes=(), seconds=self.left)

    def row(self, why: str = GIVE_MORE) -> Measurement:
        """What is known of it; where the other cannot be measured, the same reason."""
        if self.of is not None and self.of.reason:
            return Measurement(self.config, reason=self.of.reason)
        return ComparedProgram.row(self, why)


class ComparedExperiment(SpeedExperiment):
    """An experiment whose record has a row for each of some programs, in their order."""

    _compared: Sequence[ComparedProgram] = ()
    """All programs."""
    _in_turns: Sequence[ComparedProgram] = ()
    """Those that are measured interleaved now."""

    def besides(self, rows: Sequence[Measurement]) -> dict[str, Any]:
        """What the record says besides the rows of the programs."""
        return {}

    def measure_programs(
        self,
        programs: Sequence[ComparedProgram],
        progress: WorkerProgress,
        measurement_config: MeasurementConfig | None = None,
    ) -> None:
        """Measure interleaved those of the programs that can be measured."""
        found = [(one, one.entry) for one in programs]
        self._in_turns = [one for one, entry in found if entry is not None]
        entries = [entry for _, entry in found if entry is not None]
        self.on_rows(self.measure(entries, progress, measurement_config))

    def on_rows(self, rows: tuple[Measurement, ...]) -> None:
        """Publish the rows of all programs after a timed round of some."""
        for one, row in zip(self._in_turns, rows, strict=True):
            one.measured = row
        known = [one.row("so far") for one in self._compared]
        self.publish_rows(known, **self.besides(known))

    def interrupted_report(self) -> Report | None:
        """The rows of what was measured until then; None where nothing was."""
        rows = interrupted_rows([one.row(INTERRUPTED) for one in self._compared])
        return self.report_so_far(rows, **self.besides(rows))


def search_workers(
    experiment: SpeedExperiment, compared: ComparedProgram, cores: int, progress: WorkerProgress
) -> None:
    """Find the number of workers (or threads) that is fastest for it; ``tried`` has each.

    From all cores upwards as long as that brings more, else downwards, by twos. Within ``seconds``
    half of the time is for this: all cores are tried, and others as long as there is time for one
    more. One whose first probe fails gets the reason. Raises CancelledError.
    """
    bounded = math.isfinite(compared.seconds)
    deadline = Deadline(compared.seconds if bounded else None)
    most = _SEARCH * compared.seconds
    how = replace(PROBE_CONFIG, limit=most / _PROBES_WITHIN) if bounded else PROBE_CONFIG
    kept, last, tried = KeptWorker(), 0.0, compared.tried
    assert compared.jobs is not None
    jobs = compared.jobs
    config = compared.config
    whose = "threads" if config.program == "DALI" else "workers"

    def rate(workers: int) -> float:
        nonlocal last
        has_room = most >= _LEAST_SEARCH and deadline.left(_SEARCH) > last
        if workers not in tried and (not tried or has_room):
            began = time.monotonic()
            part = progress.part(
                1 - 0.5 ** len(tried), 1 - 0.5 ** (len(tried) + 1),
                f"{config.program}, {config.device}: {workers} {whose}",
            )  # fmt: skip
            left = deadline.left(_SEARCH) if tried else deadline.left()
            entry = replace(jobs(workers), seconds=left)
            best = (compared.best.median if compared.best else None) or 0.0
            row = experiment.measure([entry], part, how, best, kept)[0]
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
            compared.notes = compared.check(partial(kept.call, deadline.left()))
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
        kept.close()
        compared.spent = deadline.spent


def refusal(error: EngineError) -> str:
    """Why one is not measured, in a line."""
    return _shortened(f"not measured: {without_traceback(error)}")


def _shortened(words: str) -> str:
    return words if len(words) < _LONG else f"{words[:_LONG]} …"
