"""Nodes taken out: the chain is healed where the kinds agree."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import CHAINS, GRAPHS, chain_graph
from workbench.catalog import load_catalog
from workbench.errors import GraphEditError
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.control_flow.regions import wrap_in_region
from workbench.graph.edits.edit import insert_node, is_movable, new_node, randomise_arg
from workbench.graph.edits.remove import remove_nodes
from workbench.graph.execution.active import active_graph, set_muted

CATALOG = load_catalog()
JITTER = load_recipe("rotate-jitter")


def test_several_nodes_go_and_the_chain_stays_whole() -> None:
    graph = remove_nodes(JITTER, CATALOG, ["resize", "color"])
    assert graph.node("rotate").inputs["data"] == Port("decode", "output")
    assert graph.node("flip").inputs["data"] == Port("rotate", "output")
    assert [node.id for node in graph.nodes] == [
        "reader", "decode", "angle", "rotate", "mirror", "flip",
    ]  # fmt: skip
    assert check_graph(graph, CATALOG) == ()


def test_the_last_node_leaves_the_output_to_the_one_before() -> None:
    graph = remove_nodes(JITTER, CATALOG, ["flip"])
    assert graph.outputs["images"] == Port("color", "output")


def test_kinds_that_do_not_agree_are_not_joined() -> None:
    graph = remove_nodes(JITTER, CATALOG, ["decode"])
    assert "data" not in graph.node("resize").inputs
    assert [str(fault) for fault in check_graph(graph, CATALOG)] == [
        "resize.data: nothing feeds it. Connect a node to it."
    ]


def test_an_edge_that_was_at_fault_already_is_joined_again() -> None:
    second = replace(JITTER.node("decode"), id="again", inputs={"data": Port("decode", "output")})
    faulty = replace(JITTER, nodes=(*JITTER.nodes, second))
    assert [fault.code for fault in check_graph(faulty, CATALOG)] == ["kind"]
    longer, between = insert_node(faulty, CATALOG, "flip", "decode")
    assert longer.node("again").inputs["data"] == Port(between, "output")
    assert remove_nodes(longer, CATALOG, [between]) == faulty


def test_an_output_that_nothing_can_give_goes_too() -> None:
    graph = remove_nodes(JITTER, CATALOG, ["reader"])
    assert list(graph.outputs) == ["images"]


def test_an_argument_whose_generator_goes_gets_its_start_value() -> None:
    graph = remove_nodes(JITTER, CATALOG, ["angle"])
    assert "angle" not in graph.node("rotate").inputs
    start = CATALOG["rotate"].args["angle"].start
    assert graph.node("rotate").args["angle"] == start


def test_a_shared_generator_stays() -> None:
    second = replace(JITTER.node("color"), inputs={
        **JITTER.node("color").inputs, "hue": Port("angle", "output"),
    })  # fmt: skip
    graph = remove_nodes(JITTER.replace_node(second), CATALOG, ["rotate"])
    assert graph.has("angle")


def test_all_nodes_leave_an_empty_graph() -> None:
    graph = remove_nodes(JITTER, CATALOG, [node.id for node in JITTER.nodes])
    assert (graph.nodes, graph.outputs) == ((), {})


def test_a_node_that_is_not_there_is_named() -> None:
    with pytest.raises(GraphEditError, match="There is no node 'nowhere'"):
        remove_nodes(JITTER, CATALOG, ["nowhere"])


@given(CHAINS, st.data())
def test_a_chain_without_some_of_its_nodes_runs(graph: Graph, data: st.DataObject) -> None:
    ids = [node.id for node in graph.nodes if is_movable(node, CATALOG)]
    gone = data.draw(st.lists(st.sampled_from(ids), unique=True)) if ids else []
    shorter = remove_nodes(graph, CATALOG, gone)
    before = {fault.message for fault in check_graph(graph, CATALOG)}
    wiring = {f for f in check_graph(shorter, CATALOG) if "feeds" in f.message}
    assert not wiring or before


@given(GRAPHS, st.data())
def test_nothing_dangles(graph: Graph, data: st.DataObject) -> None:
    ids = [node.id for node in graph.nodes]
    shorter = remove_nodes(graph, CATALOG, data.draw(st.lists(st.sampled_from(ids), unique=True)))
    left = {node.id for node in shorter.nodes}
    assert {edge.source.node for edge in shorter.edges} <= left
    assert {port.node for port in shorter.outputs.values()} <= left


def test_a_draw_reaches_its_argument_again() -> None:
    graph = randomise_arg(chain_graph("rotate"), CATALOG, "rotate", "angle")
    longer, node = insert_node(graph, CATALOG, "math.mul", "angle")
    assert longer.node("rotate").inputs["angle"] == Port(node, "output")
    assert remove_nodes(longer, CATALOG, [node]) == graph


def test_a_region_leaves_each_output_what_passed_through_it() -> None:
    """The second of two images was given the first one's place."""
    graph = chain_graph("resize")
    image = Port("resize", "output")
    flip = new_node(graph, CATALOG, "flip")
    blur = new_node(graph, CATALOG, "gaussian_blur")
    ends = {"one": Port(flip.id, "output"), "two": Port(blur.id, "output")}
    added = [replace(node, inputs={"data": image}) for node in (flip, blur)]
    plain = replace(graph, nodes=(*graph.nodes, *added), outputs=ends)
    graph = plain
    for name, port in ends.items():
        turned = replace(new_node(graph, CATALOG, "rotate"), inputs={"data": port})
        outputs = {**graph.outputs, name: Port(turned.id, "output")}
        graph = replace(graph, nodes=(*graph.nodes, turned), outputs=outputs)
    for op in ("if", "repeat"):
        wrapped, region = wrap_in_region(graph, CATALOG, ["rotate", "rotate_2"], op)
        assert remove_nodes(wrapped, CATALOG, [region]) == plain, op
        assert active_graph(set_muted(wrapped, [region], True), CATALOG) == plain, op


def test_what_decides_in_a_region_does_not_take_its_place() -> None:
    graph = randomise_arg(chain_graph("rotate"), CATALOG, "rotate", "angle")
    drawn = Port("angle", "output")
    steeper = replace(new_node(graph, CATALOG, "math.mul"), inputs={"data": drawn})
    rotate = graph.node("rotate")
    rotate = replace(rotate, inputs={**rotate.inputs, "angle": Port("mul", "output")})
    outputs = {**graph.outputs, "angles": drawn}
    graph = replace(graph.replace_node(rotate), outputs=outputs)
    graph = replace(graph, nodes=(*graph.nodes, steeper))
    wrapped, region = wrap_in_region(graph, CATALOG, ["mul"])
    assert wrapped.node("rotate").inputs["angle"].node == region
    assert remove_nodes(wrapped, CATALOG, [region]).node("rotate").inputs["angle"] == drawn
