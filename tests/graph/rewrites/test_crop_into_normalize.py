"""Crops into crop_mirror_normalize: every byte stays."""

from __future__ import annotations

from pathlib import Path

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_exact, start

NAME = "crop-into-normalize"


def test_every_byte_stays(photos: Path) -> None:
    place = wb.random.uniform(range=(0.0, 1.0))
    graph = start().crop(crop=(61, 73), crop_pos_x=place)
    coin = wb.random.coin_flip()
    graph = graph.crop_mirror_normalize(mirror=coin, mean=(120.0,), std=(60.0,))
    after = done(graph, NAME)
    assert ops(after)[2:] == ["crop_mirror_normalize"]
    require_exact(graph, after, photos)


def test_what_crops_already_stays() -> None:
    graph = start().crop(crop=(61, 73)).crop_mirror_normalize(crop=(32, 32))
    assert done(graph, NAME) == graph
