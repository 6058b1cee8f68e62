"""What followers depend on: every geometric operator that their image came through.

So they are in step with these whatever is changed. What a follower depends on are further inputs
of its node, in the graph that runs alone.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog.own_operators.followers import CARRIERS
from workbench.catalog.spec import Catalog
from workbench.graph.annotations.follower_regions import through_regions
from workbench.graph.annotations.followers import follows, path_of
from workbench.graph.model import Graph, Node
from workbench.graph.model.identity_cache import identity_cached

_THROUGH = "through_"


@identity_cached
def with_dependencies(graph: Graph, catalog: Catalog) -> Graph:
    """The graph in which each follower also takes in what tells how its target moves.

    Where its image came through regions, the target does so too: carriers before and in them bring
    it to where the follower goes on.
    """
    followers = [node for node in graph.walk() if follows(node)]
    if not followers:
        return graph
    for node in followers:
        own = graph.at_scope(graph.scope_of(node.id))
        graph = through_regions(graph, catalog, node, path_of(own, catalog, node))
    for node in graph.walk():
        if follows(node) or node.op in CARRIERS:
            own = graph.at_scope(graph.scope_of(node.id))
            taking = _with_inputs(own, catalog, node)
            graph = graph if taking is node else graph.replace_node(taking)
    return graph


def _with_inputs(graph: Graph, catalog: Catalog, node: Node) -> Node:
    path = path_of(graph, catalog, node)
    own = {name: port for name, port in node.inputs.items() if not name.startswith(_THROUGH)}
    known = set(own.values())
    more = [port for port in path.inputs if port not in known] if path else []
    inputs = own | {f"{_THROUGH}{index}": port for index, port in enumerate(more)}
    return node if inputs == node.inputs else replace(node, inputs=inputs)
