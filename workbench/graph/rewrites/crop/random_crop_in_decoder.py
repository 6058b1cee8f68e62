"""A random crop in the decoder, and a resize behind it.

``random_resized_crop(decoders.image(x))`` becomes ``resize(decoders.image_random_crop(x))``. Both
draw the window in the same way from the same seed. Near: the filter of the resize no longer sees
the pixels beyond the window (at the sample photos 63 dB).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph, Port
from workbench.graph.rewrites import Rewrite
from workbench.graph.rewrites._places import given, pairs, with_given

_WINDOW = ("random_area", "random_aspect_ratio", "num_attempts")


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for decoder, crop in pairs(graph, catalog, {"decoders.image"}, {"random_resized_crop"}):
        window = given(crop, *_WINDOW)
        resize = with_given(replace(crop, op="resize", seed=None), {}, *_WINDOW)
        fused = with_given(
            replace(decoder, op="decoders.image_random_crop", seed=crop.seed), window
        )
        known = catalog["resize"].args.keys() | {"data"}
        decoding = catalog[fused.op].args.keys()
        if not {*resize.args, *resize.inputs} <= known or not fused.args.keys() <= decoding:
            continue
        fed = replace(resize, inputs={**resize.inputs, "data": Port(fused.id, "output")})
        nodes = {decoder.id: fused, crop.id: fed}
        yield replace(graph, nodes=tuple(nodes.get(node.id, node) for node in graph.nodes))


REWRITE = Rewrite("Random crop in the decoder", _sites)
