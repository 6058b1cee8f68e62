"""A body again and again: made from what is selected, and how often at most."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.catalog import Value, load_catalog
from workbench.graph import Port, check_graph, dump_graph, load_graph, load_recipe
from workbench.graph.control_flow.kinds import REPEAT
from workbench.graph.control_flow.wrap import unwrap_block, wrap_in_block
from workbench.graph.edits.edit import new_node

CATALOG = load_catalog()
JITTER = load_recipe("rotate-jitter")
TWICE, BLOCK = wrap_in_block(JITTER, CATALOG, ["rotate", "color"], "repeat")


def test_what_is_selected_runs_twice_with_its_draws() -> None:
    block = TWICE.node(BLOCK)
    assert dict(block.args) == {"times": 2}
    body = block.bodies["body"]
    assert {"angle", "rotate", "color"} <= {node.id for node in body.nodes}
    assert block.inputs == {"images": Port("resize", "output")}
    assert check_graph(TWICE, CATALOG) == ()
    assert load_graph(dump_graph(TWICE)) == TWICE
    whole, _ = unwrap_block(TWICE, CATALOG, BLOCK, "body")
    assert {node.id for node in whole.nodes} == {node.id for node in JITTER.nodes}


@pytest.mark.parametrize("times", [0, -1, 1.5, 33, "often"])
def test_other_numbers_of_turns_are_faults(times: Value) -> None:
    graph = TWICE.replace_node(replace(TWICE.node(BLOCK), args={"times": times}))
    assert {fault.arg for fault in check_graph(graph, CATALOG)} == {"times"}


def test_turns_of_turns_are_limited() -> None:
    """Three times 32 were built one by one: 32,768 operators."""
    graph, blocks = TWICE, [BLOCK]
    for _ in range(2):
        graph, block = wrap_in_block(graph, CATALOG, blocks[-1:], "repeat")
        blocks.append(block)
    for block, times in zip(blocks, (1, 32, 32), strict=True):
        graph = graph.replace_node(replace(graph.node(block), args={"times": times}))
    assert check_graph(graph, CATALOG) == ()
    graph = graph.replace_node(replace(graph.node(BLOCK), args={"times": 2}))
    (fault,) = check_graph(graph, CATALOG)
    assert str(fault).startswith(f"{BLOCK}: what stands in it runs in 2048 turns")


def test_what_is_drawn_is_cut_to_the_most() -> None:
    node = TWICE.node(BLOCK)
    assert REPEAT.repetitions(node) == 2
    drawn = replace(node, args={}, inputs={**node.inputs, "times": Port("reader", "labels")})
    assert REPEAT.repetitions(drawn) == 3
    assert REPEAT.repetitions(replace(drawn, args={"most": 5})) == 5


def test_turns_that_are_drawn_for_two_stay_those_of_the_inner_one() -> None:
    """The outer block took in what decides in the inner one as turns of its own."""
    draw = replace(new_node(TWICE, CATALOG, "random.uniform", "turns"), args={"dtype": "INT32"})
    node = TWICE.node(BLOCK)
    drawn = replace(node, args={}, inputs={**node.inputs, "times": Port("turns", "output")})
    graph = replace(TWICE.replace_node(drawn), nodes=(draw, *TWICE.replace_node(drawn).nodes))
    graph = replace(graph, outputs={**graph.outputs, "turns_taken": Port("turns", "output")})
    outer, block = wrap_in_block(graph, CATALOG, [BLOCK], "repeat")
    assert outer.node(block).inputs.keys() == {"images", "times_2"}
    assert outer.node(BLOCK).inputs["times"] == Port(f"{block}.body", "times_2")
    assert check_graph(outer, CATALOG) == ()
