"""Two resizes in a row as one: the last alone.

``resize(resize(x), size=s)`` becomes ``resize(x, size=s)`` where the second does not ask for the
proportions of what comes in. Where both set the same side, shorter or longer, and keep the
proportions, it does so if a crop of a fixed size follows: a side may be another by one pixel. Near:
the filters of both are not exactly that of one.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph, Node
from workbench.graph.rewrites import Rewrite
from workbench.graph.rewrites._places import is_given, is_value, joined, next_node, pairs

_SIDES = ("resize_shorter", "resize_longer")
_CUTS = {"crop", "crop_mirror_normalize"}
_RESIZE = {"resize", "resize_crop_mirror", "experimental.resize"}


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for first, second in pairs(graph, catalog, {"resize"}, _RESIZE):
        if is_given(first, "dtype", "roi_start", "roi_end"):
            continue
        kept = _in_proportion(first, second) and _is_cut(graph, catalog, second)
        if kept or _sets_size(second, catalog):
            yield joined(graph, catalog, first, second, second)


def _sets_size(node: Node, catalog: Catalog) -> bool:
    """Whether the size that it gives does not depend on that of what comes in."""
    if is_given(node, "roi_start", "roi_end", "max_size", "resize_shorter", "resize_longer"):
        return False
    if not is_value(node, catalog, "mode", "default", "stretch"):
        return False
    size = node.args.get("size")
    both = isinstance(size, tuple) and len(size) == 2 and 0 not in size
    return both or all(name in node.args for name in ("resize_x", "resize_y"))


def _in_proportion(first: Node, second: Node) -> bool:
    """Whether both set the same side, and the other by it."""
    others = ("size", "mode", "max_size", "resize_x", "resize_y", "resize_z")
    for node in (first, second):
        if is_given(node, *others, "roi_start", "roi_end"):
            return False
    sides = [[side for side in _SIDES if is_given(node, side)] for node in (first, second)]
    return sides[0] == sides[1] and len(sides[0]) == 1


def _is_cut(graph: Graph, catalog: Catalog, resize: Node) -> bool:
    """Whether a window of a fixed size is all that is left of what a resize gives."""
    following = next_node(graph, catalog, resize)
    if following is not None and following.op in _CUTS and _has_window(following):
        return True
    return resize.op == "resize_crop_mirror" and _has_window(resize)


def _has_window(node: Node) -> bool:
    return "crop" in node.args or {"crop_h", "crop_w"} <= node.args.keys()


REWRITE = Rewrite("Resizes joined", _sites)
