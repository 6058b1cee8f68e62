"""A resize that keeps the proportions before a rotation that keeps the size.

``resize(rotate(x), resize_shorter=s)`` becomes ``rotate(resize(x, resize_shorter=s))``: an image is
made smaller as early as can be. Near: an angle stays where both sides shrink alike, but the pixels
are read between others of the smaller image. Not where the resize stretches: shapes would lean.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph, Node
from workbench.graph.rewrites import Rewrite
from workbench.graph.rewrites._places import is_given, is_value, pairs, swapped


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for rotate, resize in pairs(graph, catalog, {"rotate"}, {"resize"}):
        kept = is_value(rotate, catalog, "keep_size", True) and not is_given(rotate, "size")
        if kept and _in_proportion(resize, catalog):
            yield swapped(graph, catalog, rotate, resize)


def _in_proportion(resize: Node, catalog: Catalog) -> bool:
    if is_given(resize, "dtype", "roi_start", "roi_end"):
        return False
    side = is_given(resize, "resize_shorter") != is_given(resize, "resize_longer")
    modes = is_value(resize, catalog, "mode", "not_smaller", "not_larger")
    one = is_given(resize, "resize_x") != is_given(resize, "resize_y")
    return not is_given(resize, "max_size") and (side or modes or one)


REWRITE = Rewrite("Resize before rotations", _sites)
