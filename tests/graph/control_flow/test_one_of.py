"""Nodes wrapped as the options of a ``one_of`` block: one of them runs for each sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import isclose
from typing import Any

import pytest

from tests.helpers import chain_graph
from workbench.catalog import Value, load_catalog
from workbench.emit import emit_script
from workbench.errors import GraphEditError
from workbench.graph import Graph, Port, check_graph, dump_graph, load_graph, load_recipe
from workbench.graph.control_flow.kinds import MOST_OPTIONS, ONE_OF, probabilities
from workbench.graph.control_flow.options import add_option, remove_option, set_weights
from workbench.graph.control_flow.wrap import unwrap_block, wrap_as_options, wrap_in_block
from workbench.graph.edits.edit import new_node
from workbench.graph.fixes import fixes
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.shapes import infer_types

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
        (["reader"], "reads whole batches only"),
        (["resize", "color"], "does not take in what resize gives"),
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
        ([0, 0], "not all of them 0"),
        ([-1, 2], "The weights are -1, 2"),
        ([float("nan"), 1], "Give a finite number, 0 or more"),
        ([float("inf"), 1], "Give a finite number, 0 or more"),
        (["a", 1], "The weights are 'a', 1. Give a finite number, 0 or more"),
        ([1], "has 2 bodies, and 1 weights were given. Give one for each: option_0"),
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
    with pytest.raises(GraphEditError, match="which is the least"):
        remove_option(fewer, CATALOG, BLOCK, "option_0")
    with pytest.raises(GraphEditError, match="has no body 'then'"):
        remove_option(graph, CATALOG, BLOCK, "then")


def test_another_draw_has_no_weights() -> None:
    block = BOTH.node(BLOCK)
    labels = replace(block, inputs={**block.inputs, "choice": Port("reader", "labels")})
    graph = BOTH.replace_node(labels)
    assert ONE_OF.generator_of(graph, labels) is None
    assert ONE_OF.weights(graph, labels) is None
    with pytest.raises(GraphEditError, match=r"reader\.labels decides"):
        set_weights(graph, BLOCK, [1, 1])
    with pytest.raises(GraphEditError, match="only one_of has options"):
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
        with pytest.raises(GraphEditError, match="has the bodies option_0, option_9"):
            edit(other, CATALOG, block=BLOCK)
    worded = BOTH.replace_node(replace(draw, args={**draw.args, "p": (0.5, "often")}))
    assert weights(worded) is None


def test_more_options_than_can_be_told_apart_are_refused() -> None:
    graph = chain_graph(*["flip"] * (MOST_OPTIONS + 1))
    flips = [node.id for node in graph.nodes if node.op == "flip"]
    with pytest.raises(GraphEditError, match="33 nodes are selected"):
        wrap_as_options(graph, CATALOG, flips)


def test_options_of_two_kinds_are_refused() -> None:
    with pytest.raises(GraphEditError, match="rotate gives image, and mul number"):
        wrap_as_options(scaled_angle(), CATALOG, ["mul", "rotate"])


@pytest.mark.parametrize(
    ("args", "words", "mended"),
    [
        ({"population": 5}, "option_1 would run for all the others", {"population": 2}),
        ({"population": 1}, "option_1 would never run", {"population": 2}),
        (
            {"population": 3, "p": (0.2, 0.6, 0.2)},
            "draws one of 3 numbers, and it has 2 bodies",
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
    assert first.label.startswith("Let choice draw one of 2 numbers")
    assert first.graph.node("choice").args == mended
