"""A random crop in the decoder: the same windows, near pixels."""

from __future__ import annotations

from pathlib import Path

from tests.graph.rewrites.laws import done, ops, require_near, start

NAME = "random-crop-in-decoder"


def test_windows_stay_and_pixels_are_near(photos: Path) -> None:
    graph = start().random_resized_crop(size=(64, 64), random_area=(0.2, 0.9))
    after = done(graph, NAME)
    assert ops(after)[1:] == ["decoders.image_random_crop", "resize"]
    assert after.node("decode").args["random_area"] == (0.2, 0.9)
    assert require_near(graph, after, photos).psnr > 45
