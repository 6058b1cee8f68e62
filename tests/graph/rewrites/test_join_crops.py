"""Two crops as one: every byte stays, or both do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graph.rewrites.laws import done, ops, require_exact, start
from workbench.graph import Graph

NAME = "join-crops"
CENTRED = start().crop(crop=(91, 80)).crop(crop=(61, 60))
CORNER = start().crop(crop=(90, 80), crop_pos_x=0.0, crop_pos_y=1.0)
CORNER = CORNER.crop(crop=(61, 61), crop_pos_x=0.0, crop_pos_y=1.0)
SLICED = start().slice(start=(5, 9), shape=(80, 81)).slice(start=(3, 2), shape=(60, 50))


@pytest.mark.parametrize("graph", [CENTRED, CORNER, SLICED], ids=["centre", "corner", "slice"])
def test_every_byte_stays(graph: Graph, photos: Path) -> None:
    after = done(graph, NAME)
    assert len(ops(after)) == 3
    require_exact(graph, after, photos)


def test_half_a_pixel_is_not_cut_off() -> None:
    graph = start().crop(crop=(91, 80)).crop(crop=(60, 60))
    assert done(graph, NAME) == graph
