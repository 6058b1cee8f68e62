"""Edits of the bodies of a block: how often they run, how many there are, what they are called."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.block_graphs import set_count
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.errors import GraphEditError, GraphFormatError
from workbench.graph import Graph, check_graph, dump_graph, load_graph, load_recipe
from workbench.graph.control_flow.kinds import IF, MOST_ORDERS, ONE_OF, SOME_OF
from workbench.graph.control_flow.options import (
    add_option,
    fit_generator,
    move_option,
    remove_option,
    set_body_title,
    set_probability,
    set_weights,
)
from workbench.graph.control_flow.wrap import wrap_as_options, wrap_in_block
from workbench.graph.edits.connect import connect
from workbench.graph.edits.edit import rename_node
from workbench.graph.edits.fragment import copy_fragment, paste_fragment
from workbench.graph.fixes import fixes
from workbench.graph.model import Port
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.variants.difference import graph_differences

CATALOG = load_catalog()
JITTER = load_recipe("rotate-jitter")
TWO, BLOCK = wrap_as_options(JITTER, CATALOG, ["rotate", "color"], "some_of")


def of(count: int, options: int, *, shuffled: bool = False) -> Graph:
    """The recipe with a block that runs ``count`` of ``options`` bodies; it may have faults."""
    graph = TWO
    for _ in range(options - 2):
        graph = add_option(graph, CATALOG, BLOCK)
    node = graph.node(BLOCK)
    graph = graph.replace_node(replace(node, args={"count": count, "shuffled": shuffled}))
    return fit_generator(graph, BLOCK)


def test_a_chain_becomes_the_options_of_some_of() -> None:
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
        set_weights(TWO, BLOCK, [1, 2])


def test_of_fewer_options_no_more_than_all_run() -> None:
    graph = remove_option(set_count(of(1, 3), CATALOG, BLOCK, 3), CATALOG, BLOCK, "option_2")
    assert graph.node(BLOCK).args["count"] == 2
    assert check_graph(graph, CATALOG) == ()


def test_an_option_moves_with_its_weight() -> None:
    graph, block = wrap_as_options(JITTER, CATALOG, ["rotate", "color"])
    graph = set_weights(graph, block, [3, 1])
    moved = move_option(graph, block, "option_0", 1)
    assert [b.nodes[-1].id for b in moved.node(block).bodies.values()] == ["color", "rotate"]
    assert ONE_OF.weights(moved, moved.node(block)) == (0.25, 0.75)
    assert check_graph(moved, CATALOG) == ()
    assert move_option(moved, block, "option_1", -1) == graph
    with pytest.raises(GraphEditError, match="no body"):
        move_option(graph, block, "option_1", 1)


def test_a_copy_draws_for_itself() -> None:
    text = copy_fragment(TWO, [BLOCK, "choice"])
    pasted, added = paste_fragment(TWO, text)
    copy = next(pasted.node(name) for name in added if pasted.node(name).op == "some_of")
    assert [len(body.nodes) for body in copy.bodies.values()] == [
        len(body.nodes) for body in TWO.node(BLOCK).bodies.values()
    ]
    seeds = [node.seed for node in pasted.walk() if node.seed is not None]
    assert len(seeds) == len(set(seeds))


# The probability of an if

BRANCHED, BRANCH = wrap_in_block(load_recipe("rotate-jitter"), CATALOG, ["rotate"])


def test_the_probability_is_that_of_the_coin_flip() -> None:
    assert IF.probability(BRANCHED, BRANCHED.node(BRANCH)) == 0.5
    graph = set_probability(BRANCHED, BRANCH, 0.8)
    assert graph.node("chance").args["probability"] == 0.8
    assert IF.probability(graph, graph.node(BRANCH)) == 0.8
    assert not check_graph(graph, CATALOG)


def test_so_it_is_inside_a_block() -> None:
    graph, inner = wrap_in_block(BRANCHED, CATALOG, ["rotate"])
    graph = set_probability(graph, inner, 0.25)
    body = graph.at_scope(graph.scope_of(inner))
    assert IF.probability(body, body.node(inner)) == 0.25
    assert IF.probability(graph, graph.node(BRANCH)) == 0.5


@pytest.mark.parametrize("probability", [-0.1, 1.01, float("nan"), float("inf")])
def test_no_probability_is_refused(probability: float) -> None:
    with pytest.raises(GraphEditError, match="Give a number from 0 to 1"):
        set_probability(BRANCHED, BRANCH, probability)


def test_what_no_coin_flip_decides_has_none() -> None:
    graph = connect(BRANCHED, CATALOG, Port("reader", "labels"), BRANCH, "condition")
    assert IF.probability(graph, graph.node(BRANCH)) is None
    with pytest.raises(GraphEditError, match=r"reader\.labels decides"):
        set_probability(graph, BRANCH, 0.5)


# Titles of bodies

PLAIN, CHOICE = wrap_as_options(load_recipe("rotate-jitter"), CATALOG, ["rotate", "color"])
NAMED = set_body_title(PLAIN, CHOICE, "option_1", "stronger colour")


def test_a_title_stays_through_files_copies_renames_and_moves() -> None:
    assert load_graph(dump_graph(NAMED)) == NAMED != PLAIN
    assert "title" not in json.dumps(json.loads(dump_graph(PLAIN))["nodes"])
    (found,) = graph_differences(PLAIN, NAMED)
    assert (found.node, found.what, found.after) == ("one_of.option_1", "title", "stronger colour")
    pasted, (*_, copy) = paste_fragment(NAMED, copy_fragment(NAMED, [CHOICE]))
    assert pasted.node(copy).bodies["option_1"].title == "stronger colour"
    renamed = rename_node(NAMED, CHOICE, "choose")
    assert renamed.node("choose").bodies["option_1"].title == "stronger colour"
    moved = move_option(NAMED, CHOICE, "option_1", -1)
    assert [body.title for body in moved.node(CHOICE).bodies.values()] == ["stronger colour", ""]
    assert set_body_title(NAMED, CHOICE, "option_1", "") == PLAIN
    three = load_graph(dump_graph(NAMED))
    with pytest.raises(GraphEditError, match="two bodies"):
        remove_option(three, CATALOG, CHOICE, "option_0")


@pytest.mark.parametrize("title", ["x" * 61, "zero\x00byte"])
def test_what_no_comment_can_hold_is_refused(title: str) -> None:
    with pytest.raises(GraphEditError, match="one line of at most 60"):
        set_body_title(PLAIN, CHOICE, "option_0", title)


def test_a_file_cannot_lead_code_in_by_a_title() -> None:
    data = dump_graph(NAMED).replace("stronger colour", "x\\nimport os")
    with pytest.raises(GraphFormatError, match=r"bodies.option_1.title: .* is not one line"):
        load_graph(data)


def test_the_code_has_it_as_a_comment() -> None:
    lines = emit_script(NAMED, CATALOG).text.splitlines()
    assert "else:  # stronger colour" in [line.strip() for line in lines]
