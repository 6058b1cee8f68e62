"""What the speed panel shows of the optimiser, in the way of ``views.py``."""

from __future__ import annotations

from typing import Literal, TypedDict

from workbench.ui.contract.speed_views import MeasuredOn


class WorstSampleEntry(TypedDict):
    """A sample far from the original: both as data URLs."""

    name: str
    before: str
    after: str


class RewriteEntry(TypedDict):
    """One rewrite that is proposed, or why it is not."""

    name: str
    title: str
    kind: Literal["exact", "near"]
    law: str
    """What is put in the place of what, and why the pixels stay."""
    gain: str
    low: str
    """The interval of the gain in words; empty where nothing was measured."""
    pixels: str
    """The difference in words."""
    nodes: list[str]
    """Ids that can be selected on the canvas."""
    needs: list[str]
    """Titles of what is done with it."""
    worst: list[WorstSampleEntry]
    taken: bool
    """Whether there is no more place for it in the present graph."""
    rejected: str
    """Why it is not proposed; empty where it is."""


class RewritesView(TypedDict):
    """What the optimiser found."""

    on: list[MeasuredOn]
    rewrites: list[RewriteEntry]
    control: str
    """The graph over itself in the same run."""
    total: str
    """All together over the graph; empty where nothing is proposed."""
