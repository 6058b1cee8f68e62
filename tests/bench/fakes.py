"""Measurements without a machine: fixed facts, rounds by formula, groups that follow a script."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from workbench.bench.experiments.speed_experiment import Prepared
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.data_files import CacheState, Fingerprint
from workbench.bench.measuring.grid import Grid
from workbench.bench.measuring.measurement import Latency, Measurement
from workbench.bench.measuring.workload import StartupStats, TimedRound
from workbench.bench.records.record import Report
from workbench.engine.protocol.heartbeat import warn_of_silence
from workbench.engine.resources.gpu import GpuUse
from workbench.engine.resources.machine import Machine
from workbench.errors import EngineError

MACHINE = Machine(
    "A CPU", 16, 125.9, "NVIDIA H200", 140.4, "580", "", "2.4.0", "3.12", "Linux"
)  # fmt: skip


def rounds(*rates: float, others: float | None = 0.0) -> tuple[TimedRound, ...]:
    """Rounds of a second each with these imgs/s."""
    return tuple(TimedRound(1.0, 10, round(rate), 1.5, others) for rate in rates)


def measured(rate: float, label: str = "", **config: Any) -> Measurement:
    """A precise measurement of about this rate."""
    return Measurement(
        Config(**config),
        rounds(*(rate * (1 + step / 1000) for step in (-2, -1, 0, 0, 1, 2))),
        label=label,
        stop_reason="precise",
        warm_up=(rate, rate),
        latency=Latency(1.0, 2.0, 3.0),
        first_batch=0.5,
        host_bytes=10**9,
    )


def prepared(files: int | None = None) -> Prepared:
    """The facts of an experiment about ``MACHINE`` and a folder with this number of files."""
    return Prepared(MACHINE, Fingerprint("photos", files), CacheState("warm", ""))


def report(*rows: Measurement, **fields: Any) -> Report:
    return Report("imagenet-train", "photos", MACHINE, rows, **fields)


GRID = Grid((1, 2, 4), (16, 32, 64, 128), (1, 2, 4))
"""Of 36 settings."""


def rate_of_config(config: Config) -> float:
    """imgs/s that grow with every knob, with the queue least."""
    return 100.0 * config.threads + config.batch_size + 4 * config.prefetch


@dataclass
class Script:
    """The behaviour of a fake group: rates in order (the last one is repeated), and failures."""

    rates: Sequence[float]
    batches: int = 10
    seconds: float = 1.0
    fail_at: int | None = None
    fail_begin: str = ""
    memory: tuple[int, int | None] = (1000, None)
    on_round: Callable[[int], None] = lambda number: None
    log: list[str] = field(default_factory=list)
    name: str = ""
    pauses: list[bool] = field(default_factory=list)

    def start(self) -> Any:
        raise AssertionError("never sent to a worker")


class FakeWorkerGroup:
    """As ``bench.worker_group.WorkerGroup``; ``jobs`` holds one Script."""

    made: list[FakeWorkerGroup] = []  # noqa: RUF012

    def __init__(
        self,
        jobs: Sequence[Script],
        stop: threading.Event,
        environments: Sequence[Mapping[str, str]] = (),
        cores: Sequence[tuple[int, ...]] = (),
        on_silence: Callable[[bool], None] = warn_of_silence,
        on_wait: Callable[[str], None] = lambda what: None,
    ) -> None:
        (self.script,) = jobs
        self.stop = stop
        self.closed = False
        self.number: Iterator[int] = count()
        self.allowed: list[float] = []
        FakeWorkerGroup.made.append(self)

    def allow(self, seconds: float) -> None:
        self.allowed.append(seconds)

    def start(self, on_report: Callable[[float], None]) -> StartupStats:
        on_report(0.0)
        if self.script.fail_begin:
            raise EngineError(self.script.fail_begin)
        self.script.log.append(f"{self.script.name} begins")
        return StartupStats(0.25, *self.script.memory)

    def run_round(
        self,
        seconds: float,
        batches: int,
        on_report: Callable[[float], None],
        pause: bool = True,
    ) -> TimedRound:
        number = next(self.number)
        self.script.pauses.append(pause)
        self.script.on_round(number)
        on_report(0.5)
        if number == self.script.fail_at:
            raise EngineError(f"batch {number}: no")
        self.script.log.append(self.script.name)
        rate = self.script.rates[min(number, len(self.script.rates) - 1)]
        spent = self.script.seconds
        return TimedRound(
            spent, self.script.batches, round(rate * spent), 1.5, 0.0, 0, (0.01, 0.02)
        )

    def replace_jobs(self, jobs: Sequence[Script], *_: Any) -> None:
        (self.script,) = jobs
        self.number = count()

    def memory(self) -> tuple[int, int | None]:
        return self.script.memory

    def gpu_use(self) -> tuple[GpuUse, ...]:
        return (GpuUse(50, 0),)

    def close(self) -> None:
        self.closed = True
