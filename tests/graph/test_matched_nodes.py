"""Nodes that have another id, and nothing else, are found again."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import GRAPHS
from workbench.catalog import load_catalog
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.rename import rename_node
from workbench.graph.model import Node
from workbench.graph.variants.difference import GraphDifference, graph_differences
from workbench.graph.variants.matched_nodes import find_renames, with_ids_of
from workbench.graph.variants.shared_seeds import differing_random_nodes

CATALOG = load_catalog()
START = load_recipe("rotate-jitter")


def test_a_chain_of_renamed_nodes() -> None:
    after = START
    for old, new in (("angle", "turn_by"), ("rotate", "turn"), ("color", "tint")):
        after = rename_node(after, old, new)
    assert find_renames(START, after) == {"angle": "turn_by", "rotate": "turn", "color": "tint"}
    assert graph_differences(START, after) == (
        GraphDifference("changed", "turn_by", "name", "angle", "turn_by"),
        GraphDifference("changed", "turn", "name", "rotate", "turn"),
        GraphDifference("changed", "tint", "name", "color", "tint"),
    )
    assert differing_random_nodes(START, after, CATALOG) == ()


def test_a_node_with_other_values_is_another() -> None:
    after = rename_node(START, "rotate", "turn")
    after = after.replace_node(replace(after.node("turn"), args={"keep_size": False}))
    assert find_renames(START, after) == {}


def test_of_two_alike_it_cannot_be_told_which_it_is() -> None:
    twins = [Node(name, "random.coin_flip", seed=99) for name in ("heads", "tails")]
    one = replace(START, nodes=(*START.nodes, *twins))
    other = rename_node(rename_node(one, "heads", "first"), "tails", "second")
    assert find_renames(one, other) == {}


@given(GRAPHS, st.data())
def test_any_node_renamed(graph: Graph, data: st.DataObject) -> None:
    ids = [node.id for node in graph.walk()]
    if not ids:
        return
    after = rename_node(graph, data.draw(st.sampled_from(ids)), "another_name")
    assert with_ids_of(graph, after) in (graph, after)
    assert all(each.what == "name" for each in graph_differences(with_ids_of(graph, after), after))
