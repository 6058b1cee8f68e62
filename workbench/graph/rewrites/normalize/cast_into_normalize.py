"""Casts into ``crop_mirror_normalize``, which computes with floats and gives any type.

Before it: ``crop_mirror_normalize(cast(x, FLOAT))`` becomes ``crop_mirror_normalize(x)``. Exact
from whole numbers of 8 or 16 bits: a float holds each of them; flips may stand between. Behind it:
``cast(crop_mirror_normalize(x), FLOAT16)`` becomes ``crop_mirror_normalize(x, dtype=FLOAT16)``.
Exact: both round the same float once.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph
from workbench.graph.rewrites import EVERYWHERE, Rewrite
from workbench.graph.rewrites._places import (
    bypassed,
    fed_through_flips,
    flow_into,
    is_given,
    is_value,
    joined,
    pairs,
    with_given,
)

_NORMALIZE = "crop_mirror_normalize"
_HELD = {"UINT8", "INT8", "UINT16", "INT16"}
_GIVEN = {"FLOAT", "FLOAT16", "UINT8", "INT8"}
"""What the operator can give."""


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for normalize in graph.nodes:
        cast = fed_through_flips(graph, catalog, normalize)
        if normalize.op != _NORMALIZE or cast is None or cast.op != "cast":
            continue
        held = flow_into(graph, catalog, cast).dtype in _HELD
        if held and is_value(cast, catalog, "dtype", "FLOAT"):
            yield bypassed(graph, catalog, cast)
    for normalize, cast in pairs(graph, catalog, {_NORMALIZE}, {"cast"}):
        dtype = cast.args.get("dtype")
        floats = is_value(normalize, catalog, "dtype", "FLOAT")
        if floats and dtype in _GIVEN and not is_given(normalize, "output_dtype"):
            made = with_given(normalize, {"dtype": str(dtype)})
            yield joined(graph, catalog, normalize, cast, made)


REWRITE = Rewrite("Casts into crop_mirror_normalize", _sites, EVERYWHERE)
