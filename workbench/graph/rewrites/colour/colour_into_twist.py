"""Colour operators in a row as one ``color_twist``.

``brightness``, ``contrast``, ``saturation``, ``hue``, ``hsv`` and ``brightness_contrast`` are
each an affine map of a pixel, and ``color_twist`` is ``brightness * (contrast *
(hue_saturation(x) - 128) + 128)``. Hue and saturation leave greys as they are, so they change
places with contrast, and they are linear, so they do with brightness; contrast behind brightness
is another map and is left. Near: between the operators pixels were rounded and cut to 0 to 255.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from workbench.catalog.spec import Catalog, Value
from workbench.graph.model import Graph, Node, Port
from workbench.graph.rewrites import Rewrite
from workbench.graph.rewrites._places import flow_into, given, is_given, joined, pairs, with_given

_OP = "color_twist"
_CALLED: Mapping[str, Mapping[str, str]] = {
    "brightness": {"brightness": "brightness"},
    "contrast": {"contrast": "contrast"},
    "brightness_contrast": {"brightness": "brightness", "contrast": "contrast"},
    "saturation": {"saturation": "saturation"},
    "hue": {"hue": "hue"},
    "hsv": {"hue": "hue", "saturation": "saturation", "value": "brightness"},
    _OP: {name: name for name in ("hue", "saturation", "contrast", "brightness")},
}
"""Operator -> its argument -> that of ``color_twist``."""
_OTHERWISE = ("brightness_shift", "contrast_center", "image_type")


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for first, second in pairs(graph, catalog, _CALLED, _CALLED):
        one, other = (_called(node) for node in (first, second))
        bytes_flow = flow_into(graph, catalog, first).dtype == "UINT8"
        plain = not any(is_given(node, *_OTHERWISE, "dtype") for node in (first, second))
        apart = one.keys().isdisjoint(other) and not ("brightness" in one and "contrast" in other)
        if bytes_flow and plain and apart and not first.bodies:
            names = {name for node in (first, second) for name in _CALLED[node.op]}
            bare = with_given(replace(second, op=_OP), {}, *names)
            yield joined(graph, catalog, first, second, with_given(bare, {**one, **other}))


def _called(node: Node) -> dict[str, Value | Port]:
    """What ``color_twist`` must be given in the node's place."""
    return {
        new: value
        for old, new in _CALLED[node.op].items()
        if (value := given(node, old).get(old)) is not None
    }


REWRITE = Rewrite("Colour in one color_twist", _sites)
