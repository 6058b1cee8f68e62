"""What differs between two graphs."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import GRAPHS, KINDS, Step, apply_step, step
from workbench.catalog import load_catalog
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.edit import insert_node, set_arg, set_setting
from workbench.graph.edits.remove import remove_nodes
from workbench.graph.execution.active import set_muted
from workbench.graph.model import Port
from workbench.graph.variants.difference import GraphDifference, graph_differences

CATALOG = load_catalog()
START = load_recipe("rotate-jitter")


@given(GRAPHS, step(KINDS))
def test_every_edit_is_seen_and_a_graph_does_not_differ_from_itself(
    graph: Graph, made: Step
) -> None:
    assert graph_differences(graph, graph) == graph_differences(graph, replace(graph)) == ()
    after = apply_step(graph, CATALOG, made)
    there, back = graph_differences(graph, after), graph_differences(after, graph)
    assert bool(there) == bool(back) == (after != graph)
    if {node.id for node in graph.walk()} != {node.id for node in after.walk()}:
        assert any(each.what in ("", "name") for each in there)
    turned = {"added": "removed", "removed": "added", "changed": "changed"}
    reverse = {
        replace(
            each,
            change=turned[each.change],
            node=each.before if each.what == "name" and each.node else each.node,
            before=each.after,
            after=each.before,
        )
        for each in back
    }
    assert set(there) == reverse


@given(GRAPHS, GRAPHS)
def test_any_two_graphs(one: Graph, other: Graph) -> None:
    assert bool(graph_differences(one, other)) == (one != other)


@given(st.floats(-180, 180))
def test_a_changed_argument_has_both_values(angle: float) -> None:
    before = set_arg(START, CATALOG, "rotate", "angle", 15.5)
    found = graph_differences(before, set_arg(before, CATALOG, "rotate", "angle", angle))
    expected = (GraphDifference("changed", "rotate", "angle", "15.5", str(angle)),)
    assert found == (() if angle == 15.5 else expected)


def test_an_argument_that_loses_its_draw() -> None:
    after = set_arg(START, CATALOG, "rotate", "angle", 15.5)
    drawn = START.node("rotate").inputs["angle"]
    assert GraphDifference("changed", "rotate", "angle", str(drawn), "15.5") in graph_differences(
        START, after
    )
    assert GraphDifference("removed", drawn.node, before=START.node(drawn.node).op) in (
        graph_differences(START, after)
    )


def test_nodes_outputs_and_settings() -> None:
    after, node = insert_node(START, CATALOG, "gaussian_blur", "rotate")
    assert GraphDifference("added", node, after="gaussian_blur") in graph_differences(START, after)
    without = remove_nodes(START, CATALOG, ["rotate"])
    removed = graph_differences(START, without)
    assert GraphDifference("removed", "rotate", before="rotate") in removed
    muted = set_muted(START, ["rotate"], True)
    assert graph_differences(START, muted) == (
        GraphDifference("changed", "rotate", "muted", "runs", "muted"),
    )
    (name,) = [name for name, port in START.outputs.items() if port.node != "reader"]
    more = replace(START, outputs={**START.outputs, "before": Port("decode", "images")})
    assert graph_differences(START, more) == (
        GraphDifference("added", "", "output before", "", str(more.outputs["before"])),
    )
    assert name in START.outputs
    seeded = set_setting(START, seed=7)
    assert graph_differences(START, seeded) == (
        GraphDifference("changed", "", "seed", str(START.settings.seed), "7"),
    )
