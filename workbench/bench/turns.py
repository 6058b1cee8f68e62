"""Configurations measured in turns: A B A B, in random order, each in fresh worker processes.

Everything that the speed lab measures goes through ``measure``.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.bench.config import Config
from workbench.bench.crew import Crew
from workbench.bench.measurement import Measurement, latency_of
from workbench.bench.method import Ending, Method
from workbench.bench.work import Begun, Job, Round
from workbench.engine.machine import usable_cores
from workbench.errors import CancelledError, EngineError

Progress = Callable[[float, str], None]
"""Hears the share that is done, 0 to 1, and what is being done."""

_START_SECONDS = 3.0
"""What a worker takes to start, build and give its first batch, until one has done so."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A configuration and how it is run: one job for each worker process.

    ``environments`` and ``cores`` have an entry for each job, or are empty. ``limit`` is the most
    memory that it may take, in bytes of the host's and the GPU's; None is no limit. ``decodes``
    says whether DALI decodes in it: elsewhere JPEG engines that are idle say nothing.
    """

    config: Config
    jobs: tuple[Job, ...]
    label: str = ""
    notes: tuple[str, ...] = ()
    environments: tuple[Mapping[str, str], ...] = ()
    cores: tuple[tuple[int, ...], ...] = ()
    limit: tuple[int | None, int | None] = (None, None)
    decodes: bool = True

    @property
    def name(self) -> str:
        return self.label or self.config.label


@dataclass(slots=True)
class _Contender:
    entry: Entry
    crew: Crew | None = None
    begun: Begun | None = None
    warm_up: list[float] = field(default_factory=list)
    settled: bool = True
    rounds: list[Round] = field(default_factory=list)
    peak: tuple[int, int | None] = (0, None)
    gpu_use: list[Any] = field(default_factory=list)
    reason: str = ""
    ending: Ending | None = None

    @property
    def rates(self) -> list[float]:
        return [one.imgs_per_s for one in self.rounds]


class Turns:
    """One run of ``measure``: the contenders, the clock and the progress."""

    def __init__(
        self,
        entries: Sequence[Entry],
        method: Method,
        stop: threading.Event,
        on_progress: Progress,
        before_round: Callable[[], None] | None = None,
        why: Callable[[], str] = lambda: "",
    ) -> None:
        self.method = method
        self._contenders = [_Contender(entry) for entry in entries]
        self._stop = stop
        self._on_progress = on_progress
        self._before_round = before_round
        self._why = why
        self._order = random.Random()
        self._began = time.monotonic()
        self._done = 0.0
        self._share = 0.0
        self._seconds = 0.0
        """What the timed rounds took."""
        self._process = 0
        self._text = ""

    def run(self) -> tuple[Measurement, ...]:
        """Measure them all. Raises CancelledError; whatever else goes wrong becomes a reason."""
        try:
            for process in range(self.method.processes):
                self._process = process
                for contender in self._shuffled():
                    self._guarded(contender, self._begin)
                self._take_turns()
                for contender in self._alive():
                    self._guarded(contender, self._end)
                self._dismiss_all()
        finally:
            self._dismiss_all()
        return tuple(_measurement(contender) for contender in self._contenders)

    def _alive(self) -> list[_Contender]:
        return [contender for contender in self._contenders if not contender.reason]

    def _shuffled(self) -> list[_Contender]:
        alive = self._alive()
        return self._order.sample(alive, len(alive))

    def _begin(self, contender: _Contender) -> None:
        """A fresh worker, its first batch and its warm-up; the others pause."""
        entry, method = contender.entry, self.method
        self._tell(f"{entry.name}: building")
        crew = contender.crew = Crew(entry.jobs, self._stop, entry.environments, entry.cores)
        begun = crew.begin(lambda _: self._go_on())
        contender.begun = contender.begun or begun
        _require_room(entry, begun.host_bytes, begun.gpu_bytes)
        self._advance(_START_SECONDS)
        rates: list[float] = []
        batches = 0
        while not method.is_warm(rates, batches) and len(rates) < method.warm_up_rounds:
            self._tell(f"{entry.name}: warming up, round {len(rates) + 1}")
            one = self._round(contender)
            rates.append(one.imgs_per_s)
            batches += one.batches
        contender.settled &= method.is_warm(rates, batches)
        contender.warm_up += rates
        self._advance(2 * method.round_seconds)

    def _take_turns(self) -> None:
        last = self._process == self.method.processes - 1
        cycles = 0
        while alive := self._shuffled():
            for contender in alive:
                self._guarded(contender, self._timed_round)
            cycles += 1
            alive = self._alive()
            ending = self.method.ending([c.rates for c in alive], self._seconds)
            if not last and cycles >= self.method.rounds:
                return
            if last and ending and cycles >= min(2, self.method.rounds):
                for contender in alive:
                    contender.ending = ending
                return

    def _timed_round(self, contender: _Contender) -> None:
        count = len(contender.rounds) + 1
        self._tell(f"{contender.entry.name}: round {count}")
        one = self._round(contender)
        contender.rounds.append(replace(one, process=self._process))
        self._seconds += one.seconds
        self._advance(one.seconds)

    def _round(self, contender: _Contender) -> Round:
        assert contender.crew is not None
        if self._before_round is not None:
            self._before_round()

        def hear(share: float) -> None:
            self._go_on()
            contender.gpu_use += contender.crew.gpu_use()  # type: ignore[union-attr]
            self._tell("", share * self.method.round_seconds)

        one = contender.crew.round(self.method.round_seconds, self.method.round_batches, hear)
        contender.gpu_use += contender.crew.gpu_use()
        return one

    def _end(self, contender: _Contender) -> None:
        assert contender.crew is not None
        host, gpu = contender.crew.memory()
        # Where the process's own share is not told, what the build took of the GPU must do.
        began_with = contender.begun.gpu_bytes if contender.begun else None
        contender.peak = max(contender.peak[0], host), gpu if gpu is not None else began_with
        _require_room(contender.entry, *contender.peak)

    def _dismiss_all(self) -> None:
        """All at once: a worker takes up to 0.05 s to end, and a graph may have many stages."""
        with ThreadPoolExecutor(max(1, len(self._contenders))) as pool:
            list(pool.map(self._dismiss, self._contenders))

    def _dismiss(self, contender: _Contender) -> None:
        if contender.crew is not None:
            contender.crew.close()
        contender.crew = None

    def _guarded(self, contender: _Contender, step: Callable[[_Contender], None]) -> None:
        """One step; a failure ends this contender and no other."""
        if contender.reason:
            return
        try:
            self._go_on()
            step(contender)
        except CancelledError:
            raise
        except EngineError as error:
            words = f"not measured: {plain(error)}"
            why = self._why()
            contender.reason = f"{words.removesuffix('.')}. {why}" if why else words
            self._dismiss(contender)

    def _go_on(self) -> None:
        if self._stop.is_set():
            raise CancelledError("Cancelled.")

    def _advance(self, seconds: float) -> None:
        self._done += seconds

    def _tell(self, text: str, in_round: float = 0.0) -> None:
        """Report the share of the expected work, which never falls, and the time that is left."""
        method = self.method
        rounds = method.expected_rounds(method.round_seconds)
        each = _START_SECONDS + (2 + rounds) * method.round_seconds
        whole = each * len(self._contenders) * method.processes
        done = self._done + in_round
        self._share = max(self._share, min(done / max(whole, done + method.round_seconds), 0.99))
        spent = time.monotonic() - self._began
        left = ""
        if self._share > 0.1:
            left = f", about {duration(spent * (1 / self._share - 1))} left"
        self._text = text or self._text
        self._on_progress(self._share, self._text + left)


def measure(
    entries: Sequence[Entry],
    method: Method,
    stop: threading.Event,
    on_progress: Progress = lambda share, text: None,
    before_round: Callable[[], None] | None = None,
    why: Callable[[], str] = lambda: "",
) -> tuple[Measurement, ...]:
    """Measure configurations in turns; one Measurement for each, in the order given.

    All of them are built and warm before the first is timed. One that fails has the reason, and
    ``why`` may add a sentence to it. ``before_round`` runs untimed before each round. Once ``stop``
    is set CancelledError is raised within 0.1 s and every process is gone.
    """
    return Turns(entries, method, stop, on_progress, before_round, why).run() if entries else ()


def _require_room(entry: Entry, host: int, gpu: int | None) -> None:
    for what, taken, most in zip(("host", "GPU"), (host, gpu), entry.limit, strict=True):
        if most is not None and taken is not None and taken > most:
            raise EngineError(
                f"it takes {taken / 2**30:.2f} GiB of {what} memory, over the limit of "
                f"{most / 2**30:.2f} GiB"
            )


def plain(error: Exception) -> str:
    """What went wrong without the traceback that an unforeseen error brings."""
    return str(error).partition("\nTraceback ")[0]


def duration(seconds: float) -> str:
    """A time that is left, for reading."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _measurement(contender: _Contender) -> Measurement:
    entry, begun = contender.entry, contender.begun
    if contender.reason:
        return Measurement(entry.config, reason=contender.reason, label=entry.label)
    busy = [use.gpu for use in contender.gpu_use if use.gpu is not None]
    jpeg = [use.jpeg for use in contender.gpu_use if use.jpeg is not None]
    made = Measurement(
        entry.config,
        tuple(replace(one, latencies=()) for one in contender.rounds),
        label=entry.label,
        ending=contender.ending,
        warm_up=tuple(contender.warm_up),
        settled=contender.settled,
        latency=latency_of(contender.rounds),
        first_batch=begun.first_batch_seconds if begun else None,
        host_bytes=contender.peak[0] or None,
        gpu_bytes=contender.peak[1],
        gpu_busy=sum(busy) / len(busy) if busy else None,
        jpeg_busy=sum(jpeg) / len(jpeg) if jpeg else None,
        notes=entry.notes,
    )
    return replace(made, flags=made.doubts(usable_cores(), entry.decodes))
