"""Other names for nodes and outputs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import GRAPHS, NO_NAMES
from workbench.catalog import load_catalog
from workbench.errors import GraphEditError
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.edits.rename import rename_node, rename_output

CATALOG = load_catalog()
JITTER = load_recipe("rotate-jitter")


@given(GRAPHS, st.data())
def test_a_renamed_node_is_joined_as_before(graph: Graph, data: st.DataObject) -> None:
    old = data.draw(st.sampled_from([node.id for node in graph.nodes]))
    renamed = rename_node(graph, old, "brand_new")
    assert not renamed.has(old)
    assert len(check_graph(renamed, CATALOG)) == len(check_graph(graph, CATALOG))
    assert rename_node(renamed, "brand_new", old) == graph


def test_an_output_keeps_its_place() -> None:
    graph = rename_output(JITTER, "images", "x")
    assert list(graph.outputs.items()) == [
        ("x", Port("flip", "output")),
        ("labels", Port("reader", "labels")),
    ]
    with pytest.raises(GraphEditError, match="no output 'masks'"):
        rename_output(JITTER, "masks", "x")


@pytest.mark.parametrize("name", [*NO_NAMES, "for", "", "flip", "labels"])
def test_names_that_are_taken_or_no_names_are_refused(name: str) -> None:
    for rename in (rename_node, rename_output):
        with pytest.raises(GraphEditError):
            rename(JITTER, "rotate" if rename is rename_node else "images", name)
