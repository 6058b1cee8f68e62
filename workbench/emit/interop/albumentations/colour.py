"""Convert Albumentations' colour, noise, blur and compression to DALI operators, and vice versa."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from workbench.emit.interop.albumentations.composition import (
    ALBUMENTATIONS,
    installed_major,
    is_pair,
    range_of,
    shifted,
)
from workbench.emit.interop.exporting import exporters
from workbench.emit.interop.exporting.chains import Step
from workbench.emit.interop.exporting.source_text import Expression, call_of
from workbench.emit.interop.exporting.transforms import Transforms
from workbench.emit.interop.importing import pixels
from workbench.emit.interop.importing.images import (
    Images,
    NoMatchError,
    number,
    range_around,
    size_of,
    uniform,
    uniform_whole,
)
from workbench.emit.interop.library import COLOURS, sampled, unused

_imports, _exports = ALBUMENTATIONS.imports, ALBUMENTATIONS.exports
_exports_expression = ALBUMENTATIONS.exports_expression


@_imports(
    "RandomBrightnessContrast",
    compare=sampled(brightness_limit=0, contrast_limit=0),
    ensure_safe_range=unused(False, "values are clipped"),
)
def random_brightness_contrast(
    images: Images,
    brightness_limit: Any = 0.2,
    contrast_limit: Any = 0.2,
    brightness_by_max: bool = True,
) -> None:
    if not brightness_by_max:
        raise NoMatchError(
            "brightness_by_max=False adds a fraction of the mean, which DALI does not support"
        )
    pixels.brighten(images, _factor(contrast_limit), range_around(brightness_limit, 0))


def _factor(limit: Any) -> tuple[float, float]:
    return shifted(limit, 1) if is_pair(limit) else range_around(limit, 1)


@_imports("RandomBrightness", compare=sampled(limit=0))
def random_brightness(images: Images, limit: Any = 0.2) -> None:
    pixels.brighten(images, (1.0, 1.0), range_around(limit, 0))


@_imports("RandomContrast", compare=sampled(limit=0))
def random_contrast(images: Images, limit: Any = 0.2) -> None:
    pixels.brighten(images, _factor(limit), (0.0, 0.0))


@_imports("ColorJitter", compare=COLOURS)
def color_jitter(
    images: Images,
    brightness: Any = (0.8, 1.2),
    contrast: Any = (0.8, 1.2),
    saturation: Any = (0.8, 1.2),
    hue: Any = (-0.5, 0.5),
) -> None:
    pixels.jitter_around(images, brightness, contrast, saturation, hue)


@_exports(
    "color_twist", "brightness_contrast", "brightness", "contrast", "saturation", "hue", "hsv"
)
def export_color_jitter(transforms: Transforms, step: Step) -> None:
    if step.op == "saturation" and (p := exporters.grey_share(step)):
        transforms.add("ToGray", p=p)
        transforms.measured("grey")
        return
    factors, hue = exporters.jitter(step)
    contrast = factors.get("contrast")
    centre = step.fixed("contrast_center") if "contrast_center" in step.spec.args else 0.5
    if "brightness_shift" in step.given or (centre == 0 and contrast):
        if "brightness" in factors:
            raise step.refusal("supports either one factor or a shift", "brightness_shift")
        if centre != 0 and contrast:
            transforms.note("contrast scales around 0, not around 128")
        low, high = contrast or exporters.UNCHANGED
        shift = step.span("brightness_shift")
        limits = {"brightness_limit": shift, "contrast_limit": (low - 1, high - 1)}
        transforms.add("RandomBrightnessContrast", **limits, p=1.0)
        transforms.measured("brightness_shift")
        return
    unchanged = dict.fromkeys(("brightness", "contrast", "saturation"), exporters.UNCHANGED)
    transforms.add("ColorJitter", **{**unchanged, **factors}, hue=hue or (0.0, 0.0), p=1.0)
    if contrast:
        transforms.note(exporters.MEAN_CONTRAST)
    exporters.report_jitter(transforms, factors, hue)


@_imports(
    "HueSaturationValue", compare=sampled(hue_shift_limit=0, sat_shift_limit=0, val_shift_limit=0)
)
def hue_saturation_value(
    images: Images,
    hue_shift_limit: Any = 20,
    sat_shift_limit: Any = 30,
    val_shift_limit: Any = 20,
) -> None:
    low, high = range_around(hue_shift_limit, 0)
    saturation = [1 + each / 255 for each in range_around(sat_shift_limit, 0)]
    value = [each / 255 for each in range_around(val_shift_limit, 0)]
    images.graph = images.graph.hsv(
        hue=uniform(2 * low, 2 * high),  # OpenCV's hue has 180 steps
        saturation=uniform(saturation[0], saturation[1]),
    )
    pixels.brighten(images, (1.0, 1.0), (value[0], value[1]))
    images.report_difference(
        "saturation is multiplied, value is added to each channel, and the hue is rotated in YIQ"
    )


@_imports("RGBShift", compare=sampled(r_shift_limit=0, g_shift_limit=0, b_shift_limit=0))
def rgb_shift(
    images: Images, r_shift_limit: Any = 20, g_shift_limit: Any = 20, b_shift_limit: Any = 20
) -> None:
    red, green, blue = (
        range_around(each, 0) for each in (r_shift_limit, g_shift_limit, b_shift_limit)
    )
    pixels.shift_channels(images, (red, green, blue))


@_exports_expression("clamp(add(x, stack([N, N], [N, N], [N, N])), 0, 255)")
def export_shift_channels(transforms: Transforms, step: Step, *ends: float) -> None:
    transforms.add("RGBShift", *(ends[at : at + 2] for at in (0, 2, 4)), p=1.0)
    transforms.measured("shift of channels")


@_imports("ToGray", method=unused("weighted_average", "the weights are those of ITU-R 601"))
def to_gray(images: Images, num_output_channels: int = 3) -> None:
    pixels.grey(images, num_output_channels)


@_exports("color_space_conversion")
def export_grayscale(transforms: Transforms, step: Step) -> None:
    exporters.require_grey(step)
    transforms.add("ToGray", num_output_channels=1, p=1.0)
    transforms.measured("grey")


@_imports("CLAHE", compare=sampled(clip_limit=0))
def clahe(images: Images, clip_limit: Any = 4.0, tile_grid_size: Any = (8, 8)) -> None:
    low, high = clip_limit if is_pair(clip_limit) else (1, number(clip_limit))
    if low != high:
        images.report_difference(
            f"clip_limit is the mean of {low} and {high}: DALI does not sample it"
        )
    down, across = size_of(tile_grid_size)
    images.graph = images.graph.clahe(
        tiles_x=across, tiles_y=down, clip_limit=(number(low) + number(high)) / 2
    )


@_exports("clahe")
def export_clahe(transforms: Transforms, step: Step) -> None:
    limit = float(step.fixed("clip_limit"))
    tiles = int(step.fixed("tiles_y")), int(step.fixed("tiles_x"))
    step.read.add("luma_only")
    tile_grid_size = tiles if tiles != (8, 8) else None
    transforms.add("CLAHE", (limit, limit), tile_grid_size=tile_grid_size, p=1.0)
    transforms.measured("clahe")


@_imports("GaussNoise", noise_scale_factor=unused(1, "noise is sampled for each pixel"))
def gauss_noise(
    images: Images,
    var_limit: Any = None,
    mean: Any = 0,
    per_channel: bool = True,
    std_range: Any = (0.2, 0.44),
    mean_range: Any = (0.0, 0.0),
) -> None:
    if not per_channel:
        images.report_difference("noise is sampled per channel")
    if var_limit is not None and is_pair(var_limit) and number(var_limit[1]) <= 1:
        std_range, var_limit = var_limit, None  # the first argument of version 2
    if var_limit is not None:
        low, high = var_limit if is_pair(var_limit) else (0, var_limit)
        spread = uniform(math.sqrt(number(low)), math.sqrt(number(high)))
        images.report_difference("the standard deviation is sampled uniformly, not the variance")
        images.graph = images.graph.noise.gaussian(mean=number(mean), stddev=spread)
        return
    if mean:
        images.report_difference(f"mean={mean} is ignored: it belongs to version 1, with var_limit")
    images.graph = images.graph.noise.gaussian(
        mean=uniform(255 * number(mean_range[0]), 255 * number(mean_range[1])),
        stddev=uniform(255 * number(std_range[0]), 255 * number(std_range[1])),
    )


@_exports("noise.gaussian")
def export_gaussian_noise(transforms: Transforms, step: Step) -> None:
    means, (low, high) = step.span("mean"), step.span("stddev")
    transforms.add(
        "GaussNoise",
        std_range=(low / 255, high / 255),
        mean_range=tuple(each / 255 for each in means) if any(means) else None,
        p=1.0,
    )


@_imports("MultiplicativeNoise", compare=sampled(multiplier=None))
def multiplicative_noise(
    images: Images,
    multiplier: Any = (0.9, 1.1),
    per_channel: bool = False,
    elementwise: bool = False,
) -> None:
    if per_channel or elementwise:
        raise NoMatchError(
            "only one factor per image is supported, but per_channel or elementwise is set"
        )
    low, high = range_of(multiplier)
    images.graph = images.graph.brightness(brightness=uniform(low, high))


def _odd_sizes(limit: Any, least: int) -> list[int]:
    low, high = limit if is_pair(limit) else (least, limit)
    return list(range(int(number(low)) | 1, int(number(high)) + 1, 2)) or [int(number(high)) | 1]


@_imports("Blur", compare=sampled(blur_limit=0))
def blur(images: Images, blur_limit: Any = (3, 7)) -> None:
    images.one_of_values(_odd_sizes(blur_limit, 3), partial(pixels.blur_box, images))


_LINE = "the line is centred on the pixel, with equal weights"


@_imports("MotionBlur")
def motion_blur(
    images: Images,
    blur_limit: Any = (3, 7),
    allow_shifted: bool = unused(True, _LINE),
    angle_range: Any = (0, 360),
    direction_range: Any = unused((-1.0, 1.0), _LINE),
) -> None:
    low, high = number(angle_range[0]), number(angle_range[1])
    angles = (low, min(high, low + 180))  # half a turn is the same line

    sizes = _odd_sizes(blur_limit, 3)
    images.one_of_values(sizes, lambda size: pixels.blur_motion(images, size, angles))
    images.report_difference(
        "the line is centred on the pixel, as long as the window, at one of six angles"
    )


@_exports("experimental.median_blur")
def export_median_blur(transforms: Transforms, step: Step) -> None:
    side = exporters.square_window(step)
    transforms.add("MedianBlur", (side, side), p=1.0)


@_imports("GaussianBlur", compare=sampled(blur_limit=0, sigma_limit=0))
def gaussian_blur(images: Images, blur_limit: Any = 0, sigma_limit: Any = None) -> None:
    low, high = range_around(sigma_limit, 0, least=0) if sigma_limit else (0.0, 0.0)
    free = blur_limit in (0, (0, 0), [0, 0])
    if sigma_limit is None and (free or (installed_major() or 1) >= 2):
        low, high = 0.5, 3.0
    elif sigma_limit is None:
        images.report_difference(
            "sigma is derived from the window, as before version 2, which samples it from 0.5 to "
            "3: set sigma_limit"
        )

    def blur_by(size: int) -> None:
        spread = 0.3 * ((size - 1) * 0.5 - 1) + 0.8  # OpenCV's getGaussianKernel
        sigma = uniform(low, high) if high > 0 else spread
        window: dict[str, Any] = {"window_size": size} if size else {}
        images.graph = images.graph.gaussian_blur(sigma=sigma, **window)

    images.one_of_values([0] if free else _odd_sizes(blur_limit, 3), blur_by)


@_exports("gaussian_blur")
def export_gaussian_blur(transforms: Transforms, step: Step) -> None:
    side = exporters.square_window(step)
    transforms.measured("gaussian_blur")

    def blur(low: float, high: float) -> Expression:
        window, low, high = exporters.blur_window(side, low, high)
        return call_of("A.GaussianBlur", (window, window), (low, high), p=1.0)

    transforms.add_sampled(step, "sigma", blur)


@_imports("ImageCompression", "JpegCompression", compare=sampled(quality_range=None))
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


@_exports("jpeg_compression_distortion")
def export_jpeg(transforms: Transforms, step: Step) -> None:
    low, high = (round(end) for end in step.span("quality"))
    transforms.add("ImageCompression", quality_range=(low, high), p=1.0)
    transforms.measured("jpeg_compression_distortion")


@_imports("RandomGamma", compare=sampled(gamma_limit=100), eps=unused(None, "no epsilon is added"))
def random_gamma(images: Images, gamma_limit: Any = (80, 120)) -> None:
    low, high = range_around(gamma_limit, 100)
    pixels.power(images, low / 100, high / 100)


@_exports_expression("clamp(mul(pow(mul(x, 0.00392157), N), 255), 0, 255)")
@_exports_expression("clamp(mul(pow(mul(x, 0.00392157), [N, N]), 255), 0, 255)")
def export_gamma(transforms: Transforms, step: Step, *ends: float) -> None:
    transforms.add("RandomGamma", (round(100 * ends[0]), round(100 * ends[-1])), p=1.0)
    transforms.measured("gamma")


ALBUMENTATIONS.pair("InvertImg", pixels.invert, expressions=pixels.INVERTED, measured="invert")


@_imports("Solarize", compare=sampled(threshold=None, threshold_range=None))
def solarize(images: Images, threshold: Any = 128, threshold_range: Any = None) -> None:
    if threshold_range is not None:
        low, high = (255 * number(each) for each in threshold_range)
    else:
        low, high = threshold if is_pair(threshold) else (threshold, threshold)
        if number(high) <= 1:  # the first argument of version 2
            low, high = 255 * number(low), 255 * number(high)
    if low != high:
        images.report_difference(f"the threshold is the mean of {low} and {high}, not sampled")
    pixels.solarize(images, (number(low) + number(high)) / 2)


@_exports_expression("bitxor(x, mul(ge(x, N), 255))")
def export_solarize(transforms: Transforms, step: Step, threshold: float) -> None:
    share = math.floor(threshold / 255 * 1e6) / 1e6  # rounding up would miss the threshold
    transforms.add("Solarize", (share, share), p=1.0)
    transforms.measured("solarize")


@_imports("Posterize", compare=sampled(num_bits=None))
def posterize(images: Images, num_bits: Any = 4) -> None:
    if is_pair(num_bits) and num_bits[0] != num_bits[1]:
        low, high = (int(number(each)) for each in num_bits)
        images.one_of_values(range(low, high + 1), partial(pixels.posterize, images))
        return
    pixels.posterize(images, num_bits[0] if is_pair(num_bits) else num_bits)


@_exports_expression("bitand(x, N)")
def export_posterize(transforms: Transforms, step: Step, mask: float) -> None:
    transforms.add("Posterize", exporters.unmasked_bits(step, mask), p=1.0)
    transforms.measured("posterize")


@_imports(
    "Equalize",
    mask=unused(None, "all of the image counts"),
    mask_params=unused((), "all of the image counts"),
)
def equalize(images: Images, mode: str = "cv", by_channels: bool = True) -> None:
    if mode != "cv":
        images.report_difference(f"equalized as in OpenCV, not by mode={mode}")
    if not by_channels:
        images.report_difference("each channel is equalized, not only the luminance")
    pixels.equalize(images)


@_exports("equalize")
def export_equalize(transforms: Transforms, step: Step) -> None:
    transforms.add("Equalize", p=1.0)
    transforms.measured("equalize")


@_imports("SaltAndPepper")
def salt_and_pepper(
    images: Images, amount: Any = (0.01, 0.06), salt_vs_pepper: Any = (0.4, 0.6)
) -> None:
    low, high = range_of(amount)
    images.graph = images.graph.noise.salt_and_pepper(
        prob=uniform(low, high), salt_vs_pepper=uniform(*range_of(salt_vs_pepper))
    )


@_exports("noise.salt_and_pepper")
def export_salt_and_pepper(transforms: Transforms, step: Step) -> None:
    transforms.add(
        "SaltAndPepper",
        amount=step.span("prob"),
        salt_vs_pepper=step.span("salt_vs_pepper"),
        p=1.0,
    )


@_imports(
    *("Sharpen", "IAASharpen"),
    compare=sampled(alpha=None, lightness=None),
    kernel_size=unused(5, "it is of the method gaussian"),
    sigma=unused(1.0, "it is of the method gaussian"),
)
def sharpen(
    images: Images,
    alpha: Any = (0.2, 0.5),
    lightness: Any = (0.5, 1.0),
    method: str = "kernel",
) -> None:
    if method != "kernel":
        raise NoMatchError(f"method is {method}; only kernel is supported")
    pixels.sharpen_by_kernel(images, range_of(alpha), range_of(lightness))


@_imports("IAAAdditiveGaussianNoise", per_channel=unused(False, "noise is sampled per channel"))
def additive_gaussian_noise(images: Images, loc: Any = 0, scale: Any = (2.55, 12.75)) -> None:
    images.graph = images.graph.noise.gaussian(mean=number(loc), stddev=uniform(*range_of(scale)))
