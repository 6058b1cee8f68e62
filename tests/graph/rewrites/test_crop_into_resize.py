"""Crops and flips into resize_crop_mirror: near, by roundings."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_near, start
from workbench.graph import Graph

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


def test_the_crop_of_a_normalize_goes_there_too(photos: Path) -> None:
    mirror = wb.random.coin_flip()
    graph = start().resize(resize_shorter=80.0)
    graph = graph.crop_mirror_normalize(crop=(64, 63), crop_pos_x=0.3, mirror=mirror, std=(60.0,))
    after = done(graph, NAME)
    assert ops(after)[2:] == ["resize_crop_mirror", "crop_mirror_normalize"]
    assert after["crop_mirror_normalize"].args.keys() == {"std"}
    assert require_near(graph, after, photos).largest <= 1.01 / 60


@pytest.mark.parametrize(
    "graph",
    [
        start().resize(resize_shorter=80.0).crop_mirror_normalize(std=(60.0,)),
        start()
        .resize(resize_shorter=50.0)
        .crop_mirror_normalize(crop=(64, 63), out_of_bounds_policy="pad"),
    ],
    ids=["no crop", "pad"],
)
def test_a_normalize_that_does_not_cut_stays(graph: Graph) -> None:
    assert done(graph, NAME) == graph
