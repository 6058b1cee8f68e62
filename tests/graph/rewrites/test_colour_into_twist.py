"""Colour operators in one color_twist: near, and the same map."""

from __future__ import annotations

from pathlib import Path

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_near, start

NAME = "colour-into-twist"


def test_four_are_one_map(photos: Path) -> None:
    by = wb.random.uniform(range=(0.8, 1.2))
    graph = start().contrast(contrast=by).saturation(saturation=1.2)
    graph = graph.hue(hue=wb.random.uniform(range=(-9.0, 9.0))).brightness(brightness=0.9)
    after = done(graph, NAME)
    assert ops(after)[2:] == ["color_twist"]
    require_near(graph, after, photos)


def test_contrast_behind_brightness_is_another_map() -> None:
    graph = start().brightness(brightness=0.6).contrast(contrast=1.4)
    assert done(graph, NAME) == graph


def test_a_shift_stays() -> None:
    graph = start().hue(hue=9.0).brightness(brightness=0.6, brightness_shift=0.1)
    assert done(graph, NAME) == graph
