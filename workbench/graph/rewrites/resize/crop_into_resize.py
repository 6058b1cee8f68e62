"""Crops and flips behind a resize into ``resize_crop_mirror``: only what is left is resized.

``crop(resize(x))`` becomes ``resize_crop_mirror(x)``, and ``flip`` behind either its ``mirror``.
The crop of a ``crop_mirror_normalize`` goes there too; it mirrors and normalises as before.
Near: each pixel is found at the same place with other roundings (1 of 255 at most, 88 dB).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from workbench.catalog.spec import Catalog, Value
from workbench.graph.model import Graph, Node, Port
from workbench.graph.rewrites import Rewrite
from workbench.graph.rewrites._pixelwise import chooses_pixels
from workbench.graph.rewrites._places import given, is_given, is_value, joined, pairs, with_given
from workbench.graph.rewrites.normalize.crop_into_normalize import WINDOW

_OP = "resize_crop_mirror"
_WINDOW = WINDOW[:-1]


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for resize, cut in pairs(graph, catalog, {"resize", _OP}, {"crop", "flip"}):
        if not chooses_pixels(graph, catalog, cut):
            continue
        if cut.op == "crop" and not is_given(resize, *_WINDOW, "mirror"):
            yield from _into(graph, catalog, resize, cut, given(cut, *_WINDOW))
        sideways = all(is_value(cut, catalog, axis, 0) for axis in ("vertical", "depthwise"))
        if cut.op == "flip" and sideways and not is_given(resize, "mirror"):
            horizontal = given(cut, "horizontal").get("horizontal", 1)
            yield from _into(graph, catalog, resize, cut, {"mirror": horizontal})
    for resize, normalize in pairs(graph, catalog, {"resize", _OP}, {"crop_mirror_normalize"}):
        inside = is_value(normalize, catalog, "out_of_bounds_policy", "error")
        cuts = is_given(normalize, "crop", "crop_h", "crop_w") and inside
        made = _made(catalog, resize, given(normalize, *_WINDOW))
        if cuts and made is not None and not is_given(resize, *_WINDOW, "mirror"):
            left = with_given(normalize, {}, *WINDOW)
            yield graph.replace_node(made).replace_node(left)


def _into(
    graph: Graph, catalog: Catalog, resize: Node, cut: Node, more: Mapping[str, Value | Port]
) -> Iterator[Graph]:
    made = _made(catalog, resize, more)
    if made is not None:
        yield joined(graph, catalog, resize, cut, made)


def _made(catalog: Catalog, resize: Node, more: Mapping[str, Value | Port]) -> Node | None:
    made = with_given(replace(resize, op=_OP), more)
    known = {*made.args, *made.inputs} <= catalog[_OP].args.keys() | {"data"}
    return made if known else None


REWRITE = Rewrite("Crops and flips into the resize", _sites, tried_last=True)
