"""Graphs with something changed, and the one fault that they then have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workbench.catalog import load_catalog
from workbench.graph import Fault, Graph, Port, check_graph

CATALOG = load_catalog()


def with_node(graph: Graph, node_id: str, **changes: Any) -> Graph:
    return graph.replace_node(replace(graph.node(node_id), **changes))


def fed(graph: Graph, node_id: str, name: str, source: str) -> Graph:
    node = graph.node(node_id)
    port = Port(*source.split("."))
    return graph.replace_node(replace(node, inputs={**node.inputs, name: port}))


def only_fault(graph: Graph) -> Fault:
    faults = check_graph(graph, CATALOG)
    assert len(faults) == 1, [str(fault) for fault in faults]
    return faults[0]
