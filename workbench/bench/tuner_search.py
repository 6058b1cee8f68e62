"""The tuner's way through a grid: pure, so that it can be tried on recorded grids.

From a start that is mostly good, one knob at a time is turned as long as that helps (coordinate
ascent); then pairs of knobs, and a restart far away, as far as the allowance goes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations, product

from workbench.bench.grid import KNOBS, Grid, Place

SHARE = 0.25
"""The allowance: this share of the grid."""
MOST = 48
"""And no more than so many, some 3 s each: a grid grows faster than what is to be found in it."""
SMALL = 8
"""A grid of so many settings is probed whole: a quarter of it would be a guess."""
_ORDER = ("hw_decoder_load", "pipelines", "batch_size", "threads", "prefetch")
"""Which knob is turned first: threads begin at their best value mostly, a batch less often."""
_MEMORY = ("batch_size", "prefetch", "pipelines")
"""The knobs by which the memory grows."""
_BETTER = 1.01
"""A step helps where it brings more than 1 %."""
_CONFIRMED = 3
"""So many of the best are measured anew, or half the allowance: probes may be wrong by 5 %."""

Probe = Callable[[Place], float | None]
"""imgs/s at a place, or None where it fails (too little memory, for example)."""


class TunerSearch:
    """One search. ``found`` has the imgs/s at every place that was probed, None where it failed."""

    def __init__(self, grid: Grid, probe: Probe, allowance: int | None = None) -> None:
        self.grid = grid
        usual = len(grid) if len(grid) <= SMALL else min(MOST, int(SHARE * len(grid)))
        self.allowance = usual if allowance is None else allowance
        whole = self.allowance >= len(grid)
        self.confirmed = 0 if whole else min(_CONFIRMED, self.allowance // 2)
        """How many of the best are to be measured anew, which the allowance includes."""
        self.found: dict[Place, float | None] = {}
        self.probes = 0
        self._probe = probe

    def run(self) -> list[Place]:
        """The best places, best first: as many as are to be confirmed, at least one.

        Empty where every probe failed.
        """
        at = self._start()
        if not self._rate(at):
            at = self._smallest(at)
        at = self._climb(at)
        chance = random.Random(0)
        while self._left() > 0 and len(self.found) < len(self.grid):
            before = len(self.found)
            better = self._pairs(at)
            if better != at:
                at = self._climb(better)
            elif len(self.found) < len(self.grid):
                self._climb(self._farthest(chance))
                at = next(iter(self._ranked()), at)
            if len(self.found) == before:
                break
        return self._ranked()[: max(1, self.confirmed)]

    def _start(self) -> Place:
        """All cores, a middling batch, a queue of two, all that the JPEG engines can take.

        Of several pipelines as many as there may be, of two threads.
        """
        wanted = {"threads": 1.0, "batch_size": 0.6, "prefetch": 0.5}
        start = {k: round(wanted.get(k, 1.0) * (len(self.grid.values(k)) - 1)) for k in KNOBS}
        if self.grid.pipelines[-1] > 1:
            few = [index for index, count in enumerate(self.grid.threads) if count <= 2]
            start["threads"] = max(few, default=0)
        return tuple(start[knob] for knob in KNOBS)

    def _smallest(self, at: Place) -> Place:
        """The least that a place can take of the memory: from there a climb comes to what fits."""
        return tuple(0 if knob in _MEMORY else index for knob, index in zip(KNOBS, at, strict=True))

    def _left(self) -> int:
        return self.allowance - self.confirmed - self.probes

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
