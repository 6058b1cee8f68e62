"""Crops and slices in the decoder: what is cut off is not decoded.

``crop(decoders.image(x))`` becomes ``decoders.image_crop(x)``, ``slice`` likewise
``decoders.image_slice``. Exact on the CPU: the decoder finds the window by the same rule and
gives the pixels of the whole image (tried with 4:2:0 JPEGs at odd places: no byte differs). On a
GPU near: at the edges chroma is found otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph
from workbench.graph.rewrites import Rewrite
from workbench.graph.rewrites._pixelwise import chooses_pixels
from workbench.graph.rewrites._places import joined, pairs

FUSED = {"crop": "decoders.image_crop", "slice": "decoders.image_slice"}


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for decoder, cut in pairs(graph, catalog, {"decoders.image"}, FUSED):
        spec = catalog[FUSED[cut.op]]
        args = {**decoder.args, **{k: v for k, v in cut.args.items() if k != _POLICY}}
        links = {name: port for name, port in cut.inputs.items() if name != "data"}
        known = spec.args.keys() | {port.name for port in spec.inputs}
        if chooses_pixels(graph, catalog, cut) and (args.keys() | links.keys()) <= known:
            made = replace(decoder, op=spec.name, args=args, inputs=links)
            yield joined(graph, catalog, decoder, cut, made)


_POLICY = "out_of_bounds_policy"

REWRITE = Rewrite("Crops in the decoder", _sites, frozenset({"cpu"}))
