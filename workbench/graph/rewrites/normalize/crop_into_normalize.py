"""Crops into ``crop_mirror_normalize``: one pass instead of two.

``crop_mirror_normalize(crop(x))`` becomes ``crop_mirror_normalize(x, crop=...)``. Exact: it finds
the window by the same rule, and mirrors and normalises what is left. Not where it crops already.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph
from workbench.graph.rewrites import EVERYWHERE, Rewrite
from workbench.graph.rewrites._pixelwise import chooses_pixels
from workbench.graph.rewrites._places import given, is_given, joined, pairs, with_given

WINDOW = (
    "crop", "crop_h", "crop_w", "crop_d", "crop_pos_x", "crop_pos_y", "crop_pos_z", "rounding",
    "out_of_bounds_policy",
)  # fmt: skip


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for crop, normalize in pairs(graph, catalog, {"crop"}, {"crop_mirror_normalize"}):
        if not is_given(normalize, *WINDOW) and chooses_pixels(graph, catalog, crop):
            made = with_given(normalize, given(crop, *WINDOW))
            yield joined(graph, catalog, crop, normalize, made)


REWRITE = Rewrite("Crops into crop_mirror_normalize", _sites, EVERYWHERE)
