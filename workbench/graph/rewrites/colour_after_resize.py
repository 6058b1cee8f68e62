"""Colour and flips behind a resize: fewer pixels are computed where it makes images smaller.

``resize(colour(x))`` becomes ``colour(resize(x))``, for ``random_resized_crop`` too, which draws
from its seed and the size alone. Near: colour is rounded and cut to its range once more, before
or behind the mean of pixels. Not for tables, whose values have no mean.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph, Node
from workbench.graph.rewrites import Rewrite
from workbench.graph.rewrites._pixelwise import COLOUR, chooses_pixels, is_pixelwise
from workbench.graph.rewrites._places import is_given, pairs, swapped

_RESIZE = {"resize", "random_resized_crop", "resize_crop_mirror"}
_ARITHMETIC = {"math.add", "math.sub", "math.mul", "math.truediv"}
_MOVED = COLOUR - {"lookup_table"} | _ARITHMETIC | {"flip", "normalize"}


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for node, resize in pairs(graph, catalog, _MOVED, _RESIZE):
        if is_given(resize, "dtype", "roi_start", "roi_end", "mirror"):
            continue
        if is_pixelwise(graph, catalog, node) or _turns(graph, catalog, node, resize):
            yield swapped(graph, catalog, node, resize)


def _turns(graph: Graph, catalog: Catalog, node: Node, resize: Node) -> bool:
    """A flip, before a resize that takes the whole image."""
    return resize.op == "resize" and node.op == "flip" and chooses_pixels(graph, catalog, node)


REWRITE = Rewrite("Colour and flips after the resize", _sites)
