"""Operators that do nothing are taken out: every byte stays."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_exact, start
from workbench.graph import Graph

NAME = "neutral-nodes"


def test_every_byte_stays(photos: Path) -> None:
    graph = start().brightness(brightness=1.0).rotate(angle=0.0, keep_size=True).copy()
    graph = graph.flip(horizontal=0).hue(hue=0.0).cast(dtype="UINT8").crop(crop=(50, 60))
    after = done(graph, NAME)
    assert ops(after)[2:] == ["crop"]
    require_exact(graph, after, photos)


@pytest.mark.parametrize(
    "graph",
    [
        start().brightness(brightness=1.0, dtype="FLOAT"),
        start().rotate(angle=0.0),
        wb.outputs(images=start().images * 1.0),
        start().brightness(brightness=wb.random.uniform(range=(0.9, 1.1))),
    ],
    ids=["another type", "may grow", "promoted", "drawn"],
)
def test_what_does_something_stays(graph: Graph) -> None:
    assert done(graph, NAME) == graph
