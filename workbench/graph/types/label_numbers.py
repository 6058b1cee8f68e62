"""Where the labels that flow out of a port come from, and whether they still number the classes."""

from __future__ import annotations

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph, Port, Source

_SELECT = ("slice", "subscript")
_KEEP_NUMBERS = frozenset(
    {"one_hot", "copy", "cast", "cast_like", "permute_batch", "reshape", "squeeze", "expand_dims"}
).union(_SELECT)
"""Operators that keep the number of a class: as a value, or after ``one_hot`` as an index."""
_NARROW = ("BOOL", "INT8", "UINT8", "FLOAT16")
"""Element types that do not hold every class number."""


def labels_source(graph: Graph, catalog: Catalog, port: Port) -> Port | None:
    """The port of the source whose labels flow out of a port.

    None if an operator between them can change the numbers, for example by arithmetic.
    """
    selected = False
    while graph.has(port.node):
        node = graph.node(port.node)
        if isinstance(node, Source):
            return port
        name = "labels" if port.output == "labels" else ""  # of boxes, beside them
        selected |= node.op in _SELECT
        if node.op == "one_hot" and selected:  # the index is counted from another place
            return None
        if node.op.startswith("cast") and node.args.get("dtype", _NARROW[0]) in _NARROW:
            return None
        if node.op in _KEEP_NUMBERS:
            name = catalog[node.op].inputs[0].name
        if name not in node.inputs:
            break
        port = node.inputs[name]
    return None
