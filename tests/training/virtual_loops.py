"""Training loops in virtual time: exact, and without waiting."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.training.watch import clock


class VirtualTime:
    """The clock of watched loops; ``sleep`` advances it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(
            clock, "time", SimpleNamespace(perf_counter=lambda: self.now, sleep=self.sleep)
        )

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def loader(
        self, batches: Iterable[Any], seconds: Callable[[], float], queue: int = 0, filled: int = 0
    ) -> Iterator[Any]:
        """A loader whose thread prepares a batch in ``seconds()`` and has a queue of this length.

        ``filled`` batches are in the queue at the start.
        """
        taken: list[float] = []
        free = self.now  # when the thread can start the next batch
        for number, batch in enumerate(batches):
            if not queue:
                self.sleep(seconds())
                yield batch
                continue
            ready = self.now if number < filled else free + seconds()
            if number >= queue:
                ready = max(ready, taken[number - queue])
            free = max(free, ready)
            self.now = max(self.now, ready)
            taken.append(self.now)
            yield batch


def steady(mean: float) -> Callable[[], float]:
    return lambda: mean


def noisy(mean: float, spread: float, seed: int) -> Callable[[], float]:
    """Times that vary by this relative standard deviation, with a long tail."""
    draw = random.Random(seed)
    shape = 1 / spread**2
    return lambda: draw.gammavariate(shape, mean / shape)


def run(loader: Iterable[Any], time: VirtualTime, step: Callable[[], float]) -> float:
    """Seconds of a loop per batch."""
    began, count = time.now, 0
    for _ in loader:
        time.sleep(step())
        count += 1
    return (time.now - began) / count
