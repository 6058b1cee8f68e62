from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import pytest

from workbench.errors import GraphEditError
from workbench.graph import Edge, Graph, Node, Port
from workbench.graph.model.node_order import topological


def graph_of(**sources: str) -> Graph:
    """``a="b c"``: node a is fed by b and c."""
    return Graph(
        nodes=tuple(
            Node(name, "op", inputs={f"in_{i}": Port(s, "out") for i, s in enumerate(text.split())})
            for name, text in sources.items()
        )
    )


def test_edges_and_consumers() -> None:
    graph = graph_of(a="", b="a", c="a b")
    assert list(graph.edges) == [
        Edge(Port("a", "out"), "b", "in_0"),
        Edge(Port("a", "out"), "c", "in_0"),
        Edge(Port("b", "out"), "c", "in_1"),
    ]
    assert [edge.target for edge in graph.consumers("a")] == ["b", "c"]
    assert str(Port("a", "out")) == "a.out"


def test_a_missing_node_is_named_with_those_there_are() -> None:
    with pytest.raises(GraphEditError, match=r"no node 'z'. The graph has: a, b"):
        graph_of(a="", b="a").node("z")
    with pytest.raises(GraphEditError, match=r"The graph has: none"):
        Graph().node("z")


def test_graphs_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Graph().name = "other"  # type: ignore[misc]


def test_of_two_nodes_with_one_id_the_first_is_meant() -> None:
    graph = Graph(nodes=(Node("a", "first"), Node("a", "second"), Node("b", "op")))
    assert graph.node("a").op == "first"
    assert [node.op for node in topological(graph)[0]] == ["first", "second", "op"]
    assert pickle.loads(pickle.dumps(graph)) == graph
