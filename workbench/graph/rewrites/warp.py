"""Make rotations and warps on the CPU cheaper.

The costs are of DALI 2.4 on one core of an AMD EPYC, for an image of 500 x 375 pixels that becomes
224 x 224. ``assets/benchmarks/PEERS.md`` lists the cost of each operator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from workbench.catalog.spec import Value
from workbench.graph.edits.edit import free_id
from workbench.graph.model import Graph, Node, Port
from workbench.graph.rewrites import rewrite
from workbench.graph.rewrites._body_edits import (
    data_name,
    has_args,
    input_type,
    is_value,
    pairs,
    set_arguments,
    with_args,
)
from workbench.graph.types.typed_graph import TypedGraph

_WARPS = {"rotate", "warp_affine"}
_TWIST = "color_twist"
_COLOURS = {_TWIST, "hsv", "hue", "saturation"}


def _is_plain(typed: TypedGraph, warp: Node) -> bool:
    """Return whether a warp interpolates images of bytes on the CPU."""
    image = input_type(typed, warp)
    bytes_flow = image.dtype == "UINT8" and image.layout == "HWC"
    linear = not has_args(warp, "dtype", "output_dtype", "axis", "interp_type")
    cpu = typed.devices.get(warp.id) == "cpu"
    return bytes_flow and linear and cpu and not warp.muted


@rewrite("Resize and rotation in one warp")
def resize_into_warp(typed: TypedGraph) -> Iterator[Graph]:
    """A resize before a rotation outputs a wider image, and the rotation becomes a ``warp_affine``.

    ``rotate(resize(x, size=(h, w)))`` becomes ``warp_affine(resize(x, size=(h, w * 4 / 3)))``. The
    matrix combines the rotation with the remaining reduction of the width. On the CPU, the wider
    resize takes 0.4 of the time for photos of 500 x 375 or 600 x 400 pixels, and the same time for
    1280 x 853. Near: the width is reduced by two filters.
    """
    for resize, rotate in pairs(typed, {"resize"}, {"rotate"}):
        plain = {*resize.args, *resize.inputs} <= {"size", data_name(typed, resize)}
        sides = _known_sides(typed, rotate)
        turns = is_value(typed, rotate, "keep_size", True) and has_args(rotate, "angle")
        if not (plain and sides and turns and _is_plain(typed, rotate)) or has_args(rotate, "size"):
            continue
        height, width = sides
        wider = float(round(width * 4 / 3))
        turn = _node(typed, "transforms.rotation", {"center": (width / 2, height / 2)})
        turn = with_args(turn, set_arguments(rotate, "angle"))
        scale: dict[str, Value] = {"from_end": (width, height), "to_end": (wider, height)}
        matrix = _node(typed, "transforms.crop", scale, turn)
        given: dict[str, Value | Port] = {"size": sides, "matrix": Port(matrix.id, "output")}
        made = with_args(replace(rotate, op="warp_affine"), given, "angle", "keep_size")
        after = typed.graph.substitute(rotate.id, turn, matrix, made)
        yield after.replace_node(resize.with_args({"size": (height, wider)}))


def _known_sides(typed: TypedGraph, node: Node) -> tuple[float, float] | None:
    """Return the height and width of the images that a node receives, or None if unknown."""
    height, width = (input_type(typed, node).shape or (None, None))[:2]
    return None if height is None or width is None else (float(height), float(width))


@rewrite("Border added before warps", tried_last=True)
def border_before_warp(typed: TypedGraph) -> Iterator[Graph]:
    """Images get a border of the fill colour, and the rotation or warp no longer fills.

    ``rotate(x, fill_value=c)`` becomes ``rotate(paste(x, fill_value=c), size=(h, w))``. Without a
    fill colour, pixels outside the image are those at its edge, which have that colour now. On the
    CPU, a fill colour doubles the time of a warp. Near: positions are rounded differently. The size
    of the images must be known, and the matrix of a warp must be a link.
    """
    for warp in typed.graph.nodes:
        if warp.op not in _WARPS or not _is_plain(typed, warp):
            continue
        fill, channels = warp.args.get("fill_value"), input_type(typed, warp).channels
        sides = _known_sides(typed, warp)
        if not sides or not isinstance(fill, int | float) or not channels:
            continue
        same_size = is_value(typed, warp, "keep_size", True) or has_args(warp, "size")
        canvas = _canvas(*sides)
        if canvas is None or fill not in range(256) or not (same_size or warp.op == "warp_affine"):
            continue
        ratio, offset = canvas
        looks: dict[str, Value] = {
            "ratio": ratio,
            "fill_value": (int(fill),) * channels,
            "n_channels": channels,
        }
        source = warp.inputs[data_name(typed, warp)]
        paste = _node(typed, "paste", looks).fed({"data": source})
        size = {"size": sides, **set_arguments(warp, "size")}
        made = with_args(warp, size, "fill_value", "keep_size")
        made = made.fed({data_name(typed, warp): Port(paste.id, "output")})
        if warp.op == "rotate":
            yield typed.graph.substitute(warp.id, paste, made)
            continue
        matrix = _moved_matrix(typed, warp, offset)
        if matrix is not None:
            made = with_args(made, {"matrix": Port(matrix.id, "output")}, "mtx")
            yield typed.graph.substitute(warp.id, paste, matrix, made)


def _moved_matrix(typed: TypedGraph, warp: Node, offset: tuple[float, float]) -> Node | None:
    """Return a node with a warp's linked matrix after moving its source by (x, y) pixels."""
    matrix = next(iter(set_arguments(warp, "mtx", "matrix").values()), None)
    if not isinstance(matrix, Port) or not is_value(typed, warp, "inverse_map", True):
        return None
    return _node(typed, "transforms.translation", {"offset": offset}).fed({"data": matrix})


def _node(
    typed: TypedGraph, op: str, args: Mapping[str, Value], source: Node | None = None
) -> Node:
    """Return a new node with an id that is not in use, fed by the node ``source``."""
    made = Node(free_id(typed.graph, op.rpartition(".")[2]), op, args)
    return made if source is None else made.fed({"data": Port(source.id, "output")})


def _canvas(height: float, width: float) -> tuple[float, tuple[float, float]] | None:
    """Return a ``ratio`` of ``paste`` with which opposite borders are equally wide.

    Also returns the position (x, y) of the image. The result is None if no such ratio adds at most
    40 pixels.
    """
    short = min(height, width)
    for added in range(2, 42, 2):
        ratio = (short + added + 0.5) / short
        canvas = height * ratio, width * ratio
        margins = int(canvas[0]) - height, int(canvas[1]) - width
        clear = all(0.05 < side % 1 < 0.95 for side in canvas)  # DALI computes with 32 bits
        if clear and max(margins) <= 40 and not any(margin % 2 for margin in margins):
            return ratio, (margins[1] / 2, margins[0] / 2)
    return None


@rewrite("Floats after warps", tried_last=True)
def floats_after_warp(typed: TypedGraph) -> Iterator[Graph]:
    """A warp before colour or ``crop_mirror_normalize`` outputs floats: it does not round.

    ``color_twist(rotate(x))`` becomes ``color_twist(rotate(x, dtype=FLOAT), dtype=UINT8)``. If the
    ``color_twist`` has brightness or contrast, they move into a ``brightness_contrast`` that
    rounds, because the centre of the contrast depends on the type. On the CPU, rounding is a
    third of the time of a warp. Near: values are rounded once instead of twice.
    """
    for warp, node in pairs(typed, _WARPS, {*_COLOURS, "crop_mirror_normalize"}):
        if not _is_plain(typed, warp):
            continue
        after = typed.graph.replace_node(warp.with_args({"dtype": "FLOAT"}))
        if node.op == "crop_mirror_normalize":
            if is_value(typed, node, "dtype", "FLOAT", "FLOAT16"):
                yield after
            continue
        if has_args(node, "dtype", "image_type"):
            continue
        light = set_arguments(node, "brightness", "contrast") if node.op == _TWIST else {}
        if not light:
            yield after.replace_node(node.with_args({"dtype": "UINT8"}))
            continue
        if not has_args(node, "hue", "saturation"):
            continue
        bare = with_args(node, {"dtype": "FLOAT"}, *light)
        first = replace(bare, id=free_id(typed.graph, "hue_saturation"))
        rounding: dict[str, Value] = {"contrast_center": 128.0, "dtype": "UINT8"}
        second = Node(node.id, "brightness_contrast", rounding)
        second = with_args(second, light).fed({"data": Port(first.id, "output")})
        yield after.substitute(node.id, first, second)
