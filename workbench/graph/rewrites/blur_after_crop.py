"""Blur behind crops and slices: what is cut off is not blurred.

``crop(gaussian_blur(x))`` becomes ``gaussian_blur(crop(x))``. Near: at the edges of the crop the
pixels beyond are no longer there; inside nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph
from workbench.graph.rewrites import Rewrite
from workbench.graph.rewrites._pixelwise import chooses_pixels
from workbench.graph.rewrites._places import pairs, swapped

_BLUR = {"gaussian_blur", "experimental.median_blur"}


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for blur, cut in pairs(graph, catalog, _BLUR, {"crop", "slice"}):
        if not blur.bodies and chooses_pixels(graph, catalog, cut):
            yield swapped(graph, catalog, blur, cut)


REWRITE = Rewrite("Blur after crops", _sites)
