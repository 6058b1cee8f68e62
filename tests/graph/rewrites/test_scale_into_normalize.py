"""A factor into crop_mirror_normalize: the same number but for the last bit."""

from __future__ import annotations

from pathlib import Path

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_near, start

NAME = "scale-into-normalize"


def test_only_the_last_bit_differs(photos: Path) -> None:
    small = start().images / 255.0
    graph = wb.outputs(images=small.crop_mirror_normalize(mean=(0.48, 0.45, 0.4), std=(0.22,)))
    after = done(graph, NAME)
    assert ops(after)[2:] == ["crop_mirror_normalize"]
    assert require_near(graph, after, photos).largest < 1e-5


def test_a_product_that_is_cut_off_stays() -> None:
    bright = (start().images * 0.5).cast(dtype="UINT8")
    graph = wb.outputs(images=bright.crop_mirror_normalize(mean=(9.0,)))
    assert done(graph, NAME) == graph


def test_flips_may_stand_between(photos: Path) -> None:
    turned = (start().images / 255.0).flip(horizontal=1)
    graph = wb.outputs(images=turned.crop_mirror_normalize(crop=(60, 61), mean=(0.48,)))
    after = done(graph, NAME)
    assert ops(after)[2:] == ["flip", "crop_mirror_normalize"]
    assert require_near(graph, after, photos).largest < 1e-5
