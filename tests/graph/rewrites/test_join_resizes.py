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
