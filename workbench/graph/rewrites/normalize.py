"""Move operators into and out of ``crop_mirror_normalize``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.catalog.spec import Value
from workbench.graph.edits.edit import free_id
from workbench.graph.model import Graph, Node, Port
from workbench.graph.rewrites import EVERYWHERE, rewrite
from workbench.graph.rewrites._body_edits import (
    CROP_WINDOW,
    bypass,
    chooses_pixels,
    data_name,
    fed_by,
    fed_through_flips,
    has_args,
    input_type,
    is_pixelwise,
    is_value,
    merge_nodes,
    next_node,
    output_of,
    pairs,
    replace_node,
    set_arguments,
    swap_nodes,
    with_args,
)
from workbench.graph.types.typed_graph import TypedGraph

_TURNED = {("HWC", (2, 0, 1)): "CHW", ("CHW", (1, 2, 0)): "HWC"}


@rewrite("Axes into crop_mirror_normalize", exact_on=EVERYWHERE)
def axes_into_normalize(typed: TypedGraph) -> Iterator[Graph]:
    """A transposition moves into ``crop_mirror_normalize``.

    ``transpose(crop_mirror_normalize(x, output_layout="HWC"), perm=[2, 0, 1])`` becomes
    ``crop_mirror_normalize(x, output_layout="CHW")``, and vice versa. Exact: values keep their bits
    and only change position.
    """
    for normalize, turn in pairs(typed, {"crop_mirror_normalize"}, {"transpose"}):
        perm = turn.args.get("perm")
        before = normalize.args.get("output_layout", "CHW")
        layout = next((to for (of, by), to in _TURNED.items() if (of, by) == (before, perm)), None)
        relabels = is_value(typed, turn, "transpose_layout", True)
        own = turn.args.get("output_layout", layout)
        image = input_type(typed, normalize).layout == "HWC"
        if layout is not None and image and relabels and own == layout:
            made = with_args(normalize, {"output_layout": layout})
            yield merge_nodes(typed, normalize, turn, made)


_NORMALIZE = "crop_mirror_normalize"
_HELD_BY_FLOAT = {"UINT8", "INT8", "UINT16", "INT16"}
_GIVEN_TYPES = {"FLOAT", "FLOAT16", "UINT8", "INT8"}
"""Output element types that ``crop_mirror_normalize`` supports."""


@rewrite("Casts into crop_mirror_normalize", exact_on=frozenset({"cpu"}))
def cast_into_normalize(typed: TypedGraph) -> Iterator[Graph]:
    """Casts move into ``crop_mirror_normalize``, which computes in floats and outputs any type.

    A cast before it: ``crop_mirror_normalize(cast(x, FLOAT))`` becomes
    ``crop_mirror_normalize(x)``. Exact for 8 and 16-bit integers, which a float represents; flips
    may be in between. A cast after it: ``cast(crop_mirror_normalize(x), FLOAT16)`` becomes
    ``crop_mirror_normalize(x, dtype=FLOAT16)``. Exact on the CPU: both round the same float once.
    On a GPU, values differ by up to one unit in the last place (measured on an H200).
    """
    for normalize in typed.graph.nodes:
        cast = fed_through_flips(typed, normalize)
        if normalize.op != _NORMALIZE or cast is None or cast.op != "cast":
            continue
        exact = input_type(typed, cast).dtype in _HELD_BY_FLOAT
        if exact and is_value(typed, cast, "dtype", "FLOAT"):
            yield bypass(typed, cast)
    for normalize, cast in pairs(typed, {_NORMALIZE}, {"cast"}):
        dtype = cast.args.get("dtype")
        floats = is_value(typed, normalize, "dtype", "FLOAT")
        if floats and dtype in _GIVEN_TYPES and not has_args(normalize, "output_dtype"):
            made = with_args(normalize, {"dtype": str(dtype)})
            yield merge_nodes(typed, normalize, cast, made)


@rewrite("Crops into crop_mirror_normalize", exact_on=EVERYWHERE)
def crop_into_normalize(typed: TypedGraph) -> Iterator[Graph]:
    """Crops move into ``crop_mirror_normalize``: one pass instead of two.

    ``crop_mirror_normalize(crop(x))`` becomes ``crop_mirror_normalize(x, crop=...)``. Exact:
    ``crop_mirror_normalize`` uses the same window before it mirrors and normalises. Does not apply
    if it crops already.
    """
    for crop, normalize in pairs(typed, {"crop"}, {"crop_mirror_normalize"}):
        if not has_args(normalize, *CROP_WINDOW) and chooses_pixels(typed, crop):
            made = with_args(normalize, set_arguments(crop, *CROP_WINDOW))
            yield merge_nodes(typed, crop, normalize, made)


@rewrite("Crop before colour, not in crop_mirror_normalize", exact_on=EVERYWHERE)
def crop_out_of_normalize(typed: TypedGraph) -> Iterator[Graph]:
    """A crop moves from ``crop_mirror_normalize`` to before the preceding colour operators.

    ``crop_mirror_normalize(colour(x), crop=...)`` becomes
    ``crop_mirror_normalize(colour(crop(x)))``: colour is computed for the cropped image only. Exact
    by the laws of ``colour-after-crop`` and of the inverse of ``crop-into-normalize``.
    """
    for normalize in typed.graph.nodes:
        if normalize.op != "crop_mirror_normalize" or not has_args(normalize, *CROP_WINDOW[:3]):
            continue
        colour = fed_by(typed, normalize)
        if colour is None or not is_pixelwise(typed, colour):
            continue
        crop = with_args(
            Node(free_id(typed.graph, "crop"), "crop"), set_arguments(normalize, *CROP_WINDOW)
        )
        crop = crop.fed({"data": normalize.inputs["data"]})
        fed = with_args(normalize, {"data": Port(crop.id, "output")}, *CROP_WINDOW)
        split = typed.graph.substitute(normalize.id, crop, fed)
        if chooses_pixels(typed.for_graph(split), crop):
            yield swap_nodes(typed.for_graph(split), colour, crop)


@rewrite("Flips into crop_mirror_normalize", exact_on=EVERYWHERE)
def flip_into_normalize(typed: TypedGraph) -> Iterator[Graph]:
    """Flips move into ``crop_mirror_normalize``: one pass instead of two.

    ``crop_mirror_normalize(flip(x, horizontal=h))`` becomes ``crop_mirror_normalize(x, mirror=h)``.
    Exact: both reverse the pixels of a row. Does not apply if ``crop_mirror_normalize`` crops: DALI
    rounds the position of the window, which would differ by a pixel in a flipped image if an odd
    number of pixels is left.
    """
    for flip, normalize in pairs(typed, {"flip"}, {"crop_mirror_normalize"}):
        sideways = all(is_value(typed, flip, axis, 0) for axis in ("vertical", "depthwise"))
        if sideways and not has_args(normalize, *CROP_WINDOW) and _unmirrored(typed, normalize):
            mirror = set_arguments(flip, "horizontal").get("horizontal", 1)
            made = with_args(normalize, {"mirror": mirror})
            yield merge_nodes(typed, flip, normalize, made)


def _unmirrored(typed: TypedGraph, normalize: Node) -> bool:
    return is_value(typed, normalize, "mirror", 0)


_SCALING = {"math.truediv", "math.mul"}


@rewrite("Factors into crop_mirror_normalize")
def scale_into_normalize(typed: TypedGraph) -> Iterator[Graph]:
    """A factor before ``crop_mirror_normalize`` moves into its mean and deviation.

    ``crop_mirror_normalize(x / 255, mean=m, std=s)`` becomes ``crop_mirror_normalize(x, mean=255 m,
    std=255 s)``. Products are moved in the same way, and flips may be in between. Near: the same
    number except for the last bit of a float.
    """
    for normalize in typed.graph.nodes:
        if normalize.op != "crop_mirror_normalize":
            continue
        scale = fed_through_flips(typed, normalize)
        if scale is None or scale.op not in _SCALING:
            continue
        factor = _factor(scale)
        mean, std = (
            _times(normalize.args.get(name, default), factor)
            for name, default in (("mean", 0.0), ("std", 1.0))
        )
        linked = {"mean", "std"} & normalize.inputs.keys()
        image = input_type(typed, scale).layout == "HWC"
        filled = has_args(normalize, "fill_values")
        if mean is not None and std is not None and not linked and image and not filled:
            made = with_args(normalize, {"mean": mean, "std": std})
            yield bypass(typed.for_graph(typed.graph.replace_node(made)), scale)


def _factor(scale: Node) -> float:
    """Return the fixed number by which a node divides pixels, or 0 if there is none."""
    value = scale.args.get("right")
    if len(scale.inputs) != 1 or "data" not in scale.inputs or not isinstance(value, int | float):
        return 0.0
    if scale.op == "math.mul":
        return 1 / value if value else 0.0
    return float(value)


def _times(value: Value, factor: float) -> Value | None:
    items = value if isinstance(value, tuple) else (value,)
    if not factor > 0 or not all(isinstance(each, int | float) for each in items):
        return None
    return tuple(float(each) * factor for each in items)  # type: ignore[arg-type]


Factors = NDArray[np.float64]
"""One number, or one number per channel."""
Affine = tuple[Factors, Factors]
"""Factor and addend of an affine map."""
_NORMALIZE = "crop_mirror_normalize"
_NUMBERS = {"UINT8", "INT8", "UINT16", "INT16", "FLOAT"}
"""Element types whose values a 32-bit float represents exactly."""
_FIXED = {"data", "mean", "stddev", "scale", "shift"}


@rewrite("Handwritten normalisation into crop_mirror_normalize", tried_last=True)
def normalize_by_hand(typed: TypedGraph) -> Iterator[Graph]:
    """Separate normalisation operators become one ``crop_mirror_normalize``.

    ``((cast(x, FLOAT) / 255) - m) / s``, with numbers or a number per channel, and ``normalize``
    with given mean and deviation become ``crop_mirror_normalize(x, mean=255 m, std=255 s,
    output_layout="HWC")``; a following transposition can then move into it
    (``axes-into-normalize``). The result differs in the last bits of a float (category ``near``).
    Offered only where the values are outputs or are transposed next: elsewhere operators that
    reduce the size of images should run first.
    """
    for last in typed.graph.nodes:
        steps = _affine_steps(typed, last)
        chain = [node for node, _ in steps]
        behind = next_node(typed, last)
        turned = behind is not None and behind.op == "transpose"
        if len(chain) + turned < 2 or (typed.graph.consumers(last.id) and not turned):
            continue
        flow = input_type(typed, chain[0])
        factor, addend = np.array([1.0]), np.array([0.0])
        for _, (times, plus) in steps:
            factor, addend = factor * times, addend * times + plus
        sizes = {factor.size, addend.size} - {1}
        if flow.layout == "HWC" and flow.dtype in _NUMBERS and sizes <= {flow.channels}:
            yield _normalized(typed, chain, -addend / factor, 1 / factor)


def _affine_steps(typed: TypedGraph, end: Node) -> list[tuple[Node, Affine]]:
    """Return the consecutive affine nodes that end at ``end``, in order, each with its map."""
    steps: list[tuple[Node, Affine]] = []
    node: Node | None = end
    while node is not None and (affine := _affine(typed, node)) is not None:
        steps.insert(0, (node, affine))
        node = fed_by(typed, node)
    return steps


def _affine(typed: TypedGraph, node: Node) -> Affine | None:
    """Return the factor and addend of a node that is an affine map of floats, or None."""
    if node.muted or node.device is not None or node.op not in typed.catalog:
        return None
    if node.op == "cast":
        cast = is_value(typed, node, "dtype", "FLOAT")
        return (np.array([1.0]), np.array([0.0])) if cast else None
    if node.op == "normalize":
        return _fixed_statistics(typed.graph, node)
    if typed.spec(node).category != "arithmetic":
        return None
    floats = typed.types[output_of(typed, node)].dtype == "FLOAT"
    return _operand(typed.graph, node) if floats else None


def _operand(graph: Graph, node: Node) -> Affine | None:
    """Return the factor and addend of arithmetic with a constant, or None."""
    if node.inputs.keys() - {"data", "other"} or "data" not in node.inputs:
        return None
    turns = node.op in ("math.add", "math.mul")
    value = _numbers(graph, node, "other", "right", *(("left",) if turns else ()))
    if value is None:
        return None
    one, none = np.array([1.0]), np.array([0.0])
    match node.op:
        case "math.add":
            return one, value
        case "math.sub":
            return one, -value
        case "math.mul" if np.all(value > 0):
            return value, none
        case "math.truediv" if np.all(value > 0):
            return 1 / value, none
    return None


def _fixed_statistics(graph: Graph, node: Node) -> Affine | None:
    """Return the factor and addend of ``normalize`` with a fixed mean and deviation, or None."""
    if not {*node.args, *node.inputs} <= _FIXED:
        return None
    mean, deviation = (_numbers(graph, node, name, name) for name in ("mean", "stddev"))
    scale, shift = (node.args.get(name, usual) for name, usual in (("scale", 1.0), ("shift", 0.0)))
    if mean is None or deviation is None or not np.all(deviation > 0):
        return None
    if not isinstance(scale, int | float) or not isinstance(shift, int | float) or scale <= 0:
        return None
    factor = scale / deviation
    return factor, shift - mean * factor


def _numbers(graph: Graph, node: Node, port: str, *args: str) -> Factors | None:
    """Return the constant at the input ``port``, else the value of the only argument, or None."""
    if port in node.inputs:
        return _constant(graph, node.inputs[port])
    values = [node.args[name] for name in args if name in node.args]
    if len(values) != 1 or isinstance(values[0], bool) or not isinstance(values[0], int | float):
        return None
    return np.array([float(values[0])])


def _constant(graph: Graph, port: Port) -> Factors | None:
    """Return the value of a ``constant`` node (one number, or one per channel), or None."""
    node = next((each for each in graph.nodes if each.id == port.node), None)
    if node is None or node.op != "constant" or node.inputs or node.muted:
        return None
    names = [name for name in ("fdata", "idata") if name in node.args]
    if len(names) != 1:
        return None
    items, extents = _items(node.args[names[0]]), _items(node.args.get("shape", ()))
    if any(extent != 1 for extent in extents[:-1]) or not items:
        return None
    if len(items) not in (1, *extents[-1:]) or len(extents) > 3:
        return None
    return np.array(items, float)


def _items(value: Value) -> Sequence[Any]:
    return value if isinstance(value, tuple) else (value,)


def _normalized(
    typed: TypedGraph, chain: Sequence[Node], mean: Factors, deviation: Factors
) -> Graph:
    first, last = chain[0], chain[-1]
    args: dict[str, Value] = {
        "mean": tuple(map(float, mean)),
        "std": tuple(map(float, deviation)),
        "output_layout": "HWC",
    }
    made = Node(last.id, _NORMALIZE, args, {"data": first.inputs[data_name(typed, first)]})
    after = replace_node(typed, last, made, removed=[node.id for node in chain[:-1]])
    fed = {port.node for node in chain for port in node.inputs.values()}
    idle = {name for name in fed if typed.graph.has(name) and not after.consumers(name)}
    return replace(after, nodes=tuple(node for node in after.nodes if node.id not in idle))
