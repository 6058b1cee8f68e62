"""Nodes wrapped as the options of a ``one_of`` block: one of them runs for each sample."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import isclose
from typing import Any

import pytest

from tests.block_graphs import set_count
from tests.helpers import chain_graph
from workbench.catalog import Value, load_catalog
from workbench.emit import emit_script
from workbench.errors import GraphEditError, GraphFormatError
from workbench.graph import Graph, Port, check_graph, dump_graph, load_graph, load_recipe
from workbench.graph.control_flow.block_kinds import (
    IF,
    MOST_OPTIONS,
    MOST_ORDERS,
    ONE_OF,
    SOME_OF,
    probabilities,
)
from workbench.graph.control_flow.options import (
    add_option,
    fit_generator,
    move_option,
    remove_option,
    set_body_title,
    set_probability,
    set_weights,
)
from workbench.graph.control_flow.wrapping import unwrap_block, wrap_as_options, wrap_in_block
from workbench.graph.edits.connect import connect
from workbench.graph.edits.edit import new_node, rename_node
from workbench.graph.edits.fragment import copy_fragment, paste_fragment
from workbench.graph.fixes import fixes
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.shapes import infer_types
from workbench.graph.variants.difference import graph_differences

CATALOG = load_catalog()
JITTER = load_recipe("rotate-jitter")
BOTH, BLOCK = wrap_as_options(JITTER, CATALOG, ["rotate", "color"])


def bodies(graph: Graph) -> list[list[str]]:
    return [[node.id for node in body.nodes] for body in graph.node(BLOCK).bodies.values()]


def weights(graph: Graph) -> tuple[float, ...] | None:
    return ONE_OF.weights(graph, graph.node(BLOCK))


def test_each_node_of_a_chain_is_an_option_with_its_draws() -> None:
    block = BOTH.node(BLOCK)
    assert list(block.bodies) == ["option_0", "option_1"]
    assert [body[-1] for body in bodies(BOTH)] == ["rotate", "color"]
    assert "angle" in bodies(BOTH)[0]
    assert block.inputs["choice"] == Port("choice", "output")
    assert BOTH.node("choice").args == {"population": 2}
    for name, body in block.bodies.items():
        assert body.inputs == ("images",)
        assert body.nodes[-1].inputs["data"] == Port(block.scope(name), "images")
    assert not check_graph(BOTH, CATALOG)
    assert load_graph(dump_graph(BOTH)) == BOTH
    text = emit_script(BOTH, CATALOG).text
    assert "choice = fn.random.choice(2, seed=" in text
    assert "    if choice == 0:\n" in text
    assert "    else:\n" in text


def test_a_single_node_stands_beside_nothing() -> None:
    graph, block = wrap_as_options(JITTER, CATALOG, ["rotate"])
    passes = graph.node(block).bodies["option_1"]
    assert passes.nodes == ()
    assert dict(passes.outputs) == {"images": Port(f"{block}.option_1", "images")}
    assert not check_graph(graph, CATALOG)


def test_a_chain_is_one_option_beside_nothing() -> None:
    graph, block = wrap_in_block(JITTER, CATALOG, ["rotate", "color"], "one_of")
    first, second = graph.node(block).bodies.values()
    assert {"angle", "rotate", "color"} <= {node.id for node in first.nodes}
    assert second.nodes == ()
    assert graph.node("choice").args == {"population": 2}
    assert ONE_OF.weights(graph, graph.node(block)) == (0.5, 0.5)
    assert not check_graph(graph, CATALOG)


def test_one_option_is_kept_and_the_draw_goes() -> None:
    graph, nodes = unwrap_block(BOTH, CATALOG, BLOCK, "option_0")
    assert "rotate" in nodes
    assert not graph.has("choice")
    assert not graph.has("color")
    assert not check_graph(graph, CATALOG)


def test_a_block_stands_inside_an_option() -> None:
    graph, inner = wrap_as_options(BOTH, CATALOG, ["color"])
    assert graph.scope_of(inner) == f"{BLOCK}.option_1"
    graph = set_weights(graph, inner, [1, 3])
    inside = graph.at_scope(graph.scope_of(inner))
    assert ONE_OF.weights(inside, inside.node(inner)) == (0.25, 0.75)
    assert not check_graph(graph, CATALOG)


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([], "No node is selected"),
        (["reader"], "runs for the whole batch"),
        (["resize", "color"], "does not use the output of 'resize'"),
    ],
)
def test_what_is_no_chain_is_refused(nodes: Sequence[str], reason: str) -> None:
    with pytest.raises(GraphEditError, match=reason):
        wrap_as_options(JITTER, CATALOG, nodes)


def test_weights_become_shares_that_sum_to_one() -> None:
    graph = set_weights(BOTH, BLOCK, [3, 1])
    assert weights(graph) == (0.75, 0.25)
    assert graph.node("choice").args == {"population": 2, "p": (0.75, 0.25)}
    assert not check_graph(graph, CATALOG)
    assert weights(set_weights(graph, BLOCK, [2, 2])) == (0.5, 0.5)


@pytest.mark.parametrize(
    "given", [[1, 1, 1], [1] * 7, [0, 5], [1e-9, 1], [0.1] * 32, [1, 99_999], [1e308, 1e308, 0]]
)
def test_shares_are_what_dali_takes(given: list[float]) -> None:
    found = probabilities(given)
    assert isclose(sum(found), 1, abs_tol=1e-9)
    assert all(0 <= share <= 1 for share in found)
    assert [share > 0 for share in found] == [weight > 0 for weight in given]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([0, 0], "not all 0"),
        ([-1, 2], "The weights are -1, 2"),
        ([float("nan"), 1], "Use finite numbers of 0 or more"),
        ([float("inf"), 1], "Use finite numbers of 0 or more"),
        (["a", 1], "The weights are 'a', 1. Use finite numbers of 0 or more"),
        ([1], "weights has length 1, but .* has 2 bodies. Use one weight for each: option_0"),
    ],
)
def test_bad_weights_are_refused(given: list[Any], reason: str) -> None:
    with pytest.raises(GraphEditError, match=reason):
        set_weights(BOTH, BLOCK, given)


def test_an_option_is_added_and_removed() -> None:
    graph = add_option(set_weights(BOTH, BLOCK, [3, 1]), CATALOG, BLOCK)
    assert bodies(graph)[2] == []
    assert weights(graph) == (0.5, 0.1667, 0.3333)
    assert not check_graph(graph, CATALOG)
    assert "elif choice == 1:" in emit_script(graph, CATALOG).text

    fewer = remove_option(graph, CATALOG, BLOCK, "option_0")
    assert list(fewer.node(BLOCK).bodies) == ["option_0", "option_1"]
    assert bodies(fewer)[0][-1] == "color"
    assert weights(fewer) == (0.3334, 0.6666)
    assert not check_graph(fewer, CATALOG)
    with pytest.raises(GraphEditError, match="only two options, the minimum"):
        remove_option(fewer, CATALOG, BLOCK, "option_0")
    with pytest.raises(GraphEditError, match="has no body 'then'"):
        remove_option(graph, CATALOG, BLOCK, "then")


def test_another_draw_has_no_weights() -> None:
    block = BOTH.node(BLOCK)
    labels = replace(block, inputs={**block.inputs, "choice": Port("reader", "labels")})
    graph = BOTH.replace_node(labels)
    assert ONE_OF.generator_of(graph, labels) is None
    assert ONE_OF.weights(graph, labels) is None
    with pytest.raises(GraphEditError, match=r"is controlled by reader\.labels"):
        set_weights(graph, BLOCK, [1, 1])
    with pytest.raises(GraphEditError, match="has no options"):
        add_option(graph, CATALOG, "resize")


def test_the_draw_gives_one_number_for_each_sample() -> None:
    assert infer_types(BOTH, CATALOG)[Port("choice", "output")].shape == ()


def scaled_angle() -> Graph:
    """The angle of ``rotate`` is a drawn one, times a number."""
    scale = replace(new_node(JITTER, CATALOG, "math.mul"), inputs={"data": Port("angle", "output")})
    rotate = JITTER.node("rotate")
    fed = replace(rotate, inputs={**rotate.inputs, "angle": Port("mul", "output")})
    graph = JITTER.replace_node(fed)
    return replace(graph, nodes=(*graph.nodes, scale))


def test_the_draw_that_all_options_begin_with_stays_outside() -> None:
    """It went into the first one, and the block was fed from inside itself."""
    graph, block = wrap_as_options(scaled_angle(), CATALOG, ["mul"])
    assert graph.node(block).inputs["numbers"] == Port("angle", "output")
    assert graph.scope_of("angle") == ""
    assert check_graph(graph, CATALOG) == ()


def test_a_draw_that_is_given_out_stays_outside() -> None:
    graph = replace(JITTER, outputs={**JITTER.outputs, "angles": Port("angle", "output")})
    for wrap in (wrap_as_options, wrap_in_block):
        wrapped, _ = wrap(graph, CATALOG, ["rotate"])
        assert check_graph(wrapped, CATALOG) == ()
        assert wrapped.scope_of("angle") == ""


def test_a_file_with_bodies_and_weights_of_no_meaning_is_refused_in_one_sentence() -> None:
    node, draw = BOTH.node(BLOCK), BOTH.node("choice")
    first, second = node.bodies.values()
    other = BOTH.replace_node(replace(node, bodies={"option_0": first, "option_9": second}))
    for edit in (add_option, partial(remove_option, body="option_0")):
        with pytest.raises(GraphEditError, match="are named 'option_0', 'option_9'"):
            edit(other, CATALOG, block=BLOCK)
    worded = BOTH.replace_node(replace(draw, args={**draw.args, "p": (0.5, "often")}))
    assert weights(worded) is None


def test_more_options_than_can_be_told_apart_are_refused() -> None:
    graph = chain_graph(*["flip"] * (MOST_OPTIONS + 1))
    flips = [node.id for node in graph.nodes if node.op == "flip"]
    with pytest.raises(GraphEditError, match="33 nodes are selected"):
        wrap_as_options(graph, CATALOG, flips)


def test_options_of_two_kinds_are_refused() -> None:
    with pytest.raises(GraphEditError, match="'rotate' outputs images, but 'mul' outputs numbers"):
        wrap_as_options(scaled_angle(), CATALOG, ["mul", "rotate"])


@pytest.mark.parametrize(
    ("args", "words", "mended"),
    [
        ({"population": 5}, "option_1 would run for all the others", {"population": 2}),
        ({"population": 1}, "option_1 would never run", {"population": 2}),
        (
            {"population": 3, "p": (0.2, 0.6, 0.2)},
            "selects from 3 numbers, but the block has 2 bodies",
            {"population": 2, "p": (0.25, 0.75)},
        ),
    ],
)
def test_a_draw_of_other_numbers_is_a_fault(
    args: dict[str, Value], words: str, mended: dict[str, Value]
) -> None:
    graph = BOTH.replace_node(replace(BOTH.node("choice"), args=args))
    (fault,) = check_graph(graph, CATALOG)
    assert (fault.node, fault.arg) == (BLOCK, "choice")
    assert words in str(fault)
    assert "Set choice.population to 2." in str(fault)
    first = fixes(ResolvedGraph(graph, CATALOG), fault)[0]
    assert first.label.startswith("Set choice to select from 2 numbers")
    assert first.graph.node("choice").args == mended


TWO, SOME = wrap_as_options(JITTER, CATALOG, ["rotate", "color"], "some_of")


def of(count: int, options: int, *, shuffled: bool = False) -> Graph:
    """The recipe with a block that runs ``count`` of ``options`` bodies; it may have faults."""
    graph = TWO
    for _ in range(options - 2):
        graph = add_option(graph, CATALOG, SOME)
    node = graph.node(SOME)
    graph = graph.replace_node(replace(node, args={"count": count, "shuffled": shuffled}))
    return fit_generator(graph, SOME)


def test_a_chain_becomes_the_options_of_some_of() -> None:
    block = TWO.node(SOME)
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
        SOME_OF.order_count(graph.node(SOME))
        == len(set(SOME_OF.orders(graph.node(SOME))))
        == expected
    )
    assert graph.node("choice").args == {"population": expected}
    assert check_graph(graph, CATALOG) == ()


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (of(4, 3), "count is 4, but the block has 3"),
        (of(0, 3), "0"),
        (of(-1, 3), "-1"),
        (of(7, 7, shuffled=True), "5040 orders"),
    ],
    ids=["more than there are", "none", "fewer than none", "too many orders"],
)
def test_what_cannot_run_is_a_fault_with_a_remedy(graph: Graph, words: str) -> None:
    faults = [fault for fault in check_graph(graph, CATALOG) if fault.node == SOME]
    assert words in str(faults[0])
    assert {fault.arg for fault in faults} == {"count"}


def test_a_number_that_is_none_is_a_fault() -> None:
    node = TWO.node(SOME)
    graph = TWO.replace_node(replace(node, args={**node.args, "count": 1.5}))
    assert [fault.arg for fault in check_graph(graph, CATALOG)] == ["count"]


def test_a_draw_of_other_orders_is_a_fault() -> None:
    draw = TWO.node("choice")
    (fault,) = check_graph(TWO.replace_node(replace(draw, args={"population": 5})), CATALOG)
    assert fault.node == SOME
    assert "Set choice.population to 2" in str(fault)
    wrong = TWO.replace_node(replace(draw, args={"population": 5}))
    (fix,) = fixes(ResolvedGraph(wrong, CATALOG), fault)
    assert fix.graph == TWO


def test_the_limit_is_that_of_the_table_in_the_code() -> None:
    graph = of(4, 12)
    assert SOME_OF.order_count(graph.node(SOME)) == 495 < MOST_ORDERS
    assert check_graph(graph, CATALOG) == ()


def test_weights_are_refused() -> None:
    with pytest.raises(GraphEditError, match="has no weights"):
        set_weights(TWO, SOME, [1, 2])


def test_of_fewer_options_no_more_than_all_run() -> None:
    graph = remove_option(set_count(of(1, 3), CATALOG, SOME, 3), CATALOG, SOME, "option_2")
    assert graph.node(SOME).args["count"] == 2
    assert check_graph(graph, CATALOG) == ()


def test_an_option_moves_with_its_weight() -> None:
    graph, block = wrap_as_options(JITTER, CATALOG, ["rotate", "color"])
    graph = set_weights(graph, block, [3, 1])
    moved = move_option(graph, block, "option_0", 1)
    assert [b.nodes[-1].id for b in moved.node(block).bodies.values()] == ["color", "rotate"]
    assert ONE_OF.weights(moved, moved.node(block)) == (0.25, 0.75)
    assert check_graph(moved, CATALOG) == ()
    assert move_option(moved, block, "option_1", -1) == graph
    with pytest.raises(GraphEditError, match=r"cannot move by \+1"):
        move_option(graph, block, "option_1", 1)


def test_a_copy_draws_for_itself() -> None:
    text = copy_fragment(TWO, [SOME, "choice"])
    pasted, added = paste_fragment(TWO, text)
    copy = next(pasted.node(name) for name in added if pasted.node(name).op == "some_of")
    assert [len(body.nodes) for body in copy.bodies.values()] == [
        len(body.nodes) for body in TWO.node(SOME).bodies.values()
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
    with pytest.raises(GraphEditError, match="Use a number from 0 to 1"):
        set_probability(BRANCHED, BRANCH, probability)


def test_what_no_coin_flip_decides_has_none() -> None:
    graph = connect(BRANCHED, CATALOG, Port("reader", "labels"), BRANCH, "condition")
    assert IF.probability(graph, graph.node(BRANCH)) is None
    with pytest.raises(GraphEditError, match=r"is controlled by reader\.labels"):
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
    with pytest.raises(GraphEditError, match="only two options"):
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
