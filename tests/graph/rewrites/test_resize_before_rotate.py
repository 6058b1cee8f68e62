"""A resize that keeps the proportions before a rotation: near on what is smooth."""

from __future__ import annotations

from pathlib import Path

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_near, start

NAME = "resize-before-rotate"
ANGLE = wb.random.uniform(range=(-10.0, 10.0))
TURNED = start().gaussian_blur(sigma=3.0).rotate(angle=5.0, keep_size=True, fill_value=100.0)


def test_in_proportion_it_is_near(photos: Path) -> None:
    graph = TURNED.resize(resize_shorter=64.0)
    after = done(graph, NAME)
    assert ops(after)[3:] == ["resize", "rotate"]
    require_near(graph, after, photos)


def test_where_the_resize_stretches_it_stays() -> None:
    graph = TURNED.resize(size=(64.0, 64.0))
    assert done(graph, NAME) == graph


def test_a_crop_that_follows_does_not_take_the_resize_first(photos: Path) -> None:
    graph = start().rotate(angle=9.0, keep_size=True, fill_value=0.0).resize(resize_shorter=80.0)
    graph = graph.crop_mirror_normalize(crop=(64, 64), std=(60.0,))
    after = done(graph, NAME, "crop-into-resize")
    assert ops(after)[2:] == ["resize", "rotate", "crop_mirror_normalize"]
    alone = done(graph, "crop-into-resize")
    assert ops(alone)[2:] == ["rotate", "resize_crop_mirror", "crop_mirror_normalize"]
