"""Nodes put into a block and taken out of it, for each kind of block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.block_graphs import BLOCK_GRAPHS
from workbench.catalog import Value, load_catalog
from workbench.catalog.extra_operators import BLOCKS
from workbench.emit import emit_script
from workbench.errors import GraphEditError
from workbench.graph import Graph, Port, check_graph, dump_graph, load_graph, load_recipe
from workbench.graph.builder.block_methods import block_method
from workbench.graph.control_flow.block_kinds import IF, KINDS, ONE_OF, REPEAT, SOME_OF, BlockKind
from workbench.graph.control_flow.options import fit_generator
from workbench.graph.control_flow.wrapping import unwrap_block, wrap_as_options, wrap_in_block
from workbench.graph.edits.compose import place_node
from workbench.graph.edits.connect import connect, set_output
from workbench.graph.edits.edit import insert_node, is_movable, new_node, ordered_nodes, start_graph
from workbench.graph.model import Node
from workbench.graph.storage.layout import Document, Layout

CATALOG = load_catalog()
JITTER = load_recipe("rotate-jitter")
LIKE_THEIR_INPUT = {
    "flip", "rotate", "gaussian_blur", "brightness_contrast", "jpeg_compression_distortion",
    "noise.gaussian", "noise.salt_and_pepper", "if", "one_of",
}  # fmt: skip
"""Operators of the random graphs that give what they take in, so that both bodies agree."""


def by_id(graph: Graph) -> dict[str, object]:
    return {node.id: node for node in graph.nodes}


def test_a_node_with_its_draw_goes_into_the_first_body_and_the_other_passes_on() -> None:
    graph, block = wrap_in_block(JITTER, CATALOG, ["rotate"])
    assert block == "branch"
    node = graph.node(block)
    assert dict(node.inputs) == {
        "condition": Port("chance", "output"),
        "images": Port("resize", "output"),
    }
    then, other = node.bodies["then"], node.bodies["else"]
    assert [inner.id for inner in then.nodes] == ["angle", "rotate"]
    assert then.nodes[1].inputs["data"] == Port("branch.then", "images")
    assert dict(then.outputs) == {"images": Port("rotate", "output")}
    assert (other.nodes, dict(other.outputs)) == ((), {"images": Port("branch.else", "images")})
    assert graph.node("color").inputs["data"] == Port("branch", "images")
    assert not check_graph(graph, CATALOG)
    assert "if chance" in emit_script(graph, CATALOG).text


def test_taking_it_out_again_gives_the_graph_back() -> None:
    graph, block = wrap_in_block(JITTER, CATALOG, ["rotate", "color"])
    assert graph.scope_of("color") == "branch.then"
    back, nodes = unwrap_block(graph, CATALOG, block, "then")
    assert by_id(back) == by_id(JITTER)
    assert back.outputs == JITTER.outputs
    assert {"rotate", "color"} <= set(nodes)


def test_the_body_that_passes_on_takes_the_place_of_the_block() -> None:
    graph, block = wrap_in_block(JITTER, CATALOG, ["rotate"])
    back, nodes = unwrap_block(graph, CATALOG, block, "else")
    assert nodes == ()
    assert back.node("color").inputs["data"] == Port("resize", "output")
    assert not back.has("chance")
    assert not check_graph(back, CATALOG)


def test_a_part_of_a_body_goes_into_a_block_of_its_own() -> None:
    graph, _ = wrap_in_block(JITTER, CATALOG, ["rotate", "color"])
    graph, inner = wrap_in_block(graph, CATALOG, ["color"])
    assert graph.scope_of(inner) == "branch.then"
    assert graph.scope_of("color") == f"{inner}.then"
    assert not check_graph(graph, CATALOG)


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        (["reader"], "'reader' is a reader"),
        (["decode"], "have no input of that kind"),
        ([], "No node is selected"),
        (["rotate", "nothing"], "no node 'nothing'"),
    ],
)
def test_what_cannot_be_decided_is_refused(nodes: list[str], reason: str) -> None:
    with pytest.raises(GraphEditError, match=reason):
        wrap_in_block(JITTER, CATALOG, nodes)


def test_a_node_between_two_is_asked_for() -> None:
    with pytest.raises(GraphEditError, match="'color' is between"):
        wrap_in_block(JITTER, CATALOG, ["rotate", "flip"])


def test_a_node_that_feeds_nothing_is_refused() -> None:
    graph, idle = place_node(JITTER, CATALOG, "gaussian_blur", Port("resize", "output"))
    with pytest.raises(GraphEditError, match="feed no other"):
        wrap_in_block(graph, CATALOG, [idle])


def test_a_block_is_unwrapped_into_a_body_that_it_has() -> None:
    graph, block = wrap_in_block(JITTER, CATALOG, ["rotate"])
    with pytest.raises(GraphEditError, match="It has: then, else"):
        unwrap_block(graph, CATALOG, block, "otherwise")
    with pytest.raises(GraphEditError, match="'rotate' has no body"):
        unwrap_block(graph, CATALOG, "rotate", "then")
    lacking = set_output(graph.at_scope("branch.else"), "images", None).whole
    with pytest.raises(GraphEditError, match="'else' has no output of that name"):
        unwrap_block(lacking, CATALOG, block, "else")


def test_an_operator_is_added_into_a_body_that_only_passes_on() -> None:
    graph, _ = wrap_in_block(JITTER, CATALOG, ["rotate"])
    body, added = insert_node(
        graph.at_scope("branch.else"), CATALOG, "gaussian_blur", "branch.else"
    )
    assert body.whole.body_at("branch.else").outputs == {"images": Port(added, "output")}
    assert not check_graph(body.whole, CATALOG)


def test_an_operator_is_added_behind_a_block() -> None:
    graph, block = wrap_in_block(JITTER, CATALOG, ["rotate"])
    graph, added = insert_node(graph, CATALOG, "gaussian_blur", block)
    assert graph.node("color").inputs["data"] == Port(added, "output")
    assert not check_graph(graph, CATALOG)


def test_a_block_keeps_its_place_in_the_chain() -> None:
    graph, block = wrap_in_block(JITTER, CATALOG, ["rotate"])
    assert not is_movable(graph.node(block), CATALOG)


def test_places_of_a_body_are_its_own() -> None:
    graph, _ = wrap_in_block(JITTER, CATALOG, ["rotate"])
    layout = Layout({"resize": (1.0, 2.0), ":images": (3.0, 4.0)})
    body = graph.at_scope("branch.then")
    there = {"rotate": (5.0, 6.0), ":images": (7.0, 8.0), "branch.then": (9.0, 0.0)}
    both = layout.with_positions(body, there)
    assert both.positions_in_body(body) == there
    assert both.positions_in_body(graph) == layout.positions
    assert both.without_missing(graph) == both
    assert both.renamed("branch", "sometimes").positions["sometimes.then:images"] == (7.0, 8.0)
    document = Document(graph, both, origins={"rotate": "a.py:1"})
    assert document.with_graph(body).layout == both
    assert document.with_graph(body).origins == document.origins


@given(BLOCK_GRAPHS, st.data())
def test_random_chains_are_wrapped_soundly_and_come_back(graph: Graph, data: st.DataObject) -> None:
    scopes = [
        scope
        for scope, body in graph.bodies()
        if any(node.op in LIKE_THEIR_INPUT for node in body.nodes)
    ]
    scope = data.draw(st.sampled_from(scopes))
    body = graph.at_scope(scope)
    used = {port.node for node in body.nodes for port in node.inputs.values()}
    used |= {port.node for port in body.outputs.values()}
    names = [
        n.id for n in ordered_nodes(body, CATALOG) if n.op in LIKE_THEIR_INPUT and n.id in used
    ]
    if not names:
        return
    first = data.draw(st.integers(0, len(names) - 1))
    names = names[first : data.draw(st.integers(first + 1, len(names)))]
    try:
        wrapped, block = wrap_in_block(graph, CATALOG, names)
    except GraphEditError as error:
        if "between" not in str(error):
            raise
        return
    assert not check_graph(wrapped, CATALOG)
    assert wrapped.scope_of(block) == scope
    assert {wrapped.scope_of(name) for name in names} == {f"{block}.then"}
    back, _ = unwrap_block(wrapped, CATALOG, block, "then")
    assert by_id(back.at_scope(scope)) == by_id(body)
    assert back.at_scope(scope).outputs == body.outputs
    assert replace(back, nodes=()) == replace(graph, nodes=())


def test_a_link_into_a_block_leads_to_its_condition() -> None:
    graph, block = wrap_in_block(JITTER, CATALOG, ["rotate"])
    graph, drawn = place_node(graph, CATALOG, "random.coin_flip")
    boolean = graph.node(drawn)
    graph = graph.replace_node(replace(boolean, args={**boolean.args, "dtype": "BOOL"}))
    graph = connect(graph, CATALOG, Port(drawn, "output"), block, "condition")
    assert not graph.has("chance")
    assert not check_graph(graph, CATALOG)


# A body again and again

TWICE, TURNS = wrap_in_block(JITTER, CATALOG, ["rotate", "color"], "repeat")


def test_what_is_selected_runs_twice_with_its_draws() -> None:
    block = TWICE.node(TURNS)
    assert dict(block.args) == {"times": 2}
    body = block.bodies["body"]
    assert {"angle", "rotate", "color"} <= {node.id for node in body.nodes}
    assert block.inputs == {"images": Port("resize", "output")}
    assert check_graph(TWICE, CATALOG) == ()
    assert load_graph(dump_graph(TWICE)) == TWICE
    whole, _ = unwrap_block(TWICE, CATALOG, TURNS, "body")
    assert {node.id for node in whole.nodes} == {node.id for node in JITTER.nodes}


@pytest.mark.parametrize("times", [0, -1, 1.5, 33, "often"])
def test_other_numbers_of_turns_are_faults(times: Value) -> None:
    graph = TWICE.replace_node(replace(TWICE.node(TURNS), args={"times": times}))
    assert {fault.arg for fault in check_graph(graph, CATALOG)} == {"times"}


def test_turns_of_turns_are_limited() -> None:
    """Three times 32 were built one by one: 32,768 operators."""
    graph, blocks = TWICE, [TURNS]
    for _ in range(2):
        graph, block = wrap_in_block(graph, CATALOG, blocks[-1:], "repeat")
        blocks.append(block)
    for block, times in zip(blocks, (1, 32, 32), strict=True):
        graph = graph.replace_node(replace(graph.node(block), args={"times": times}))
    assert check_graph(graph, CATALOG) == ()
    graph = graph.replace_node(replace(graph.node(TURNS), args={"times": 2}))
    (fault,) = check_graph(graph, CATALOG)
    assert str(fault).startswith(f"{TURNS}: its body runs 2048 times")


def test_what_is_drawn_is_cut_to_the_most() -> None:
    node = TWICE.node(TURNS)
    assert REPEAT.repetitions(node) == 2
    drawn = replace(node, args={}, inputs={**node.inputs, "times": Port("reader", "labels")})
    assert REPEAT.repetitions(drawn) == 3
    assert REPEAT.repetitions(replace(drawn, args={"most": 5})) == 5


def test_turns_that_are_drawn_for_two_stay_those_of_the_inner_one() -> None:
    """The outer block took in what decides in the inner one as turns of its own."""
    draw = replace(new_node(TWICE, CATALOG, "random.uniform", "turns"), args={"dtype": "INT32"})
    node = TWICE.node(TURNS)
    drawn = replace(node, args={}, inputs={**node.inputs, "times": Port("turns", "output")})
    graph = replace(TWICE.replace_node(drawn), nodes=(draw, *TWICE.replace_node(drawn).nodes))
    graph = replace(graph, outputs={**graph.outputs, "turns_taken": Port("turns", "output")})
    outer, block = wrap_in_block(graph, CATALOG, [TURNS], "repeat")
    assert outer.node(block).inputs.keys() == {"images", "times_2"}
    assert outer.node(TURNS).inputs["times"] == Port(f"{block}.body", "times_2")
    assert check_graph(outer, CATALOG) == ()


# Every kind of block


def flipped(graph: Graph) -> Graph:
    return graph.flip()


def blurred(graph: Graph) -> Graph:
    return graph.gaussian_blur(sigma=2)


def test_every_row_of_the_catalogue_is_a_kind() -> None:
    assert [*KINDS] == [*BLOCKS]
    assert all(kind.op == op for op, kind in KINDS.items())


@pytest.mark.parametrize("op", KINDS)
def test_a_new_block_of_each_kind_can_run(op: str) -> None:
    wrap = wrap_as_options if BLOCKS[op].numbered_bodies else wrap_in_block
    graph, block = wrap(JITTER, CATALOG, ["rotate", "color"], op)
    assert check_graph(graph, CATALOG) == ()
    assert "@pipeline_def" in emit_script(graph, CATALOG).text
    node, kind = graph.node(block), KINDS[op]
    generator = kind.generator_of(graph, node)
    assert (generator.op if generator else "") == kind.random_op
    assert fit_generator(graph, block) == graph
    shares = kind.shares(graph, node)
    assert shares is not None
    assert len(shares) == len(node.bodies)


def test_the_method_of_a_kind_without_its_own_makes_the_same_block() -> None:
    made: list[tuple[BlockKind, tuple[Callable[[Graph], Graph], ...], dict[str, Any], Graph]]
    base = start_graph(CATALOG)
    made = [
        (ONE_OF, (flipped, blurred), {}, base.one_of(flipped, blurred)),
        (SOME_OF, (flipped, blurred), {"count": 1, "shuffled": False},
         base.some_of(1, flipped, blurred)),
        (REPEAT, (blurred,), {"times": 3}, base.repeat(3, blurred)),
        (IF, (flipped, lambda x: x), {}, base.with_p(0.5, flipped)),
    ]  # fmt: skip
    for kind, functions, args, wanted in made:
        assert block_method(kind)(base, *functions, **args) == wanted, kind.op


def test_such_a_method_takes_what_decides_by_name() -> None:
    base = start_graph(CATALOG)
    times = wb.random.uniform(range=(1, 3), dtype="INT32")
    assert block_method(REPEAT)(base, blurred, times=times) == base.repeat(times, blurred)


def test_such_a_method_wants_a_function_for_each_body() -> None:
    with pytest.raises(
        GraphEditError, match=r"'if' needs 2 functions \(then, else\), but received 1"
    ):
        block_method(IF)(JITTER, flipped)


def test_an_unknown_kind_has_the_defaults() -> None:
    kind = BlockKind()
    node = Node("new", "new")
    assert kind.new_generator(JITTER, CATALOG, node) is None
    assert (kind.iterations(node), kind.repetitions(node), kind.summary(node)) == (1, None, "")
    assert kind.shares(JITTER, node) is None
    assert not [*kind.faults(JITTER, node)]
