"""Some of several bodies: made from a chain, counted, and told where there is no such order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.block_graphs import set_count
from workbench.catalog import load_catalog
from workbench.errors import GraphEditError
from workbench.graph import Graph, check_graph, dump_graph, load_graph, load_recipe
from workbench.graph.control_flow.kinds import MOST_ORDERS, ONE_OF, SOME_OF
from workbench.graph.control_flow.options import (
    add_option,
    fit_generator,
    move_option,
    remove_option,
    set_weights,
)
from workbench.graph.control_flow.wrap import wrap_as_options
from workbench.graph.edits.fragment import copy_fragment, paste_fragment
from workbench.graph.fixes import fixes
from workbench.graph.resolved import ResolvedGraph

CATALOG = load_catalog()
JITTER = load_recipe("rotate-jitter")
TWO, BLOCK = wrap_as_options(JITTER, CATALOG, ["rotate", "color"], "some_of")


def of(count: int, options: int, *, shuffled: bool = False) -> Graph:
    """The recipe with so many of so many bodies, faulty or not."""
    graph = TWO
    for _ in range(options - 2):
        graph = add_option(graph, CATALOG, BLOCK)
    node = graph.node(BLOCK)
    graph = graph.replace_node(replace(node, args={"count": count, "shuffled": shuffled}))
    return fit_generator(graph, CATALOG, BLOCK)


def test_a_chain_becomes_options_of_which_some_run() -> None:
    block = TWO.node(BLOCK)
    assert dict(block.args) == {"count": 1, "shuffled": False}
    assert [body.nodes[-1].id for body in block.bodies.values()] == ["rotate", "color"]
    assert TWO.node("choice").args == {"population": 2}
    assert check_graph(TWO, CATALOG) == ()
    assert load_graph(dump_graph(TWO)) == TWO


@pytest.mark.parametrize(
    ("count", "options", "shuffled", "expected"),
    [(2, 3, False, 3), (2, 3, True, 6), (3, 3, False, 1), (3, 3, True, 6), (6, 6, True, 720)],
)
def test_the_draw_has_a_number_for_each_order(
    count: int, options: int, shuffled: bool, expected: int
) -> None:
    graph = of(count, options, shuffled=shuffled)
    assert (
        SOME_OF.order_count(graph.node(BLOCK))
        == len(set(SOME_OF.orders(graph.node(BLOCK))))
        == expected
    )
    assert graph.node("choice").args == {"population": expected}
    assert check_graph(graph, CATALOG) == ()


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (of(4, 3), "4 bodies are to run, and it has 3"),
        (of(0, 3), "0"),
        (of(-1, 3), "-1"),
        (of(7, 7, shuffled=True), "5040 orders"),
    ],
    ids=["more than there are", "none", "fewer than none", "too many orders"],
)
def test_what_cannot_run_is_a_fault_with_a_remedy(graph: Graph, words: str) -> None:
    faults = [fault for fault in check_graph(graph, CATALOG) if fault.node == BLOCK]
    assert words in str(faults[0])
    assert {fault.arg for fault in faults} == {"count"}


def test_a_number_that_is_none_is_a_fault() -> None:
    node = TWO.node(BLOCK)
    graph = TWO.replace_node(replace(node, args={**node.args, "count": 1.5}))
    assert [fault.arg for fault in check_graph(graph, CATALOG)] == ["count"]


def test_a_draw_of_other_numbers_is_a_fault() -> None:
    draw = TWO.node("choice")
    (fault,) = check_graph(TWO.replace_node(replace(draw, args={"population": 5})), CATALOG)
    assert fault.node == BLOCK
    assert "Set choice.population to 2" in str(fault)
    wrong = TWO.replace_node(replace(draw, args={"population": 5}))
    (fix,) = fixes(ResolvedGraph(wrong, CATALOG), fault)
    assert fix.graph == TWO


def test_the_limit_is_that_of_the_table_in_the_code() -> None:
    graph = of(4, 12)
    assert SOME_OF.order_count(graph.node(BLOCK)) == 495 < MOST_ORDERS
    assert check_graph(graph, CATALOG) == ()


def test_weights_are_refused() -> None:
    with pytest.raises(GraphEditError, match="bodies run equally often"):
        set_weights(TWO, CATALOG, BLOCK, [1, 2])


def test_of_fewer_options_no_more_than_all_run() -> None:
    graph = remove_option(set_count(of(1, 3), CATALOG, BLOCK, 3), CATALOG, BLOCK, "option_2")
    assert graph.node(BLOCK).args["count"] == 2
    assert check_graph(graph, CATALOG) == ()


def test_an_option_moves_with_its_weight() -> None:
    graph, block = wrap_as_options(JITTER, CATALOG, ["rotate", "color"])
    graph = set_weights(graph, CATALOG, block, [3, 1])
    moved = move_option(graph, CATALOG, block, "option_0", 1)
    assert [b.nodes[-1].id for b in moved.node(block).bodies.values()] == ["color", "rotate"]
    assert ONE_OF.weights(moved, moved.node(block)) == (0.25, 0.75)
    assert check_graph(moved, CATALOG) == ()
    assert move_option(moved, CATALOG, block, "option_1", -1) == graph
    with pytest.raises(GraphEditError, match="no body"):
        move_option(graph, CATALOG, block, "option_1", 1)


def test_a_copy_draws_for_itself() -> None:
    text = copy_fragment(TWO, [BLOCK, "choice"])
    pasted, added = paste_fragment(TWO, text)
    copy = next(pasted.node(name) for name in added if pasted.node(name).op == "some_of")
    assert [len(body.nodes) for body in copy.bodies.values()] == [
        len(body.nodes) for body in TWO.node(BLOCK).bodies.values()
    ]
    seeds = [node.seed for node in pasted.walk() if node.seed is not None]
    assert len(seeds) == len(set(seeds))
