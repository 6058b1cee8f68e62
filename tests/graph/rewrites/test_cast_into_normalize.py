"""Casts into crop_mirror_normalize: every byte stays."""

from __future__ import annotations

from pathlib import Path

from tests.graph.rewrites.laws import done, ops, require_exact, start

NAME = "cast-into-normalize"


def test_every_byte_stays_before_and_behind_it(photos: Path) -> None:
    graph = start().cast(dtype="FLOAT").crop_mirror_normalize(mean=(120.0,), std=(60.0,))
    graph = graph.cast(dtype="FLOAT16")
    after = done(graph, NAME)
    assert ops(after)[2:] == ["crop_mirror_normalize"]
    require_exact(graph, after, photos)


def test_a_cast_that_rounds_stays() -> None:
    graph = start().cast(dtype="FLOAT").cast(dtype="UINT8").crop_mirror_normalize()
    assert done(graph, NAME) == graph


def test_flips_may_stand_between(photos: Path) -> None:
    graph = start().cast(dtype="FLOAT").flip(horizontal=1, vertical=1)
    graph = graph.crop_mirror_normalize(crop=(60, 61), std=(60.0,))
    after = done(graph, NAME)
    assert ops(after)[2:] == ["flip", "crop_mirror_normalize"]
    require_exact(graph, after, photos)
