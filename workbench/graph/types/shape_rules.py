"""Compute the effect of operators on the shape, with a function for each ``ShapeWord``.

Each function receives the call and its input type, and returns the output type, without setting
the element type. The rules were verified with DALI 2.4; the tests compare them with the outputs of
every operator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from math import ceil, cos, radians, sin

from workbench.catalog.spec import ShapeWord
from workbench.graph.model.values import parse_index
from workbench.graph.types.tensor_type import (
    Extents,
    ShapeRule,
    TensorType,
    TypedCall,
    broadcast,
    operand_types,
)


def _transpose(call: TypedCall, flow: TensorType) -> TensorType:
    if flow.shape is None:
        return flow.unknown()
    count = len(flow.shape)
    perm = call.integers("perm") if call.is_set("perm") else tuple(reversed(range(count)))
    if perm is None or sorted(-1 if p is None else p for p in perm) != list(range(count)):
        return flow.unknown()
    order = [p for p in perm if p is not None]
    layout = flow.layout
    if call.is_set("output_layout"):
        layout = call.text("output_layout")
    elif call.value("transpose_layout") and flow.layout:
        letters = flow.axes
        layout = None if letters is None else "".join(letters[p] for p in order)
    return flow.reshaped(tuple(flow.shape[p] for p in order), layout)


def _reduce(call: TypedCall, flow: TensorType) -> TensorType:
    axes = call.selected_axes(flow)
    if axes is None or flow.shape is None:
        return flow if call.value("keep_dims") else flow.unknown()
    if call.value("keep_dims"):
        return flow.with_extents(dict.fromkeys(axes, 1))
    return _without(flow, axes)


def _without(flow: TensorType, axes: tuple[int, ...]) -> TensorType:
    if flow.shape is None:
        return flow.unknown()
    left = [i for i in range(len(flow.shape)) if i not in axes]
    layout = flow.layout
    if layout:
        layout = "".join(layout[i] for i in left) if len(layout) == len(flow.shape) else None
    return flow.reshaped(tuple(flow.shape[i] for i in left), layout)


def _shape(call: TypedCall, flow: TensorType) -> TensorType:
    layout = call.text("layout") if call.is_set("layout") else ""
    return flow.reshaped(_extents_of(call, "shape"), layout)


def _extents_of(call: TypedCall, name: str) -> Extents | None:
    """Return the shape that an argument specifies, or None if the argument is not set.

    A constant without a shape has one axis, whose size is the number of its values.
    """
    if call.spec.name == "constant" and not call.is_set(name):
        values = call.integers("fdata") or call.integers("idata")
        return None if values is None else (len(values),)
    if name in call.node.inputs:
        linked = call.fed[name].shape
        if linked is None:
            return None
        return (None,) * (linked[0] or 0) if linked and linked[0] is not None else None
    values = call.integers(name) if name in call.node.args else ()
    return None if values is None else tuple(e if e is None or e >= 0 else None for e in values)


def _random_shape(call: TypedCall, flow: TensorType) -> TensorType:
    like = call.fed.get("shape_like")
    head = like.shape if like is not None else _extents_of(call, "shape")
    tail: Extents | None = ()
    chosen = call.spec.name == "random.choice" and "a" in call.fed  # otherwise a number
    if chosen:
        tail = None if call.first.shape is None else call.first.shape[1:]
    if head is None or tail is None:
        return flow.unknown()
    layout: str | None = ""
    if chosen and call.first.layout != "":
        layout = call.first.layout[1:] if call.first.layout and not head else None
    return flow.reshaped((*head, *tail), layout)


def _one_hot(call: TypedCall, flow: TensorType) -> TensorType:
    count = (call.integers("num_classes") or (None,))[0]
    axis = (call.integers("axis") or (None,))[0]
    if flow.shape is None or axis is None or flow.shape == (None,):
        return flow.unknown()
    layout = "" if not call.is_set("axis_name") else None
    if flow.shape in ((), (1,)):  # DALI accepts an array of one element as a scalar
        return flow.reshaped((count,), layout)
    at = len(flow.shape) if axis < 0 else axis
    return flow.reshaped((*flow.shape[:at], count, *flow.shape[at:]), layout)


def _classes(call: TypedCall, flow: TensorType) -> TensorType:
    return flow.reshaped((call.integers("num_classes") or (None,))[:1], "")


def _join(call: TypedCall, flow: TensorType) -> TensorType:
    parts = call.positional
    shapes = [part.shape for part in parts]
    layout = _common([part.layout for part in parts])
    known = [shape for shape in shapes if shape is not None]
    if not known or len({len(shape) for shape in known}) != 1:
        return flow.reshaped(None, layout)
    count = len(known[0])
    axis = _axis(call, replace(flow, layout=layout, shape=known[0]), count)
    if axis is None:
        return flow.reshaped((None,) * count, layout)
    common = [next((s[i] for s in known if s[i] is not None), None) for i in range(count)]
    along = [None if shape is None else shape[axis] for shape in shapes]
    common[axis] = None if None in along else sum(extent or 0 for extent in along)
    return flow.reshaped(tuple(common), layout)


def _common(layouts: list[str | None]) -> str | None:
    return layouts[0] if len(set(layouts)) == 1 else None


def _axis(call: TypedCall, flow: TensorType, count: int) -> int | None:
    if call.is_set("axis_name"):
        name, axes = call.text("axis_name"), flow.axes
        return axes.index(name) if name and axes and name in axes else None
    axis = (call.integers("axis") or (None,))[0]
    if axis is None or not -count <= axis < count:
        return None
    return axis % count


def _stack(call: TypedCall, flow: TensorType) -> TensorType:
    parts = call.positional
    shape = next((p.shape for p in parts if p.shape is not None), None)
    if shape is None:
        return flow.unknown()
    axis = (call.integers("axis") or (None,))[0]
    if axis is None or not -len(shape) - 1 <= axis <= len(shape):
        return flow.reshaped((None,) * (len(shape) + 1), None)
    at = axis % (len(shape) + 1)
    name = call.text("axis_name")
    layout = _common([part.layout for part in parts])
    return flow.reshaped(
        (*shape[:at], len(parts), *shape[at:]), _with_letter(layout, name, at, len(shape))
    )


def _with_letter(layout: str | None, name: str | None, axis: int, count: int) -> str | None:
    if not name:
        return ""
    if count and not layout:
        return None
    return None if layout is None else layout[:axis] + name + layout[axis:]


def _expand(call: TypedCall, flow: TensorType) -> TensorType:
    axes = call.integers("axes")
    if flow.shape is None or axes is None or None in axes:
        return flow.unknown()
    shape, layout = list(flow.shape), flow.layout
    names = call.text("new_axis_names") or ""
    places = sorted((axis, number) for number, axis in enumerate(axes) if axis is not None)
    for axis, number in places:
        if not 0 <= axis <= len(shape):
            return flow.unknown()
        layout = _with_letter(layout, names[number : number + 1], axis, len(shape))
        shape.insert(axis, 1)
    return flow.reshaped(tuple(shape), layout)


def _squeeze(call: TypedCall, flow: TensorType) -> TensorType:
    if not (call.is_set("axes") or call.is_set("axis_names")):
        return flow.unknown()
    axes = call.selected_axes(flow)
    return flow.unknown() if axes is None else _without(flow, axes)


def _reshape(call: TypedCall, flow: TensorType) -> TensorType:
    shape = _reshaped(call, flow)
    if call.is_set("layout"):
        return flow.reshaped(shape, call.text("layout"))
    if shape is None or flow.shape is None:
        return flow.reshaped(shape, None)
    return flow.reshaped(shape, flow.layout if len(shape) == len(flow.shape) else "")


def _reshaped(call: TypedCall, flow: TensorType) -> Extents | None:
    if call.is_set("shape_input"):
        wanted = call.fed["shape_input"].shape
        return (None,) * wanted[0] if wanted and wanted[0] is not None else None
    if call.is_set("rel_shape"):
        factors = call.integers("rel_shape")
        return None if factors is None else (None,) * len(factors)
    if call.is_set("src_dims"):
        order = call.integers("src_dims")
        if order is None or flow.shape is None:
            return None
        count = len(flow.shape)
        return tuple(flow.shape[i] if i is not None and 0 <= i < count else 1 for i in order)
    if call.is_set("shape"):
        wanted = _extents_of(call, "shape")
        return None if wanted is None else _filled(wanted, flow.shape, call.is_set("dtype"))
    if flow.shape and call.is_set("dtype"):  # other elements in the same bytes
        return (*flow.shape[:-1], None)
    return flow.shape


def _filled(requested: Extents, shape: Extents | None, recast: bool) -> Extents:
    """Return the shape with its one unknown size computed from the number of elements, if known."""
    if recast or shape is None or None in shape or requested.count(None) != 1:
        return requested
    total = math.prod(extent or 0 for extent in shape)
    others = math.prod(extent for extent in requested if extent is not None)
    if not others or total % others:
        return requested
    return tuple(total // others if extent is None else extent for extent in requested)


def _extract(call: TypedCall, flow: TensorType) -> TensorType:
    return _without(flow, (0,))


def _reorder(call: TypedCall, flow: TensorType) -> TensorType:
    order = call.integers("new_order")
    return flow.with_extents({0: None if order is None else len(order)})


def _per_frame(call: TypedCall, flow: TensorType) -> TensorType:
    if flow.shape is None or flow.layout is None:
        return replace(flow, layout=None)
    if not flow.layout:
        return replace(flow, layout="F" + "*" * (len(flow.shape) - 1))
    return flow if flow.layout[0] == "F" else replace(flow, layout=None)


def _frames(call: TypedCall, flow: TensorType) -> TensorType:
    """Return the type of the sequences that a video reader or decoder outputs."""
    count = (call.integers("sequence_length") or (None,))[0]
    if call.is_set("frames"):
        linked = call.fed["frames"].shape if "frames" in call.node.inputs else None
        values = call.integers("frames") if "frames" in call.node.args else linked
        count = linked[0] if linked else len(values) if values else None
    policies = {"decoders.video": "pad_mode", "experimental.inputs.video": "last_sequence_policy"}
    ends = policies.get(call.spec.name)
    if ends and call.value(ends) in ("none", "partial"):
        count = None
    return flow.reshaped((count, None, None, 3), "FHWC")


def _frame_times(call: TypedCall, flow: TensorType) -> TensorType:
    return flow.reshaped((call.integers("sequence_length") or (None,))[:1], "")


def _frame_numbers(call: TypedCall, flow: TensorType) -> TensorType:
    each = call.value("enable_frame_num") == "sequence"
    return _frame_times(call, flow) if each else flow.reshaped((1,), "")


def _affine(call: TypedCall, flow: TensorType) -> TensorType:
    """Return the type of an ``n`` by ``n + 1`` matrix that maps points of ``n`` coordinates."""
    before = call.positional
    if before:
        return flow.reshaped(before[0].shape, flow.layout)
    count: int | None = None
    for name, dimensions in _DIMENSIONS.items():
        if call.is_set(name):
            count = dimensions.get(len(call.integers(name) or ()))
    if "axis" in call.spec.args:
        count = 3 if call.is_set("axis") else 2
    return flow.reshaped((count, None if count is None else count + 1), flow.layout)


_DIMENSIONS: Mapping[str, Mapping[int, int]] = {
    "offset": {2: 2, 3: 3},
    "scale": {2: 2, 3: 3},
    "from_start": {2: 2, 3: 3},
    "shear": {2: 2, 6: 3},
    "angles": {2: 2, 6: 3},
}
"""Number of coordinates that each number of values implies, by argument of ``transforms.*``."""


def _points(call: TypedCall, flow: TensorType) -> TensorType:
    if not (call.is_set("M") or call.is_set("MT")) or not flow.shape:
        return flow
    columns = flow.shape[-1]
    name, more = ("MT", 1) if call.is_set("MT") else ("M", 0)
    linked = call.fed[name].shape if name in call.fed else None
    rows = linked[0] if linked and len(linked) == 2 else None
    values = call.integers(name)
    if values is not None and columns and len(values) % (columns + more) == 0:
        rows = len(values) // (columns + more) if len(values) > 1 else columns
    return flow.with_extents({len(flow.shape) - 1: rows})


def _corner(call: TypedCall, flow: TensorType) -> TensorType:
    """Return the type of a vector with one number per axis of the cropped image."""
    if "crop_shape" in call.spec.args:
        values = call.integers("crop_shape")
        return flow.reshaped((None if values is None else len(values),), "")
    shape = call.first.shape
    return flow.reshaped((None if shape is None else len(shape),), "")


# Arithmetic and indexing


def _broadcast(call: TypedCall, flow: TensorType) -> TensorType:
    flows = operand_types(call)
    try:
        shape = broadcast([one.shape for one in flows])
    except ValueError:
        return flow.unknown()
    return flow.reshaped(shape, _layout(flows, None if shape is None else len(shape)))


def _layout(flows: list[TensorType], count: int | None) -> str | None:
    """Return the layout of the first operand that has a layout and ``count`` axes."""
    wide = [one for one in flows if one.shape is None or len(one.shape) == count]
    named = [one.layout for one in wide if one.layout]
    if named:
        return named[0]
    return None if count is None or any(one.layout is None for one in wide) else ""


def _subscript(call: TypedCall, flow: TensorType) -> TensorType:
    text = call.text("index")
    try:
        index = parse_index(text or "")
    except ValueError:
        return flow.unknown()
    if flow.shape is None or len(index) > len(flow.shape):
        return flow.unknown()
    shape: list[int | None] = []
    layout = flow.layout
    letters = ""
    for axis, extent in enumerate(flow.shape):
        item = index[axis] if axis < len(index) else slice(None)
        if isinstance(item, slice):
            shape.append(_length(item, extent))
            letters += layout[axis] if layout and len(layout) == len(flow.shape) else ""
    if layout:
        layout = letters if len(layout) == len(flow.shape) else None
    return flow.reshaped(tuple(shape), layout)


def _length(item: slice, extent: int | None) -> int | None:
    """Return the length of a slice along an axis, clipped as in Python, or None if unknown."""
    if extent is not None:
        return len(range(*item.indices(extent)))
    return None


def _extents(call: TypedCall, flow: TensorType) -> TensorType:
    """Return the type of a vector with one number per axis of the input."""
    shape = call.first.shape
    return flow.reshaped((None if shape is None else len(shape),), "")


# Operators on images: decoding, resizing, cropping, padding


def _input(call: TypedCall, flow: TensorType) -> TensorType:
    return flow


def _decoded(call: TypedCall, flow: TensorType) -> TensorType:
    return flow.reshaped((None, None, _colours(call.text("output_type"))), "HWC")


def _colours(space: str | None) -> int | None:
    return {"RGB": 3, "BGR": 3, "YCbCr": 3, "GRAY": 1}.get(space or "")


def _recolour(call: TypedCall, flow: TensorType) -> TensorType:
    return _sized(flow, {"C": _colours(call.text("output_type"))})


def _sized(flow: TensorType, extents: Mapping[str, int | None]) -> TensorType:
    """Replace the sizes of axes; ``extents`` maps axis letters to sizes."""
    if flow.axes is None or flow.shape is None:
        return flow
    return flow.with_extents({flow.axes.index(a): e for a, e in extents.items() if a in flow.axes})


def _spatial(flow: TensorType) -> list[str]:
    return [letter for letter in flow.axes or "" if letter in "DHW"]


def _resize(call: TypedCall, flow: TensorType) -> TensorType:
    axes = _spatial(flow)
    extents: dict[str, int | None] = dict.fromkeys(axes)
    mode = call.text("mode") if "mode" in call.spec.args else "default"
    if mode not in ("default", "stretch") or call.is_set("max_size"):
        return _sized(flow, extents)
    single = {"D": "resize_z", "H": "resize_y", "W": "resize_x"}
    if call.is_set("size"):
        wanted = dict(zip(axes, _repeated(call.integers("size"), len(axes)), strict=True))
    else:
        wanted = {
            a: (call.integers(single[a]) or (None,))[0] for a in axes if call.is_set(single[a])
        }
    return _sized(flow, extents | {a: abs(e) if e else None for a, e in wanted.items()})


def _repeated(values: Extents | None, count: int) -> Extents:
    """Repeat a single value ``count`` times. Values of any other wrong number become unknown."""
    if values is not None and len(values) == 1:
        return values * count
    return values if values is not None and len(values) == count else (None,) * count


def _resize_axes(call: TypedCall, flow: TensorType) -> TensorType:
    axes = call.selected_axes(flow)
    if axes is None or flow.shape is None:
        return _forget_extents(flow)
    sizes: Extents = (None,) * len(axes)
    if call.is_set("sizes") and call.text("mode") in ("default", "stretch"):
        sizes = _repeated(call.integers("sizes"), len(axes))
    return flow.with_extents({a: s or None for a, s in zip(axes, sizes, strict=True)})


def _forget_extents(flow: TensorType) -> TensorType:
    return replace(flow, shape=None if flow.shape is None else (None,) * len(flow.shape))


def _crop(call: TypedCall, flow: TensorType) -> TensorType:
    if call.is_set("crop"):
        values = call.integers("crop")
        axes = "HW" if values is None or len(values) == 2 else "DHW"
        wanted = dict(zip(axes, _repeated(values, len(axes)), strict=True))
    else:
        single = {"D": "crop_d", "H": "crop_h", "W": "crop_w"}
        wanted = {a: (call.integers(n) or (None,))[0] for a, n in single.items() if call.is_set(n)}
    if call.text("out_of_bounds_policy") == "trim_to_shape":
        wanted = dict.fromkeys(wanted)
    return _sized(flow, {axis: e if e and e > 0 else None for axis, e in wanted.items()})


def _pad_channels(call: TypedCall, flow: TensorType) -> TensorType:
    channels = flow.channels
    if not call.value("pad_output") or channels is None or channels < 1:
        return flow
    return _sized(flow, {"C": 1 << (channels - 1).bit_length()})


def _relayout(call: TypedCall, flow: TensorType) -> TensorType:
    layout, axes = call.text("output_layout"), flow.axes
    if not layout or axes is None or flow.shape is None or sorted(layout) != sorted(axes):
        return flow.unknown()
    return flow.reshaped(tuple(flow.shape[axes.index(letter)] for letter in layout), layout)


def _canvas(call: TypedCall, flow: TensorType) -> TensorType:
    axes = _spatial(flow)
    if call.is_set("size"):
        return _sized(
            flow, dict(zip(axes, _repeated(call.integers("size"), len(axes)), strict=True))
        )
    if "keep_size" in call.spec.args and call.value("keep_size") is not True:
        return _sized(flow, _rotated_canvas(call, flow, axes))
    return flow


_SLACK = 1e-2
"""Tolerance in pixels that DALI uses so that rounding does not enlarge a canvas."""
_MOST_ANGLE = 720
"""Largest angle in degrees for which the canvas is computed. DALI's floats are imprecise above."""
_UNSURE = 1e-3
"""Distance from an integer, in pixels, within which DALI's rounding decides the size of a side."""


def _rotated_canvas(call: TypedCall, flow: TensorType, axes: list[str]) -> dict[str, int | None]:
    """Compute the size of a rotated image as DALI does; sizes are None if they are unknown.

    DALI makes each side odd or even like the original side that is closest to it in direction.
    """
    unknown: dict[str, int | None] = dict.fromkeys(axes)
    if flow.axes is None or flow.shape is None:
        return unknown
    angle = call.node.args.get("angle") if "angle" in call.spec.args else None
    if axes != ["H", "W"] or not isinstance(angle, int | float):
        return unknown
    if not abs(angle) <= _MOST_ANGLE:  # neither is NaN
        return unknown
    height, width = (flow.shape[flow.axes.index(axis)] for axis in axes)
    if height is None or width is None:
        return unknown
    across, along = abs(cos(radians(angle))), abs(sin(radians(angle)))
    made = {"H": across * height + along * width, "W": across * width + along * height}
    like = {"H": height, "W": width} if along < across else {"H": width, "W": height}
    beyond = [extent - _SLACK for extent in made.values()]
    if any(abs(each - round(each)) < _UNSURE for each in beyond):
        return unknown
    if abs(across - along) < _UNSURE and (height - width) % 2:
        return unknown
    sides = dict(zip(made, map(ceil, beyond), strict=True))
    return {axis: side + (side - like[axis]) % 2 for axis, side in sides.items()}


def _pad(call: TypedCall, flow: TensorType) -> TensorType:
    axes = call.selected_axes(flow)
    if axes is None or flow.shape is None:
        return _forget_extents(flow)
    least = (
        _repeated(call.integers("shape"), len(axes)) if call.is_set("shape") else (0,) * len(axes)
    )
    steps = (
        _repeated(call.integers("align"), len(axes)) if call.is_set("align") else (1,) * len(axes)
    )
    extents: dict[int, int | None] = {}
    for axis, low, step in zip(axes, least, steps, strict=True):
        extent = flow.shape[axis]
        known = extent is not None and low is not None and step is not None and step > 0
        wanted = max(extent or 0, low or 0)
        extents[axis] = -(-wanted // (step or 1)) * (step or 1) if known else None
    return flow.with_extents(extents)


def _slice(call: TypedCall, flow: TensorType) -> TensorType:
    named = ("anchor", "shape_input", "start", "end", "shape", "rel_start", "rel_end", "rel_shape")
    if not any(map(call.is_set, named)):
        return flow
    axes = call.selected_axes(flow)
    if axes is None:
        return _forget_extents(flow)
    sizes: Extents = (None,) * len(axes)
    if call.is_set("shape") and call.text("out_of_bounds_policy") != "trim_to_shape":
        sizes = _repeated(call.integers("shape"), len(axes))
    return flow.with_extents(dict(zip(axes, sizes, strict=True)))


def _paste(call: TypedCall, flow: TensorType) -> TensorType:
    return _sized(flow, {"H": None, "W": None, "C": (call.integers("n_channels") or (None,))[0]})


def _paste_many(call: TypedCall, flow: TensorType) -> TensorType:
    return _sized(flow, dict(zip("HW", _repeated(call.integers("output_size"), 2), strict=True)))


def _filter(call: TypedCall, flow: TensorType) -> TensorType:
    return _sized(flow, dict.fromkeys("DHW")) if call.text("mode") != "same" else flow


SHAPE_RULES: Mapping[ShapeWord, ShapeRule] = {
    "input": _input,
    "decoded": _decoded,
    "resize": _resize,
    "resize_axes": _resize_axes,
    "crop": _crop,
    "pad_channels": _pad_channels,
    "relayout": _relayout,
    "recolour": _recolour,
    "canvas": _canvas,
    "pad": _pad,
    "slice": _slice,
    "paste": _paste,
    "paste_many": _paste_many,
    "filter": _filter,
    "transpose": _transpose,
    "reduce": _reduce,
    "shape": _shape,
    "drawn": _random_shape,
    "one_hot": _one_hot,
    "classes": _classes,
    "join": _join,
    "stack": _stack,
    "expand": _expand,
    "squeeze": _squeeze,
    "reshape": _reshape,
    "extract": _extract,
    "reorder": _reorder,
    "per_frame": _per_frame,
    "frames": _frames,
    "frame_times": _frame_times,
    "frame_numbers": _frame_numbers,
    "affine": _affine,
    "points": _points,
    "corner": _corner,
    "broadcast": _broadcast,
    "subscript": _subscript,
    "extents": _extents,
}
