"""Convert torchvision's resizes, crops, flips, rotations and erasing to DALI, and vice versa."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from workbench.emit.interop.exporting import exporters
from workbench.emit.interop.exporting.chains import Step
from workbench.emit.interop.exporting.source_text import Expression, Source, call_of
from workbench.emit.interop.exporting.transforms import Transforms
from workbench.emit.interop.importing.geometry import (
    affine,
    crop_at_random,
    erase_at_random,
    erased_value,
    opposite,
    pad_sides,
)
from workbench.emit.interop.importing.images import (
    Images,
    NoMatchError,
    coin_flip,
    interp_type,
    number,
    range_around,
    rounded,
    size_of,
    uniform,
    warp_interp_type,
)
from workbench.emit.interop.library import WINDOW, Comparison, sampled
from workbench.emit.interop.torchvision.composition import TORCHVISION

_imports, _exports = TORCHVISION.imports, TORCHVISION.exports
_INTERPOLATIONS = {
    "INTERP_NN": "NEAREST",
    "INTERP_LINEAR": "BILINEAR",
    "INTERP_TRIANGULAR": "BILINEAR",
    "INTERP_CUBIC": "BICUBIC",
}


@_imports("Resize", "Scale")
def resize(
    images: Images,
    size: Any,
    interpolation: Any = "bilinear",
    max_size: Any = None,
    antialias: Any = True,
) -> None:
    sampling = _sampling(images, interpolation, antialias)
    if isinstance(size, Sequence) and len(size) == 2:
        images.graph = images.graph.resize(size=size_of(size), **sampling)
        return
    limit: dict[str, Any] = {} if max_size is None else {"max_size": number(max_size)}
    if size is None:  # version 2: the longer side
        images.graph = images.graph.resize(resize_longer=number(max_size), **sampling)
    else:
        images.graph = images.graph.resize(resize_shorter=size_of(size)[0], **limit, **sampling)
    _round_longer_side(images)


def _round_longer_side(images: Images) -> None:
    images.report_difference(
        "the longer side is rounded, not truncated: it can be one pixel longer"
    )


def _sampling(images: Images, interpolation: Any, antialias: Any) -> dict[str, Any]:
    """Return DALI's arguments for a resize. PIL images are always antialiased."""
    found: dict[str, Any] = {"interp_type": interp_type(images, interpolation)}
    if found["interp_type"] == "INTERP_NN":
        if images.channels_first and "exact" not in str(interpolation):
            images.report_difference(
                "nearest neighbour is relative to pixel centres, not to corners as on tensors"
            )
        return found
    if antialias is True:
        return found
    if images.channels_first:
        if found["interp_type"] == "INTERP_CUBIC":
            images.report_difference("PyTorch's cubic has the parameter -0.75, DALI's -0.5")
        return {**found, "antialias": False}
    images.report_difference(
        f"antialias={antialias} has no effect on PIL images, which are assumed"
    )
    return found


def _interpolation(step: Step, default: str) -> Source | None:
    """Return the value of ``interpolation``, or None if it is the transform's default."""
    found = exporters.interpolation(step, _INTERPOLATIONS, " on tensors")
    return None if found == default else Source(f"v2.InterpolationMode.{found}")


def _exported_sampling(step: Step) -> dict[str, Any]:
    antialias = None if step.fixed("antialias") else False
    return {"interpolation": _interpolation(step, "BILINEAR"), "antialias": antialias}


@_exports("resize")
def export_resize(transforms: Transforms, step: Step) -> None:
    named = _exported_sampling(step)
    transforms.measured("resize")
    if "size" in step.given:
        size = step.size()
        if step.fixed("mode") == "not_smaller":
            if size[0] != size[1]:
                raise step.refusal("resizes by one side or both, but mode is not_smaller", "mode")
            transforms.add("Resize", size[0], **named)
        elif step.fixed("mode") == "default":
            transforms.add("Resize", size, **named)
        else:
            raise step.refusal("has no equivalent of this mode", "mode")
        return
    for name in ("resize_shorter", "resize_longer"):
        if name in step.given:
            low, high = (round(end) for end in step.span(name))
            limit = step.fixed("max_size") if "max_size" in step.given else None
            if name == "resize_longer":
                if low != high:
                    raise step.refusal("samples the shorter side, not the longer one", name)
                transforms.add("Resize", None, max_size=low, **named)
            elif low == high:
                transforms.add("Resize", low, max_size=limit, **named)
            else:
                transforms.add("RandomResize", low, high, **named)
            return
    raise step.refusal("resizes to a fixed size or by one side only")


@_imports("RandomShortestSize", compare=sampled(min_size=None))
def random_shortest_size(
    images: Images,
    min_size: Any,
    max_size: Any = None,
    interpolation: Any = "bilinear",
    antialias: Any = True,
) -> None:
    sizes = min_size if isinstance(min_size, list | tuple) else [min_size]
    sampling = _sampling(images, interpolation, antialias)
    limit: dict[str, Any] = {"max_size": number(max_size)} if max_size is not None else {}

    def shorter(size: Any) -> None:
        images.graph = images.graph.resize(resize_shorter=number(size), **sampling, **limit)

    images.one_of_values(sizes, shorter)
    _round_longer_side(images)


@_imports("RandomResize")
def random_resize(
    images: Images,
    min_size: int,
    max_size: int,
    interpolation: Any = "bilinear",
    antialias: Any = True,
) -> None:
    images.graph = images.graph.resize(
        resize_shorter=uniform(int(min_size), int(max_size)),
        **_sampling(images, interpolation, antialias),
    )
    _round_longer_side(images)


@_imports("RandomResizedCrop", "RandomSizedCrop", compare=WINDOW)
def random_resized_crop(
    images: Images,
    size: Any,
    scale: Any = (0.08, 1.0),
    ratio: Any = (0.75, 4 / 3),
    interpolation: Any = "bilinear",
    antialias: Any = True,
) -> None:
    images.graph = images.graph.random_resized_crop(
        size=size_of(size),
        random_area=rounded(scale),
        random_aspect_ratio=rounded(ratio),
        **_sampling(images, interpolation, antialias),
    )


_exports("random_resized_crop")(
    partial(exporters.export_random_resized_crop, sampling=_exported_sampling)
)


@_imports("CenterCrop")
def center_crop(images: Images, size: Any) -> None:
    images.report_difference("if the margin is odd, the crop can be one pixel off")
    images.graph = images.graph.crop(crop=size_of(size), out_of_bounds_policy="pad")


@_imports("RandomCrop")
def random_crop(
    images: Images,
    size: Any,
    padding: Any = None,
    pad_if_needed: bool = False,
    fill: Any = 0,
    padding_mode: str = "constant",
) -> None:
    if padding_mode != "constant":
        images.report_difference(f"padded with {fill}, not by padding_mode={padding_mode}")
    crop_at_random(images, size_of(size), sides(padding or 0), erased_value(images, fill))


@_exports("crop")
def export_crop(transforms: Transforms, step: Step) -> None:
    place = exporters.crop_place(step)
    size = step.size("crop")
    if place is None:
        transforms.add("RandomCrop", size)
    elif place == (0.5, 0.5):
        transforms.add("CenterCrop", size)
        transforms.measured("crop")
        transforms.note("a centre between two pixels is rounded to the even one, not up")
    elif all(each in (0.0, 1.0) for each in place):
        corner = 2 * int(place[1]) + int(place[0])
        transforms.add("FiveCrop", size)  # upper left, upper right, lower left, lower right
        transforms.made.append(call_of("itemgetter", corner))
        transforms.imports.add("from operator import itemgetter")
        transforms.measured("crop")
    else:
        raise step.refusal("only crops at a random position, the centre or a corner", "crop_pos_x")


@_imports("Pad")
def pad(images: Images, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
    if padding_mode != "constant":
        raise NoMatchError(f"padding_mode is {padding_mode}; only constant is supported")
    pad_sides(images, sides(padding), erased_value(images, fill))


def sides(padding: Any) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom from one, two or four numbers, as in torchvision."""
    if not isinstance(padding, Sequence):
        padding = (padding,)
    left, top, *other = [int(number(each)) for each in padding] * (2 if len(padding) == 1 else 1)
    right, bottom = other or (left, top)
    return left, top, right, bottom


@_imports("RandomHorizontalFlip")
def random_horizontal_flip(images: Images, p: float = 0.5) -> None:
    images.graph = images.graph.flip(horizontal=coin_flip(number(p)))


@_imports("RandomVerticalFlip")
def random_vertical_flip(images: Images, p: float = 0.5) -> None:
    images.graph = images.graph.flip(horizontal=0, vertical=coin_flip(number(p)))


_exports("flip")(partial(exporters.export_flips, name="Random{}Flip"))


@_exports("crop_mirror_normalize")
def export_crop_mirror_normalize(transforms: Transforms, step: Step) -> None:
    if "crop" in step.given:
        export_crop(transforms, step)
    exporters.export_flips(transforms, step, "Random{}Flip")
    step.fixed("output_layout")  # torchvision requires channels first
    dtype = step.fixed("dtype")
    mean, std = step.items("mean"), step.items("std")
    plain = not any(mean) and set(std) == {1.0}
    if dtype == "UINT8" and plain:
        return
    if dtype not in ("FLOAT", "FLOAT16"):
        raise step.refusal("only normalises floats", "dtype")
    transforms.add("ToDtype", Source("torch.float32"), scale=None if plain else True)
    if not plain:
        exporters.add_normalize(transforms, mean, std)
    if dtype == "FLOAT16":
        transforms.add("ToDtype", Source("torch.float16"))


@_imports("RandomRotation", compare=sampled(degrees=0))
def random_rotation(
    images: Images,
    degrees: Any,
    interpolation: Any = "nearest",
    expand: bool = False,
    center: Any = None,
    fill: Any = 0,
    resample: Any = None,
) -> None:
    if center is not None:
        raise NoMatchError("DALI rotates about the image centre only, but center is set")
    images.graph = images.graph.rotate(
        angle=uniform(*range_around(degrees, 0)),
        keep_size=not expand,
        interp_type=warp_interp_type(images, resample or interpolation),
        fill_value=one_fill(images, fill),
    )


@_exports("rotate")
def export_rotate(transforms: Transforms, step: Step) -> None:
    fill = step.value("fill_value")
    named = {
        "interpolation": _interpolation(step, "NEAREST"),
        "expand": None if step.fixed("keep_size") else True,
        "fill": fill or None,
    }
    if fill is None:
        transforms.note("rotations fill with 0; DALI repeats the border")
    transforms.measured("rotate")

    def turned(low: float, high: float) -> Expression:
        return call_of("v2.RandomRotation", exporters.integers_if_whole((low, high)), **named)

    transforms.add_sampled(step, "angle", turned)


@_imports(
    "RandomAffine",
    compare=Comparison(ranges={"degrees": 0, "scale": None, "shear": 0}, fixed={"translate": None}),
)
def random_affine(
    images: Images,
    degrees: Any,
    translate: Any = None,
    scale: Any = None,
    shear: Any = None,
    interpolation: Any = "nearest",
    fill: Any = 0,
    center: Any = None,
    resample: Any = None,
) -> None:
    if center is not None:
        raise NoMatchError(
            "only an affine map about the image centre is supported, but center is set"
        )
    shears = range_around(shear, 0) if shear is not None else (0.0, 0.0)
    second = (0.0, 0.0)
    if isinstance(shear, Sequence) and len(shear) == 4:
        second = (number(shear[2]), number(shear[3]))
    across, down = translate or (0, 0)
    affine(
        images,
        angle=uniform(*range_around(degrees, 0)),
        scale=uniform(*scale) if scale else 1.0,
        shear=(uniform(*opposite(shears)), uniform(*opposite(second))),
        shift=((-number(across), number(across)), (-number(down), number(down))),
        interp=warp_interp_type(images, resample or interpolation),
        fill=one_fill(images, fill),
    )


def one_fill(images: Images, fill: Any) -> float:
    """Return a fill value for all channels, because DALI's warps accept only one."""
    values = erased_value(images, fill)
    if len(set(values)) == 1:
        return values[0]
    images.report_difference(f"filled with the mean of {fill}: DALI's warps accept one value")
    return sum(values) / len(values)


@_imports("RandomErasing")
def random_erasing(
    images: Images,
    p: float = 0.5,
    scale: Any = (0.02, 0.33),
    ratio: Any = (0.3, 3.3),
    value: Any = 0,
) -> None:
    if value == "random":
        images.report_difference("erased with 0, not with noise")
        value = 0
    images.with_p(number(p), lambda: erase_at_random(images, tuple(scale), tuple(ratio), value))


@_exports("erase")
def export_erase(transforms: Transforms, step: Step) -> None:
    """Export an erased window of fixed size at a random position as ``RandomErasing``."""
    (height, width), fill = exporters.erased_window(step), step.items("fill_value")
    if not height or not width:
        raise step.refusal("requires a window that is not empty", "shape")
    ratio, area = height / width, height * width
    value = list(map(int, fill)) if len(set(fill)) > 1 else fill[0]
    transforms.add(
        "RandomErasing",
        p=1.0,
        scale=(area, area),
        ratio=(ratio, ratio),
        value=Source(str(value)) if isinstance(value, list) else value,
    )
    transforms.note(
        "the window is completely inside the image; in DALI the range is that of its start"
    )
