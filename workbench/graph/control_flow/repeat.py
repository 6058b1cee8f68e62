"""A region that runs its body again and again."""

from __future__ import annotations

from collections.abc import Collection

from workbench.catalog.own_operators.regions import REGIONS
from workbench.catalog.spec import Catalog
from workbench.graph.control_flow.regions import wrap_in_region
from workbench.graph.model import Graph, Node

OP = "repeat"
TIMES = "times"


def most_turns(region: Node) -> int:
    """How many turns the region has at most: those written, or where they are drawn, the most."""
    name = "most" if TIMES in region.inputs else TIMES
    given = region.args.get(name, REGIONS[OP].args[name].default)
    return given if type(given) is int else 1


def repeat(graph: Graph, catalog: Catalog, nodes: Collection[str]) -> tuple[Graph, str]:
    """Put nodes of one body into a new region, which runs them twice.

    Returns the graph and the region's id. Raises GraphEditError as ``wrap_in_region`` does.
    """
    return wrap_in_region(graph, catalog, nodes, OP)
