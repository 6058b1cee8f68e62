from __future__ import annotations

import pytest

from workbench.catalog import load_catalog
from workbench.errors import GraphEditError
from workbench.graph import check_graph, load_recipe
from workbench.graph.control_flow.kinds import IF
from workbench.graph.control_flow.options import set_probability
from workbench.graph.control_flow.wrap import wrap_in_block
from workbench.graph.edits.connect import connect
from workbench.graph.model import Port

CATALOG = load_catalog()
BRANCHED, BLOCK = wrap_in_block(load_recipe("rotate-jitter"), CATALOG, ["rotate"])


def test_the_probability_is_that_of_the_coin_flip() -> None:
    assert IF.probability(BRANCHED, BRANCHED.node(BLOCK)) == 0.5
    graph = set_probability(BRANCHED, CATALOG, BLOCK, 0.8)
    assert graph.node("chance").args["probability"] == 0.8
    assert IF.probability(graph, graph.node(BLOCK)) == 0.8
    assert not check_graph(graph, CATALOG)


def test_so_it_is_inside_a_block() -> None:
    graph, inner = wrap_in_block(BRANCHED, CATALOG, ["rotate"])
    graph = set_probability(graph, CATALOG, inner, 0.25)
    body = graph.at_scope(graph.scope_of(inner))
    assert IF.probability(body, body.node(inner)) == 0.25
    assert IF.probability(graph, graph.node(BLOCK)) == 0.5


@pytest.mark.parametrize("probability", [-0.1, 1.01, float("nan"), float("inf")])
def test_no_probability_is_refused(probability: float) -> None:
    with pytest.raises(GraphEditError, match="Give a number from 0 to 1"):
        set_probability(BRANCHED, CATALOG, BLOCK, probability)


def test_what_no_coin_flip_decides_has_none() -> None:
    graph = connect(BRANCHED, CATALOG, Port("reader", "labels"), BLOCK, "condition")
    assert IF.probability(graph, graph.node(BLOCK)) is None
    with pytest.raises(GraphEditError, match=r"reader\.labels decides"):
        set_probability(graph, CATALOG, BLOCK, 0.5)
