"""Nodes placed at the end, on an edge and on their own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import CHAINS
from workbench.catalog import load_catalog
from workbench.errors import CatalogError, GraphEditError
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.control_flow.regions import wrap_in_region
from workbench.graph.edits.compose import (
    add_output,
    append_node,
    edge_id,
    find_edge,
    insert_on_edge,
    place_node,
    splice_node,
)
from workbench.graph.edits.connect import narrowed_kind
from workbench.graph.types.devices import port_kind
from workbench.graph.types.shapes import infer_types

CATALOG = load_catalog()
JITTER = load_recipe("rotate-jitter")


def test_an_empty_graph_grows_into_one_that_runs() -> None:
    graph = Graph()
    for op in ("readers.file", "decoders.image", "resize", "rotate"):
        graph, _ = append_node(graph, CATALOG, op)
    assert check_graph(graph, CATALOG) == ()
    assert [node.id for node in graph.nodes] == ["reader", "decode", "resize", "rotate"]
    assert list(graph.outputs.items()) == [
        ("images", Port("rotate", "output")),
        ("labels", Port("reader", "labels")),
    ]


def test_a_node_goes_into_one_edge_and_no_other() -> None:
    graph, _ = place_node(JITTER, CATALOG, "brightness", Port("resize", "output"))
    graph, added = insert_on_edge(graph, CATALOG, "gaussian_blur", "rotate:data")
    assert graph.node("rotate").inputs["data"] == Port(added, "output")
    assert graph.node(added).inputs == {"data": Port("resize", "output")}
    assert graph.node("brightness_2").inputs == {"data": Port("resize", "output")}


def test_a_node_goes_into_the_edge_to_an_output() -> None:
    graph, added = insert_on_edge(JITTER, CATALOG, "gaussian_blur", ":images")
    assert graph.outputs["images"] == Port(added, "output")
    assert list(graph.outputs) == ["images", "labels"]
    assert check_graph(graph, CATALOG) == ()


@pytest.mark.parametrize(
    ("op", "edge", "reason"),
    [
        ("gaussian_blur", "decode:data", "data takes image, and reader.jpegs gives encoded"),
        ("gaussian_blur", "rotate:angel", "There is no edge 'rotate:angel'"),
        ("gaussian_blur", "nowhere:data", "There is no node 'nowhere'"),
        ("gaussian_blur", "", "There is no edge ''"),
        ("random.uniform", "rotate:data", r"data takes image, and uniform\.output gives number"),
    ],
)
def test_what_does_not_fit_an_edge_says_why(op: str, edge: str, reason: str) -> None:
    with pytest.raises(GraphEditError, match=reason):
        insert_on_edge(JITTER, CATALOG, op, edge)


def test_an_unknown_operator_is_named() -> None:
    with pytest.raises(CatalogError, match="Did you mean rotate"):
        place_node(JITTER, CATALOG, "rotat")


def test_a_branch_changes_no_other_edge() -> None:
    graph, added = place_node(JITTER, CATALOG, "flip", Port("resize", "output"))
    assert graph.nodes[:-1] == JITTER.nodes
    assert graph.node(added).inputs == {"data": Port("resize", "output")}
    with pytest.raises(GraphEditError, match=r"takes image, and reader\.labels gives label"):
        place_node(JITTER, CATALOG, "flip", Port("reader", "labels"))


@pytest.mark.parametrize("edge", ["color:data", "flip:data", ":images"])
def test_a_node_moves_into_an_edge_and_its_place_is_healed(edge: str) -> None:
    graph = splice_node(JITTER, CATALOG, "resize", edge)
    assert graph.node("rotate").inputs["data"] == Port("decode", "output")
    assert find_edge(graph, edge).source == Port("resize", "output")
    assert check_graph(graph, CATALOG) == ()
    assert {node.id for node in graph.nodes} == {node.id for node in JITTER.nodes}


def test_a_node_keeps_its_draws_when_it_moves() -> None:
    graph = splice_node(JITTER, CATALOG, "rotate", ":images")
    assert graph.node("rotate").inputs["angle"] == Port("angle", "output")


def test_a_node_does_not_go_into_its_own_edge() -> None:
    for edge in ("rotate:data", "color:data"):
        with pytest.raises(GraphEditError, match="an end of that edge"):
            splice_node(JITTER, CATALOG, "rotate", edge)


def test_a_region_is_not_led_into_an_edge() -> None:
    wrapped, region = wrap_in_region(JITTER, CATALOG, ["rotate"])
    with pytest.raises(GraphEditError, match="branch is a region"):
        splice_node(wrapped, CATALOG, region, ":images")


def test_an_output_is_named_after_its_kind() -> None:
    graph = add_output(JITTER, CATALOG, Port("resize", "output"))
    assert graph.outputs["images_2"] == Port("resize", "output")
    graph = add_output(JITTER, CATALOG, Port("angle", "output"), "angles")
    assert graph.outputs["angles"] == Port("angle", "output")
    with pytest.raises(GraphEditError, match="not a Python name"):
        add_output(JITTER, CATALOG, Port("angle", "output"), "two words")


@given(CHAINS, st.data())
def test_an_image_operator_fits_every_image_edge_of_a_chain(
    graph: Graph, data: st.DataObject
) -> None:
    types = infer_types(graph, CATALOG)
    edges = [
        edge
        for edge in graph.edges
        if edge.input == "data"
        and edge.target != "decode"  # a reduction to one number for each channel is no image
        and narrowed_kind(port_kind(graph, CATALOG, edge.source), types[edge.source]) == "image"
    ]
    edge = data.draw(st.sampled_from(edges)) if edges else None
    name = edge_id(edge.target, edge.input) if edge else ":images"
    longer, added = insert_on_edge(graph, CATALOG, "copy", name)
    assert check_graph(longer, CATALOG) == check_graph(graph, CATALOG)
    assert find_edge(longer, name).source.node == added
