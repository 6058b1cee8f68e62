"""Casts in a row as one: the last alone.

``cast(cast(x, FLOAT), UINT8)`` becomes ``cast(x, UINT8)``, which is taken out besides where ``x``
has that type (``neutral-nodes``). Exact where the first type holds every value of ``x``: then the
second rounds and cuts off the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph
from workbench.graph.rewrites import EVERYWHERE, Rewrite
from workbench.graph.rewrites._places import flow_into, joined, pairs

_BYTES = {"INT16", "INT32", "INT64", "FLOAT16", "FLOAT", "FLOAT64"}
_HOLDS = {
    "UINT8": _BYTES | {"UINT16", "UINT32", "UINT64"},
    "INT8": _BYTES,
    "UINT16": {"UINT32", "UINT64", "INT32", "INT64", "FLOAT", "FLOAT64"},
    "INT16": {"INT32", "INT64", "FLOAT", "FLOAT64"},
    "FLOAT16": {"FLOAT", "FLOAT64"},
    "FLOAT": {"FLOAT64"},
}
"""By the type of what comes in: the types that hold each of its values."""


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for first, second in pairs(graph, catalog, {"cast"}, {"cast"}):
        dtype = flow_into(graph, catalog, first).dtype
        if first.args.get("dtype") in _HOLDS.get(dtype or "", ()):
            yield joined(graph, catalog, first, second, second)


REWRITE = Rewrite("Casts joined", _sites, EVERYWHERE)
