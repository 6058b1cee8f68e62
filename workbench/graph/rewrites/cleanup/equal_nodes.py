"""Nodes that compute the same are computed once.

Of two nodes with one operator, the same arguments, inputs, device and seed the second is taken out,
and the first feeds what it fed. Exact: DALI's operators are functions of these. Not readers, which
move on, nor own code and automatic augmentation, which may draw by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.node_order import topological
from workbench.graph.model.ports import output_ports
from workbench.graph.rewrites import EVERYWHERE, Rewrite


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    known: dict[Any, list[Node]] = {}
    for node in topological(graph)[0]:
        if not _is_function(node, catalog):
            continue
        alike = known.setdefault((node.op, node.seed, frozenset(node.inputs.items())), [])
        same = next((other for other in alike if replace(node, id=other.id) == other), None)
        if same is None:
            alike.append(node)
            continue
        left = tuple(other for other in graph.nodes if other.id != node.id)
        spec = catalog[node.op]
        ports: Mapping[Port, Port] = {
            port: port._replace(node=same.id) for port in output_ports(node, spec)
        }
        yield replace(graph, nodes=left).rewire(ports)


def _is_function(node: Node, catalog: Catalog) -> bool:
    """Whether what a node gives follows from its arguments, inputs and seed."""
    spec = catalog.find(node.op)
    if spec is None or spec.unusable or node.bodies or node.muted or isinstance(node, Source):
        return False
    drawn = spec.seeded and node.seed is None
    return not (spec.reads or spec.module or spec.category == "general" or drawn)


REWRITE = Rewrite("Equal nodes computed once", _sites, EVERYWHERE)
