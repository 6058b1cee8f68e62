"""Colour and flips behind a resize: near."""

from __future__ import annotations

from pathlib import Path

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_near, start

NAME = "colour-after-resize"


def test_colour_and_flips_are_near(photos: Path) -> None:
    hue = wb.random.uniform(range=(-20.0, 20.0))
    graph = start().color_twist(hue=hue).flip(horizontal=1).resize(size=(64.0, 64.0))
    after = done(graph, NAME)
    assert ops(after)[2:] == ["resize", "color_twist", "flip"]
    require_near(graph, after, photos)


def test_a_random_crop_draws_the_same(photos: Path) -> None:
    graph = start().brightness(brightness=0.8).random_resized_crop(size=(64, 64))
    after = done(graph, NAME)
    assert ops(after)[2:] == ["random_resized_crop", "brightness"]
    require_near(graph, after, photos)


def test_a_flip_before_a_random_crop_is_another_window() -> None:
    graph = start().flip(horizontal=1).random_resized_crop(size=(64, 64))
    assert done(graph, NAME) == graph
