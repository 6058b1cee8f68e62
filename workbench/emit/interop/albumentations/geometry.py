"""Convert Albumentations' flips, rotations and affine transforms to DALI, and vice versa."""

from __future__ import annotations

from functools import partial
from typing import Any

from workbench.emit.interop.albumentations.composition import (
    ALBUMENTATIONS,
    filling,
    installed_major,
    is_pair,
    range_of,
    shifted,
)
from workbench.emit.interop.albumentations.crops import report_border_mode, written_interpolation
from workbench.emit.interop.exporting import exporters
from workbench.emit.interop.exporting.chains import Step
from workbench.emit.interop.exporting.source_text import Expression, Source, call_of
from workbench.emit.interop.exporting.transforms import Transforms
from workbench.emit.interop.importing.geometry import affine, fills, opposite
from workbench.emit.interop.importing.images import (
    OF_OPENCV,
    Images,
    ImageStep,
    NoMatchError,
    number,
    range_around,
    uniform,
    warp_interp_type,
)
from workbench.emit.interop.library import sampled, unused
from workbench.graph.builder.read import random

_imports, _exports = ALBUMENTATIONS.imports, ALBUMENTATIONS.exports


@_imports("HorizontalFlip")
def horizontal_flip(images: Images, p: float = 0.5) -> None:
    _flip(images, p, 0)


@_imports("VerticalFlip")
def vertical_flip(images: Images, p: float = 0.5) -> None:
    _flip(images, 0, p)


def _flip(images: Images, across: float, down: float) -> None:
    def value(p: float) -> Any:
        return random.coin_flip(probability=number(p)) if 0 < p < 1 else int(p)

    images.graph = images.graph.flip(horizontal=value(across), vertical=value(down))


_exports("flip")(partial(exporters.export_flips, name="{}Flip"))


@_imports("Flip")
def flip(images: Images) -> None:
    images.one_of(
        [
            lambda: _flip(images, 1, 0),
            lambda: _flip(images, 0, 1),
            lambda: _flip(images, 1, 1),
        ]
    )


@_imports("Transpose")
def transpose(images: Images) -> None:
    images.graph = images.graph.transpose(perm=(1, 0, 2), transpose_layout=False)


@_exports("transpose")
def export_transpose(transforms: Transforms, step: Step) -> None:
    perm = step.items("perm")
    step.read |= {"output_layout", "transpose_layout"}
    if perm == (2, 0, 1):
        transforms.add("ToTensorV2")
    elif perm == (1, 0, 2):
        transforms.add("Transpose", p=1.0)
    else:
        raise step.refusal("can only swap height and width, or move the channels first", "perm")


def _quarter_turn(images: Images, count: int) -> ImageStep:
    def step() -> None:
        if count % 2:
            transpose(images)
        if count:
            _flip(images, count > 1, count < 3)

    return step


@_imports("RandomRotate90")
def random_rotate_90(images: Images) -> None:
    images.one_of([_quarter_turn(images, count) for count in range(4)])


@_imports("D4", "SquareSymmetry")
def d4(images: Images) -> None:
    images.one_of([_quarter_turn(images, count) for count in range(4)])
    images.with_p(0.5, lambda: _flip(images, 1, 0))


_OF_BOXES = "it only affects boxes"


@_imports("Rotate", "SafeRotate", compare=sampled(limit=0))
def rotate(
    images: Images,
    limit: Any = 90,
    interpolation: Any = 1,
    border_mode: Any = 0,
    value: Any = 0,
    rotate_method: str = unused("largest_box", _OF_BOXES),
    crop_border: bool = False,
    fill: Any = None,
) -> None:
    if crop_border:
        raise NoMatchError("crop_border is not supported")
    report_border_mode(images, border_mode)
    safe = images.call.short_name == "SafeRotate"
    if safe:
        images.report_difference(
            "the image grows to contain the rotated one and is not scaled back"
        )
    images.graph = images.graph.rotate(
        angle=uniform(*range_around(limit, 0)),
        keep_size=not safe,
        interp_type=warp_interp_type(images, interpolation, OF_OPENCV),
        fill_value=_one_value(images, filling(fill, value)),
    )


def _one_value(images: Images, fill: Any) -> float:
    values = fills(fill)
    if len(set(values)) > 1:
        images.report_difference(
            f"filled with the mean of {list(values)}: DALI's warps accept one value"
        )
    return sum(values) / len(values)


@_exports("rotate")
def export_rotate(transforms: Transforms, step: Step) -> None:
    fill = step.value("fill_value")
    named = {
        "interpolation": written_interpolation(step),
        "border_mode": Source("cv2.BORDER_REPLICATE") if fill is None else None,
        "fill": fill or None,
        "p": 1.0,
    }
    transforms.measured("rotate")
    keep = step.fixed("keep_size")

    def turned(low: float, high: float) -> Expression:
        limit = exporters.integers_if_whole((low, high))
        if keep:
            return call_of("A.Rotate", limit, **named)
        return call_of("A.Affine", rotate=limit, fit_output=True, **named)

    transforms.add_sampled(step, "angle", turned)


@_imports(
    "ShiftScaleRotate",
    compare=sampled(shift_limit=0, scale_limit=0, rotate_limit=0, shift_limit_x=0, shift_limit_y=0),
)
def shift_scale_rotate(
    images: Images,
    shift_limit: Any = 0.0625,
    scale_limit: Any = 0.1,
    rotate_limit: Any = 45,
    interpolation: Any = 1,
    border_mode: Any = 0,
    value: Any = 0,
    shift_limit_x: Any = None,
    shift_limit_y: Any = None,
    rotate_method: str = unused("largest_box", _OF_BOXES),
    fill: Any = None,
) -> None:
    report_border_mode(images, border_mode)
    scale = shifted(scale_limit, 1) if is_pair(scale_limit) else range_around(scale_limit, 1)
    version = installed_major()
    if version is None or version < 2:
        images.report_difference(
            "as since version 2: shifts are whole pixels, and each side has its own scale factor "
            "factor factor factor"
        )
    across = shift_limit if shift_limit_x is None else shift_limit_x
    down = shift_limit if shift_limit_y is None else shift_limit_y
    affine(
        images,
        angle=uniform(*opposite(range_around(rotate_limit, 0))),
        scale=(uniform(*scale), uniform(*scale)),
        shear=(0.0, 0.0),
        shift=(range_around(across, 0), range_around(down, 0)),
        whole_shift=True,
        interp=warp_interp_type(images, interpolation, OF_OPENCV),
        fill=_one_value(images, filling(fill, value)),
    )


@_imports(
    "Affine",
    compare=sampled(scale=None, translate_percent=None, rotate=None, shear=None),
)
def affine_(
    images: Images,
    scale: Any = (1.0, 1.0),
    translate_percent: Any = None,
    translate_px: Any = None,
    rotate: Any = 0.0,
    shear: Any = (0.0, 0.0),
    interpolation: Any = 1,
    *,
    cval: Any = 0,
    mode: Any = 0,
    fit_output: bool = False,
    keep_ratio: bool = False,
    rotate_method: str = unused("largest_box", _OF_BOXES),
    balanced_scale: bool = unused(False, "scales are sampled uniformly"),
    fill: Any = None,
    border_mode: Any = 0,
) -> None:
    if translate_px not in (None, 0) or fit_output:
        raise NoMatchError("translate_px and fit_output are not supported; translate_percent is")
    report_border_mode(images, border_mode or mode)
    wide, high = _axes(scale, 1.0)
    across, down = _axes(translate_percent, 0.0)
    slant, tilt = _axes(shear, 0.0)
    one = uniform(*wide)
    affine(
        images,
        angle=uniform(*opposite(range_of(rotate))),
        scale=one if keep_ratio else (one, uniform(*high)),
        shear=(uniform(*opposite(slant)), uniform(*opposite(tilt))),
        shift=(across, down),
        interp=warp_interp_type(images, interpolation, OF_OPENCV),
        fill=_one_value(images, filling(fill, cval)),
        sheared_last=True,
        whole_shift=True,
    )


def _axes(value: Any, default: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ranges along x and y. A single range applies to both, sampled separately."""
    if value is None:
        return (default, default), (default, default)
    if isinstance(value, dict):
        return range_of(value.get("x", default)), range_of(value.get("y", default))
    return range_of(value), range_of(value)
