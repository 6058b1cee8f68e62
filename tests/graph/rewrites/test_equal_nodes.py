"""Equal nodes computed once: every byte stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_exact, start

NAME = "equal-nodes"


def test_two_views_share_what_they_have_in_common(photos: Path) -> None:
    jpegs = wb.read(photos).jpegs
    views = [
        wb.fn.decoders.image(jpegs).resize(size=(64.0, 64.0)).brightness(brightness=by)
        for by in (0.8, 1.3)
    ]
    graph = wb.outputs(one=views[0], other=views[1])
    after = done(graph, NAME)
    assert sorted(ops(after)[1:]) == ["brightness", "brightness", "decoders.image", "resize"]
    require_exact(graph, after, photos)


def test_one_seed_makes_draws_equal_and_two_do_not(photos: Path) -> None:
    image = start().images
    noisy = [image.noise.gaussian(stddev=9.0) for _ in range(2)]
    graph = wb.outputs(one=noisy[0], other=noisy[1])
    assert done(graph, NAME) == graph
    first, second = (node for node in graph.nodes if node.op == "noise.gaussian")
    shared = graph.replace_node(replace(second, seed=first.seed))
    after = done(shared, NAME)
    assert ops(after).count("noise.gaussian") == 1
    require_exact(shared, after, photos)
