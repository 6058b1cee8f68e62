from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import GRAPHS
from workbench.catalog import load_catalog
from workbench.errors import GraphEditError
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.edits.compose import place_node
from workbench.graph.edits.connect import connect, connection_refusal, disconnect, set_output
from workbench.graph.edits.edit import set_setting
from workbench.graph.fixes import fixes

CATALOG = load_catalog()
JITTER = load_recipe("rotate-jitter")


def out(node: str, output: str = "output") -> Port:
    return Port(node, output)


@pytest.mark.parametrize(
    ("source", "target", "into", "reason"),
    [
        (out("flip"), "resize", "data", "wait for each other"),
        (out("rotate"), "rotate", "data", "wait for each other"),
        (
            out("reader", "labels"),
            "resize",
            "data",
            "data takes image, and reader.labels gives label",
        ),
        (out("angle"), "resize", "data", "gives number"),
        (out("resize"), "color", "hue", "hue takes numbers, and resize.output gives image"),
        (out("angle"), "rotate", "keep_size", "takes one value for all samples"),
        (out("mirror"), "rotate", "angle", "not random.coin_flip"),
        (out("resize"), "rotate", "angel", "has no input 'angel'"),
    ],
)
def test_what_cannot_be_connected_says_why(
    source: Port, target: str, into: str, reason: str
) -> None:
    assert reason in (connection_refusal(JITTER, CATALOG, source, target, into) or "")
    with pytest.raises(GraphEditError, match="was not connected"):
        connect(JITTER, CATALOG, source, target, into)


def test_an_argument_cannot_come_from_the_gpu() -> None:
    graph = set_setting(JITTER, device="mixed")
    assert connection_refusal(graph, CATALOG, out("angle"), "color", "hue") is None
    moved = graph.replace_node(
        graph.node("angle").__class__("angle", "random.uniform", device="gpu", seed=1)
    )
    assert "must come from the CPU" in (
        connection_refusal(moved, CATALOG, out("angle"), "color", "hue") or ""
    )


def test_the_mean_of_an_image_feeds_an_argument() -> None:
    graph, mean = place_node(JITTER, CATALOG, "reductions.mean", out("resize"))
    assert "gives image" in (connection_refusal(graph, CATALOG, out(mean), "color", "hue") or "")
    node = graph.node(mean)
    graph = graph.replace_node(replace(node, args={"axis_names": "HWC"}))
    graph = connect(graph, CATALOG, out(mean), "color", "hue")
    assert check_graph(graph, CATALOG) == ()
    most = graph.replace_node(replace(graph.node(mean), op="reductions.max"))
    assert "color.hue: it takes fractions" in str(check_graph(most, CATALOG)[0])
    assert "takes FLOAT" in (connection_refusal(most, CATALOG, out(mean), "color", "hue") or "")


def test_two_nodes_share_one_draw() -> None:
    graph = connect(JITTER, CATALOG, out("angle"), "color", "hue")
    assert graph.node("color").inputs["hue"] == graph.node("rotate").inputs["angle"]
    assert check_graph(graph, CATALOG) == ()


def test_connecting_replaces_the_value_and_its_rivals() -> None:
    graph, _ = place_node(JITTER, CATALOG, "random.uniform")
    fed = connect(graph, CATALOG, out("uniform"), "resize", "resize_shorter")
    assert "size" not in fed.node("resize").args
    assert not check_graph(fed, CATALOG)


def test_any_number_of_inputs_has_one_more_port() -> None:
    assert CATALOG["cat"].max_inputs > 2
    graph = Graph(nodes=(*JITTER.nodes, JITTER.node("flip").__class__("both", "cat")))
    first = CATALOG["cat"].input(0).name
    graph = connect(graph, CATALOG, out("resize"), "both", first)
    graph = connect(graph, CATALOG, out("rotate"), "both", CATALOG["cat"].input(1).name)
    assert len(graph.node("both").inputs) == 2


def test_what_is_of_another_type_is_connected_and_a_cast_offered() -> None:
    graph, least = place_node(JITTER, CATALOG, "reductions.min", out("resize"))
    graph, spread = place_node(graph, CATALOG, "reductions.std_dev", out("resize"))
    graph = connect(graph, CATALOG, out(least), spread, "mean")
    (fault,) = check_graph(graph, CATALOG)
    assert (fault.node, fault.arg, fault.code) == (spread, "mean", "dtype")
    offered = {fix.label: fix.graph for fix in fixes(graph, CATALOG, fault)}
    assert check_graph(offered["Insert a cast to FLOAT"], CATALOG) == ()


def test_an_edge_is_cut() -> None:
    graph = disconnect(JITTER, "rotate", "data")
    assert [fault.arg for fault in check_graph(graph, CATALOG)] == ["data"]
    with pytest.raises(GraphEditError, match=r"Nothing feeds rotate\.data"):
        disconnect(graph, "rotate", "data")


def test_outputs_are_named_and_taken_away() -> None:
    graph = set_output(JITTER, "before", out("resize"))
    assert list(graph.outputs) == ["images", "labels", "before"]
    assert set_output(graph, "before", None) == JITTER
    with pytest.raises(GraphEditError, match="not a Python name"):
        set_output(graph, "two words", out("resize"))
    with pytest.raises(GraphEditError, match="no node"):
        set_output(graph, "gone", out("gone"))


@given(GRAPHS, st.data())
def test_what_is_not_refused_brings_no_new_fault_of_wiring(
    graph: Graph, data: st.DataObject
) -> None:
    before = deepcopy(graph)
    ports = [
        Port(n.id, o.name)
        for n in graph.nodes
        if n.op in CATALOG
        for o in CATALOG[n.op].outputs_with(n.inputs, n.args)
    ]
    source = data.draw(st.sampled_from(ports))
    node = data.draw(st.sampled_from([n for n in graph.nodes if n.op in CATALOG]))
    spec = CATALOG[node.op]
    into = data.draw(st.sampled_from([p.name for p in spec.inputs] + list(spec.args)))
    if connection_refusal(graph, CATALOG, source, node.id, into) is None:
        joined = connect(graph, CATALOG, source, node.id, into)
        assert joined.node(node.id).inputs[into] == source
        known = {str(fault) for fault in check_graph(graph, CATALOG)}
        new = [f for f in check_graph(joined, CATALOG) if str(f) not in known]
        here = [f for f in new if f.node == node.id and f.arg == into]
        for fault in here:
            assert fault.code in ("dtype", "same_dtype")
            casts = [fix.graph for fix in fixes(joined, CATALOG, fault) if "cast" in fix.label]
            assert any(fault not in check_graph(made, CATALOG) for made in casts), (
                f"{fault}: no cast mends it"
            )
    assert graph == before
