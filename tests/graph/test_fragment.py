from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import GRAPHS
from tests.region_graphs import branching_graph
from workbench.errors import GraphEditError, GraphFormatError
from workbench.graph import Graph, Node, load_recipe
from workbench.graph.edits.fragment import copy_fragment, duplicate, paste_fragment

JITTER = load_recipe("rotate-jitter")


def test_generators_that_feed_only_the_copied_nodes_come_along() -> None:
    nodes = json.loads(copy_fragment(JITTER, ["rotate"]))["nodes"]
    assert [node["id"] for node in nodes] == ["angle", "rotate"]
    assert nodes[1]["inputs"] == {"angle": "angle.output"}


def test_a_copy_has_ids_and_draws_of_its_own() -> None:
    graph, new = duplicate(JITTER, ["rotate", "color"])
    assert len(set(new)) == len(new) == 7
    assert graph.node("rotate_2").inputs["angle"].node == "angle_2"
    seeds = [node.seed for node in graph.nodes if node.seed is not None]
    assert len(set(seeds)) == len(seeds)
    assert graph.nodes[: len(JITTER.nodes)] == JITTER.nodes


def test_an_operator_that_this_dali_lacks_comes_along_as_it_is() -> None:
    odd = Node("odd", "from_the_future", {"strength": (1, "two")})
    graph = replace(JITTER, nodes=(*JITTER.nodes, odd))
    pasted, (new_id,) = paste_fragment(JITTER, copy_fragment(graph, ["odd"]))
    assert (pasted.node(new_id).op, pasted.node(new_id).args) == (odd.op, odd.args)


@pytest.mark.parametrize("text", ["", "hello", "[1]", '{"format": "x"}', "\ud800", "9" * 10_000])
def test_text_that_is_no_graph_is_refused(text: str) -> None:
    with pytest.raises(GraphFormatError):
        paste_fragment(JITTER, text)


def test_nothing_to_paste_is_said() -> None:
    with pytest.raises(GraphFormatError, match="nothing to paste"):
        paste_fragment(JITTER, copy_fragment(JITTER, []))


@given(GRAPHS, st.data())
def test_any_part_can_be_pasted_into_any_graph(graph: Graph, data: st.DataObject) -> None:
    ids = [node.id for node in graph.nodes]
    chosen = data.draw(st.lists(st.sampled_from(ids), min_size=1, unique=True))
    pasted, new = paste_fragment(JITTER, copy_fragment(graph, chosen))
    all_ids = [node.id for node in pasted.nodes]
    assert len(set(all_ids)) == len(all_ids) == len(JITTER.nodes) + len(new)
    assert {port.node for i in new for port in pasted.node(i).inputs.values()} <= set(new)


def test_a_reader_is_not_pasted_into_a_region() -> None:
    """What it became there was written into a file that did not open again."""
    graph = branching_graph()
    text = copy_fragment(graph, ["reader", "decode"])
    with pytest.raises(GraphEditError, match=r"reader reads, .* Paste it beside outer"):
        paste_fragment(graph, text, "outer.then")
