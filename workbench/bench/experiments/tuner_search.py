"""Search a grid for the fastest setting, with pure functions that are tested on recorded grids.

The search starts at a setting that is usually good and changes one knob (setting) at a time while
that helps (coordinate ascent). Then it changes pairs of knobs and restarts at distant places of the
grid, up to the allowed number of probes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from types import MappingProxyType

from workbench.bench.measuring.grid import KNOBS, Grid, Place

SHARE = 0.2
"""Maximum cost of a search, including remeasurements, as a fraction of the cost of measuring the
whole grid.
"""
PROBE_COST = 0.45
"""Cost of a probe relative to a complete measurement. Build and warm-up are the same, but the
probe's worker is already running, and a probe has two rounds instead of up to six.
"""
START_COST = 0.3
"""Cost of starting the probes' worker relative to a complete measurement."""
LEAST = 3
"""Minimum number of probes, even for a small grid."""
LARGE = 24
"""Minimum size of a grid in which two settings are remeasured within the allowance. In a smaller
grid, the whole allowance is for probes, because the best setting is compared with the graph's own
anyway.
"""
MOST = 48
"""Maximum number of probes. More probes of a large grid rarely find a better setting."""
SMALL = 8
"""Maximum size of a grid that is probed completely, because a quarter of it would be too few."""
_ORDER = (
    *("batch_size", "hw_decoder_load", "pipelines", "threads", "prefetch", "executor"),
    "dont_use_mmap",
)
"""Order in which knobs are changed. Those that improve speed least are last, when few probes are
left. Of the 24 orders of batch size, load, threads and prefetch, this is one of the best on all
recorded grids and simulated machines, by leave-one-out cross-validation (``METHOD.md``).
"""
_MEMORY = ("batch_size", "prefetch", "pipelines")
"""Knobs that increase memory use."""
_BETTER = 1.01
"""Minimum speed ratio for a change to count as an improvement."""
_CONFIRMED = 2
"""Number of settings that are remeasured, because probes may be wrong by 5 %."""
_PATIENCE = 3
"""Number of consecutive restarts without improvement after which the search ends."""

Probe = Callable[[Place], float | None]
"""Function that returns the imgs/s at a place of the grid, or None if the measurement fails (for
example because memory is too small).
"""


def default_probe_allowance(settings: int) -> int:
    """Return the default number of probes for a grid of this size, including remeasurements."""
    if settings <= SMALL:
        return settings
    confirmed = _CONFIRMED if settings >= LARGE else 0
    probes = int((SHARE * settings - confirmed - START_COST) / PROBE_COST)
    return confirmed + min(MOST, max(LEAST, probes))


class TunerSearch:
    """One search of a grid. ``found`` has the imgs/s of each probed place; None if it failed."""

    def __init__(
        self,
        grid: Grid,
        probe: Probe,
        allowance: int | None = None,
        exhausted: Callable[[], bool] = lambda: False,
    ) -> None:
        """``allowance`` is the number of probes, including remeasurements.

        ``exhausted`` is called before each probe. If it returns True, no setting can be faster, and
        the search ends.
        """
        self.grid = grid
        self.allowance = default_probe_allowance(len(grid)) if allowance is None else allowance
        alone = self.allowance >= len(grid) or len(grid) < LARGE
        self.confirmed = 0 if alone else min(_CONFIRMED, self.allowance // 2)
        """Number of settings to remeasure, included in the allowance."""
        self._exhausted = exhausted
        self.found: dict[Place, float | None] = {}
        self.probes = 0
        self._probe = probe

    @property
    def most_probes(self) -> int:
        """Maximum number of probes: the allowance without remeasurements."""
        return self.allowance - self.confirmed

    def run(self, known_rates: Mapping[Place, float | None] = MappingProxyType({})) -> list[Place]:
        """Search, and return the places to remeasure, best first, or [] if every probe failed.

        ``known_rates`` are results of earlier probes, which count towards the allowance.
        """
        self.found |= known_rates
        self.probes += len(known_rates)
        at = self._start()
        if not self._rate(at):
            at = self._smallest(at)
        at = self._climb(at)
        chance = random.Random(0)
        vain = 0
        while self._probes_left() > 0 and len(self.found) < len(self.grid):
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
        """Return the first place to probe: all cores, medium batch, and a queue of two batches.

        With JPEG engines, it is two pipelines of two threads with queues of four: on an H100 this
        reached 44,200 imgs/s, compared with 38,300 with three pipelines (November 2026). Files are
        read instead of mapped if there is the choice: 43,000 imgs/s instead of 37,000 on that
        machine, and 35,000 instead of 29,000 with one pipeline.
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

    def _smallest(self, place: Place) -> Place:
        """Return the place with minimum memory use, to start from if ``place`` fails."""
        return tuple(
            0 if knob in _MEMORY else index for knob, index in zip(KNOBS, place, strict=True)
        )

    def _probes_left(self) -> int:
        return 0 if self._exhausted() else self.most_probes - self.probes

    def _rate(self, place: Place) -> float:
        """Return a place's imgs/s, probing it if needed, or 0 if a probe fails or none is left."""
        if place not in self.found and self._too_large(place):
            self.found[place] = None
        if place not in self.found:
            if self._probes_left() <= 0:
                return 0.0
            self.probes += 1
            self.found[place] = self._probe(place)
        return self.found[place] or 0.0

    def _too_large(self, place: Place) -> bool:
        """Return whether a probe with the same or less memory use has already failed."""
        knobs = [KNOBS.index(knob) for knob in _MEMORY]
        return any(
            rate is None and all(place[knob] >= failed[knob] for knob in knobs)
            for failed, rate in self.found.items()
        )

    def _climb(self, place: Place) -> Place:
        """Change one knob at a time until no change helps, and return the place reached."""
        self._rate(place)
        while self._probes_left() > 0:
            before = place
            for knob in _ORDER:
                place = self._line(place, KNOBS.index(knob))
            if place == before:
                break
        return place

    def _line(self, place: Place, knob: int) -> Place:
        for step in (1, -1):
            moved = False
            while (there := self._moved(place, {knob: step})) is not None:
                if self._rate(there) <= _BETTER * self._rate(place):
                    break
                place, moved = there, True
            if moved:
                break
        return place

    def _pairs(self, place: Place) -> Place:
        """Return the best place reached by changing two knobs at once, or ``place``."""
        best = place
        for one, two in combinations(range(len(KNOBS)), 2):
            for first, second in product((1, -1), repeat=2):
                there = self._moved(place, {one: first, two: second})
                if there is not None and self._rate(there) > _BETTER * self._rate(best):
                    best = there
        return best

    def _moved(self, place: Place, steps: dict[int, int]) -> Place | None:
        moved = tuple(index + steps.get(knob, 0) for knob, index in enumerate(place))
        inside = all(
            0 <= index < len(self.grid.values(knob))
            for index, knob in zip(moved, KNOBS, strict=True)
        )
        return moved if inside else None

    def _farthest(self, rng: random.Random) -> Place:
        """Return the place that is farthest from all probed places."""
        places = [place for place in self.grid.places() if place not in self.found]
        rng.shuffle(places)

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


def _last_within(values: Sequence[int], maximum: int) -> int:
    """Return the index of the largest value up to ``maximum``, or 0 if there is none."""
    return max((index for index, value in enumerate(values) if value <= maximum), default=0)
