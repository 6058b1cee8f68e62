"""Merge, move and replace colour operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from workbench.catalog.spec import Value
from workbench.graph.model import Graph, Node, Port
from workbench.graph.rewrites import EVERYWHERE, rewrite
from workbench.graph.rewrites._body_edits import (
    COLOUR,
    bodies_pass_through,
    chooses_pixels,
    fed_by,
    has_args,
    input_type,
    is_pixelwise,
    merge_nodes,
    next_node,
    pairs,
    precedes_crop,
    replace_node,
    set_arguments,
    swap_nodes,
    with_args,
)
from workbench.graph.types.typed_graph import TypedGraph


@rewrite("Colour after crops", exact_on=EVERYWHERE)
def colour_after_crop(typed: TypedGraph) -> Iterator[Graph]:
    """Colour operators move after crops, slices and flips: cropped pixels are not computed.

    ``crop(colour(x))`` becomes ``colour(crop(x))``. Exact: each pixel of a colour operator is a
    function of that pixel and of numbers of the sample, and a crop, a slice or a flip outputs
    unchanged pixels, so the order does not matter. Operators do not move after a crop that changes
    the element type, or that may exceed the image, because it fills the rest with a fixed colour.
    They move after a flip only if a crop follows it. A block in which only colour operators process
    the image moves as a whole: its condition and random values do not depend on the image.
    """
    for node in typed.graph.nodes:
        if node.op in typed.catalog and is_pixelwise(typed, node):
            following = next_node(typed, node)
            if following is not None and precedes_crop(typed, following):
                yield swap_nodes(typed, node, following)


_RESIZES = {"resize", "random_resized_crop", "resize_crop_mirror"}
_ARITHMETIC = {"math.add", "math.sub", "math.mul", "math.truediv"}
_MOVED = COLOUR - {"lookup_table"} | _ARITHMETIC | {"normalize"}


@rewrite("Colour and flips after the resize")
def colour_after_resize(typed: TypedGraph) -> Iterator[Graph]:
    """Colour operators move after a resize: fewer pixels are computed if it reduces the size.

    ``resize(colour(x))`` becomes ``colour(resize(x))``, also for ``random_resized_crop``, whose
    random values depend only on its seed and the size. Near: colour is rounded and clipped once
    more, before or after averaging pixels. Lookup tables do not move: their values cannot be
    averaged. Blocks that contain only colour operators (an ``if`` around colour) move as a whole.
    """
    for resize in typed.graph.nodes:
        if resize.op not in _RESIZES or has_args(resize, "dtype", "roi_start", "roi_end", "mirror"):
            continue
        node = fed_by(typed, resize)
        # only a resize uses the whole image, and so a flipped image is equivalent
        moves = partial(_moves, turned=resize.op == "resize")
        if node is not None and moves(typed, node):
            yield swap_nodes(typed, node, resize)


def _moves(typed: TypedGraph, node: Node, turned: bool) -> bool:
    if node.bodies:
        return not node.muted and bodies_pass_through(typed, node, partial(_moves, turned=turned))
    if node.op == "flip":
        return turned and chooses_pixels(typed, node)
    return node.op in _MOVED and is_pixelwise(typed, node)


_TWIST = "color_twist"
_TWIST_NAMES: Mapping[str, Mapping[str, str]] = {
    "brightness": {"brightness": "brightness"},
    "contrast": {"contrast": "contrast"},
    "brightness_contrast": {"brightness": "brightness", "contrast": "contrast"},
    "saturation": {"saturation": "saturation"},
    "hue": {"hue": "hue"},
    "hsv": {"hue": "hue", "saturation": "saturation", "value": "brightness"},
    _TWIST: {name: name for name in ("hue", "saturation", "contrast", "brightness")},
}
"""Arguments of each operator, mapped to the equivalent arguments of ``color_twist``."""
_LIGHT = "brightness_contrast"
_LIGHT_NAMES = {"brightness", "contrast"}
_OTHERWISE = ("brightness_shift", "contrast_center", "image_type")


@rewrite("Colour in one color_twist")
def colour_into_twist(typed: TypedGraph) -> Iterator[Graph]:
    """Consecutive colour operators become one ``color_twist``.

    ``brightness``, ``contrast``, ``saturation``, ``hue``, ``hsv`` and ``brightness_contrast`` are
    affine maps of a pixel, and ``color_twist`` is ``brightness * (contrast * (hue_saturation(x) -
    128) + 128)``. Hue and saturation preserve greys, so they commute with contrast, and they are
    linear, so they commute with brightness; contrast after brightness is a different map and is
    kept. Near: between the operators pixels were rounded and clipped to 0 to 255. Without hue and
    saturation, the result is a ``brightness_contrast``, which is faster.
    """
    for first, second in pairs(typed, _TWIST_NAMES, _TWIST_NAMES):
        one, other = (_twist_args(node) for node in (first, second))
        bytes_flow = input_type(typed, first).dtype == "UINT8"
        plain = not any(has_args(node, *_OTHERWISE, "dtype") for node in (first, second))
        apart = one.keys().isdisjoint(other) and not ("brightness" in one and "contrast" in other)
        if bytes_flow and plain and apart and not first.bodies:
            names = {name for node in (first, second) for name in _TWIST_NAMES[node.op]}
            op = _LIGHT if {*one, *other} <= _LIGHT_NAMES else _TWIST
            bare = with_args(replace(second, op=op), {}, *names)
            yield merge_nodes(typed, first, second, with_args(bare, {**one, **other}))


def _twist_args(node: Node) -> dict[str, Value | Port]:
    """Return the arguments of a colour operator, converted to arguments of ``color_twist``."""
    return {
        new: value
        for old, new in _TWIST_NAMES[node.op].items()
        if (value := set_arguments(node, old).get(old)) is not None
    }


@rewrite("Brightness and contrast without color_twist")
def twist_into_brightness_contrast(typed: TypedGraph) -> Iterator[Graph]:
    """A ``color_twist`` without hue and saturation becomes ``brightness_contrast``.

    On the CPU, ``color_twist`` multiplies each pixel by a matrix and takes 18 times as long. Near:
    the formula is the same, with different rounding.
    """
    for node in typed.graph.nodes:
        bytes_flow = node.op == _TWIST and input_type(typed, node).dtype == "UINT8"
        plain = has_args(node, *_LIGHT_NAMES) and not has_args(
            node, "hue", "saturation", "image_type", "dtype"
        )
        if bytes_flow and plain and not node.muted and typed.devices.get(node.id) == "cpu":
            yield replace_node(typed, node, replace(node, op=_LIGHT))
