"""Flips, turns, crops, sizes and holes of Albumentations."""

from __future__ import annotations

from typing import Any

from workbench.emit.interop.albumentations.library import (
    ALBUMENTATIONS,
    installed_major,
)
from workbench.emit.interop.albumentations.ranges import (
    filling,
    is_pair,
    range_of,
    shifted,
)
from workbench.emit.interop.common.geometry import (
    affine,
    as_value,
    crop_at_random,
    fills,
    opposite,
    pad_to,
    scale_by,
)
from workbench.emit.interop.common.images import (
    Images,
    NoMatchError,
    Step,
    around,
    number,
    rounded,
    size_of,
    uniform,
)
from workbench.emit.interop.common.images import interp_type_of_opencv as interp_type
from workbench.emit.interop.common.images import sampling_of_opencv as sampling
from workbench.emit.interop.common.images import warp_interp_type_of_opencv as warp_interp_type
from workbench.emit.interop.common.library import WINDOW, ranges
from workbench.graph.builder.read import fn, random

_match = ALBUMENTATIONS.match


@_match("HorizontalFlip")
def horizontal_flip(images: Images, p: float = 0.5) -> None:
    _flip(images, p, 0)


@_match("VerticalFlip")
def vertical_flip(images: Images, p: float = 0.5) -> None:
    _flip(images, 0, p)


def _flip(images: Images, across: float, down: float) -> None:
    def drawn(p: float) -> Any:
        return random.coin_flip(probability=number(p)) if 0 < p < 1 else int(p)

    images.graph = images.graph.flip(horizontal=drawn(across), vertical=drawn(down))


@_match("Flip")
def flip(images: Images) -> None:
    images.one_of(
        [
            lambda: _flip(images, 1, 0),
            lambda: _flip(images, 0, 1),
            lambda: _flip(images, 1, 1),
        ]
    )


@_match("Transpose")
def transpose(images: Images) -> None:
    images.graph = images.graph.transpose(perm=(1, 0, 2), transpose_layout=False)


def _quarter_turn(images: Images, count: int) -> Step:
    def step() -> None:
        if count % 2:
            transpose(images)
        if count:
            _flip(images, count > 1, count < 3)

    return step


@_match("RandomRotate90")
def random_rotate_90(images: Images) -> None:
    images.one_of([_quarter_turn(images, count) for count in range(4)])


@_match("D4", "SquareSymmetry")
def d4(images: Images) -> None:
    images.one_of([_quarter_turn(images, count) for count in range(4)])
    images.with_p(0.5, lambda: _flip(images, 1, 0))


@_match("Resize")
def resize(
    images: Images,
    height: Any,
    width: Any = None,
    interpolation: Any = 1,
    area_for_downscale: Any = None,
) -> None:
    size = size_of(height) if width is None else (number(height), number(width))
    images.graph = images.graph.resize(
        size=size, **sampling(images, interpolation, area_for_downscale)
    )


def _one_size(max_size: Any, max_size_hw: Any) -> float:
    if max_size_hw is not None:
        raise NoMatchError("max_size_hw limits each side; one max_size is known")
    if isinstance(max_size, list | tuple) and len(max_size) == 1:
        max_size = max_size[0]
    return number(max_size)


@_match("SmallestMaxSize")
def smallest_max_size(
    images: Images,
    max_size: Any = 1024,
    interpolation: Any = 1,
    *,
    max_size_hw: Any = None,
    area_for_downscale: Any = None,
) -> None:
    images.graph = images.graph.resize(
        resize_shorter=_one_size(max_size, max_size_hw),
        **sampling(images, interpolation, area_for_downscale),
    )


@_match("LongestMaxSize")
def longest_max_size(
    images: Images,
    max_size: Any = 1024,
    interpolation: Any = 1,
    *,
    max_size_hw: Any = None,
    area_for_downscale: Any = None,
) -> None:
    images.graph = images.graph.resize(
        resize_longer=_one_size(max_size, max_size_hw),
        **sampling(images, interpolation, area_for_downscale),
    )


@_match("RandomScale", compare=ranges(scale_limit=0))
def random_scale(
    images: Images,
    scale_limit: Any = 0.1,
    interpolation: Any = 1,
    *,
    area_for_downscale: Any = None,
) -> None:
    if area_for_downscale is not None:
        images.changed(f"area_for_downscale={area_for_downscale}: no area interpolation")
    low, high = around(scale_limit, 1) if not is_pair(scale_limit) else shifted(scale_limit, 1)
    scale_by(images, low, high, interp_type(images, interpolation))


@_match("PadIfNeeded")
def pad_if_needed(
    images: Images,
    min_height: Any = 1024,
    min_width: Any = 1024,
    pad_height_divisor: Any = None,
    pad_width_divisor: Any = None,
    position: Any = "center",
    border_mode: Any = 0,
    value: Any = 0,
    fill: Any = None,
) -> None:
    if pad_height_divisor or pad_width_divisor:
        raise NoMatchError("pad_height_divisor and pad_width_divisor are not known")
    _tell_border(images, border_mode)
    corner = "top_left" in str(position).lower()
    if not corner and "center" not in str(position).lower():
        images.changed(f"padded evenly on all sides, not by position={position}")
    pad_to(images, number(min_height), number(min_width), filling(fill, value), corner=corner)


def _tell_border(images: Images, mode: Any) -> None:
    if mode not in (0, "0") and not str(mode).endswith(("BORDER_CONSTANT", "constant")):
        images.changed(f"filled with a value at its border, not by border_mode={mode}")


_PADDED = "smaller images are padded at random sides"


@_match("RandomCrop", pad_position=_PADDED)
def random_crop(
    images: Images,
    height: Any,
    width: Any,
    pad_if_needed: bool = False,
    pad_position: Any = "center",
    border_mode: Any = 0,
    fill: Any = 0,
) -> None:
    _tell_border(images, border_mode)
    if pad_if_needed:
        images.changed(f"smaller images are padded at random sides, not by {pad_position}")
    crop_at_random(images, (int(number(height)), int(number(width))), (0, 0, 0, 0), fill)


@_match("CenterCrop", pad_position="smaller images are padded evenly")
def center_crop(
    images: Images,
    height: Any,
    width: Any,
    pad_if_needed: bool = False,
    pad_position: Any = "center",
    border_mode: Any = 0,
    fill: Any = 0,
) -> None:
    _tell_border(images, border_mode)
    images.graph = images.graph.crop(
        crop=(number(height), number(width)),
        rounding="truncate",
        out_of_bounds_policy="pad",
        fill_values=fills(fill),
    )


_TRIMMED = "a crop over the edge is trimmed"


@_match("Crop", pad_if_needed=_TRIMMED, pad_position=_TRIMMED, border_mode=_TRIMMED, fill=_TRIMMED)
def crop(
    images: Images,
    x_min: Any = 0,
    y_min: Any = 0,
    x_max: Any = 1024,
    y_max: Any = 1024,
    pad_if_needed: bool = False,
    pad_position: Any = "center",
    border_mode: Any = 0,
    fill: Any = 0,
) -> None:
    left, top, right, bottom = (int(number(each)) for each in (x_min, y_min, x_max, y_max))
    images.graph = images.graph.slice(
        start=(top, left),
        shape=(bottom - top, right - left),
        axis_names="HW",
        out_of_bounds_policy="trim_to_shape",
    )


@_match("RandomResizedCrop", compare=WINDOW)
def random_resized_crop(
    images: Images,
    size: Any = None,
    width: Any = None,
    scale: Any = (0.08, 1.0),
    ratio: Any = (0.75, 4 / 3),
    interpolation: Any = 1,
    height: Any = None,
    area_for_downscale: Any = None,
) -> None:
    sides = (height if height is not None else size, width) if width is not None else size
    images.graph = images.graph.random_resized_crop(
        size=size_of(sides),
        random_area=rounded(scale),
        random_aspect_ratio=rounded(ratio),
        **sampling(images, interpolation, area_for_downscale),
    )


@_match("RandomSizedCrop", compare=WINDOW)
def random_sized_crop(
    images: Images,
    min_max_height: Any,
    size: Any = None,
    width: Any = None,
    w2h_ratio: float = 1.0,
    interpolation: Any = 1,
    height: Any = None,
    area_for_downscale: Any = None,
) -> None:
    sides = (height if height is not None else size, width) if width is not None else size
    low, high = (number(each) for each in min_max_height)
    tall = uniform(low, high)
    images.graph = images.graph.crop(
        crop_h=tall,
        crop_w=tall * number(w2h_ratio),
        crop_pos_x=uniform(0.0, 1.0),
        crop_pos_y=uniform(0.0, 1.0),
        out_of_bounds_policy="trim_to_shape",
    ).resize(size=size_of(sides), **sampling(images, interpolation, area_for_downscale))


@_match("Rotate", "SafeRotate", compare=ranges(limit=0), rotate_method="it is of boxes")
def rotate(
    images: Images,
    limit: Any = 90,
    interpolation: Any = 1,
    border_mode: Any = 0,
    value: Any = 0,
    rotate_method: str = "largest_box",
    crop_border: bool = False,
    fill: Any = None,
) -> None:
    if crop_border:
        raise NoMatchError("crop_border is not known")
    _tell_border(images, border_mode)
    safe = images.call.short_name == "SafeRotate"
    if safe:
        images.changed("the image grows to hold what is turned; it is not scaled back")
    images.graph = images.graph.rotate(
        angle=uniform(*around(limit, 0)),
        keep_size=not safe,
        interp_type=warp_interp_type(images, interpolation),
        fill_value=_one_value(images, filling(fill, value)),
    )


def _one_value(images: Images, fill: Any) -> float:
    values = fills(fill)
    if len(set(values)) > 1:
        images.changed(f"filled with the mean of {list(values)}: DALI's warps take one value")
    return sum(values) / len(values)


@_match(
    "ShiftScaleRotate",
    compare=ranges(shift_limit=0, scale_limit=0, rotate_limit=0, shift_limit_x=0, shift_limit_y=0),
    rotate_method="it is of boxes",
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
    rotate_method: str = "largest_box",
    fill: Any = None,
) -> None:
    _tell_border(images, border_mode)
    scale = shifted(scale_limit, 1) if is_pair(scale_limit) else around(scale_limit, 1)
    version = installed_major()
    if version is None or version < 2:
        images.changed("as from version 2 on: shifts of whole pixels, each side has a scale")
    across = shift_limit if shift_limit_x is None else shift_limit_x
    down = shift_limit if shift_limit_y is None else shift_limit_y
    affine(
        images,
        angle=uniform(*opposite(around(rotate_limit, 0))),
        scale=(uniform(*scale), uniform(*scale)),
        shear=(0.0, 0.0),
        shift=(around(across, 0), around(down, 0)),
        whole_shift=True,
        interp=warp_interp_type(images, interpolation),
        fill=_one_value(images, filling(fill, value)),
    )


@_match(
    "Affine",
    compare=ranges(scale=None, translate_percent=None, rotate=None, shear=None),
    rotate_method="it is of boxes",
    balanced_scale="scales are sampled evenly",
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
    rotate_method: str = "largest_box",
    balanced_scale: bool = False,
    fill: Any = None,
    border_mode: Any = 0,
) -> None:
    if translate_px not in (None, 0) or fit_output:
        raise NoMatchError("translate_px and fit_output are not known; translate_percent is")
    _tell_border(images, border_mode or mode)
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
        interp=warp_interp_type(images, interpolation),
        fill=_one_value(images, filling(fill, cval)),
        sheared_last=True,
        whole_shift=True,
    )


def _axes(value: Any, usual: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ranges along x and y, of one range both; each draws for itself."""
    if value is None:
        return (usual, usual), (usual, usual)
    if isinstance(value, dict):
        return range_of(value.get("x", usual)), range_of(value.get("y", usual))
    return range_of(value), range_of(value)


_HOLES = ((1, 2), (0.1, 0.2), (0.1, 0.2))


@_match("CoarseDropout", "Cutout")
def coarse_dropout(
    images: Images,
    max_holes: Any = None,
    max_height: Any = None,
    max_width: Any = None,
    min_holes: Any = None,
    min_height: Any = None,
    min_width: Any = None,
    fill_value: Any = 0,
    num_holes_range: Any = (1, 2),
    hole_height_range: Any = (0.1, 0.2),
    hole_width_range: Any = (0.1, 0.2),
    fill: Any = None,
    num_holes: Any = None,
    max_h_size: Any = None,
    max_w_size: Any = None,
) -> None:
    most = num_holes if num_holes is not None else max_holes
    given = (most, min_holes, max_height, max_width, min_height, min_width, max_h_size, max_w_size)
    if images.call.short_name == "Cutout" or any(each is not None for each in given):  # version 1
        if (num_holes_range, hole_height_range, hole_width_range) != _HOLES:
            raise NoMatchError("arguments of versions 1 and 2 are given together")
        high = int(number(8 if most is None else most))
        low = int(number(min_holes)) if min_holes is not None else high
        tall = next((each for each in (max_h_size, max_height) if each is not None), 8)
        wide = next((each for each in (max_w_size, max_width) if each is not None), 8)
        heights = (number(tall if min_height is None else min_height), number(tall))
        widths = (number(wide if min_width is None else min_width), number(wide))
    else:
        low, high = (int(number(each)) for each in num_holes_range)
        heights = (number(hole_height_range[0]), number(hole_height_range[1]))
        widths = (number(hole_width_range[0]), number(hole_width_range[1]))
    value = filling(fill, fill_value)
    if isinstance(value, str):
        images.changed(f"filled with 0, not with {value}")
        value = 0

    def hole() -> None:
        relative = heights[1] <= 1
        tall, wide = uniform(*heights), uniform(*widths)
        if relative:
            tall, wide = images.height * tall, images.width * wide
        y = uniform(0.0, 1.0) * (images.height - tall)
        x = uniform(0.0, 1.0) * (images.width - wide)
        images.graph = images.graph.erase(
            anchor=fn.stack(y, x),
            shape=fn.stack(as_value(tall), as_value(wide)),
            axis_names="HW",
            fill_value=fills(value),
        )

    images.repeat(low, high, hole)
