"""A large graph, which may come from a hostile link, costs no more than in step with its size."""

from __future__ import annotations

import cProfile
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.thorough import one_in
from workbench.graph import Graph, Node, Port, dump_graph, load_recipe
from workbench.graph.model.bounds import MOST_CANVAS_NODES, MOST_PAGE_CHARACTERS
from workbench.ui.app.view_model import ViewModel

SMALL, LARGE = 200, 800


def loose(count: int) -> Graph:
    """Nodes that feed nothing and lack their seeds."""
    return added([Node(f"coin_{i}", "random.coin_flip") for i in range(count)])


def chained(count: int) -> Graph:
    """Each node fed by the one before."""
    names = ["decode", *(f"flip_{i}" for i in range(count))]
    return added(
        [
            Node(own, "flip", inputs={"data": Port(before, "output")})
            for before, own in pairwise(names)
        ]
    )


def fanned(count: int) -> Graph:
    """Every node fed by the same."""
    return added(
        [Node(f"flip_{i}", "flip", inputs={"data": Port("decode", "output")}) for i in range(count)]
    )


def added(nodes: list[Node]) -> Graph:
    graph = load_recipe("rotate-jitter")
    return replace(graph, nodes=(*graph.nodes, *nodes))


def calls(graph: Graph, tmp_path: Path) -> int:
    """Functions that were called to show it."""
    model = ViewModel(tmp_path, restore=False)
    profile = cProfile.Profile()
    try:
        profile.enable()
        model.set_graph(graph)
        profile.disable()
    finally:
        model.close()
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("make", one_in(3, [loose, chained, fanned], first=1))
def test_the_cost_grows_in_step_with_the_nodes(
    make: Callable[[int], Graph], tmp_path: Path
) -> None:
    few, many = (calls(make(count), tmp_path) for count in (SMALL, LARGE))
    assert many < 1.25 * few * LARGE / SMALL


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (dump_graph(loose(MOST_CANVAS_NODES)), f"a page opens {MOST_CANVAS_NODES:,} at most"),
        (" " * (MOST_PAGE_CHARACTERS + 1), "characters; a page opens"),
        (dump_graph(loose(12_000)), "more than 10,000 nodes"),
    ],
    ids=["nodes", "characters", "file"],
)
def test_a_page_refuses_what_it_cannot_draw(text: str, words: str, tmp_path: Path) -> None:
    model = ViewModel(tmp_path, restore=False)
    try:
        before = model.graph
        model.act("bar", {"do": "open", "text": text})
        assert words in model.state.message
        assert model.graph is before
    finally:
        model.close()
