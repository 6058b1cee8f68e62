"""Inputs that nothing feeds get a source: by the catalogue's word, or the nearest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.helpers import chain_graph
from tests.placed import CATALOG, USABLE, placed
from workbench.catalog import OpSpec
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.edits.edit import insert_node, new_node
from workbench.graph.fixes.unfed_inputs import (
    feed_from_new,
    feed_input,
    feed_node,
    fitting_ports,
    unfed,
)
from workbench.graph.model.values import value_fault


def added(graph: Graph, op: str) -> Graph:
    return replace(graph, nodes=(*graph.nodes, new_node(graph, CATALOG, op)))


@pytest.mark.parametrize("op", USABLE, ids=lambda op: op.name)
def test_every_usable_operator_is_fed_into_a_sound_graph(op: OpSpec) -> None:
    graph, node = placed(op, device="cpu" if "cpu" in op.devices else "mixed")
    assert not unfed(graph.node(node), op)
    assert [str(fault) for fault in check_graph(graph, CATALOG)] == []


def test_what_the_catalogue_names_fits() -> None:
    for op in USABLE:
        for source in (*op.inputs, *op.args.values()):
            if source.feed is not None:
                maker = CATALOG[source.feed.op]
                assert maker.unusable is None
                assert source.feed.output in [output.name for output in maker.outputs]
                for name, value in source.feed.args.items():
                    assert value_fault(maker.args[name], value) is None, (op.name, name)


def test_a_second_picture_is_that_of_the_first() -> None:
    graph, node = insert_node(chain_graph("resize", "rotate"), CATALOG, "cat", "resize")
    assert [(f.arg, f.code) for f in check_graph(graph, CATALOG)] == [("input_1", "unfed")]
    fed = feed_node(graph, CATALOG, node)
    assert fed.node(node).inputs == {
        "input_0": Port("resize", "output"),
        "input_1": Port("resize", "output"),
    }
    assert check_graph(fed, CATALOG) == ()


def test_what_is_made_is_fed_in_turn() -> None:
    graph = feed_node(added(chain_graph("resize"), "reductions.std_dev"), CATALOG, "std_dev")
    mean = graph.node(graph.node("std_dev").inputs["mean"].node)
    assert mean.op == "reductions.mean"
    assert mean.inputs["data"] == graph.node("std_dev").inputs["data"] == Port("resize", "output")


def test_what_comes_later_feeds_nothing_before_it() -> None:
    graph = chain_graph("resize", "rotate", "flip")
    found = list(fitting_ports(graph, CATALOG, "resize", "data"))
    assert found == [Port("decode", "output")]
    assert list(fitting_ports(graph, CATALOG, "resize", "size")) == []


def test_the_catalogue_names_nothing_for_a_picture() -> None:
    assert feed_from_new(chain_graph("resize"), CATALOG, "resize", "data") is None


def test_a_link_puts_inputs_in_their_order_and_rivals_out() -> None:
    graph = load_recipe("rotate-jitter")
    graph = feed_input(graph, CATALOG, Port("angle", "output"), "resize", "resize_shorter")
    assert graph.node("resize").args == {}
    graph = added(chain_graph(), "slice")
    for port in ("shape_input", "anchor", "data"):
        graph = feed_input(graph, CATALOG, Port("decode", "output"), "slice", port)
    assert list(graph.node("slice").inputs) == ["data", "anchor", "shape_input"]
    assert "rel_start" not in graph.node("slice").args
