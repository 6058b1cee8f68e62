"""Nodes, edges and their order; mappings that cannot be changed; seeds."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

from workbench.errors import GraphEditError, UnsupportedUseError
from workbench.graph import Edge, Graph, Node, Port, load_recipe
from workbench.graph.edits.edit import free_seed
from workbench.graph.model.bounds import USUAL_SEEDS
from workbench.graph.model.frozen_dict import FrozenDict, frozen
from workbench.graph.model.node_order import ancestors, topological


def graph_of(**sources: str) -> Graph:
    """``a="b c"``: node a has the inputs b and c."""
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
    with pytest.raises(UnsupportedUseError, match=r"Create another one: graph\.named"):
        Graph().name = "other"  # type: ignore[misc]
    with pytest.raises(UnsupportedUseError, match="with_settings"):
        Graph().settings.batch_size = 3  # type: ignore[misc]


def test_of_two_nodes_with_one_id_the_first_is_meant() -> None:
    graph = Graph(nodes=(Node("a", "first"), Node("a", "second"), Node("b", "op")))
    assert graph.node("a").op == "first"
    assert [node.op for node in topological(graph)[0]] == ["first", "second", "op"]
    assert pickle.loads(pickle.dumps(graph)) == graph


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


CHANGES = {
    "set": lambda mapping: mapping.__setitem__("fill_value", 255),
    "delete": lambda mapping: mapping.__delitem__("angle"),
    "update": lambda mapping: mapping.update(angle=1),
    "merge": lambda mapping: mapping.__ior__({"angle": 1}),
    "pop": lambda mapping: mapping.pop("angle"),
    "popitem": lambda mapping: mapping.popitem(),
    "clear": lambda mapping: mapping.clear(),
    "setdefault": lambda mapping: mapping.setdefault("other", 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_mapping_of_a_graph_can_be_changed(change: str) -> None:
    """Finding A6: it succeeded, and changed the cached recipe."""
    graph = load_recipe("rotate-jitter")
    before = copy.deepcopy(graph)
    node: Any = graph.node("rotate")
    for mapping in (node.args, node.inputs, node.bodies, graph.outputs):
        with pytest.raises(TypeError, match="cannot be changed in place"):
            CHANGES[change](mapping)
    assert graph == before == load_recipe("rotate-jitter")


def test_lists_become_tuples_at_every_depth() -> None:
    given: dict[str, Any] = {"matrix": [[1, 2], [3, [4]]]}
    kept = frozen(given)
    given["matrix"][0].append(5)
    assert kept["matrix"] == ((1, 2), (3, (4,)))


def test_it_is_copied_pickled_and_written_as_a_dict_is() -> None:
    kept = FrozenDict({"a": 1})
    assert copy.copy(kept) == copy.deepcopy(kept) == pickle.loads(pickle.dumps(kept)) == kept
    assert type(pickle.loads(pickle.dumps(kept))) is FrozenDict
    assert json.dumps(kept) == '{"a": 1}'
    assert {**kept, "b": 2} == {"a": 1, "b": 2}


# Seeds of new nodes are small and their own.


@pytest.mark.parametrize(
    ("taken", "free"),
    [
        ([], 0),
        ([None], 0),
        ([0, 1], 2),
        ([5], 6),
        ([0, 2_101_794_609], 1),
        ([-3, 2**40], 0),
        ([USUAL_SEEDS - 1], USUAL_SEEDS),
        ([USUAL_SEEDS - 1, USUAL_SEEDS], USUAL_SEEDS + 1),
    ],
)
def test_free(taken: list[int | None], free: int) -> None:
    nodes = [Node(f"n{i}", "random.uniform", seed=seed) for i, seed in enumerate(taken)]
    assert free_seed(Graph(nodes=tuple(nodes))) == free
