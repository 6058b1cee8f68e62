"""The tuner's way through a grid: pure, so that it can be tried on recorded grids.

From a start that is mostly good, one knob at a time is turned as long as that helps (coordinate
ascent); then pairs of knobs, and a restart far away, as far as the allowance goes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from types import MappingProxyType

from workbench.bench.measuring.grid import KNOBS, Grid, Place

SHARE = 0.2
"""The allowance: this share of the time that the whole grid would take, what is measured anew
included."""
PROBE_COST = 0.45
"""What a probe takes of the time of a setting that is measured with care: it is built and warms up
alike, but its worker runs already, and it has two rounds where that has up to six."""
START_COST = 0.3
"""What the start of the worker of all probes takes, likewise."""
LEAST = 3
"""Probes of a grid that is too small for its share to hold that many."""
LARGE = 24
"""From so many settings on the share holds probes and two that are measured anew. Of fewer all of
it goes into probes: the best of them runs beside the graph's own setting anyway, and then for
long."""
MOST = 48
"""And no more than so many: a grid grows faster than what is to be found in it."""
SMALL = 8
"""A grid of so many settings is probed whole: a quarter of it would be a guess."""
_ORDER = (
    *("batch_size", "hw_decoder_load", "pipelines", "threads", "prefetch", "executor"),
    "dont_use_mmap",
)
"""Which knob is turned first: what two knobs of the memory bring is least, and few probes reach the
last. Of the 24 orders of the four old knobs it is among the best by every recorded grid and by
made-up machines, each left out in turn (``METHOD.md``)."""
_MEMORY = ("batch_size", "prefetch", "pipelines")
"""The knobs by which the memory grows."""
_BETTER = 1.01
"""A step helps where it brings more than 1 %."""
_CONFIRMED = 2
"""So many of the best are measured anew: probes may be wrong by 5 %."""
_PATIENCE = 3
"""Restarts in succession that bring nothing: then nothing more is expected."""

Probe = Callable[[Place], float | None]
"""imgs/s at a place, or None where it fails (too little memory, for example)."""


def usual_allowance(settings: int) -> int:
    """Of a grid of so many settings, in probes and what is measured anew."""
    if settings <= SMALL:
        return settings
    confirmed = _CONFIRMED if settings >= LARGE else 0
    probes = int((SHARE * settings - confirmed - START_COST) / PROBE_COST)
    return confirmed + min(MOST, max(LEAST, probes))


class TunerSearch:
    """One search. ``found`` has the imgs/s at every place that was probed, None where it failed."""

    def __init__(
        self,
        grid: Grid,
        probe: Probe,
        allowance: int | None = None,
        exhausted: Callable[[], bool] = lambda: False,
    ) -> None:
        """``allowance`` is of probes and of what is measured anew.

        ``exhausted`` is asked before each probe whether anything can still bring more.
        """
        self.grid = grid
        self.allowance = usual_allowance(len(grid)) if allowance is None else allowance
        alone = self.allowance >= len(grid) or len(grid) < LARGE
        self.confirmed = 0 if alone else min(_CONFIRMED, self.allowance // 2)
        """How many of the best are to be measured anew, which the allowance includes."""
        self._exhausted = exhausted
        self.found: dict[Place, float | None] = {}
        self.probes = 0
        self._probe = probe

    @property
    def most_probes(self) -> int:
        """What the allowance leaves for probes."""
        return self.allowance - self.confirmed

    def run(self, known: Mapping[Place, float | None] = MappingProxyType({})) -> list[Place]:
        """The best places, best first: as many as are to be confirmed, at least one.

        ``known`` are places that were probed before, which count as the others. Empty where every
        probe failed.
        """
        self.found |= known
        self.probes += len(known)
        at = self._start()
        if not self._rate(at):
            at = self._smallest(at)
        at = self._climb(at)
        chance = random.Random(0)
        vain = 0
        while self._left() > 0 and len(self.found) < len(self.grid):
            before = len(self.found)
            better = self._pairs(at)
            if better != at:
                at = self._climb(better)
            elif len(self.found) < len(self.grid) and vain < _PATIENCE:
                self._climb(self._farthest(chance))
                best = next(iter(self._ranked()), at)
                vain = 0 if self._rate(best) > _BETTER * self._rate(at) else vain + 1
                at = best
            if len(self.found) == before:
                break
        return self._ranked()[: max(1, self.confirmed)]

    def _start(self) -> Place:
        """All cores, a middling batch, a queue of two, all that the JPEG engines can take.

        Where these decode, two pipelines of two threads with queues of four: on an H100 that gave
        44,200 imgs/s in turns with the 38,300 of three pipelines (November 2026). Files are read,
        not mapped, where that may be chosen: 43,000 to 37,000 there, and 35,000 to 29,000 of one.
        """
        engines = self.grid.hw_decoder_load[-1] is not None
        wanted = {"batch_size": 0.6, "prefetch": 1.0 if engines else 0.5, "pipelines": 0.0}
        start = {k: round(wanted.get(k, 1.0) * (len(self.grid.values(k)) - 1)) for k in KNOBS}
        if "dynamic" in self.grid.executor:
            start["executor"] = self.grid.executor.index("dynamic")
        if engines and self.grid.pipelines[-1] > 1:
            start["pipelines"] = _last_within(self.grid.pipelines, 2)
            start["threads"] = _last_within(self.grid.threads, 2)
        return tuple(start[knob] for knob in KNOBS)

    def _smallest(self, at: Place) -> Place:
        """The least that a place can take of the memory: from there a climb comes to what fits."""
        return tuple(0 if knob in _MEMORY else index for knob, index in zip(KNOBS, at, strict=True))

    def _left(self) -> int:
        return 0 if self._exhausted() else self.most_probes - self.probes

    def _rate(self, place: Place) -> float:
        """imgs/s there, 0 where it fails or nothing may be probed any more."""
        if place not in self.found and self._too_large(place):
            self.found[place] = None
        if place not in self.found:
            if self._left() <= 0:
                return 0.0
            self.probes += 1
            self.found[place] = self._probe(place)
        return self.found[place] or 0.0

    def _too_large(self, place: Place) -> bool:
        """Whether something that takes no more of the memory failed already."""
        knobs = [KNOBS.index(knob) for knob in _MEMORY]
        return any(
            rate is None and all(place[knob] >= failed[knob] for knob in knobs)
            for failed, rate in self.found.items()
        )

    def _climb(self, at: Place) -> Place:
        """Turn one knob at a time until none helps."""
        self._rate(at)
        while self._left() > 0:
            before = at
            for knob in _ORDER:
                at = self._line(at, KNOBS.index(knob))
            if at == before:
                break
        return at

    def _line(self, at: Place, knob: int) -> Place:
        for step in (1, -1):
            moved = False
            while (there := self._moved(at, {knob: step})) is not None:
                if self._rate(there) <= _BETTER * self._rate(at):
                    break
                at, moved = there, True
            if moved:
                break
        return at

    def _pairs(self, at: Place) -> Place:
        """The best place that two knobs turned at once lead to, if that helps."""
        best = at
        for one, two in combinations(range(len(KNOBS)), 2):
            for first, second in product((1, -1), repeat=2):
                there = self._moved(at, {one: first, two: second})
                if there is not None and self._rate(there) > _BETTER * self._rate(best):
                    best = there
        return best

    def _moved(self, at: Place, steps: dict[int, int]) -> Place | None:
        moved = tuple(index + steps.get(knob, 0) for knob, index in enumerate(at))
        inside = all(
            0 <= index < len(self.grid.values(knob))
            for index, knob in zip(moved, KNOBS, strict=True)
        )
        return moved if inside else None

    def _farthest(self, chance: random.Random) -> Place:
        """The place that is farthest from all that were probed."""
        places = [place for place in self.grid.places() if place not in self.found]
        chance.shuffle(places)

        def distance(place: Place) -> float:
            return min(
                sum(
                    abs(a - b) / max(1, len(self.grid.values(knob)) - 1)
                    for a, b, knob in zip(place, other, KNOBS, strict=True)
                )
                for other in self.found
            )

        return max(places, key=distance)

    def _ranked(self) -> list[Place]:
        good = [place for place, rate in self.found.items() if rate]
        return sorted(good, key=lambda place: -(self.found[place] or 0.0))


def _last_within(values: Sequence[int], most: int) -> int:
    """The index of the largest value that is no more than ``most``, else of the least."""
    return max((index for index, value in enumerate(values) if value <= most), default=0)
