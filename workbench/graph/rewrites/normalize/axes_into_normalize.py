"""The order of the axes into ``crop_mirror_normalize``.

``transpose(crop_mirror_normalize(x, output_layout="HWC"), perm=[2, 0, 1])`` becomes
``crop_mirror_normalize(x, output_layout="CHW")``, and the other way round. Exact: no value changes,
only where it is written.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph
from workbench.graph.rewrites import EVERYWHERE, Rewrite
from workbench.graph.rewrites._places import flow_into, is_value, joined, pairs, with_given

_TURNED = {("HWC", (2, 0, 1)): "CHW", ("CHW", (1, 2, 0)): "HWC"}


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for normalize, turn in pairs(graph, catalog, {"crop_mirror_normalize"}, {"transpose"}):
        perm = turn.args.get("perm")
        before = normalize.args.get("output_layout", "CHW")
        layout = next((to for (of, by), to in _TURNED.items() if (of, by) == (before, perm)), None)
        told = is_value(turn, catalog, "transpose_layout", True)
        own = turn.args.get("output_layout", layout)
        image = flow_into(graph, catalog, normalize).layout == "HWC"
        if layout is not None and image and told and own == layout:
            made = with_given(normalize, {"output_layout": layout})
            yield joined(graph, catalog, normalize, turn, made)


REWRITE = Rewrite("Axes into crop_mirror_normalize", _sites, EVERYWHERE)
