"""Merge resizes and warps, and move operators across them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from workbench.catalog.spec import Value
from workbench.graph.edits.edit import free_id
from workbench.graph.model import Graph, Node, Port
from workbench.graph.rewrites import rewrite
from workbench.graph.rewrites._body_edits import (
    CROP_WINDOW,
    chooses_pixels,
    has_args,
    is_value,
    merge_nodes,
    next_node,
    pairs,
    set_arguments,
    swap_nodes,
    with_args,
)
from workbench.graph.types.typed_graph import TypedGraph

_CROPPING_RESIZE = "resize_crop_mirror"
_WINDOW = CROP_WINDOW[:-1]


@rewrite("Crops and flips into the resize", tried_last=True)
def crop_into_resize(typed: TypedGraph) -> Iterator[Graph]:
    """Crops and flips after a resize become ``resize_crop_mirror``: only the crop is resized.

    ``crop(resize(x))`` becomes ``resize_crop_mirror(x)``, and a ``flip`` after one of these becomes
    the argument ``mirror``. The crop of a ``crop_mirror_normalize`` is moved in the same way;
    mirroring and normalisation stay there. Near: each pixel is sampled at the same position with
    different rounding (at most 1 of 255, 88 dB).
    """
    resizes = {"resize", _CROPPING_RESIZE}
    for resize, cut in pairs(typed, resizes, {"crop", "flip"}):
        if not chooses_pixels(typed, cut):
            continue
        if cut.op == "crop" and not has_args(resize, *_WINDOW, "mirror"):
            yield from _into_resize(typed, resize, cut, set_arguments(cut, *_WINDOW))
        sideways = all(is_value(typed, cut, axis, 0) for axis in ("vertical", "depthwise"))
        if cut.op == "flip" and sideways and not has_args(resize, "mirror"):
            horizontal = set_arguments(cut, "horizontal").get("horizontal", 1)
            yield from _into_resize(typed, resize, cut, {"mirror": horizontal})
    for resize, normalize in pairs(typed, {"resize", _CROPPING_RESIZE}, {"crop_mirror_normalize"}):
        inside = is_value(typed, normalize, "out_of_bounds_policy", "error")
        cuts = has_args(normalize, "crop", "crop_h", "crop_w") and inside
        made = _cropping(typed, resize, set_arguments(normalize, *_WINDOW))
        if cuts and made is not None and not has_args(resize, *_WINDOW, "mirror"):
            left = with_args(normalize, {}, *CROP_WINDOW)
            yield typed.graph.replace_node(made).replace_node(left)


def _into_resize(
    typed: TypedGraph, resize: Node, cut: Node, window: Mapping[str, Value | Port]
) -> Iterator[Graph]:
    made = _cropping(typed, resize, window)
    if made is not None:
        yield merge_nodes(typed, resize, cut, made)


def _cropping(typed: TypedGraph, resize: Node, window: Mapping[str, Value | Port]) -> Node | None:
    made = with_args(replace(resize, op=_CROPPING_RESIZE), window)
    known = {*made.args, *made.inputs} <= typed.catalog[_CROPPING_RESIZE].args.keys() | {"data"}
    return made if known else None


_SIDES = ("resize_shorter", "resize_longer")
_CUTS = {"crop", "crop_mirror_normalize"}
_RESIZES = {"resize", "resize_crop_mirror", "experimental.resize"}


@rewrite("Resizes joined")
def join_resizes(typed: TypedGraph) -> Iterator[Graph]:
    """Two consecutive resizes become one: the last one.

    ``resize(resize(x), size=s)`` becomes ``resize(x, size=s)`` if the second does not depend on the
    aspect ratio of its input. If both set the same side, shorter or longer, and keep the aspect
    ratio, a crop of a fixed size must follow, because a side may differ by one pixel. Near: two
    filters are not exactly equal to one.
    """
    for first, second in pairs(typed, {"resize"}, _RESIZES):
        if has_args(first, "dtype", "roi_start", "roi_end"):
            continue
        same_side = _same_side(first, second) and _is_cropped(typed, second)
        if same_side or _sets_size(typed, second):
            yield merge_nodes(typed, first, second, second)


def _sets_size(typed: TypedGraph, node: Node) -> bool:
    """Return whether the output size of a resize is independent of its input size."""
    if has_args(node, "roi_start", "roi_end", "max_size", "resize_shorter", "resize_longer"):
        return False
    if not is_value(typed, node, "mode", "default", "stretch"):
        return False
    size = node.args.get("size")
    both = isinstance(size, tuple) and len(size) == 2 and 0 not in size
    return both or all(name in node.args for name in ("resize_x", "resize_y"))


def _same_side(first: Node, second: Node) -> bool:
    """Return whether two resizes set the same side and scale the other side in proportion."""
    others = ("size", "mode", "max_size", "resize_x", "resize_y", "resize_z")
    for node in (first, second):
        if has_args(node, *others, "roi_start", "roi_end"):
            return False
    sides = [[side for side in _SIDES if has_args(node, side)] for node in (first, second)]
    return sides[0] == sides[1] and len(sides[0]) == 1


def _is_cropped(typed: TypedGraph, resize: Node) -> bool:
    """Return whether a crop of a fixed size follows a resize or is part of the same node."""
    following = next_node(typed, resize)
    if following is not None and following.op in _CUTS and _has_window(following):
        return True
    return resize.op == "resize_crop_mirror" and _has_window(resize)


def _has_window(node: Node) -> bool:
    return "crop" in node.args or {"crop_h", "crop_w"} <= node.args.keys()


_SHARED = ("fill_value", "interp_type", "keep_size")


@rewrite("Warps joined")
def join_warps(typed: TypedGraph) -> Iterator[Graph]:
    """Consecutive affine warps become one, and so do rotations that keep the size.

    ``warp_affine(warp_affine(x, A), B)`` becomes ``warp_affine(x, A B)``: matrices map output
    pixels to input pixels (``inverse_map``), so the second applies first. Linked matrices are
    combined by ``transforms.combine``. Angles of rotations are added. Near: pixels are interpolated
    once instead of twice, and regions that the first would have cropped are still present.
    """
    for op, join in (("warp_affine", _one_warp), ("rotate", _one_rotation)):
        for first, second in pairs(typed, {op}, {op}):
            same = set_arguments(first, *_SHARED) == set_arguments(second, *_SHARED)
            if same and not has_args(first, "size", "dtype", "output_dtype", "axis"):
                yield from join(typed, first, second)


def _one_warp(typed: TypedGraph, first: Node, second: Node) -> Iterator[Graph]:
    if not all(is_value(typed, node, "inverse_map", True) for node in (first, second)):
        return
    one, other = (_fixed_matrix(node) for node in (first, second))
    if one is not None and other is not None:
        matrix = tuple(float(value) for value in (one @ other)[:2].ravel())
        made = with_args(second, {"matrix": matrix})
        yield merge_nodes(typed, first, second, made)
    links = [set_arguments(node, "mtx", "matrix") for node in (first, second)]
    ports = [next(iter(each.values()), None) for each in links]
    if isinstance(ports[0], Port) and isinstance(ports[1], Port):
        both = Node(
            free_id(typed.graph, "combine"),
            "transforms.combine",
            {},
            _combining_inputs(typed, ports[1], ports[0]),
        )
        name = next(iter(links[1]))
        made = with_args(second, {name: Port(both.id, "output")})
        joint = merge_nodes(typed, first, second, made)
        yield replace(joint, nodes=(*joint.nodes, both))


def _combining_inputs(typed: TypedGraph, *ports: Port) -> dict[str, Port]:
    spec = typed.catalog["transforms.combine"]
    return {spec.input(place).name: port for place, port in enumerate(ports)}


def _fixed_matrix(node: Node) -> np.ndarray[tuple[int, int], np.dtype[np.float64]] | None:
    value = node.args.get("matrix")
    if not isinstance(value, tuple) or len(value) != 6 or "mtx" in node.inputs:
        return None
    return np.array([*value, 0.0, 0.0, 1.0], float).reshape(3, 3)


def _one_rotation(typed: TypedGraph, first: Node, second: Node) -> Iterator[Graph]:
    if not all(is_value(typed, node, "keep_size", True) for node in (first, second)):
        return
    if has_args(second, "size", "axis"):
        return
    one, other = (set_arguments(node, "angle").get("angle") for node in (first, second))
    if one is None or other is None:
        return
    if not isinstance(one, Port) and not isinstance(other, Port):
        angle = _number(one) + _number(other)
        yield merge_nodes(typed, first, second, with_args(second, {"angle": angle}))
        return
    total = Node(free_id(typed.graph, "total"), "math.add")
    ports = [each for each in (one, other) if isinstance(each, Port)]
    total = with_args(total, dict(zip(("data", "other"), ports, strict=False)))
    if len(ports) == 1:
        fixed = _number(other if isinstance(one, Port) else one)
        total = with_args(total, {"right": fixed, "constant_type": "FLOAT"})
    made = with_args(second, {"angle": Port(total.id, "output")})
    joint = merge_nodes(typed, first, second, made)
    yield replace(joint, nodes=(*joint.nodes, total))


def _number(value: Value | Port) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


@rewrite("Resize before rotations")
def resize_before_rotate(typed: TypedGraph) -> Iterator[Graph]:
    """A resize that keeps the aspect ratio moves before a rotation that keeps the size.

    ``resize(rotate(x), resize_shorter=s)`` becomes ``rotate(resize(x, resize_shorter=s))``: an
    image is reduced as early as possible. Near: an angle is preserved if both sides are scaled
    equally, but pixels are interpolated in the smaller image. A resize that changes the aspect
    ratio does not move, because it would shear shapes.
    """
    for rotate, resize in pairs(typed, {"rotate"}, {"resize"}):
        keeps_size = is_value(typed, rotate, "keep_size", True) and not has_args(rotate, "size")
        if keeps_size and _keeps_proportions(typed, resize):
            yield swap_nodes(typed, rotate, resize)


def _keeps_proportions(typed: TypedGraph, resize: Node) -> bool:
    if has_args(resize, "dtype", "roi_start", "roi_end"):
        return False
    side = has_args(resize, "resize_shorter") != has_args(resize, "resize_longer")
    modes = is_value(typed, resize, "mode", "not_smaller", "not_larger")
    one = has_args(resize, "resize_x") != has_args(resize, "resize_y")
    return not has_args(resize, "max_size") and (side or modes or one)
