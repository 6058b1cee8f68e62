"""Two resizes as one: near."""

from __future__ import annotations

from pathlib import Path

from tests.graph.rewrites.laws import done, ops, require_near, start

NAME = "join-resizes"


def test_the_last_alone_is_near(photos: Path) -> None:
    graph = start().resize(resize_shorter=120.0).resize(size=(64.0, 64.0))
    after = done(graph, NAME)
    assert ops(after)[2:] == ["resize"]
    require_near(graph, after, photos)


def test_a_size_that_comes_from_the_first_stays() -> None:
    graph = start().resize(size=(120.0, 90.0)).resize(resize_shorter=64.0)
    assert done(graph, NAME) == graph


def test_those_that_keep_the_proportions_are_joined_where_a_crop_follows(photos: Path) -> None:
    twice = start().resize(resize_shorter=120.0).resize(resize_shorter=80.0)
    graph = twice.crop_mirror_normalize(crop=(64, 64), std=(60.0,))
    after = done(graph, NAME)
    assert ops(after)[2:] == ["resize", "crop_mirror_normalize"]
    require_near(graph, after, photos)
    assert ops(done(graph, NAME, "crop-into-resize"))[2:] == [
        "resize_crop_mirror",
        "crop_mirror_normalize",
    ]
    assert done(twice, NAME) == twice, "a side may be another by one pixel"


def test_a_longer_side_after_a_shorter_one_is_another_image() -> None:
    graph = start().resize(resize_shorter=120.0).resize(resize_longer=80.0).crop(crop=(40, 40))
    assert done(graph, NAME) == graph
