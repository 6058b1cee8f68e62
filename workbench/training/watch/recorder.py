"""Record the steps of a training loop: their phases and times."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from workbench.training.loader_kinds import kinds_of_loader
from workbench.training.watch import environment
from workbench.training.watch.batches import devices_of, kind_of, sample_count
from workbench.training.watch.clock import Clock, Mark
from workbench.training.watch.step_times import Phase, StepTime, mean_of

_INSPECTED = 3
"""Number of warm-up steps in which waits for the GPU are traced."""
_FEWEST_MEASURED = 12
_FEWEST_IN_LOADER = 50
"""Minimum number of measured loader steps before a batch may be repeated at an epoch's end."""
_FEWEST_LEFT, _FEWEST_REPEATED = 26, 15
"""Minimum number of steps left in an epoch when repeating starts, and minimum number of
repetitions in an epoch.
"""
_SETTLING = 3
"""Number of steps on the repeated batch before the measurement starts."""
_PRECISE = 0.003
"""A batch is repeated until the mean of its steps has at most this relative standard error."""
_FEWEST_CHECKS = 11
_QUEUE = 3
"""Number of batches that a loader is assumed to prefetch if it does not report it."""
_WARM_SECONDS = 1.0
"""Minimum duration of the warm-up in seconds. A GPU raises its clock rate during this time."""
_LONGEST_PAUSE = 10.0
"""Maximum seconds to wait until the loader has filled its queue."""
_UTILISATION_SECONDS = 0.5
_OWN_SECONDS = 1e-3
"""Seconds this module may take between two steps before they are subtracted from the GPU's wait."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Number of steps of each phase. ``repeated`` is 0 if the ceiling is not measured.

    ``check`` is the number of steps with the loader after the repeated batch. These steps show
    whether the speed of the machine changed.
    """

    warm_up: int
    loader: int
    repeated: int
    check: int

    @classmethod
    def of(cls, steps: int, ceiling: bool) -> Plan:
        """Divide ``steps`` into phases: 5 % (2 to 10) warm up, and at most 30 % repeat a batch."""
        warm_up = min(10, max(2, steps // 20))
        repeated, check = (3 * steps // 10, max(_FEWEST_CHECKS, steps // 10)) if ceiling else (0, 0)
        return cls(warm_up, steps - warm_up - repeated - check, repeated, check)


@dataclass(slots=True)
class _Step:
    phase: Phase
    first: bool
    asked: Mark
    given: Mark
    requested: float
    fetched: float
    returned: Mark | None = None
    samples: int | None = None


class Recorder:
    """Records the times of a loop's steps, and facts about its batches.

    A loop calls ``record_request`` before it requests a batch, ``record_batch`` before the body
    runs with it, and ``end_step`` after the body.
    """

    def __init__(self, plan: Plan, clock: Clock | None = None) -> None:
        self.plan = plan
        self.clock = clock or Clock()
        self.epoch_batches: int | None = None
        self.skipped = 0
        """Number of loader batches that were skipped because one batch was repeated instead."""
        self.sizes: Counter[int] = Counter()
        self.kinds: Counter[tuple[Any, ...]] = Counter()
        self.devices: Counter[str] = Counter()
        self.queued = 0
        """Number of batches that the loader prepares ahead."""
        self.models: list[Any] = []
        self.waits: Counter[str] = Counter()
        self.use: dict[str, list[int]] = {}
        """Utilisation of the GPU in percent, by phase."""
        self.gpu: Any = None
        self.device = ""
        """GPU of the model, such as ``cuda:0``; empty without CUDA."""
        self._steps: list[_Step] = []
        self._counts: Counter[str] = Counter()
        self._asked: Mark | None = None
        self._requested = 0.0
        self._first = False
        self._next_use = 0.0

    @property
    def count(self) -> int:
        """Number of steps so far."""
        return len(self._steps)

    @property
    def phase(self) -> Phase:
        """Phase of the next step on a batch of the loader.

        The warm-up lasts until it has used as many batches as the loader's queue holds and, with a
        GPU, at least a second has passed. It exceeds its planned length by at most a quarter of the
        planned loader steps.
        """
        count = self._counts["warm-up"]
        if self._counts["loader"] or count >= self.plan.warm_up + self.plan.loader // 4:
            return "loader"
        began = self._steps[0].given.host if self._steps else self.clock.now
        is_cold = bool(self.device) and self.clock.now - began < _WARM_SECONDS
        is_short = is_cold or count < self.queued
        return "warm-up" if count < self.plan.warm_up or is_short else "loader"

    @property
    def loader_is_measured(self) -> bool:
        count = self._counts["warm-up"] + self._counts["loader"]
        return count >= self.plan.warm_up + self.plan.loader

    @property
    def is_checked(self) -> bool:
        return self._counts["check"] >= self.plan.check

    def may_repeat_at_end(self) -> bool:
        """Return whether enough steps were measured to repeat a batch at the end of an epoch."""
        enough = self._counts["loader"] >= min(_FEWEST_IN_LOADER, self.plan.loader)
        return enough and self.plan.repeated > 0

    def repetitions(self, left: int | None) -> int:
        """Return how often to repeat a batch now; 0 if the loader is to be measured first.

        ``left`` is the number of steps left in the epoch, or None if the repeated batch does not
        replace batches of the loader. An epoch that is too short has fewer repetitions than
        planned.
        """
        plan = self.plan
        if left is None:
            return plan.repeated if self.loader_is_measured else 0
        is_last_chance = self.may_repeat_at_end() and left <= plan.repeated + plan.check
        if left < self.fewest_left or not (is_last_chance or self.loader_is_measured):
            return 0
        return min(plan.repeated, max(left - plan.check, _FEWEST_REPEATED))

    @property
    def fewest_left(self) -> int:
        """Minimum number of steps left in an epoch in which a batch may be repeated."""
        return min(_FEWEST_LEFT, self.plan.repeated + self.plan.check)

    @property
    def last_size_is_usual(self) -> bool:
        """True if no batch size is more frequent than the last one, or if the size is unknown."""
        samples = self._steps[-1].samples
        return samples is None or self.sizes[samples] == max(self.sizes.values())

    @property
    def traces_waits(self) -> bool:
        """True if waits for the GPU are traced in the next step."""
        return 0 < self.plan.warm_up - self.count <= _INSPECTED and environment.cuda_in_use()

    def start_epoch(self) -> None:
        """Record that an iterator is requested from the loader."""
        self._first = True
        self.skip_time()

    def skip_time(self) -> None:
        """Exclude the time since the last step from the wait of the next step."""
        self._asked = None
        self.record_request()

    def record_request(self) -> None:
        """Record that a batch is requested."""
        if self._asked is None:
            self._asked = self.clock.mark()
        self._requested = self.clock.now

    def record_batch(self, batch: Any, phase: Phase | None = None) -> None:
        """Record that a batch has arrived and the body of the loop starts."""
        fetched = self.clock.now
        samples = self._examine(batch) if phase is None else sample_count(batch)
        phase = phase or self.phase
        given = self.clock.mark()
        asked = self._asked or given
        self._steps.append(
            _Step(phase, self._first, asked, given, self._requested, fetched, samples=samples)
        )
        self._first, self._asked = False, None

    def end_step(self) -> None:
        """Record that the body of the loop has ended."""
        step = self._steps[-1]
        self._asked = step.returned = self.clock.mark()
        self._counts[step.phase] += 1
        if step.phase == "warm-up" and self._counts["warm-up"] == self.plan.warm_up:
            self._end_warm_up()
        watched = step.phase in ("loader", "repeated")
        if self.gpu is not None and watched and self.clock.now >= self._next_use:
            self._next_use = self.clock.now + _UTILISATION_SECONDS
            busy = self.gpu.use().gpu
            if busy is not None:
                self.use.setdefault(step.phase, []).append(busy)

    def _examine(self, batch: Any) -> int | None:
        samples = sample_count(batch)
        if samples is not None:
            self.sizes[samples] += 1
        if self.count % 8 == 0 or self.count < _FEWEST_MEASURED:
            self.kinds[kind_of(batch)] += 1
            self.devices.update(devices_of(batch))
        return samples

    def _end_warm_up(self) -> None:
        """Find the model and its GPU, which exist by now, and use CUDA's clock if it is in use."""
        self.models = self.models or environment.models_in_memory()
        if environment.cuda_in_use():
            places = environment.devices_of_models(self.models)
            self.device = next((each for each in places if each.startswith("cuda")), "")
        if self.device:
            self.clock.use_cuda(self.device)
            self.gpu = environment.gpu_of(self.device)
            self.clock.synchronize()
        self._asked = self.clock.mark()

    def wait_for_queue(self) -> None:
        """Sleep until the loader has probably filled its queue, because loading slows steps down.

        Sleeps for the time of one step per batch in the queue, at most 10 s.
        """
        known = [each for each in self._steps if each.phase == "loader" and each.returned]
        if known:
            took = sum((each.returned or each.given).host - each.asked.host for each in known)
            self.clock.sleep(min(self.queued * took / len(known), _LONGEST_PAUSE))

    def repeated_enough(self, most: int) -> bool:
        """Return True after ``most`` repetitions, or once their times are precise enough."""
        count = self._counts["repeated"]
        if count + self._counts["settling"] >= most:
            return True
        if count < _FEWEST_MEASURED or count % 4:
            return False
        times = [
            step.returned.host - step.given.host
            for step in self._steps
            if step.phase == "repeated" and step.returned
        ]
        mean = mean_of(times)
        return mean.error < _PRECISE * mean.value

    @property
    def repeated_phase(self) -> Phase:
        """Phase of the next step on the repeated batch. The first steps are not measured."""
        return "settling" if self._counts["settling"] < _SETTLING else "repeated"

    @property
    def last_text(self) -> str:
        """Sentence with the wait and duration of the last step, as measured on the host."""
        step = self._steps[-1]
        took = (step.returned or step.given).host - step.given.host
        waited = 1000 * (step.fetched - step.requested)
        return f"The last one waited {waited:.1f} ms and took {1000 * took:.1f} ms."

    def step_times(self) -> tuple[StepTime, ...]:
        """Return the times of all completed steps. Waits until the GPU has finished them."""
        self.clock.synchronize()
        found = []
        for number, step in enumerate(self._steps):
            if step.returned is None:
                continue
            wait = self.clock.seconds(step.asked, step.given)
            own = step.requested - step.asked.host  # display and utilisation of the GPU
            if step.given.event is None:
                wait = step.fetched - step.requested
            elif own > _OWN_SECONDS:
                wait = max(0.0, wait - own)
            took = self.clock.seconds(step.given, step.returned)
            found.append(StepTime(number, step.phase, wait, took, step.samples, step.first))
        return tuple(found)


def queued_batches(loader: Any) -> int:
    """Return how many batches a loader prepares ahead: workers times ``prefetch_factor``, or 3."""
    workers = getattr(loader, "num_workers", None)
    ahead = getattr(loader, "prefetch_factor", None)
    if isinstance(workers, int):
        return workers * ahead if isinstance(ahead, int) else 0
    return _QUEUE


def works_ahead(loader: Any) -> bool:
    """Return whether a loader is known to prepare batches while the loop's body runs."""
    workers = getattr(loader, "num_workers", None)
    if isinstance(workers, int):
        return workers > 0
    return not {"dali", "workbench"}.isdisjoint(kinds_of_loader(loader))
