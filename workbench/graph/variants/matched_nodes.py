"""Which nodes of two graphs are the same, though their ids are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.graph.edits.rename import renamed_nodes, renamed_ports
from workbench.graph.model import Graph, Node, Port, Source


def find_renames(one: Graph, other: Graph) -> dict[str, str]:
    """Ids in ``one`` -> ids in ``other`` of nodes that differ in nothing but their ids.

    Of several that are alike in one graph it cannot be told which is which: they are left out.
    """
    ours = [node for node in one.walk() if not other.has(node.id)]
    theirs = {node.id: _contents(other, node, {}) for node in other.walk() if not one.has(node.id)}
    names: dict[str, str] = {}
    while True:  # what a renamed node feeds is told by that node's new id
        left = {node.id: _contents(one, node, names) for node in ours if node.id not in names}
        right = {key: each for key, each in theirs.items() if key not in names.values()}
        found = {
            old: new
            for old, contents in left.items()
            for new in right
            if right[new] == contents
            and sum(contents == each for each in left.values()) == 1
            and sum(contents == each for each in right.values()) == 1
        }
        if not found:
            return names
        names |= found


def with_ids_of(graph: Graph, leading: Graph) -> Graph:
    """The graph with the ids that its renamed nodes have in another."""
    names = find_renames(graph, leading)
    if not names:
        return graph
    nodes = renamed_nodes(graph.nodes, names)
    return replace(graph, nodes=nodes, outputs=renamed_ports(graph.outputs, names))


def _contents(graph: Graph, node: Node, names: Mapping[str, str]) -> tuple[Any, ...]:
    """All of a node but its id and what stands in its bodies."""
    scope = renamed_ports({"": Port(graph.scope_of(node.id), "")}, names)[""].node
    read = (node.kind, node.dataset) if isinstance(node, Source) else ()
    inputs = renamed_ports(node.inputs, names)
    rest = node.device, node.seed, node.muted
    return node.op, scope, dict(node.args), inputs, tuple(node.bodies), *rest, *read
