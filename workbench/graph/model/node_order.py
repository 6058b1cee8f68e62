"""Determine the execution order and the dependencies of nodes."""

from __future__ import annotations

from collections.abc import Collection
from heapq import heappop, heappush

from workbench.graph.model import Graph, Node, Port, block_of


def topological(graph: Graph) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Return the top-level nodes in topological order, and the nodes on or downstream of a cycle.

    See ``running_order``.
    """
    return running_order(graph.nodes)


def running_order(nodes: tuple[Node, ...]) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Return the nodes in topological order, and the nodes on or downstream of a cycle.

    Ties are broken by the order of ``nodes``. Edges from nodes outside ``nodes`` are ignored.
    """
    known = {node.id for node in nodes}
    if _is_topologically_sorted(nodes, known):
        return tuple(nodes), ()
    needs = [{p.node for p in node.inputs.values() if p.node in known} for node in nodes]
    waiting: dict[str, list[int]] = {}
    for index, sources in enumerate(needs):
        for source in sources:
            waiting.setdefault(source, []).append(index)
    ready = [index for index, sources in enumerate(needs) if not sources]  # a heap: it is sorted
    placed: list[int] = []
    while ready:
        index = heappop(ready)
        placed.append(index)
        for follower in waiting.pop(nodes[index].id, ()):
            needs[follower].discard(nodes[index].id)
            if not needs[follower]:
                heappush(ready, follower)
    cyclic = sorted(set(range(len(nodes))).difference(placed))
    return tuple(nodes[i] for i in placed), tuple(nodes[i] for i in cyclic)


def _is_topologically_sorted(nodes: tuple[Node, ...], known: set[str]) -> bool:
    ahead = set(known)
    for node in nodes:
        if not ahead.isdisjoint(port.node for port in node.inputs.values()):
            return False
        ahead.discard(node.id)
    return True


def ancestors(graph: Graph, ports: list[Port]) -> set[str]:
    """Return the ids of all nodes that the ports depend on, including the ports' own nodes.

    For a port inside a block, these include the block and everything that the block depends on.
    """
    found: set[str] = set()
    waiting = [port.node for port in ports]
    while waiting:
        node_id = waiting.pop()
        if node_id in found or not graph.has(node_id):
            continue
        found.add(node_id)
        waiting.extend(port.node for port in graph.node(node_id).inputs.values())
        if scope := graph.scope_of(node_id):
            waiting.append(block_of(scope))
    return found


def descendants(graph: Graph, nodes: Collection[str]) -> set[str]:
    """Return the ids of the top-level nodes outside ``nodes`` that depend on nodes in ``nodes``."""
    found: set[str] = set()
    waiting = list(nodes)
    while waiting:
        for edge in graph.consumers(waiting.pop()):
            if edge.target not in found and edge.target not in nodes:
                found.add(edge.target)
                waiting.append(edge.target)
    return found
