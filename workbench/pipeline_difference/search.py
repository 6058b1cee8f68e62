"""Search for changes that make two pipelines equal, and verify each by running the pipelines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from workbench.pipeline_difference.changes.change import FITTED, Change
from workbench.pipeline_difference.measure import Distance
from workbench.pipeline_difference.steps import Side

MOST_CAUSES = 6
_TIE = 0.002
"""Two costs are tied if they differ by less than this fraction of the largest reduction."""
_TIES, _MOST_EXPANDED = 3, 8
"""Maximum number of tied changes to follow, and maximum number of states to expand."""
_GOOD = 0.5
"""Difference in 8-bit levels below which the search tries neither tied changes nor pairs."""
_HOPELESS = 1.5
"""A change that multiplies the initial difference by more than this is not tried again."""
_MOSTLY = ("value range", "mean and std", "scale of mean and std", "clipping", "resize ratio")
"""Causes that must remove most of the remaining difference: a smaller share is often a coincidence,
because values of a smaller range, or pixels of a smoother image, differ less.
"""
_EXACT = 0.95
"""A factor of 255 is preferred to fitted values if it removes at least this fraction of the
difference that the fitted values remove.
"""
_PAIRED = 6
"""Maximum number of changes that are also tried in pairs."""

Pair = tuple[Side, Side]
Evaluate = Callable[[Sequence[Pair]], list[Distance | None]]
"""Function that runs pairs of sides and returns their distances; None for a pair that cannot run.
"""
_AT_ONCE = 12
"""Maximum number of changes that run in one call."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Conditions for accepting a change, in 8-bit levels or as fractions of the difference.

    A change is accepted if it removes the fraction ``most`` of the difference, or the fraction
    ``part`` if that is at least ``visible``. It is also accepted if it removes the fraction
    ``most`` of the difference of some images and makes no image worse by more than ``harm``. A
    change whose cause is in ``_MOSTLY`` must remove the fraction ``most`` of the difference of all
    images.
    """

    levels: float
    """Number of 8-bit levels in one unit of ``Distance.cost``."""
    equal: float = 0.02
    visible: float = 0.5
    most: float = 0.5
    part: float = 0.2
    harm: float = 0.2

    def is_equal(self, distance: Distance) -> bool:
        return distance.cost * self.levels < self.equal

    def accepts(self, before: Distance, after: Distance, cause: str = "") -> bool:
        gain = before.cost - after.cost
        if gain * self.levels < self.equal:
            return False
        share = gain / before.cost
        if cause in _MOSTLY:
            return share >= self.most
        if share >= self.most or (share >= self.part and gain * self.levels >= self.visible):
            return True
        moves = [
            ((a.cost - b.cost) * self.levels, b.cost <= (1 - self.most) * a.cost)
            for a, b in zip(before.images, after.images, strict=True)
            if a is not None and b is not None
        ]
        helped = [move for move, mostly in moves if mostly and move > 2 * self.visible]
        return bool(helped) and min(move for move, _ in moves) > -self.harm


@dataclass(frozen=True, slots=True)
class Found:
    """An accepted change, the distance before and after it, and equally good alternatives."""

    change: Change
    before: Distance
    after: Distance
    alternatives: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """Accepted changes in order, and the distances before and after all of them."""

    found: tuple[Found, ...]
    start: Distance
    rest: Distance
    sides: Pair
    tried: int
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class _State:
    """A state of the search: the changed sides, their distance, and the changes accepted so far."""

    sides: Pair
    current: Distance
    found: tuple[Found, ...] = ()

    @property
    def order(self) -> tuple[float, int]:
        return self.current.cost, sum(each.change.rank for each in self.found)


class _Search:
    """A greedy search that also follows changes that tie with the best change."""

    def __init__(
        self,
        changes: Callable[[Pair], Iterable[Change]],
        evaluate: Evaluate,
        limits: Limits,
        on_trial: Callable[[str], None],
    ) -> None:
        self._changes = changes
        self._evaluate = evaluate
        self._limits = limits
        self._on_trial = on_trial
        self._hopeless: set[tuple[str, str]] = set()
        self.tried = 0
        self.best: _State | None = None

    def run(self, start: _State) -> None:
        """Search from a state. ``best`` is set to the best state, also after an interrupt."""
        self.best = start
        waiting, expanded = [start], 0
        while waiting and expanded < _MOST_EXPANDED:
            state = waiting.pop(0)
            expanded += 1
            following = self._next_states(state)
            if following and following[0].order < self.best.order:
                self.best = following[0]
            waiting = [*following, *waiting]
            if not following and self.best.current.cost * self._limits.levels < _GOOD:
                return

    def _next_states(self, state: _State) -> list[_State]:
        """Return the states after the best change, and after changes that tie with it."""
        if self._limits.is_equal(state.current) or len(state.found) >= MOST_CAUSES:
            return []
        trials = self._trials(state)
        chosen = _best(trials, state.current, self._limits)
        if not chosen:
            return self._pairs(state, trials)
        return [
            self._state_after(state, change, result, others) for change, result, others in chosen
        ]

    def _state_after(
        self, state: _State, change: Change, result: Distance, others: tuple[Change, ...] = ()
    ) -> _State:
        found = Found(change, state.current, result, others)
        sides = _applied(state.sides, [change]) or state.sides
        return _State(sides, result, (*state.found, found))

    def _trials(self, state: _State) -> list[tuple[Change, Distance]]:
        trials: list[tuple[Change, Distance]] = []
        candidates = [
            change
            for change in self._changes(state.sides)
            if (change.label, change.text) not in self._hopeless
            and not any(_have_same_cause(change, each.change) for each in state.found)
        ]
        for at in range(0, len(candidates), _AT_ONCE):
            group = candidates[at : at + _AT_ONCE]
            self._on_trial(group[0].cause)
            changed = [_applied(state.sides, [change]) for change in group]
            pairs = [each for each in changed if each is not None]
            _, *results = self._evaluate([state.sides, *pairs])
            able = [c for c, each in zip(group, changed, strict=True) if each is not None]
            self.tried += len(able)
            trials += [(c, d) for c, d in zip(able, results, strict=True) if d is not None]
        if not state.found:
            worse = _HOPELESS * state.current.cost
            self._hopeless = {(c.label, c.text) for c, d in trials if d.cost > worse}
        return trials

    def _pairs(self, state: _State, trials: Sequence[tuple[Change, Distance]]) -> list[_State]:
        """Return states after pairs of the changes that help most or harm least."""
        if state.current.cost * self._limits.levels < _GOOD:
            return []
        likely: dict[str, tuple[Change, Distance]] = {}
        for change, result in sorted(trials, key=lambda each: each[1].cost):
            likely.setdefault(change.cause, (change, result))
        pairs = [
            (one, first, other, changed)
            for (one, first), (other, _) in combinations([*likely.values()][:_PAIRED], 2)
            if (changed := _applied(state.sides, [one, other])) is not None
        ]
        distances = self._evaluate([changed for *_, changed in pairs])
        self.tried += len(pairs)
        results = [
            (result.cost, one, first, other, result)
            for (one, first, other, _), result in zip(pairs, distances, strict=True)
            if result is not None
            and self._limits.accepts(state.current, result)
            and 1 - result.cost / state.current.cost >= self._limits.most
        ]
        if not results:
            return []
        _, one, first, other, result = min(results, key=lambda each: each[0])
        return [self._state_after(self._state_after(state, one, first), other, result)]


def explain(
    sides: Pair,
    changes: Callable[[Pair], Iterable[Change]],
    evaluate: Evaluate,
    levels: float,
    on_trial: Callable[[str], None] = lambda text: None,
) -> Explanation:
    """Search for changes that make two sides equal, and drop changes that turn out unnecessary.

    The search is greedy. If no single change helps, pairs of changes are tried.
    """
    limits = Limits(levels)
    (start,) = evaluate([sides])
    assert start is not None
    search = _Search(changes, evaluate, limits, on_trial)
    interrupted = False
    try:
        search.run(_State(sides, start))
    except KeyboardInterrupt:
        interrupted = True
    assert search.best is not None
    best = search.best
    found, last, current = [*best.found], best.sides, best.current
    if not interrupted:
        found, last, current = _without_needless(found, sides, last, current, limits, evaluate)
    return Explanation(tuple(found), start, current, last, search.tried, interrupted)


def _have_same_cause(one: Change, other: Change) -> bool:
    """True if two changes have the same cause, so at most one of them is used."""
    return one.cause == other.cause and one.cause not in ("interpolation",)


def _applied(sides: Pair, changes: Sequence[Change]) -> Pair | None:
    a, b = sides
    for change in changes:
        changed = change.apply(a if change.label == "A" else b)
        if changed is None:
            return None
        a, b = (changed, b) if change.label == "A" else (a, changed)
    return a, b


def _evaluated(sides: Pair, changes: Sequence[Change], evaluate: Evaluate) -> Distance | None:
    changed = _applied(sides, changes)
    return None if changed is None else evaluate([changed])[0]


Chosen = list[tuple[Change, Distance, tuple[Change, ...]]]


def _best(trials: Sequence[tuple[Change, Distance]], before: Distance, limits: Limits) -> Chosen:
    good = [(c, d) for c, d in trials if limits.accepts(before, d, c.cause)]
    exact = max((before.cost - d.cost for c, d in good if c.cause == "value range"), default=0.0)
    good = [(c, d) for c, d in good if c.rank < FITTED or exact < _EXACT * (before.cost - d.cost)]
    if not good:
        return []
    least = min(d.cost for _, d in good)
    slack = max(_TIE * (before.cost - least), limits.equal / limits.levels)
    near = [(c, d) for c, d in good if d.cost <= least + slack]
    near.sort(key=lambda each: each[0].rank)
    cause, label = near[0][0].cause, near[0][0].label
    same = [(c, d) for c, d in near if c.cause == cause]
    others = tuple(c for c, _ in same if c.label != label)[:1]
    return [(c, d, others) for c, d in same if c.label == label][:_TIES]


def _without_needless(
    found: list[Found],
    initial: Pair,
    sides: Pair,
    current: Distance,
    limits: Limits,
    evaluate: Evaluate,
) -> tuple[list[Found], Pair, Distance]:
    """Drop changes that have no effect on the difference, and measure the effect of the others.

    ``Found.before`` becomes the distance without this change but with all other changes.
    """
    if len(found) < 2:
        return found, sides, current
    kept: list[Found] = [*found]
    for each in found:
        others = [one.change for one in kept if one is not each]
        without = _evaluated(initial, others, evaluate)
        changed = _applied(initial, others)
        if without is None or changed is None:
            continue
        if not limits.accepts(without, current, each.change.cause):
            kept.remove(each)
            sides, current = changed, without
        else:
            at = kept.index(each)
            kept[at] = Found(each.change, without, current, each.alternatives)
    return kept, sides, current
