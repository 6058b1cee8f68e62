"""Flips into crop_mirror_normalize: every byte stays, where it does not crop."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_exact, start
from workbench.graph import Graph

NAME = "flip-into-normalize"


@pytest.mark.parametrize("drawn", [True, False])
def test_every_byte_stays(drawn: bool, photos: Path) -> None:
    flipped = start().flip(horizontal=wb.random.coin_flip() if drawn else 1)
    graph = flipped.crop_mirror_normalize(mean=(120.0,), std=(60.0,))
    after = done(graph, NAME)
    assert ops(after)[2:] == ["crop_mirror_normalize"]
    require_exact(graph, after, photos)


@pytest.mark.parametrize(
    "graph",
    [
        start().flip().crop_mirror_normalize(crop=(61, 73)),
        start().flip(vertical=1).crop_mirror_normalize(),
        start().flip().crop_mirror_normalize(mirror=wb.random.coin_flip()),
    ],
    ids=["crops", "vertical", "mirrors"],
)
def test_it_is_not_done_where_another_window_or_mirror_would_be(graph: Graph) -> None:
    assert done(graph, NAME) == graph
