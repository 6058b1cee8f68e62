"""Define the graph model: frozen nodes, ports and bodies, and the order of nodes."""

from workbench.graph.model.bounds import CHOICES, DecodeDevice, Executor
from workbench.graph.model.graph import (
    GRAPH,
    TITLE_WORDS,
    Body,
    Edge,
    Graph,
    Node,
    Port,
    Settings,
    Source,
    block_of,
    edges_of,
    is_name,
    is_text,
    is_title,
    used_ports,
)

__all__ = [
    "CHOICES",
    "GRAPH",
    "TITLE_WORDS",
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
    "is_title",
    "used_ports",
]
