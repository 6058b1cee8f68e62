"""Constants folded: every byte stays."""

from __future__ import annotations

from pathlib import Path

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_exact, start

NAME = "fold-constants"


def test_a_coin_that_never_falls_otherwise_is_a_number(photos: Path) -> None:
    graph = start().flip(horizontal=wb.random.coin_flip(probability=1.0))
    graph = graph.brightness(brightness=wb.random.uniform(values=(1.25,)))
    after = done(graph, NAME)
    assert after.node("flip").args["horizontal"] == 1
    assert after.node("brightness").args["brightness"] == 1.25
    assert [node.op for node in after.nodes if node.op.startswith("random")] == []
    require_exact(graph, after, photos)


def test_what_it_makes_neutral_goes_too(photos: Path) -> None:
    graph = start().flip(horizontal=wb.random.coin_flip(probability=0.0)).hue(hue=9.0)
    after = done(graph, NAME, "neutral-nodes")
    assert ops(after)[2:] == ["hue"]
    require_exact(graph, after, photos)


def test_what_varies_stays() -> None:
    graph = start().flip(horizontal=wb.random.coin_flip(probability=0.5))
    assert done(graph, NAME) == graph
