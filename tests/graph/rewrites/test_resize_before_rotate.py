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
