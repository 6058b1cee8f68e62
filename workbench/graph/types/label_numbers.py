"""Where the labels that flow out of a port come from, and whether they still number the classes."""

from __future__ import annotations

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph, Port, Source

_MOVE = ("permute_batch", "reshape", "reinterpret", "squeeze", "expand_dims", "slice", "subscript")
_KEEP_NUMBERS = frozenset(("one_hot", "copy", "cast", "cast_like", *_MOVE))
"""Operators after which a label is still the number of its class, or stands at its place."""


def labels_source(graph: Graph, catalog: Catalog, port: Port) -> Port | None:
    """The port of the source whose labels flow out of a port.

    None where an operator between changes numbers, as arithmetic does: they name no class.
    """
    while graph.has(port.node):
        node = graph.node(port.node)
        if isinstance(node, Source):
            return port
        name = "labels" if port.output == "labels" else ""  # of boxes, beside them
        if node.op in _KEEP_NUMBERS:
            name = catalog[node.op].inputs[0].name
        if name not in node.inputs:
            break
        port = node.inputs[name]
    return None
