"""Muted nodes are bypassed as if they were removed; loose ones stop nothing."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.block_graphs import branching_graph
from tests.helpers import CATALOG, CHAINS, GRAPHS, with_args, with_nodes
from workbench.emit import emit_script
from workbench.graph import Graph, Node, Port, check_graph, dump_graph, load_graph, load_recipe
from workbench.graph.checks.check import stopping_faults
from workbench.graph.edits.compose import remove_nodes
from workbench.graph.edits.fragment import copy_fragment, duplicate, paste_fragment
from workbench.graph.execution.active import (
    active_graph,
    muted_nodes,
    set_muted,
    unused_nodes,
    without_loose,
)
from workbench.graph.fixes import fixes
from workbench.graph.resolved import ResolvedGraph

JITTER = load_recipe("rotate-jitter")


def some_nodes(graph: Graph, data: st.DataObject) -> list[str]:
    return data.draw(st.lists(st.sampled_from([n.id for n in graph.walk()]), unique=True))


@given(st.one_of(CHAINS, GRAPHS), st.data())
def test_muted_is_removed(graph: Graph, data: st.DataObject) -> None:
    chosen = some_nodes(graph, data)
    muted, removed = set_muted(graph, chosen, True), remove_nodes(graph, CATALOG, chosen)
    if muted.outputs.keys() == removed.outputs.keys():
        assert active_graph(muted, CATALOG) == active_graph(removed, CATALOG)
        if not stopping_faults(removed, CATALOG):
            assert emit_script(muted, CATALOG) == emit_script(removed, CATALOG)
    else:
        assert "muted" in [fault.code for fault in stopping_faults(muted, CATALOG)]
    again = set_muted(muted, chosen, False)
    assert again == graph
    assert load_graph(dump_graph(muted)) == muted


@given(st.one_of(CHAINS, GRAPHS), st.data())
def test_what_muting_breaks_has_a_remedy(graph: Graph, data: st.DataObject) -> None:
    chosen = some_nodes(graph, data)
    muted = set_muted(graph, chosen, True)
    before = stopping_faults(graph, CATALOG)
    for fault in stopping_faults(muted, CATALOG):
        assert fault in before or fault.code == "muted"
        if fault.code == "muted":
            assert fault.about in chosen
            assert fault.remedy.startswith(f"Unmute {fault.about!r}")


@given(st.one_of(CHAINS, GRAPHS))
def test_what_runs_of_what_runs_is_itself(graph: Graph) -> None:
    active = active_graph(graph, CATALOG)
    assert active_graph(active, CATALOG) is active
    assert not unused_nodes(active)
    assert not ResolvedGraph(active, CATALOG).loose_faults


def test_a_muted_node_passes_on_what_it_takes() -> None:
    muted = set_muted(JITTER, ["rotate", "color"], True)
    active = active_graph(muted, CATALOG)
    assert active.node("flip").inputs["data"] == Port("resize", "output")
    assert not active.has("angle"), "the draw that fed it alone goes too"
    assert muted_nodes(muted) == ("rotate", "color")
    assert "rotate" not in emit_script(muted, CATALOG).text.replace("rotate_jitter", "").replace(
        "rotate-jitter", ""
    )


def test_a_reader_that_is_muted_is_asked_for() -> None:
    muted = set_muted(JITTER, ["reader"], True)
    faults = stopping_faults(muted, CATALOG)
    assert [str(fault) for fault in faults] == [
        "the output 'labels' comes from reader.labels, which does not exist, now that 'reader' is "
        "muted. Unmute 'reader', or change what follows it.",
        "no node reads images, now that 'reader' is muted. "
        "Unmute 'reader', or change what follows it.",
        "decode.data: it is not connected, now that 'reader' is muted. "
        "Unmute 'reader', or change what follows it.",
    ]
    for fault in faults:
        (fix,) = fixes(ResolvedGraph(muted, CATALOG), fault)
        assert (fix.label, fix.graph) == ("Unmute reader", JITTER)


def test_the_type_that_follows_needs_names_the_muted_node() -> None:
    graph = load_recipe("imagenet-train")
    cmn = next(node for node in graph.nodes if node.op == "crop_mirror_normalize")
    decoder = next(node for node in graph.nodes if node.op.startswith("decoders."))
    muted = set_muted(graph, [decoder.id], True)
    codes = {fault.code for fault in stopping_faults(muted, CATALOG)}
    assert codes == {"muted"}
    assert not stopping_faults(set_muted(graph, [cmn.id], True), CATALOG)


def test_a_faulty_node_that_is_muted_stops_nothing() -> None:
    faulty = with_args(JITTER, "rotate", fill_value="red")
    assert stopping_faults(faulty, CATALOG)
    assert not check_graph(set_muted(faulty, ["rotate"], True), CATALOG)


def test_a_loose_node_stops_nothing_whatever_its_fault() -> None:
    blur = Node("blur", "gaussian_blur", {"sigma": "wide"})
    graph = with_nodes(JITTER, blur)
    assert unused_nodes(graph) == {"blur"}
    assert {fault.node for fault in ResolvedGraph(graph, CATALOG).loose_faults} == {"blur"}
    assert stopping_faults(graph, CATALOG) == ()
    assert emit_script(graph, CATALOG) == emit_script(JITTER, CATALOG)


def test_a_loose_circle_stops_nothing() -> None:
    one = Node("one", "flip", inputs={"data": Port("two", "output")})
    two = Node("two", "flip", inputs={"data": Port("one", "output")})
    graph = with_nodes(JITTER, one, two)
    assert "cycle" in {fault.code for fault in ResolvedGraph(graph, CATALOG).loose_faults}
    assert stopping_faults(graph, CATALOG) == ()


def test_a_graph_that_gives_nothing_out_has_no_loose_nodes() -> None:
    graph = replace(JITTER, outputs={})
    assert unused_nodes(graph) == frozenset()
    assert [fault.code for fault in stopping_faults(graph, CATALOG)] == ["no_outputs"]


def test_inside_a_block_too() -> None:
    graph = branching_graph()
    inner = next(n for n in graph.walk() if graph.scope_of(n.id) and n.inputs and not n.bodies)
    scope = graph.scope_of(inner.id)
    lone = Node("lone", "gaussian_blur", {"sigma": "wide"})
    body = graph.body_at(scope)
    grown = graph.replace_body(scope, replace(body, nodes=(*body.nodes, lone)))
    assert unused_nodes(grown) == {"lone"}
    assert without_loose(grown) == graph
    muted = set_muted(graph, [inner.id], True)
    assert active_graph(muted, CATALOG) == active_graph(
        remove_nodes(graph, CATALOG, [inner.id]), CATALOG
    )


def test_copies_are_muted_too() -> None:
    muted = set_muted(JITTER, ["rotate"], True)
    pasted, added = paste_fragment(JITTER, copy_fragment(muted, ["rotate"]))
    assert [pasted.node(node).muted for node in added if node.startswith("rotate")] == [True]
    doubled, twins = duplicate(muted, CATALOG, ["rotate"])
    assert any(doubled.node(node).muted for node in twins)
