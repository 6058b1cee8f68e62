from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from tests.helpers import CHAINS, chain_graph
from tests.region_graphs import REGION_GRAPHS
from workbench.catalog import load_catalog
from workbench.engine.build.partition import kind_of, partition
from workbench.graph import Graph, Node, Port, load_recipe
from workbench.graph.model.node_order import topological

CATALOG = load_catalog()


def parts_of(graph: Graph) -> list[list[str]]:
    return [[node.id for node in part] for part in partition(topological(graph)[0], CATALOG)]


def each_needs_only_those_before_it(graph: Graph) -> None:
    parts = partition(topological(graph)[0], CATALOG)
    place = {node.id: number for number, part in enumerate(parts) for node in part}
    assert len(place) == len(graph.nodes)
    for part in parts:
        kinds = {kind_of(node, CATALOG) for node in part}
        assert len(kinds) == 1
        assert len(part) == 1 or kinds <= {"operators", "decoder"}
        for node in part:
            before = [place[port.node] for port in node.inputs.values()]
            same = [number for number in before if number == place[node.id]]
            assert max(before, default=-1) <= place[node.id]
            assert not same or kinds == {"operators"}


@given(CHAINS)
def test_of_chains(graph: Graph) -> None:
    each_needs_only_those_before_it(graph)


@given(REGION_GRAPHS)
def test_of_graphs_with_regions(graph: Graph) -> None:
    each_needs_only_those_before_it(graph)


def test_a_recipe() -> None:
    parts = parts_of(load_recipe("imagenet-train"))
    assert parts == [["reader"], ["decode"], ["crop", "mirror", "normalize"]]


def test_what_feeds_a_decoder_runs_before_it_and_the_rest_behind() -> None:
    graph = chain_graph("resize")
    shape = Node("shape", "peek_image_shape", inputs={"data": Port("reader", "jpegs")})
    sliced = Node(
        "sliced",
        "decoders.image_slice",
        inputs={"data": Port("reader", "jpegs"), "end": Port("shape", "output")},
    )
    graph = replace(graph, nodes=(*graph.nodes, shape, sliced))
    assert parts_of(graph) == [
        ["reader"],
        ["shape"],
        ["sliced"],
        ["decode"],
        ["resize"],
    ] or parts_of(graph) == [["reader"], ["decode"], ["shape"], ["resize"], ["sliced"]]
