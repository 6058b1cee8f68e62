"""Colour and flips behind a resize: fewer pixels are computed where it makes images smaller.

``resize(colour(x))`` becomes ``colour(resize(x))``, for ``random_resized_crop`` too, which draws
from its seed and the size alone. Near: colour is rounded and cut to its range once more, before
or behind the mean of pixels. Not for tables, whose values have no mean. Regions of nothing else (an
``if`` around colour) move as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph, Node
from workbench.graph.rewrites import Rewrite
from workbench.graph.rewrites._pixelwise import (
    COLOUR,
    chooses_pixels,
    is_pixelwise,
    leads_through,
)
from workbench.graph.rewrites._places import fed_by, is_given, swapped

_RESIZE = {"resize", "random_resized_crop", "resize_crop_mirror"}
_ARITHMETIC = {"math.add", "math.sub", "math.mul", "math.truediv"}
_MOVED = COLOUR - {"lookup_table"} | _ARITHMETIC | {"normalize"}


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for resize in graph.nodes:
        if resize.op not in _RESIZE or is_given(resize, "dtype", "roi_start", "roi_end", "mirror"):
            continue
        node = fed_by(graph, catalog, resize)
        # only a resize takes the whole image, and so flipped the same of it
        moves = partial(_moves, turned=resize.op == "resize")
        if node is not None and moves(graph, catalog, node):
            yield swapped(graph, catalog, node, resize)


def _moves(graph: Graph, catalog: Catalog, node: Node, turned: bool) -> bool:
    if node.bodies:
        return not node.muted and leads_through(
            graph, catalog, node, partial(_moves, turned=turned)
        )
    if node.op == "flip":
        return turned and chooses_pixels(graph, catalog, node)
    return node.op in _MOVED and is_pixelwise(graph, catalog, node)


REWRITE = Rewrite("Colour and flips after the resize", _sites)
