"""Divide the difference of two pipelines among their steps, by swapping one part at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from workbench.pipeline_difference.measure import Distance, Failed, Item, distance
from workbench.pipeline_difference.sides.opening import WHOLE, as_png
from workbench.pipeline_difference.steps import DECODE, Side, Step, StepRunner, is_image

Cut = tuple[int, int]
"""A pair of indices (in A, in B): the steps before them have the same purpose on both sides."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of both pipelines, and the difference that swapping only this part causes.

    ``mean`` and ``largest`` are in 8-bit levels of the result; ``ours`` and ``theirs`` are the
    steps as source code.
    """

    name: str
    mean: float
    largest: float
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    sizes: str = ""


def possible_cuts(a: Side, b: Side) -> list[Cut]:
    """Return the cuts before or after which both sides run the same kinds of steps."""
    done_a, done_b = _prefixes(a.steps), _prefixes(b.steps)
    cuts = [
        (i, j)
        for i in range(1, len(a.steps))
        for j in range(1, len(b.steps))
        if done_a[i] == done_b[j] or done_a[-1] - done_a[i] == done_b[-1] - done_b[j]
    ]
    found: list[Cut] = []
    for i, j in sorted(cuts):
        if not found or (i > found[-1][0] and j > found[-1][1]):
            found.append((i, j))
    return found


def _prefixes(steps: Sequence[Step]) -> list[Counter[str]]:
    found = [Counter[str]()]
    for step in steps:
        found.append(found[-1] + Counter(kind for kind in step.kinds if kind != WHOLE))
    return found


def waterfall(
    a: Side, b: Side, items: list[Item], runner: StepRunner, check: Callable[[str], None]
) -> tuple[Share, ...]:
    """Measure how much each part of the pipelines contributes to the difference.

    Hybrid pipelines run A's steps up to a cut, and then B's steps. The first hybrid is all of B,
    and the last is all of A.
    """
    if _is_opaque(a) and not _is_opaque(b):
        return tuple(
            Share(s.name, s.mean, s.largest, s.theirs, s.ours, s.sizes)
            for s in waterfall(b, a, items, runner, check)
        )
    cuts = [cut for cut in _cuts(a, b) if _exchangeable(a, b, cut, items, runner)]
    ends = [(0, 0), *cuts, (len(a.steps), len(b.steps))]
    shares: list[Share] = []
    before = runner.cached(b.steps, items)
    for start, end in pairwise(ends):
        check(_name(a.steps[start[0] : end[0]], b.steps[start[1] : end[1]]))
        after = _hybrid(a, b, end, items, runner)
        made = distance(after, before)
        shares.append(_share(a, b, start, end, made))
        before = after
    return tuple(shares)


def _cuts(a: Side, b: Side) -> list[Cut]:
    if _is_opaque(b):
        return [(1, 0)] if DECODE in a.steps[0].kinds and len(a.steps) > 1 else []
    return possible_cuts(a, b)


def _is_opaque(side: Side) -> bool:
    """True if decoding and all other operations are one step, which accepts encoded bytes."""
    return {DECODE, WHOLE} <= set(side.steps[0].kinds)


def _exchangeable(a: Side, b: Side, cut: Cut, items: list[Item], runner: StepRunner) -> bool:
    """True if both sides have uint8 images with channels last at a cut."""
    some = items[:2]
    for side, count in ((a, cut[0]), (b, cut[1])):
        if count:
            results = runner.run(side.steps[:count], some)
            if not all(is_image(each) for each in results if not isinstance(each, Failed)):
                return False
    return True


def _hybrid(a: Side, b: Side, cut: Cut, items: list[Item], runner: StepRunner) -> list[Item]:
    found = runner.cached(a.steps[: cut[0]], items)
    rest = b.steps[cut[1] :]
    if rest and cut[1] == 0:  # an opaque function of bytes, given A's pixels
        found = [each if isinstance(each, Failed) else as_png(each) for each in found]
    return runner.run(rest, found)


def _share(a: Side, b: Side, start: Cut, end: Cut, made: Distance) -> Share:
    ours, theirs = a.steps[start[0] : end[0]], b.steps[start[1] : end[1]]
    known = [each for each in made.images if each is not None]
    largest = max((each.largest for each in known), default=0.0)
    sizes = next((each.shapes for each in known if each.shapes), "")
    texts = [tuple(step.text for step in steps) for steps in (ours, theirs)]
    return Share(_name(ours, theirs), made.mean, largest, texts[0], texts[1], sizes)


def _name(ours: Sequence[Step], theirs: Sequence[Step]) -> str:
    kinds = dict.fromkeys(kind for step in (*ours, *theirs) for kind in step.kinds)
    if not any(DECODE in step.kinds for step in ours):
        kinds.pop(DECODE, None)  # a function of encoded bytes, given decoded pixels
    named = [kind for kind in kinds if kind != WHOLE]
    return ", ".join(named) or "everything after decoding"
