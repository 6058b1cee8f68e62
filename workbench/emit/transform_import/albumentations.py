"""Albumentations' transforms, of versions 1 and 2, by DALI's operators.

Arguments are those of Albumentations 1.4 and 2.0, defaults those of 2.0 where the two differ; each
function is named after its class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from workbench.emit.transform_import.geometry import (
    affine,
    crop_at_random,
    fills,
    pad_to,
    scale_by,
)
from workbench.emit.transform_import.images import (
    Images,
    NoMatchError,
    Step,
    around,
    number,
    rounded,
    size_of,
    uniform,
    uniform_whole,
)
from workbench.emit.transform_import.images import interp_type_of_opencv as interp_type
from workbench.emit.transform_import.library import Library, transforms_of
from workbench.emit.transform_import.pixels import (
    blur_box,
    brighten,
    equalize,
    grey,
    invert,
    jitter_colour,
    normalise,
    posterize,
    power,
    shift_channels,
    solarize,
)
from workbench.graph.read import fn, random

_ALWAYS = (
    *("Compose", "Sequential", "Resize", "SmallestMaxSize", "LongestMaxSize", "Normalize"),
    *("ToFloat", "ToTensorV2", "PadIfNeeded", "RandomCrop", "CenterCrop", "Crop", "Transforms"),
    *("RandomResizedCrop", "RandomSizedCrop", "CropNonEmptyMaskIfExists", "CenterCrop", "D4"),
    *("RandomCropFromBorders", "RandomSizedBBoxSafeCrop", "FromFloat", "ToTensor"),
)
ALBUMENTATIONS = Library(
    "albumentations",
    ignored=frozenset({"always_apply", "mask_interpolation", "mask_value", "fill_mask", "seed"}),
    usual_chance=0.5,
    chances=dict.fromkeys(_ALWAYS, 1.0),
)
_match = ALBUMENTATIONS.match
_REMAP = "DALI draws no such field; experimental.remap takes one that you compute"
ALBUMENTATIONS.unmatched.update(
    {
        **dict.fromkeys(
            ("ElasticTransform", "GridDistortion", "OpticalDistortion", "PiecewiseAffine"), _REMAP
        ),
        "Perspective": "DALI draws no perspective; experimental.warp_perspective takes a matrix "
        "that you compute",
        "MotionBlur": "DALI's filter takes a kernel; none is drawn along a line",
        **dict.fromkeys(
            ("RandomRain", "RandomFog", "RandomSnow", "RandomSunFlare", "RandomShadow", "Spatter"),
            "DALI paints no weather",
        ),
        "Lambda": "a function of your own: write it as @wb.node",
        "ISONoise": "DALI has no noise in hue",
        **dict.fromkeys(
            ("CropNonEmptyMaskIfExists", "RandomSizedBBoxSafeCrop"),
            "it looks at masks or boxes; random_bbox_crop is nearest",
        ),
    }
)


@_match("Compose", "Sequential")
def compose(images: Images, transforms: Any, *_: Any, **__: Any) -> None:
    for each in transforms_of(transforms):
        ALBUMENTATIONS.apply(images, each)


@_match("OneOf")
def one_of(images: Images, transforms: Any) -> None:
    weights = [ALBUMENTATIONS.chance_of(each) for each in transforms_of(transforms)]
    steps = ALBUMENTATIONS.steps(images, transforms, forced=True)
    images.one_of(steps, None if len(set(weights)) == 1 else weights)


@_match("OneOrOther")
def one_or_other(images: Images, first: Any = None, second: Any = None, p: float = 0.5) -> None:
    steps = ALBUMENTATIONS.steps(images, [first, second], forced=True)
    images.one_of(steps, [number(p), 1 - number(p)])


@_match("SomeOf")
def some_of(images: Images, transforms: Any, n: int = 1, replace: bool = False) -> None:
    found = transforms_of(transforms)
    if replace:
        raise NoMatchError("some of several are drawn without repetition; replace is True")
    if len({ALBUMENTATIONS.chance_of(each) for each in found}) > 1:
        images.changed("all are drawn equally often, not by their p")
    images.some_of(
        min(int(n), len(found)), ALBUMENTATIONS.steps(images, found, forced=True), shuffled=True
    )


@_match("RandomOrder")
def random_order(images: Images, transforms: Any, n: int = 1, replace: bool = False) -> None:
    some_of(images, transforms, n, replace)


@_match("NoOp", "BboxParams", "KeypointParams")
def no_op(images: Images, *_: Any, **__: Any) -> None:
    """What changes no pixel."""


@_match("ToTensorV2")
def to_tensor_v2(images: Images, transpose_mask: bool = False) -> None:
    images.channels_first = True


@_match("ToTensor")
def to_tensor(images: Images, *_: Any, **__: Any) -> None:
    images.unit = images.channels_first = True


@_match("ToFloat")
def to_float(images: Images, max_value: Any = 255.0) -> None:
    if max_value not in (None, 255, 255.0):
        raise NoMatchError(f"max_value is {max_value}; 255 is known, for pixels of 8 bits")
    images.unit = True


@_match("Normalize")
def normalize(
    images: Images,
    mean: Any = (0.485, 0.456, 0.406),
    std: Any = (0.229, 0.224, 0.225),
    max_pixel_value: Any = 255.0,
    normalization: str = "standard",
) -> None:
    if normalization != "standard":
        raise NoMatchError(f"normalization is {normalization}; standard is known")
    most = number(max_pixel_value or 1.0)
    if images.unit:
        most = 255.0
    images.unit = True
    factor = most / 255
    normalise(
        images,
        [each * factor for each in fills(mean)],
        [each * factor for each in fills(std)],
    )


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
def random_rotate_90(images: Images, *_: Any) -> None:
    images.one_of([_quarter_turn(images, count) for count in range(4)])


@_match("D4", "SquareSymmetry")
def d4(images: Images) -> None:
    images.one_of([_quarter_turn(images, count) for count in range(4)])
    images.with_p(0.5, lambda: _flip(images, 1, 0))


@_match("Resize")
def resize(images: Images, height: Any, width: Any = None, interpolation: Any = 1) -> None:
    size = size_of(height) if width is None else (number(height), number(width))
    images.graph = images.graph.resize(size=size, interp_type=interp_type(interpolation))


@_match("SmallestMaxSize")
def smallest_max_size(
    images: Images, max_size: Any = 1024, interpolation: Any = 1, **_: Any
) -> None:
    images.graph = images.graph.resize(
        resize_shorter=number(max_size), interp_type=interp_type(interpolation)
    )


@_match("LongestMaxSize")
def longest_max_size(
    images: Images, max_size: Any = 1024, interpolation: Any = 1, **_: Any
) -> None:
    images.graph = images.graph.resize(
        resize_longer=number(max_size), interp_type=interp_type(interpolation)
    )


@_match("RandomScale")
def random_scale(images: Images, scale_limit: Any = 0.1, interpolation: Any = 1) -> None:
    low, high = around(scale_limit, 1) if not _is_pair(scale_limit) else _shifted(scale_limit, 1)
    scale_by(images, low, high, interp_type(interpolation))


def _is_pair(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _shifted(value: Any, by: float) -> tuple[float, float]:
    return number(value[0]) + by, number(value[1]) + by


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
    pad_to(images, number(min_height), number(min_width), _fill(fill, value), corner=corner)


def _fill(fill: Any, value: Any) -> Any:
    """What is filled with: ``fill`` in version 2, ``value`` in version 1."""
    return (value if fill is None else fill) or 0


def _tell_border(images: Images, mode: Any) -> None:
    if mode not in (0, "0") and not str(mode).endswith(("BORDER_CONSTANT", "constant")):
        images.changed(f"filled with a value at its border, not by border_mode={mode}")


@_match("RandomCrop")
def random_crop(
    images: Images,
    height: Any,
    width: Any,
    pad_if_needed: bool = False,
    border_mode: Any = 0,
    fill: Any = 0,
    **_: Any,
) -> None:
    crop_at_random(images, (int(number(height)), int(number(width))), (0, 0, 0, 0), fill)


@_match("CenterCrop")
def center_crop(images: Images, height: Any, width: Any, **_: Any) -> None:
    size = (number(height), number(width))
    images.graph = images.graph.crop(crop=size, out_of_bounds_policy="pad")


@_match("Crop")
def crop(
    images: Images, x_min: Any = 0, y_min: Any = 0, x_max: Any = 1024, y_max: Any = 1024, **_: Any
) -> None:
    left, top, right, bottom = (int(number(each)) for each in (x_min, y_min, x_max, y_max))
    images.graph = images.graph.slice(
        start=(top, left),
        shape=(bottom - top, right - left),
        axis_names="HW",
        out_of_bounds_policy="trim_to_shape",
    )


@_match("RandomResizedCrop")
def random_resized_crop(
    images: Images,
    size: Any = None,
    width: Any = None,
    scale: Any = (0.08, 1.0),
    ratio: Any = (0.75, 4 / 3),
    interpolation: Any = 1,
    height: Any = None,
) -> None:
    sides = (height if height is not None else size, width) if width is not None else size
    images.graph = images.graph.random_resized_crop(
        size=size_of(sides),
        random_area=rounded(scale),
        random_aspect_ratio=rounded(ratio),
        interp_type=interp_type(interpolation),
    )


@_match("RandomSizedCrop")
def random_sized_crop(
    images: Images,
    min_max_height: Any,
    size: Any = None,
    width: Any = None,
    w2h_ratio: float = 1.0,
    interpolation: Any = 1,
    height: Any = None,
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
    ).resize(size=size_of(sides), interp_type=interp_type(interpolation))


@_match("Rotate", "SafeRotate")
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
        interp_type=interp_type(interpolation),
        fill_value=_one_value(images, _fill(fill, value)),
    )


def _one_value(images: Images, fill: Any) -> float:
    values = fills(fill)
    if len(set(values)) > 1:
        images.changed(f"filled with the mean of {list(values)}: DALI's warps take one value")
    return sum(values) / len(values)


@_match("ShiftScaleRotate")
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
    scale = _shifted(scale_limit, 1) if _is_pair(scale_limit) else around(scale_limit, 1)
    across = shift_limit if shift_limit_x is None else shift_limit_x
    down = shift_limit if shift_limit_y is None else shift_limit_y
    affine(
        images,
        angle=uniform(*around(rotate_limit, 0)),
        scale=uniform(*scale),
        shear=(0.0, 0.0),
        shift=(around(across, 0), around(down, 0)),
        interp=interp_type(interpolation),
        fill=_one_value(images, _fill(fill, value)),
    )


@_match("Affine")
def affine_(
    images: Images,
    scale: Any = (1.0, 1.0),
    translate_percent: Any = None,
    translate_px: Any = None,
    rotate: Any = 0.0,
    shear: Any = (0.0, 0.0),
    interpolation: Any = 1,
    cval: Any = 0,
    mode: Any = 0,
    fit_output: bool = False,
    keep_ratio: bool = False,
    fill: Any = None,
    border_mode: Any = 0,
    **_: Any,
) -> None:
    if translate_px not in (None, 0) or fit_output:
        raise NoMatchError("translate_px and fit_output are not known; translate_percent is")
    _tell_border(images, border_mode or mode)
    wide, high = _axes(scale, 1.0)
    across, down = _axes(translate_percent, 0.0)
    slant, tilt = _axes(shear, 0.0, alone=True)
    one = uniform(*wide)
    affine(
        images,
        angle=uniform(*_range(rotate)),
        scale=one if keep_ratio or wide == high else (one, uniform(*high)),
        shear=(uniform(*slant), uniform(*tilt)),
        shift=(across, down),
        interp=interp_type(interpolation),
        fill=_one_value(images, _fill(fill, cval)),
    )


def _range(value: Any) -> tuple[float, float]:
    """The range that Affine means: a number is that number itself."""
    if _is_pair(value):
        return number(value[0]), number(value[1])
    return number(value), number(value)


def _axes(
    value: Any, usual: float, *, alone: bool = False
) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ranges along x and y; ``alone`` where one range is for x only."""
    if value is None:
        return (usual, usual), (usual, usual)
    if isinstance(value, dict):
        return _range(value.get("x", usual)), _range(value.get("y", usual))
    return _range(value), ((usual, usual) if alone else _range(value))


@_match("RandomBrightnessContrast")
def random_brightness_contrast(
    images: Images,
    brightness_limit: Any = 0.2,
    contrast_limit: Any = 0.2,
    brightness_by_max: bool = True,
    ensure_safe_range: bool = False,
) -> None:
    if not brightness_by_max:
        raise NoMatchError("brightness_by_max=False adds a share of the mean, which is not known")
    brighten(images, _factor(contrast_limit), around(brightness_limit, 0))


def _factor(limit: Any) -> tuple[float, float]:
    return _shifted(limit, 1) if _is_pair(limit) else around(limit, 1)


@_match("RandomBrightness")
def random_brightness(images: Images, limit: Any = 0.2) -> None:
    brighten(images, (1.0, 1.0), around(limit, 0))


@_match("RandomContrast")
def random_contrast(images: Images, limit: Any = 0.2) -> None:
    brighten(images, _factor(limit), (0.0, 0.0))


@_match("ColorJitter")
def color_jitter(
    images: Images,
    brightness: Any = (0.8, 1.2),
    contrast: Any = (0.8, 1.2),
    saturation: Any = (0.8, 1.2),
    hue: Any = (-0.5, 0.5),
) -> None:
    jitter_colour(
        images,
        brightness=around(brightness, 1, least=0),
        contrast=around(contrast, 1, least=0),
        saturation=around(saturation, 1, least=0),
        hue=around(hue, 0),
    )


@_match("HueSaturationValue")
def hue_saturation_value(
    images: Images,
    hue_shift_limit: Any = 20,
    sat_shift_limit: Any = 30,
    val_shift_limit: Any = 20,
) -> None:
    low, high = around(hue_shift_limit, 0)
    saturation = [1 + each / 255 for each in around(sat_shift_limit, 0)]
    value = [each / 255 for each in around(val_shift_limit, 0)]
    images.graph = images.graph.hsv(
        hue=uniform(2 * low, 2 * high),  # OpenCV's hue has 180 steps
        saturation=uniform(saturation[0], saturation[1]),
    )
    brighten(images, (1.0, 1.0), (value[0], value[1]))
    images.changed("saturation is multiplied, and value added to each channel; hue is of YIQ")


@_match("RGBShift")
def rgb_shift(
    images: Images, r_shift_limit: Any = 20, g_shift_limit: Any = 20, b_shift_limit: Any = 20
) -> None:
    red, green, blue = (around(each, 0) for each in (r_shift_limit, g_shift_limit, b_shift_limit))
    shift_channels(images, (red, green, blue))


@_match("ToGray")
def to_gray(images: Images, num_output_channels: int = 3, **_: Any) -> None:
    grey(images, num_output_channels)


@_match("CLAHE")
def clahe(images: Images, clip_limit: Any = 4.0, tile_grid_size: Any = (8, 8)) -> None:
    low, high = clip_limit if _is_pair(clip_limit) else (1, number(clip_limit))
    if low != high:
        images.changed(f"clip_limit is the middle of {low} and {high}: DALI draws none")
    down, across = size_of(tile_grid_size)
    images.graph = images.graph.clahe(
        tiles_x=across, tiles_y=down, clip_limit=(number(low) + number(high)) / 2
    )


@_match("GaussNoise")
def gauss_noise(
    images: Images,
    var_limit: Any = None,
    mean: Any = 0,
    per_channel: bool = True,
    std_range: Any = (0.2, 0.44),
    mean_range: Any = (0.0, 0.0),
    **_: Any,
) -> None:
    if not per_channel:
        images.changed("each channel has noise of its own")
    if var_limit is not None:
        low, high = var_limit if _is_pair(var_limit) else (0, var_limit)
        spread = uniform(math.sqrt(number(low)), math.sqrt(number(high)))
        images.changed("the deviation is drawn evenly, not its square")
        images.graph = images.graph.noise.gaussian(mean=number(mean), stddev=spread)
        return
    images.graph = images.graph.noise.gaussian(
        mean=uniform(255 * number(mean_range[0]), 255 * number(mean_range[1])),
        stddev=uniform(255 * number(std_range[0]), 255 * number(std_range[1])),
    )


@_match("MultiplicativeNoise")
def multiplicative_noise(
    images: Images,
    multiplier: Any = (0.9, 1.1),
    per_channel: bool = False,
    elementwise: bool = False,
) -> None:
    if per_channel or elementwise:
        raise NoMatchError("one factor for the image is known; per_channel or elementwise is given")
    low, high = _range(multiplier)
    images.graph = images.graph.brightness(brightness=uniform(low, high))


def _odd_sizes(limit: Any, least: int) -> list[int]:
    low, high = limit if _is_pair(limit) else (least, limit)
    return list(range(int(number(low)) | 1, int(number(high)) + 1, 2)) or [int(number(high)) | 1]


@_match("Blur")
def blur(images: Images, blur_limit: Any = (3, 7)) -> None:
    def step(size: int) -> Step:
        return lambda: blur_box(images, size)

    images.one_of([step(size) for size in _odd_sizes(blur_limit, 3)])


@_match("GaussianBlur")
def gaussian_blur(
    images: Images, blur_limit: Any = 0, sigma_limit: Any = None, sigma: Any = None
) -> None:
    low, high = around(sigma_limit, 0, least=0) if sigma_limit else (0.0, 0.0)
    if sigma_limit is None and blur_limit in (0, (0, 0), [0, 0]):
        low, high = 0.5, 3.0
    if high > 0:
        sizes = _odd_sizes(blur_limit, 3) if blur_limit not in (0, (0, 0), [0, 0]) else [0]
        if len(sizes) > 1:
            images.changed("the window follows from sigma, and is not drawn")
        window = {"window_size": sizes[0]} if len(sizes) == 1 and sizes[0] else {}
        images.graph = images.graph.gaussian_blur(sigma=uniform(low, high), **window)
        return

    def step(size: int) -> Step:
        def of_size() -> None:
            spread = 0.3 * ((size - 1) * 0.5 - 1) + 0.8  # OpenCV's getGaussianKernel
            images.graph = images.graph.gaussian_blur(window_size=size, sigma=spread)

        return of_size

    images.one_of([step(size) for size in _odd_sizes(blur_limit, 3)])


@_match("ImageCompression", "JpegCompression")
def image_compression(
    images: Images,
    quality_lower: Any = 99,
    quality_upper: Any = 100,
    compression_type: Any = "jpeg",
    quality_range: Any = None,
) -> None:
    if "webp" in str(compression_type).lower():
        raise NoMatchError("DALI compresses as JPEG, not as WebP")
    low, high = quality_range or (quality_lower, quality_upper)
    images.graph = images.graph.jpeg_compression_distortion(
        quality=uniform_whole(int(number(low)), int(number(high)))
    )


@_match("CoarseDropout", "Cutout")
def coarse_dropout(
    images: Images,
    max_holes: Any = None,
    max_height: Any = 8,
    max_width: Any = 8,
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
    **_: Any,
) -> None:
    most = num_holes if num_holes is not None else max_holes
    if most is not None or images.call.short_name == "Cutout":
        high = int(number(8 if most is None else most))
        low = int(number(min_holes)) if min_holes is not None else high
        tall = max_h_size if max_h_size is not None else max_height
        wide = max_w_size if max_w_size is not None else max_width
        heights = (number(tall if min_height is None else min_height), number(tall))
        widths = (number(wide if min_width is None else min_width), number(wide))
    else:
        low, high = (int(number(each)) for each in num_holes_range)
        heights = (number(hole_height_range[0]), number(hole_height_range[1]))
        widths = (number(hole_width_range[0]), number(hole_width_range[1]))
    value = _fill(fill, fill_value)
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
            shape=fn.stack(*(_value(each) for each in (tall, wide))),
            axis_names="HW",
            fill_value=fills(value),
        )

    images.repeat(low, high, hole)


def _value(drawn: Any) -> Any:
    if isinstance(drawn, int | float):
        return fn.constant(fdata=(float(drawn),), shape=())
    return drawn


@_match("RandomGamma")
def random_gamma(images: Images, gamma_limit: Any = (80, 120), **_: Any) -> None:
    low, high = around(gamma_limit, 100)
    power(images, low / 100, high / 100)


@_match("InvertImg")
def invert_img(images: Images) -> None:
    invert(images)


@_match("Solarize")
def solarize_(images: Images, threshold: Any = 128, threshold_range: Any = None) -> None:
    if threshold_range is not None:
        low, high = (255 * number(each) for each in threshold_range)
    else:
        low, high = threshold if _is_pair(threshold) else (threshold, threshold)
    if low != high:
        images.changed(f"the threshold is the middle of {low} and {high}, not drawn")
    solarize(images, (number(low) + number(high)) / 2)


@_match("Posterize")
def posterize_(images: Images, num_bits: Any = 4) -> None:
    if _is_pair(num_bits) and num_bits[0] != num_bits[1]:
        low, high = (int(number(each)) for each in num_bits)

        def step(bits: int) -> Step:
            return lambda: posterize(images, bits)

        images.one_of([step(bits) for bits in range(low, high + 1)])
        return
    posterize(images, num_bits[0] if _is_pair(num_bits) else num_bits)


@_match("Equalize")
def equalize_(images: Images, mode: str = "cv", by_channels: bool = True, **_: Any) -> None:
    if not by_channels:
        images.changed("each channel is equalized by itself, not luminance alone")
    equalize(images)
