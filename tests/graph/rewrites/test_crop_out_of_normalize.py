"""A crop out of crop_mirror_normalize, before colour: every byte stays."""

from __future__ import annotations

from pathlib import Path

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_exact, start

NAME = "crop-out-of-normalize"


def test_every_byte_stays(photos: Path) -> None:
    hue = wb.random.uniform(range=(-30.0, 30.0))
    coloured = start().hue(hue=hue).brightness(brightness=1.2)
    graph = coloured.crop_mirror_normalize(crop=(61, 73), mirror=wb.random.coin_flip(), std=(9.0,))
    after = done(graph, NAME, "colour-after-crop")
    assert ops(after)[2:] == ["crop", "hue", "brightness", "crop_mirror_normalize"]
    require_exact(graph, after, photos)


def test_a_crop_with_no_colour_before_it_stays() -> None:
    graph = start().crop_mirror_normalize(crop=(61, 73))
    assert done(graph, NAME) == graph
