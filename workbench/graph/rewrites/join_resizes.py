"""Two resizes in a row as one: the last alone.

``resize(resize(x), size=s)`` becomes ``resize(x, size=s)`` where the second does not ask for the
proportions of what comes in. Near: the filters of both are not exactly that of one.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph, Node
from workbench.graph.rewrites import Rewrite
from workbench.graph.rewrites._places import is_given, is_value, joined, pairs

_RESIZE = {"resize", "resize_crop_mirror", "experimental.resize"}


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for first, second in pairs(graph, catalog, {"resize"}, _RESIZE):
        if _sets_size(second, catalog) and not is_given(first, "dtype", "roi_start", "roi_end"):
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


REWRITE = Rewrite("Resizes joined", _sites)
