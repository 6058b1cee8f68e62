"""What operators on images do to a shape: decoding, resizing, cropping, padding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil, cos, radians, sin

from workbench.catalog.spec import ShapeWord
from workbench.graph.types.tensor_type import Extents, ShapeRule, TensorType, TypedCall


def _input(call: TypedCall, flow: TensorType) -> TensorType:
    return flow


def _decoded(call: TypedCall, flow: TensorType) -> TensorType:
    return flow.reshaped((None, None, _colours(call.text("output_type"))), "HWC")


def _colours(space: str | None) -> int | None:
    return {"RGB": 3, "BGR": 3, "YCbCr": 3, "GRAY": 1}.get(space or "")


def _recolour(call: TypedCall, flow: TensorType) -> TensorType:
    return _set(flow, {"C": _colours(call.text("output_type"))})


def _set(flow: TensorType, extents: Mapping[str, int | None]) -> TensorType:
    """With other extents along some axes, by letter."""
    if flow.axes is None or flow.shape is None:
        return flow
    return flow.with_extents({flow.axes.index(a): e for a, e in extents.items() if a in flow.axes})


def _spatial(flow: TensorType) -> list[str]:
    return [letter for letter in flow.axes or "" if letter in "DHW"]


def _resize(call: TypedCall, flow: TensorType) -> TensorType:
    axes = _spatial(flow)
    extents: dict[str, int | None] = dict.fromkeys(axes)
    mode = call.text("mode") if "mode" in call.spec.args else "default"
    if mode not in ("default", "stretch") or call.given("max_size"):
        return _set(flow, extents)
    single = {"D": "resize_z", "H": "resize_y", "W": "resize_x"}
    if call.given("size"):
        wanted = dict(zip(axes, _each(call.whole("size"), len(axes)), strict=True))
    else:
        wanted = {a: (call.whole(single[a]) or (None,))[0] for a in axes if call.given(single[a])}
    return _set(flow, extents | {a: abs(e) if e else None for a, e in wanted.items()})


def _each(values: Extents | None, count: int) -> Extents:
    """As many values as asked for: one stands for all; unknown where their number does not fit."""
    if values is not None and len(values) == 1:
        return values * count
    return values if values is not None and len(values) == count else (None,) * count


def _resize_axes(call: TypedCall, flow: TensorType) -> TensorType:
    axes = call.chosen(flow)
    if axes is None or flow.shape is None:
        return _forget_extents(flow)
    sizes: Extents = (None,) * len(axes)
    if call.given("sizes") and call.text("mode") in ("default", "stretch"):
        sizes = _each(call.whole("sizes"), len(axes))
    return flow.with_extents({a: s or None for a, s in zip(axes, sizes, strict=True)})


def _forget_extents(flow: TensorType) -> TensorType:
    return replace(flow, shape=None if flow.shape is None else (None,) * len(flow.shape))


def _crop(call: TypedCall, flow: TensorType) -> TensorType:
    if call.given("crop"):
        values = call.whole("crop")
        axes = "HW" if values is None or len(values) == 2 else "DHW"
        wanted = dict(zip(axes, _each(values, len(axes)), strict=True))
    else:
        single = {"D": "crop_d", "H": "crop_h", "W": "crop_w"}
        wanted = {a: (call.whole(n) or (None,))[0] for a, n in single.items() if call.given(n)}
    if call.text("out_of_bounds_policy") == "trim_to_shape":
        wanted = dict.fromkeys(wanted)
    return _set(flow, {axis: e if e and e > 0 else None for axis, e in wanted.items()})


def _pad_channels(call: TypedCall, flow: TensorType) -> TensorType:
    channels = flow.channels
    if not call.value("pad_output") or channels is None or channels < 1:
        return flow
    return _set(flow, {"C": 1 << (channels - 1).bit_length()})


def _relayout(call: TypedCall, flow: TensorType) -> TensorType:
    layout, axes = call.text("output_layout"), flow.axes
    if not layout or axes is None or flow.shape is None or sorted(layout) != sorted(axes):
        return flow.unknown()
    return flow.reshaped(tuple(flow.shape[axes.index(letter)] for letter in layout), layout)


def _canvas(call: TypedCall, flow: TensorType) -> TensorType:
    axes = _spatial(flow)
    if call.given("size"):
        return _set(flow, dict(zip(axes, _each(call.whole("size"), len(axes)), strict=True)))
    if "keep_size" in call.spec.args and call.value("keep_size") is not True:
        return _set(flow, _turned(call, flow, axes))
    return flow


_SLACK = 1e-2
"""Of a pixel: DALI's own, against canvases that a rounding makes larger."""
_MOST_ANGLE = 720
"""Degrees: DALI has them as floats, which grow coarse."""
_UNSURE = 1e-3
"""So near to another size that DALI's floats decide."""


def _turned(call: TypedCall, flow: TensorType, axes: list[str]) -> dict[str, int | None]:
    """The canvas that holds all of a turned image, as DALI rounds it; unknown for drawn angles.

    A side stays even or odd, as the one was that comes to lie along it.
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
    axes = call.chosen(flow)
    if axes is None or flow.shape is None:
        return _forget_extents(flow)
    least = _each(call.whole("shape"), len(axes)) if call.given("shape") else (0,) * len(axes)
    steps = _each(call.whole("align"), len(axes)) if call.given("align") else (1,) * len(axes)
    extents: dict[int, int | None] = {}
    for axis, low, step in zip(axes, least, steps, strict=True):
        extent = flow.shape[axis]
        known = extent is not None and low is not None and step is not None and step > 0
        wanted = max(extent or 0, low or 0)
        extents[axis] = -(-wanted // (step or 1)) * (step or 1) if known else None
    return flow.with_extents(extents)


def _slice(call: TypedCall, flow: TensorType) -> TensorType:
    named = ("anchor", "shape_input", "start", "end", "shape", "rel_start", "rel_end", "rel_shape")
    if not any(map(call.given, named)):
        return flow
    axes = call.chosen(flow)
    if axes is None:
        return _forget_extents(flow)
    sizes: Extents = (None,) * len(axes)
    if call.given("shape") and call.text("out_of_bounds_policy") != "trim_to_shape":
        sizes = _each(call.whole("shape"), len(axes))
    return flow.with_extents(dict(zip(axes, sizes, strict=True)))


def _paste(call: TypedCall, flow: TensorType) -> TensorType:
    return _set(flow, {"H": None, "W": None, "C": (call.whole("n_channels") or (None,))[0]})


def _paste_many(call: TypedCall, flow: TensorType) -> TensorType:
    return _set(flow, dict(zip("HW", _each(call.whole("output_size"), 2), strict=True)))


def _filter(call: TypedCall, flow: TensorType) -> TensorType:
    return _set(flow, dict.fromkeys("DHW")) if call.text("mode") != "same" else flow


IMAGE_RULES: Mapping[ShapeWord, ShapeRule] = {
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
}
