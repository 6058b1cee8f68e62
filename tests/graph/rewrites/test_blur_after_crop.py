"""Blur behind crops: near, but at the edges alone."""

from __future__ import annotations

from pathlib import Path

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_near, start

NAME = "blur-after-crop"


def test_only_the_edges_differ(photos: Path) -> None:
    sigma = wb.random.uniform(range=(0.5, 1.2))
    graph = start().gaussian_blur(sigma=sigma).flip(horizontal=1).crop(crop=(80, 80))
    after = done(graph, NAME)
    assert ops(after)[2:] == ["flip", "crop", "gaussian_blur"]
    assert require_near(graph, after, photos).equal > 0.75
