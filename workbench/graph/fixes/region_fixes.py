"""Remedies for faults of regions, and those that are left where nothing else helps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from workbench.catalog.spec import Catalog
from workbench.graph.faults import Fault
from workbench.graph.fixes.fix_candidate import FixCandidate, removal
from workbench.graph.model import Graph, region_of
from workbench.graph.regions import unwrap_region


def fix_region(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """One of its bodies in its place, or nothing."""
    node = graph.node(fault.node)
    for body in node.bodies:
        yield f"Keep {body} alone", partial(_unwrapped, graph, catalog, node.id, body)
    yield removal(graph, catalog, node.id)


def _unwrapped(graph: Graph, catalog: Catalog, region: str, body: str) -> Graph:
    return unwrap_region(graph, catalog, region, body)[0]


def fix_by_removal(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """Without the node, or without one of the regions around it, the innermost first."""
    node, whole = fault.node, graph.whole
    while whole.has(node):
        yield removal(whole, catalog, node)
        node = region_of(whole.scope_of(node))
