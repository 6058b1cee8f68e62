"""Blur behind crops and slices: what is cut off is not blurred.

``crop(gaussian_blur(x))`` becomes ``gaussian_blur(crop(x))``. Near: at the edges of the crop the
pixels beyond are no longer there; inside nothing changes. Flips are passed on the way: a window of
a Gaussian is the same from either side.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph
from workbench.graph.rewrites import Rewrite
from workbench.graph.rewrites._pixelwise import leads_to_cut
from workbench.graph.rewrites._places import pairs, swapped

_BLUR = {"gaussian_blur", "experimental.median_blur"}


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for blur, cut in pairs(graph, catalog, _BLUR, {"crop", "slice", "flip"}):
        if leads_to_cut(graph, catalog, cut):
            yield swapped(graph, catalog, blur, cut)


REWRITE = Rewrite("Blur after crops", _sites)
