"""The graph a person composes: frozen nodes, joined by named ports.

A graph is a value. Edits (``graph.edit``) return a new one and share what did not change, so undo
is a list of graphs. Mappings in here are never changed in place.
"""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Literal, NamedTuple

from workbench.catalog.spec import Device, Value
from workbench.errors import GraphEditError
from workbench.graph.identity_cache import identity_cached

DecodeDevice = Literal["cpu", "mixed"]


def is_name(text: str) -> bool:
    """Whether a text is a Python name, and read as it stands.

    Python folds some letters into others (NFKC, PEP 3131): two ids could become one variable.
    """
    folded = unicodedata.normalize("NFKC", text)
    return text.isidentifier() and folded == text and not keyword.iskeyword(text)


def is_text(text: str) -> bool:
    """Whether a file can hold a text: UTF-8 has no place for half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


class Port(NamedTuple):
    """One output of one node. ``str()`` gives ``node.output``."""

    node: str
    output: str

    def __str__(self) -> str:
        return f"{self.node}.{self.output}"


class Edge(NamedTuple):
    """``source`` feeds the input port or the argument ``input`` of the node ``target``."""

    source: Port
    target: str
    input: str


@dataclass(frozen=True, slots=True)
class Node:
    """One call of one operator.

    Parameters
    ----------
    id:
        Unique in the graph, a Python identifier: it may become a variable in the exported code.
    op:
        DALI's name, for example ``random_resized_crop``.
    args:
        Fixed values by argument name. An argument that is neither here nor in ``inputs`` has
        DALI's default.
    inputs:
        What feeds a positional input port or, where it names an argument, that argument.
    device:
        Where it runs; None follows its inputs (and the graph's setting for a decoder).
    seed:
        For operators that draw: added to the graph's seed. Kept for life, so that adding or
        removing another node does not change what this one draws.
    """

    id: str
    op: str
    args: Mapping[str, Value] = field(default_factory=dict)
    inputs: Mapping[str, Port] = field(default_factory=dict)
    device: Device | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """How the pipeline runs."""

    batch_size: int = 64
    num_threads: int = 4
    seed: int = 42
    device: DecodeDevice = "cpu"
    """Where images are decoded; what follows a mixed decoder runs on the GPU."""
    prefetch_queue_depth: int = 2


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes, what they give out by name, and how to run them."""

    name: str = "untitled"
    about: str = ""
    nodes: tuple[Node, ...] = ()
    outputs: Mapping[str, Port] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    _by_id: Mapping[str, Node] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_id = {node.id: node for node in reversed(self.nodes)}  # of two, the first is meant
        object.__setattr__(self, "_by_id", by_id)

    def node(self, node_id: str) -> Node:
        """The node of that id, or GraphEditError."""
        node = self._by_id.get(node_id)
        if node is not None:
            return node
        known = ", ".join(node.id for node in self.nodes) or "none"
        raise GraphEditError(f"There is no node {node_id!r}. The graph has: {known}.")

    def has(self, node_id: str) -> bool:
        """Whether there is such a node."""
        return node_id in self._by_id

    @property
    def edges(self) -> Iterator[Edge]:
        """Every edge, in the order of the nodes they lead to."""
        for node in self.nodes:
            for name, source in node.inputs.items():
                yield Edge(source, node.id, name)

    def consumers(self, node_id: str) -> list[Edge]:
        """The edges that leave a node."""
        return [edge for edge in self.edges if edge.source.node == node_id]

    def replace_node(self, node: Node) -> Graph:
        """The graph with the node of the same id exchanged."""
        self.node(node.id)
        return replace(self, nodes=tuple(node if n.id == node.id else n for n in self.nodes))


@identity_cached
def topological(graph: Graph) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Nodes with every source before its consumers, and the nodes that lie on or behind a cycle.

    Where the edges leave a choice, the order of ``graph.nodes`` decides. Edges from nodes that do
    not exist are passed over.
    """
    known = {node.id for node in graph.nodes}
    needs = [{p.node for p in node.inputs.values() if p.node in known} for node in graph.nodes]
    waiting: dict[str, list[int]] = {}
    for index, sources in enumerate(needs):
        for source in sources:
            waiting.setdefault(source, []).append(index)
    ready = [index for index, sources in enumerate(needs) if not sources]  # a heap: it is sorted
    placed: list[int] = []
    while ready:
        index = heappop(ready)
        placed.append(index)
        for follower in waiting.pop(graph.nodes[index].id, ()):
            needs[follower].discard(graph.nodes[index].id)
            if not needs[follower]:
                heappush(ready, follower)
    cyclic = sorted(set(range(len(graph.nodes))).difference(placed))
    return tuple(graph.nodes[i] for i in placed), tuple(graph.nodes[i] for i in cyclic)


def ancestors(graph: Graph, ports: list[Port]) -> set[str]:
    """Ids of the nodes that the given outputs depend on, themselves included."""
    found: set[str] = set()
    waiting = [port.node for port in ports]
    while waiting:
        node_id = waiting.pop()
        if node_id in found or not graph.has(node_id):
            continue
        found.add(node_id)
        waiting.extend(port.node for port in graph.node(node_id).inputs.values())
    return found
