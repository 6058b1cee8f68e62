"""Flips into ``crop_mirror_normalize``: one pass instead of two.

``crop_mirror_normalize(flip(x, horizontal=h))`` becomes ``crop_mirror_normalize(x, mirror=h)``.
Exact: both give the pixels of a row in the other order. Not where it crops: DALI rounds the place
of a window, and of a flipped image it would be another one by a pixel where an odd number is left.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph, Node
from workbench.graph.rewrites import EVERYWHERE, Rewrite
from workbench.graph.rewrites._places import given, is_given, is_value, joined, pairs, with_given
from workbench.graph.rewrites.normalize.crop_into_normalize import WINDOW


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for flip, normalize in pairs(graph, catalog, {"flip"}, {"crop_mirror_normalize"}):
        sideways = all(is_value(flip, catalog, axis, 0) for axis in ("vertical", "depthwise"))
        if sideways and not is_given(normalize, *WINDOW) and _unmirrored(normalize, catalog):
            mirror = given(flip, "horizontal").get("horizontal", 1)
            made = with_given(normalize, {"mirror": mirror})
            yield joined(graph, catalog, flip, normalize, made)


def _unmirrored(normalize: Node, catalog: Catalog) -> bool:
    return is_value(normalize, catalog, "mirror", 0)


REWRITE = Rewrite("Flips into crop_mirror_normalize", _sites, EVERYWHERE)
