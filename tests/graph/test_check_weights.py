"""Probabilities as a file may bring them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.catalog import Value, load_catalog
from workbench.graph import check_graph, load_recipe
from workbench.graph.control_flow.one_of import choose_one_of
from workbench.graph.control_flow.regions import wrap_in_region

CATALOG = load_catalog()
JITTER = load_recipe("rotate-jitter")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((0.5, 0.6), "the probabilities sum up to 1.1"),
        ((0.0, 0.0), "the probabilities sum up to 0"),
        ((0.5, 0.3, 0.2), "it has 3 probabilities for 2 numbers to choose from"),
        ((-0.5, 1.5), "-0.5"),
        (0.4, "the probabilities sum up to 0.8"),
        ((10**400, 0), "1000000"),  # more than a float holds
    ],
)
def test_probabilities_that_dali_refuses(given: Value, words: str) -> None:
    graph, _ = choose_one_of(JITTER, CATALOG, ["rotate", "color"])
    draw = graph.node("choice")
    faulty = graph.replace_node(replace(draw, args={**draw.args, "p": given}))
    (fault,) = check_graph(faulty, CATALOG)
    assert (fault.node, fault.arg) == ("choice", "p")
    assert words in fault.words


@pytest.mark.parametrize("given", [(0.3, 0.7), (1.0, 0.0), (0.50005, 0.5), 0.5])
def test_probabilities_that_dali_takes(given: Value) -> None:
    graph, _ = choose_one_of(JITTER, CATALOG, ["rotate", "color"])
    draw = graph.node("choice")
    assert not check_graph(
        graph.replace_node(replace(draw, args={**draw.args, "p": given})), CATALOG
    )


@pytest.mark.parametrize("probability", [-0.1, 1.5])
def test_a_coin_flip_outside_of_zero_to_one(probability: float) -> None:
    graph, _ = wrap_in_region(JITTER, CATALOG, ["rotate"])
    coin = graph.node("chance")
    faulty = graph.replace_node(replace(coin, args={**coin.args, "probability": probability}))
    (fault,) = check_graph(faulty, CATALOG)
    assert (fault.node, fault.arg) == ("chance", "probability")
