"""Merge crops and slices, and move operators across them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.catalog.spec import Value
from workbench.graph.model import Graph, Node, Port
from workbench.graph.rewrites import EVERYWHERE, rewrite
from workbench.graph.rewrites._body_edits import (
    chooses_pixels,
    has_args,
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
