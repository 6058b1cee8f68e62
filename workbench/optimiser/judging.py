"""Judge the rewrites of a measured sequence: speed or memory, relative to the noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.stats import Interval, paired_ratio
from workbench.graph.model import Graph
from workbench.optimiser.proposal import Objective, Proposal, memory_text, ratio_text
from workbench.optimiser.search import CandidateRewrite, Names

_MEMORY_NOISE = 0.01
"""Minimum noise of the memory, as a fraction."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A sequence of rewrites. Some of its prefixes are measured.

    ``places`` are the indices of the last rewrites of these prefixes. ``rows`` has the original
    graph, its control, and then one row for each place.
    """

    steps: tuple[CandidateRewrite, ...] = ()
    places: tuple[int, ...] = ()
    rows: tuple[Measurement, ...] = ()

    @property
    def names(self) -> Names:
        return tuple(step.name for step in self.steps)

    @property
    def graph(self) -> Graph:
        """The graph after all rewrites."""
        return self.steps[-1].graph

    def first(self, count: int) -> Chain:
        """Return the chain with only the first rewrites."""
        places = tuple(place for place in self.places if place < count)
        return Chain(self.steps[:count], places, self.rows[: 2 + len(places)])


def peak_bytes(row: Measurement) -> int | None:
    """Return the peak memory of a measurement in bytes, host and GPU together, None if unknown."""
    return row.host_bytes + (row.gpu_bytes or 0) if row.host_bytes else None


def original_text(row: Measurement) -> str:
    """Return the speed and, if known, the peak memory of a measurement as text."""
    peak = peak_bytes(row)
    return row.rate_text + (f", {memory_text(peak)}" if peak else "")


def noise_of(control: Interval) -> float:
    """Return the noise as a fraction: the largest deviation of the control's ratio from 1."""
    return max(control.high - 1, 1 - control.low, 0.0)


def ratio_of(row: Measurement, before: Measurement, objective: Objective) -> float:
    """Return how much better a row is than another: times the speed, or a part of the memory."""
    if objective == "speed":
        return paired_ratio(row.imgs_per_s, before.imgs_per_s).median
    ours, theirs = peak_bytes(row), peak_bytes(before)
    return theirs / ours if ours and theirs else 1.0


def noise_between(again: Measurement, first: Measurement, objective: Objective) -> float:
    """Return the noise of ``ratio_of`` as a fraction, from two measurements of the same graph."""
    if objective == "speed":
        return noise_of(paired_ratio(again.imgs_per_s, first.imgs_per_s))
    return max(_MEMORY_NOISE, abs(ratio_of(again, first, objective) - 1))


def no_gain(proposal: Proposal, ratio: float, noise: float, objective: Objective = "speed") -> str:
    """Return why a rewrite is rejected for its speed or memory, or "" if it is accepted.

    A rewrite must not be worse by more than the noise (a fraction). A rewrite that changes pixels
    must be better by more than the noise. ``ratio`` is more than 1 if the rewrite is better.
    """
    found = ratio_text(ratio, objective).removesuffix(f" the {objective}")
    if ratio < 1 - noise:
        return f"{'slower' if objective == 'speed' else 'more memory'}: {found}"
    if proposal.kind == "near" and ratio <= 1 + noise:
        how = "faster" if objective == "speed" else "less memory"
        return f"no {how} ({found}, noise {noise:.0%}), and it changes pixels"
    return ""


def reasons_together(
    names: Names,
    measured: Mapping[int, tuple[Proposal, float]],
    noise: float,
    required_by: Callable[[Names], frozenset[str]],
) -> dict[int, str]:
    """Return the reasons for rejections. Some proposals are accepted for what they add up to.

    A rewrite is accepted if accepted ones that need it make it worthwhile. Small gains of near
    rewrites are accepted if their product exceeds the noise of as many measurements.
    """
    reasons = {place: one.rejected for place, (one, _) in measured.items()}
    for place, (one, worth) in reversed(list(measured.items())):
        if not reasons[place] or not worth:
            continue
        for later, (_, ratio) in measured.items():
            if later > place and not reasons[later]:
                relied = required_by(names[: later + 1])
                worth *= ratio if one.name in relied else 1.0
        if worth > 1 + noise:
            reasons[place] = ""
    small = {p: m[1] for p, m in measured.items() if reasons[p] and m[1] >= 1 - noise}
    if math.prod(small.values()) > 1 + noise * math.sqrt(len(small)):
        reasons |= {place: "" for place, ratio in small.items() if ratio >= 1}
    return reasons
