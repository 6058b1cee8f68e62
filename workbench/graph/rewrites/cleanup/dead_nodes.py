"""What no output depends on is taken out.

Loose nodes, which no run holds anyway, and what a region gives and nothing takes, which DALI
computes in every branch. Exact: each node draws from a seed of its own, so the others draw as
before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.graph.execution.active import without_loose
from workbench.graph.model import Graph, Node
from workbench.graph.rewrites import EVERYWHERE, Rewrite


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for region in graph.nodes:
        if region.bodies and not region.muted and not catalog[region.op].consecutive:
            needed = _taken(graph, region)
            given = {name for body in region.bodies.values() for name in body.outputs}
            if needed and given - needed:
                yield graph.replace_node(_giving(region, needed))
    if not graph.scope:
        left = without_loose(graph)
        if left is not graph:
            yield left


def _taken(graph: Graph, region: Node) -> set[str]:
    """The names of a region's outputs that something takes."""
    ports = [edge.source for edge in graph.consumers(region.id)]
    return {port.output for port in (*ports, *graph.outputs.values()) if port.node == region.id}


def _giving(region: Node, names: set[str]) -> Node:
    bodies = {
        key: replace(body, outputs={n: p for n, p in body.outputs.items() if n in names})
        for key, body in region.bodies.items()
    }
    return replace(region, bodies=bodies)


REWRITE = Rewrite("What nothing needs taken out", _sites, EVERYWHERE)
