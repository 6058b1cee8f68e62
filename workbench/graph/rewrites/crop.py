"""Merge crops and slices, and move operators across them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from workbench.catalog.spec import Value
from workbench.graph.edits.edit import free_id
from workbench.graph.model import Graph, Node, Port
from workbench.graph.rewrites import EVERYWHERE, rewrite
from workbench.graph.rewrites._body_edits import (
    CROP_WINDOW,
    bypass,
    chooses_pixels,
    fed_by,
    has_args,
    input_type,
    is_value,
    merge_nodes,
    pairs,
    precedes_crop,
    set_arguments,
    swap_nodes,
    with_args,
)
from workbench.graph.types.typed_graph import TypedGraph

_BLUR = {"gaussian_blur", "experimental.median_blur"}


@rewrite("Blur after crops")
def blur_after_crop(typed: TypedGraph) -> Iterator[Graph]:
    """Blur moves after crops and slices: cropped pixels are not blurred.

    ``crop(gaussian_blur(x))`` becomes ``gaussian_blur(crop(x))``. Near: at the edges of the crop
    the pixels outside are missing; inside nothing changes. The blur also moves after flips,
    because a Gaussian window is symmetric.
    """
    for blur, cut in pairs(typed, _BLUR, {"crop", "slice", "flip"}):
        if precedes_crop(typed, cut):
            yield swap_nodes(typed, blur, cut)


FUSED = {"crop": "decoders.image_crop", "slice": "decoders.image_slice"}


@rewrite("Crops in the decoder", exact_on=frozenset({"cpu"}))
def crop_in_decoder(typed: TypedGraph) -> Iterator[Graph]:
    """Crops and slices move into the decoder: cropped pixels are not decoded.

    ``crop(decoders.image(x))`` becomes ``decoders.image_crop(x)``, and a ``slice`` becomes
    ``decoders.image_slice``. Exact on the CPU: the decoder uses the same window and outputs the
    pixels of the whole image (tested with 4:2:0 JPEGs at odd positions: no byte differs). Near on a
    GPU: chroma is interpolated differently at the edges.
    """
    for decoder, cut in pairs(typed, {"decoders.image"}, FUSED):
        spec = typed.catalog[FUSED[cut.op]]
        args = {**decoder.args, **{k: v for k, v in cut.args.items() if k != _POLICY}}
        links = {name: port for name, port in cut.inputs.items() if name != "data"}
        known = spec.args.keys() | {port.name for port in spec.inputs}
        if chooses_pixels(typed, cut) and (args.keys() | links.keys()) <= known:
            made = replace(decoder, op=spec.name, args=args, inputs=links)
            yield merge_nodes(typed, decoder, cut, made)


_POLICY = "out_of_bounds_policy"


_POSITIONS = ("crop_pos_y", "crop_pos_x")


@rewrite("Crops joined", exact_on=EVERYWHERE)
def join_crops(typed: TypedGraph) -> Iterator[Graph]:
    """Two consecutive crops, or slices, become one.

    ``crop(crop(x))`` becomes the second crop if that selects the same window. Exact: DALI places a
    window of ``h`` of ``H`` rows at ``round(p * (H - h))``. If ``p`` is 0 or 1 in both crops, their
    offsets add up to the offset of the second. If ``p`` is 0.5, the second must remove an even
    number of the rows that the first leaves, because only an integer is not changed by the
    rounding. Starts of slices in pixels are added.
    """
    for op, join in (("crop", _one_crop), ("slice", _one_slice)):
        for first, second in pairs(typed, {op}, {op}):
            if all(chooses_pixels(typed, node) for node in (first, second)):
                made = join(typed, first, second)
                if made is not None:
                    yield merge_nodes(typed, first, second, made)


def _one_crop(typed: TypedGraph, first: Node, second: Node) -> Node | None:
    outer, inner = _size(first), _size(second)
    rounds = all(is_value(typed, node, "rounding", "round") for node in (first, second))
    if outer is None or inner is None or not rounds:
        return None
    for name, left, kept in zip(_POSITIONS, outer, inner, strict=True):
        whole = all(is_value(typed, node, name, 0.0) for node in (first, second)) or all(
            is_value(typed, node, name, 1.0) for node in (first, second)
        )
        halves = all(is_value(typed, node, name, 0.5) for node in (first, second))
        if left < kept or not (whole or (halves and (left - kept) % 2 == 0)):
            return None
    return second


def _size(crop: Node) -> tuple[int, int] | None:
    """Return the number of rows and columns of a crop's output, or None unless both are fixed."""
    size: Value = crop.args.get("crop", ())
    if has_args(crop, "crop_d"):
        return None
    if "crop" not in crop.args and "crop" not in crop.inputs:
        size = (crop.args.get("crop_h", 0), crop.args.get("crop_w", 0))
    found = size if isinstance(size, tuple) else (size,)
    whole = [int(each) for each in found if isinstance(each, int | float) and each >= 1]
    if len(whole) != 2 or [float(each) for each in whole] != [*found]:
        return None
    return whole[0], whole[1]


def _one_slice(typed: TypedGraph, first: Node, second: Node) -> Node | None:
    known = {"start", "shape", "axes", "axis_names", "out_of_bounds_policy"}
    for node in (first, second):
        if not node.args.keys() <= known or len(node.inputs) != 1:
            return None
    same = all(first.args.get(name) == second.args.get(name) for name in ("axes", "axis_names"))
    starts = [node.args.get("start") for node in (first, second)]
    outer, inner = first.args.get("shape"), second.args.get("shape")
    numbers = [each if isinstance(each, tuple) else () for each in (*starts, outer, inner)]
    ints = all(isinstance(number, int) for each in numbers for number in each)
    if not same or not ints or len({len(each) for each in numbers}) != 1 or not numbers[0]:
        return None
    begin = tuple(int(a) + int(b) for a, b in zip(numbers[0], numbers[1], strict=True))  # type: ignore[arg-type]
    return with_args(second, {"start": begin})


@rewrite("Crop before rotations")
def crop_before_rotate(typed: TypedGraph) -> Iterator[Graph]:
    """Only the pixels of a central crop are rotated.

    ``crop(rotate(x, keep_size=True), crop=c)`` becomes ``rotate(crop(x, crop=w), size=c)``, also
    for the crop of a ``crop_mirror_normalize``. The window ``w`` contains all pixels that the
    largest angle needs, and must fit into the image. Near: if an odd number of pixels is cropped,
    the centre of the rotation moves by half a pixel, and pixels by at most 0.05 at 5 degrees.
    """
    for rotate, cut in pairs(typed, {"rotate"}, {"crop", "crop_mirror_normalize"}):
        size = _size(cut)
        central = all(is_value(typed, cut, name, 0.5) for name in _POSITIONS)
        inside = is_value(typed, cut, "out_of_bounds_policy", "error") and central
        inside &= is_value(typed, cut, "rounding", "round")
        kept = is_value(typed, rotate, "keep_size", True) and not has_args(rotate, "size", "axis")
        if size is None or not inside or not kept or (has_args(cut, "dtype") and cut.op == "crop"):
            continue
        window = _window(size, _largest_angle(typed.graph, rotate))
        if not all(n <= side for n, side in zip(window, _least_sides(typed, rotate), strict=True)):
            continue
        alone = cut.op == "crop"
        crop = Node(cut.id if alone else free_id(typed.graph, "crop"), "crop", {"crop": window})
        crop = crop.fed({"data": rotate.inputs["data"]})
        changes: dict[str, Value | Port] = {"size": tuple(map(float, size))}
        turned = with_args(rotate, {**changes, "data": Port(crop.id, "output")}, "keep_size")
        left = with_args(cut, {}, *CROP_WINDOW)
        after = bypass(typed, cut) if alone else typed.graph.replace_node(left)
        yield after.substitute(rotate.id, crop, turned)


def _window(size: tuple[int, int], degrees: float) -> tuple[int, int]:
    """Return rows and columns that a rotation by up to ``degrees`` needs for an output ``size``.

    The differences to the output are even, so that both have the same centre.
    """
    window = []
    for along, across in (size, size[::-1]):
        angle = min(math.radians(degrees), math.atan2(across, along))
        needed = along * math.cos(angle) + across * math.sin(angle) + 2  # for interpolation
        window.append(along + 2 * math.ceil(max(0.0, needed - along) / 2))
    return window[0], window[1]


def _largest_angle(graph: Graph, rotate: Node) -> float:
    """Return the largest absolute angle in degrees, 90 if it is unknown."""
    angle: Value | Port = set_arguments(rotate, "angle").get("angle", 90.0)
    if isinstance(angle, Port):
        node = next((each for each in graph.nodes if each.id == angle.node), None)
        plain = node is not None and node.op == "random.uniform" and not node.inputs
        angle = node.args.get("range", 90.0) if node is not None and plain else 90.0
        if node is not None and (node.muted or has_args(node, "values")):
            return 90.0
    numbers = angle if isinstance(angle, tuple) else (angle,)
    return max(abs(n) if isinstance(n, int | float) else 90.0 for n in numbers)


def _least_sides(typed: TypedGraph, node: Node) -> tuple[float, float]:
    """Return the least number of rows and columns of a node's input images, 0 if unknown."""
    flow, feeding = input_type(typed, node), fed_by(typed, node)
    if flow.layout == "HWC" and flow.shape is not None and None not in flow.shape:
        return float(flow.shape[0] or 0), float(flow.shape[1] or 0)
    sized = {name for name in typed.catalog["resize"].args if "size" in name or name == "mode"}
    if feeding is None or feeding.op != "resize":
        return 0.0, 0.0
    shorter = feeding.args.get("resize_shorter")
    alone = not has_args(feeding, *(sized - {"resize_shorter"}), "roi_start", "roi_end")
    side = float(shorter) if alone and isinstance(shorter, int | float) else 0.0
    return side, side


_RANDOM_WINDOW = ("random_area", "random_aspect_ratio", "num_attempts")


@rewrite("Random crop in the decoder")
def random_crop_in_decoder(typed: TypedGraph) -> Iterator[Graph]:
    """A random crop moves into the decoder, followed by a resize.

    ``random_resized_crop(decoders.image(x))`` becomes ``resize(decoders.image_random_crop(x))``.
    Both sample the window in the same way from the same seed. The pixels are only nearly equal
    (PSNR 63 dB on the sample photos), because the resize no longer sees those outside the window.
    """
    for decoder, crop in pairs(typed, {"decoders.image"}, {"random_resized_crop"}):
        window = set_arguments(crop, *_RANDOM_WINDOW)
        resize = with_args(replace(crop, op="resize", seed=None), {}, *_RANDOM_WINDOW)
        fused = with_args(replace(decoder, op="decoders.image_random_crop", seed=crop.seed), window)
        known = typed.catalog["resize"].args.keys() | {"data"}
        decoding = typed.spec(fused).args.keys()
        if not {*resize.args, *resize.inputs} <= known or not fused.args.keys() <= decoding:
            continue
        fed = resize.fed({"data": Port(fused.id, "output")})
        nodes = {decoder.id: fused, crop.id: fed}
        yield replace(
            typed.graph, nodes=tuple(nodes.get(node.id, node) for node in typed.graph.nodes)
        )
