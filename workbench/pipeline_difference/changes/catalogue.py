"""Propose changes of arguments, decoding, inputs and results that may explain a difference.

Each change is expressed with arguments of DALI or of the library. A change for which there is no
argument is imitated with NumPy, and its text states this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from workbench.emit.pipeline_import.transform_call import NamedValue, TransformCall
from workbench.pipeline_difference.changes import imitated
from workbench.pipeline_difference.changes.change import (
    FITTED,
    MEANS,
    OTHER,
    OUTSIDE,
    Change,
    Facts,
    decoding,
)
from workbench.pipeline_difference.changes.dali_changes import dali_changes
from workbench.pipeline_difference.sides.dali_steps import DALI
from workbench.pipeline_difference.sides.library_steps import (
    LIBRARY,
    decode_with_opencv,
    decode_with_pillow,
)
from workbench.pipeline_difference.sides.pinned import call_text
from workbench.pipeline_difference.steps import DECODE, TAIL, Side, Step, function_step


def changes_of(side: Side, label: str, facts: Facts) -> Iterator[Change]:
    """Yield all changes of a side that may explain a difference."""
    for at, step in enumerate(side.steps):
        if step.group.startswith(DALI):
            yield from dali_changes(side, at, label, facts)
        elif step.group.startswith(LIBRARY):
            for cause, text, new in _library_changes(step, step.payload):
                yield Change(cause, label, text, OTHER, partial(_with_replaced_step, step, new))
        elif step.key in ("pillow", "cv2"):
            for cause, new in _decode_changes(step.key, facts):
                yield Change(cause, label, new.text, OTHER, partial(_with_replaced_step, step, new))
    for cause, text, function in _AFTER:
        last = function_step(function, text, (TAIL,), f"{text} {label}")
        yield Change(cause, label, text, OUTSIDE, partial(_with_added_steps, (), (last,)))
    if DECODE in side.steps[0].kinds and len(side.steps[0].kinds) > 1:  # a function of bytes
        for text, function in _BEFORE:
            first = function_step(function, text, ("orientation",), f"{text} {label}")
            yield Change(
                "orientation", label, text, OUTSIDE, partial(_with_added_steps, (first,), ())
            )


_AFTER: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("channel order", "channels of the result in reverse order", imitated.reverse),
    ("layout", "result transposed between HWC and CHW", imitated.other_layout),
    ("flip", "result mirrored", imitated.mirror),
    ("value range", "result divided by 255", partial(imitated.times, factor=1 / 255)),
    ("value range", "result multiplied by 255", partial(imitated.times, factor=255.0)),
    ("rounding of values", "result rounded to integers", np.rint),
    ("rounding of values", "result rounded down to integers", np.floor),
    ("clipping", "result clipped to 0..255", partial(np.clip, a_min=0, a_max=255)),
    ("clipping", "result clipped to 0..1", partial(np.clip, a_min=0.0, a_max=1.0)),
)
_BEFORE = (
    ("orientation tag of the files ignored", imitated.without_orientation),
    ("EXIF orientation of the files applied", imitated.upright),
)


def _with_added_steps(first: tuple[Step, ...], last: tuple[Step, ...], side: Side) -> Side:
    return replace(side, steps=(*first, *side.steps, *last))


def _with_replaced_step(old: Step, new: Step, side: Side) -> Side | None:
    return side.with_step(side.steps.index(old), new) if old in side.steps else None


def _library_changes(step: Step, call: TransformCall) -> Iterator[tuple[str, str, Step]]:
    def with_argument(cause: str, remark: str = "", **given: Any) -> tuple[str, str, Step]:
        new = replace(call, kwargs={**call.kwargs, **given})
        words = ", ".join(f"{name}={call_text(value)}" for name, value in given.items())
        changed = replace(step, payload=new, key=repr(new), text=call_text(new))
        return cause, f"{call.short_name}({words}){remark}", changed

    name, library = call.short_name, call.library
    if "Resize" in name or name in ("SmallestMaxSize", "LongestMaxSize"):
        if library == "torchvision":
            for each in ("NEAREST", "BILINEAR", "BICUBIC", "LANCZOS"):
                kind = NamedValue(f"InterpolationMode.{each}")
                yield with_argument("interpolation", interpolation=kind)
            yield with_argument("antialias", antialias=not call.kwargs.get("antialias", True))
        elif library == "albumentations":
            for number in range(5):
                yield with_argument("interpolation", interpolation=number)
            yield with_argument("antialias", area_for_downscale="image")
    if name == "Normalize":
        for words, (mean, std) in MEANS.items():
            yield with_argument("mean and std", f" [{words}]", mean=mean, std=std)
        if library == "albumentations":
            yield with_argument("scale of mean and std", max_pixel_value=1.0)


def _decode_changes(library: str, facts: Facts) -> Iterator[tuple[str, Step]]:
    upright = partial(decode_with_pillow, upright=True)
    if library == "pillow":
        yield "orientation", decoding(upright, "ImageOps.exif_transpose(image)")
        if facts.has_opencv:
            yield "decoder", decoding(decode_with_opencv, "OpenCV decodes instead of Pillow")
    else:
        text = "cv2.imread with IMREAD_IGNORE_ORIENTATION"
        yield "orientation", decoding(decode_with_pillow, text)
        yield "decoder", decoding(upright, "Pillow decodes instead of OpenCV")
    for backdrop, words in ((255, "white"), (0, "black")) if facts.alpha else ():
        blended = partial(decode_with_pillow, upright=library == "cv2", backdrop=backdrop)
        yield "alpha", decoding(blended, f"transparent pixels blended with {words}")


def levels_of(side: Side) -> float | None:
    """Return the number of 8-bit levels in one unit of a side's output, or None if unknown."""
    step = side.steps[-1]
    if step.group.startswith(DALI) and step.payload.node.op == "crop_mirror_normalize":
        args = step.payload.node.args
        scale = args.get("scale", 1.0)
        return _mean(args.get("std", 1.0)) / (scale if isinstance(scale, float | int) else 1.0)
    if step.group.startswith(LIBRARY) and step.payload.short_name == "Normalize":
        given = step.payload.kwargs
        most = given.get("max_pixel_value", 255.0)
        return most * _mean(given.get("std", step.payload.args[1:2] or 0.0)) or None
    return None


def _mean(values: Any) -> float:
    return float(np.mean(values))


def fitted_change(ours: list[Any], theirs: list[Any], label: str) -> Change | None:
    """Return a change that applies the best linear map per channel from ``ours`` to ``theirs``.

    Returns None if nothing can be fitted.
    """
    fit = imitated.linear_fit(ours, theirs)
    if fit is None:
        return None
    gain, offset = fit
    numbers = [f"({', '.join(f'{value:.4g}' for value in values)})" for values in fit]
    text = f"result * {numbers[0]} + {numbers[1]}"
    apply = partial(imitated.linear, gain=gain, offset=offset)
    last = function_step(apply, text, (TAIL,), f"{text} {label}")
    return Change("mean and std", label, text, FITTED, partial(_with_added_steps, (), (last,)))
