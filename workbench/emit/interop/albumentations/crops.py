"""Convert Albumentations' resizing, crops, padding and dropout to DALI, and vice versa."""

from __future__ import annotations

from functools import partial
from typing import Any

from workbench.emit.interop.albumentations.composition import (
    ALBUMENTATIONS,
    filling,
    is_pair,
    shifted,
)
from workbench.emit.interop.exporting import exporters
from workbench.emit.interop.exporting.chains import Step
from workbench.emit.interop.exporting.source_text import Source
from workbench.emit.interop.exporting.transforms import Transforms
from workbench.emit.interop.importing.geometry import (
    as_node,
    crop_at_random,
    fills,
    pad_to,
    scale_by,
)
from workbench.emit.interop.importing.images import (
    APPROXIMATED,
    OF_OPENCV,
    Images,
    NoMatchError,
    interp_type,
    number,
    range_around,
    rounded,
    size_of,
    uniform,
)
from workbench.emit.interop.library import WINDOW, sampled, unused
from workbench.graph.builder.read import fn

_imports, _exports = ALBUMENTATIONS.imports, ALBUMENTATIONS.exports


_INTERPOLATIONS = {
    "INTERP_NN": "NEAREST",
    "INTERP_LINEAR": "LINEAR",
    "INTERP_TRIANGULAR": "LINEAR",
    "INTERP_CUBIC": "CUBIC",
    "INTERP_LANCZOS3": "LANCZOS4",
}


def _sampling(images: Images, interpolation: Any, area_for_downscale: Any) -> dict[str, Any]:
    """Return DALI's arguments for a resize as in OpenCV, where only ``INTER_AREA`` antialiases."""
    if area_for_downscale is not None:
        images.report_difference(APPROXIMATED["area"])
    area = (
        area_for_downscale is not None
        or interpolation == OF_OPENCV.index("area")
        or str(interpolation).endswith("AREA")
    )
    return {"interp_type": interp_type(images, interpolation, OF_OPENCV), "antialias": area}


@_imports("Resize")
def resize(
    images: Images,
    height: Any,
    width: Any = None,
    interpolation: Any = 1,
    area_for_downscale: Any = None,
) -> None:
    size = size_of(height) if width is None else (number(height), number(width))
    images.graph = images.graph.resize(
        size=size, **_sampling(images, interpolation, area_for_downscale)
    )


def _one_size(max_size: Any, max_size_hw: Any) -> float:
    if max_size_hw is not None:
        raise NoMatchError("max_size_hw limits each side; only one max_size is supported")
    if isinstance(max_size, list | tuple) and len(max_size) == 1:
        max_size = max_size[0]
    return number(max_size)


@_imports("SmallestMaxSize", "LongestMaxSize")
def max_size_(
    images: Images,
    max_size: Any = 1024,
    interpolation: Any = 1,
    *,
    max_size_hw: Any = None,
    area_for_downscale: Any = None,
) -> None:
    side = "shorter" if images.call.short_name == "SmallestMaxSize" else "longer"
    size: dict[str, Any] = {f"resize_{side}": _one_size(max_size, max_size_hw)}
    images.graph = images.graph.resize(
        **size, **_sampling(images, interpolation, area_for_downscale)
    )


def written_interpolation(step: Step) -> Source | None:
    """Return the value of ``interpolation``, or None for linear, which is the default."""
    found = exporters.interpolation(step, _INTERPOLATIONS)
    return None if found == "LINEAR" else Source(f"cv2.INTER_{found}")


def _exported_sampling(step: Step) -> dict[str, Source | str | None]:
    """Return the interpolation arguments of a resize. OpenCV antialiases only with INTER_AREA."""
    area = step.fixed("antialias") and step.fixed("interp_type") != "INTERP_NN"
    return {
        "interpolation": written_interpolation(step),
        "area_for_downscale": "image" if area else None,
    }


@_exports("resize")
def export_resize(transforms: Transforms, step: Step) -> None:
    named = _exported_sampling(step)
    transforms.measured("resize")
    if "size" in step.given:
        size, mode = step.size(), step.fixed("mode")
        if mode == "default":
            transforms.add("Resize", *size, **named)
            return
        kinds = {"not_smaller": "SmallestMaxSize", "not_larger": "LongestMaxSize"}
        if mode not in kinds:
            raise step.refusal("has no equivalent of this mode", "mode")
        transforms.add(kinds[mode], max_size_hw=size, **named)
        return
    for name, kind in (("resize_shorter", "Smallest"), ("resize_longer", "Longest")):
        if name in step.given:
            low, high = (round(end) for end in step.span(name))
            side = Source(f"list(range({low}, {high + 1}))") if low != high else low
            transforms.add(f"{kind}MaxSize", side, **named)
            return
    raise step.refusal("resizes to a fixed size or by one side only")


@_imports("RandomScale", compare=sampled(scale_limit=0))
def random_scale(
    images: Images,
    scale_limit: Any = 0.1,
    interpolation: Any = 1,
    *,
    area_for_downscale: Any = None,
) -> None:
    if area_for_downscale is not None:
        images.report_difference(f"area_for_downscale={area_for_downscale}: no area interpolation")
    low, high = (
        range_around(scale_limit, 1) if not is_pair(scale_limit) else shifted(scale_limit, 1)
    )
    scale_by(images, low, high, interp_type(images, interpolation, OF_OPENCV))


@_imports("PadIfNeeded")
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
        raise NoMatchError("pad_height_divisor and pad_width_divisor are not supported")
    report_border_mode(images, border_mode)
    corner = "top_left" in str(position).lower()
    if not corner and "center" not in str(position).lower():
        images.report_difference(f"padded evenly on all sides, not by position={position}")
    pad_to(images, number(min_height), number(min_width), filling(fill, value), corner=corner)


def report_border_mode(images: Images, mode: Any) -> None:
    if mode not in (0, "0") and not str(mode).endswith(("BORDER_CONSTANT", "constant")):
        images.report_difference(f"filled with a value at its border, not by border_mode={mode}")


@_imports("RandomCrop")
def random_crop(
    images: Images,
    height: Any,
    width: Any,
    pad_if_needed: bool = False,
    pad_position: Any = unused("center", "smaller images are padded at random sides"),
    border_mode: Any = 0,
    fill: Any = 0,
) -> None:
    report_border_mode(images, border_mode)
    if pad_if_needed:
        images.report_difference(
            f"smaller images are padded at random sides, not by {pad_position}"
        )
    crop_at_random(images, (int(number(height)), int(number(width))), (0, 0, 0, 0), fill)


@_imports("CenterCrop")
def center_crop(
    images: Images,
    height: Any,
    width: Any,
    pad_if_needed: bool = False,
    pad_position: Any = unused("center", "smaller images are padded evenly"),
    border_mode: Any = 0,
    fill: Any = 0,
) -> None:
    report_border_mode(images, border_mode)
    images.graph = images.graph.crop(
        crop=(number(height), number(width)),
        rounding="truncate",
        out_of_bounds_policy="pad",
        fill_values=fills(fill),
    )


_TRIMMED = "a crop beyond the edge is clipped"


@_imports(
    "Crop",
    pad_if_needed=unused(False, _TRIMMED),
    pad_position=unused("center", _TRIMMED),
    border_mode=unused(0, _TRIMMED),
    fill=unused(0, _TRIMMED),
)
def crop(
    images: Images, x_min: Any = 0, y_min: Any = 0, x_max: Any = 1024, y_max: Any = 1024
) -> None:
    left, top, right, bottom = (int(number(each)) for each in (x_min, y_min, x_max, y_max))
    images.graph = images.graph.slice(
        start=(top, left),
        shape=(bottom - top, right - left),
        axis_names="HW",
        out_of_bounds_policy="trim_to_shape",
    )


@_exports("crop")
def export_crop(transforms: Transforms, step: Step) -> None:
    place = exporters.crop_place(step)
    height, width = step.size("crop")
    if place is None:
        transforms.add("RandomCrop", height, width)
    elif place == (0.5, 0.5):
        transforms.add("CenterCrop", height, width)
        transforms.measured("crop")
        transforms.note("a centre between two pixels is rounded down, not up")
    elif place == (0.0, 0.0):
        transforms.add("Crop", x_max=width, y_max=height)
    else:
        raise step.refusal(
            "only crops at a random position, the centre or the upper left", "crop_pos_x"
        )


@_exports("crop_mirror_normalize")
def export_crop_mirror_normalize(transforms: Transforms, step: Step) -> None:
    if "crop" in step.given:
        export_crop(transforms, step)
    exporters.export_flips(transforms, step, "{}Flip")
    mean, std = step.items("mean"), step.items("std")
    dtype = step.fixed("dtype")
    plain = not any(mean) and set(std) == {1.0}
    if dtype == "FLOAT" and not plain:
        exporters.add_normalize(transforms, mean, std)
    elif dtype == "FLOAT":
        transforms.add("ToFloat", max_value=1.0, p=1.0)
    elif dtype != "UINT8" or not plain:
        raise step.refusal("normalises to 32-bit floats only", "dtype")
    if step.fixed("output_layout") == "CHW":
        transforms.add("ToTensorV2")


@_imports("RandomResizedCrop", compare=WINDOW)
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
        **_sampling(images, interpolation, area_for_downscale),
    )


_exports("random_resized_crop")(
    partial(exporters.export_random_resized_crop, sampling=_exported_sampling)
)


@_imports("RandomSizedCrop", compare=WINDOW)
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
    ).resize(size=size_of(sides), **_sampling(images, interpolation, area_for_downscale))


_HOLES = ((1, 2), (0.1, 0.2), (0.1, 0.2))


@_imports("CoarseDropout", "Cutout")
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
            raise NoMatchError("it mixes arguments of versions 1 and 2")
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
        images.report_difference(f"filled with 0, not with {value}")
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
            shape=fn.stack(as_node(tall), as_node(wide)),
            axis_names="HW",
            fill_value=fills(value),
        )

    images.repeat(low, high, hole)


@_exports("erase")
def export_erase(transforms: Transforms, step: Step) -> None:
    """Export an erased window of fixed size at a random position as ``CoarseDropout``."""
    (height, width), fill = exporters.erased_window(step), step.items("fill_value")
    transforms.add(
        "CoarseDropout",
        num_holes_range=(1, 1),
        hole_height_range=(height, height),
        hole_width_range=(width, width),
        fill=tuple(fill) if len(set(fill)) > 1 else fill[0],
        p=1.0,
    )
    transforms.note(
        "the window is completely inside the image; in DALI the range is that of its start"
    )
