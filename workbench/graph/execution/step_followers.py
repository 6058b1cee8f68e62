"""Targets on the images between: followers that a view of each step has besides a graph's own."""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.graph.annotations.follower_dependencies import with_dependencies
from workbench.graph.annotations.followers import follows, path_of
from workbench.graph.edits.edit import free_id
from workbench.graph.execution.active import without_loose, without_muted
from workbench.graph.model import Graph


def with_step_followers(graph: Graph, catalog: Catalog) -> Graph:
    """What of a graph runs, with each target of a follower on every image that this came through.

    No output depends on what is added. Not behind blocks: what comes out of one would be made
    another time for it.
    """
    graph = without_loose(without_muted(graph, catalog))
    for node in graph.nodes:
        path = path_of(graph, catalog, node) if follows(node) else None
        if path is None or path.blocked or node.op == "follow_labels":
            continue
        for step in path.steps[:-1]:
            if step.bodies:
                break
            name = free_id(graph, f"{node.id}_on_{step.node.id}")
            own = {port: fed for port, fed in node.inputs.items() if port != "polygons"}
            between = replace(node, id=name, inputs={**own, "image": step.after})
            graph = replace(graph, nodes=(*graph.nodes, between))
    return with_dependencies(graph, catalog)
