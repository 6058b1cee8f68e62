"""The graph itself: frozen nodes, ports and bodies, their order, and look-ups on them."""

from workbench.graph.model.graph import (
    CHOICES,
    GRAPH,
    Body,
    DecodeDevice,
    Edge,
    Executor,
    Graph,
    Node,
    Port,
    Settings,
    Source,
    block_of,
    edges_of,
    is_name,
    is_text,
)

__all__ = [
    "CHOICES",
    "GRAPH",
    "Body",
    "DecodeDevice",
    "Edge",
    "Executor",
    "Graph",
    "Node",
    "Port",
    "Settings",
    "Source",
    "block_of",
    "edges_of",
    "is_name",
    "is_text",
]
