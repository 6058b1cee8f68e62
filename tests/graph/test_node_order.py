from __future__ import annotations

from tests.graph.model.test_model import graph_of
from workbench.graph import Node, Port
from workbench.graph.model.node_order import ancestors, topological


def ids(nodes: list[Node]) -> list[str]:
    return [node.id for node in nodes]


def test_running_order_follows_edges_then_the_list() -> None:
    ordered, cyclic = topological(graph_of(d="b c", c="a", b="a", a=""))
    assert ids(ordered) == ["a", "c", "b", "d"]
    assert cyclic == ()


def test_nodes_on_and_behind_a_cycle_are_apart() -> None:
    ordered, cyclic = topological(graph_of(a="", b="a c", c="b", d="c", e="a"))
    assert ids(ordered) == ["a", "e"]
    assert ids(cyclic) == ["b", "c", "d"]


def test_missing_sources_do_not_hold_a_node_up() -> None:
    assert ids(topological(graph_of(a="ghost"))[0]) == ["a"]


def test_ancestors() -> None:
    graph = graph_of(a="", b="a", c="b", d="a", e="e")
    assert ancestors(graph, [Port("c", "out")]) == {"a", "b", "c"}
    assert ancestors(graph, [Port("e", "out"), Port("ghost", "out")]) == {"e"}


def test_long_chains_are_put_in_order_in_no_time() -> None:
    names = [f"n{i}" for i in range(3000)]
    before = ["", *names]
    graph = graph_of(**{name: before[i] for i, name in reversed(list(enumerate(names)))})
    assert ids(topological(graph)[0]) == names
