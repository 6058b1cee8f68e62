"""Colour behind crops, slices and flips: pixels that are cut off are no longer computed.

``crop(colour(x))`` becomes ``colour(crop(x))``. Exact: each pixel that colour gives is a function
of that pixel and of numbers of the sample, and a crop, a slice or a flip gives pixels as they are,
so it does not matter which comes first. Not where a crop may reach beyond the image, for it fills
with a colour of its own, nor where it changes the element type. A flip is passed only on the way to
something that cuts. A region in which nothing but colour works on the image moves as a whole: what
decides, and what is drawn inside, does not look at the image.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph
from workbench.graph.rewrites import EVERYWHERE, Rewrite
from workbench.graph.rewrites._pixelwise import is_pixelwise, leads_to_cut
from workbench.graph.rewrites._places import next_node, swapped


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for node in graph.nodes:
        if node.op in catalog and is_pixelwise(graph, catalog, node):
            following = next_node(graph, catalog, node)
            if following is not None and leads_to_cut(graph, catalog, following):
                yield swapped(graph, catalog, node, following)


REWRITE = Rewrite("Colour after crops", _sites, EVERYWHERE)
