"""A crop out of ``crop_mirror_normalize``, where colour before it can then be computed behind it.

``crop_mirror_normalize(colour(x), crop=...)`` becomes
``crop_mirror_normalize(colour(crop(x)))``: colour is computed of what is left alone. Exact by the
laws of ``colour-after-crop`` and, the other way round, of ``crop-into-normalize``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.graph.edits.edit import free_id
from workbench.graph.model import Graph, Node, Port
from workbench.graph.rewrites import EVERYWHERE, Rewrite
from workbench.graph.rewrites._pixelwise import chooses_pixels, is_pixelwise
from workbench.graph.rewrites._places import fed_by, given, is_given, swapped, with_given
from workbench.graph.rewrites.normalize.crop_into_normalize import WINDOW


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for normalize in graph.nodes:
        if normalize.op != "crop_mirror_normalize" or not is_given(normalize, *WINDOW[:3]):
            continue
        colour = fed_by(graph, catalog, normalize)
        if colour is None or not is_pixelwise(graph, catalog, colour):
            continue
        crop = with_given(Node(free_id(graph, "crop"), "crop"), given(normalize, *WINDOW))
        crop = replace(crop, inputs={**crop.inputs, "data": normalize.inputs["data"]})
        fed = with_given(normalize, {"data": Port(crop.id, "output")}, *WINDOW)
        nodes: list[Node] = []
        for node in graph.nodes:
            nodes += [crop, fed] if node.id == normalize.id else [node]
        split = replace(graph, nodes=tuple(nodes))
        if chooses_pixels(split, catalog, crop):
            yield swapped(split, catalog, colour, crop)


REWRITE = Rewrite("Crop before colour, not in crop_mirror_normalize", _sites, EVERYWHERE)
