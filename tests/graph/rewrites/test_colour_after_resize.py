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


def test_regions_of_colour_and_flips_move_as_a_whole(photos: Path) -> None:
    hue = wb.random.uniform(range=(-20.0, 20.0))
    graph = start().with_p(0.8, lambda x: x.color_twist(hue=hue).flip(horizontal=1))
    graph = graph.resize(size=(64.0, 64.0))
    after = done(graph, NAME)
    assert ops(after)[2:] == ["resize", "if"]
    require_near(graph, after, photos)


def test_a_region_with_a_flip_stays_before_a_random_crop() -> None:
    graph = start().with_p(0.5, lambda x: x.flip(horizontal=1))
    graph = graph.random_resized_crop(size=(64, 64))
    assert done(graph, NAME) == graph


def test_tables_have_no_mean() -> None:
    graph = start().with_p(0.5, lambda x: x.lookup_table(keys=(0,), values=(9.0,), dtype="UINT8"))
    graph = graph.resize(size=(64.0, 64.0))
    assert done(graph, NAME) == graph
