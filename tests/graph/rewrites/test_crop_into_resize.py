"""Crops and flips into resize_crop_mirror: near, by roundings."""

from __future__ import annotations

from pathlib import Path

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_near, start

NAME = "crop-into-resize"


def test_pixels_move_by_a_rounding_at_most(photos: Path) -> None:
    graph = start().resize(resize_shorter=80.0).crop(crop=(64, 63))
    graph = graph.flip(horizontal=wb.random.coin_flip())
    after = done(graph, NAME)
    assert ops(after)[2:] == ["resize_crop_mirror"]
    assert require_near(graph, after, photos).largest <= 1


def test_a_flip_before_the_crop_is_another_window() -> None:
    graph = start().resize(resize_shorter=80.0).flip(horizontal=1).crop(crop=(64, 63))
    assert ops(done(graph, NAME))[2:] == ["resize_crop_mirror", "crop"]
