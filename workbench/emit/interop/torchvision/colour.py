"""Colour, noise, blur and compression of torchvision, by DALI's operators and the reverse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.emit.interop.common.images import Images, number, size_of, uniform, uniform_whole
from workbench.emit.interop.common.library import COLOURS, sampled
from workbench.emit.interop.common.pixels import (
    INVERTED,
    equalize,
    grey,
    invert,
    jitter_around,
    posterize,
    sharpen,
    solarize,
    stretch_contrast,
)
from workbench.emit.interop.common.source_text import Expression, Source, call_of
from workbench.emit.interop.common.steps import Step, blur_window, grey_share, kept_bits
from workbench.emit.interop.common.transforms import Transforms
from workbench.emit.interop.torchvision.library import TORCHVISION

_match, _writes = TORCHVISION.match, TORCHVISION.writes
_writes_expression = TORCHVISION.writes_expression
_UNCHANGED = (1.0, 1.0)


@_match("ColorJitter", compare=COLOURS)
def color_jitter(
    images: Images, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0
) -> None:
    jitter_around(images, brightness, contrast, saturation, hue)


_BRIGHTEN = '''\
class Brighten(v2.Transform):
    """Add a drawn share of 255."""

    def __init__(self, low: float, high: float) -> None:
        super().__init__()
        self.low, self.high = low, high

    def make_params(self, flat_inputs: list[Any]) -> dict[str, float]:
        return {"share": torch.empty(()).uniform_(self.low, self.high).item()}

    def transform(self, inpt: torch.Tensor, params: dict[str, float]) -> torch.Tensor:
        return (inpt + 255 * params["share"]).round().clamp(0, 255).to(torch.uint8)
'''


@_writes("color_twist", "brightness_contrast", "brightness", "contrast", "saturation", "hue", "hsv")
def write_color_jitter(transforms: Transforms, step: Step) -> None:
    names = step.reading.catalog[step.op].args
    if step.op == "saturation" and (p := grey_share(step)):
        transforms.add("RandomGrayscale", p=p)
        transforms.measured("grey")
        return
    ranges: dict[str, tuple[float, float] | None] = {}
    for name in ("brightness", "contrast", "saturation"):
        span = step.span(name) if name in names else _UNCHANGED
        ranges[name] = span if span != _UNCHANGED else None
    if "value" in names and (value := step.span("value")) != _UNCHANGED:
        ranges["brightness"] = value
    hue = step.span("hue") if "hue" in names else (0.0, 0.0)
    turned = (max(hue[0] / 360, -0.5), min(hue[1] / 360, 0.5)) if any(hue) else None
    if any((*ranges.values(), turned)):
        transforms.add("ColorJitter", **ranges, hue=turned)
    if "brightness_shift" in step.given:
        transforms.classes["Brighten"] = _BRIGHTEN
        transforms.made.append(call_of("Brighten", *step.span("brightness_shift")))
        transforms.measured("brightness_shift")
    for name, given in {**ranges, "hue": turned}.items():
        if given:
            transforms.measured(name)
    if "contrast_center" in step.given:
        step.fixed("contrast_center")
    if sum(each is not None for each in (*ranges.values(), turned)) > 1:
        transforms.note("colours change in an order that is drawn")
    if ranges["contrast"]:
        transforms.note("contrast turns about the mean of the image, not about 128")
    if turned:
        transforms.note("the hue is turned in HSV, not in YIQ")


@_match("Grayscale")
def grayscale(images: Images, num_output_channels: int = 1) -> None:
    grey(images, num_output_channels)


@_match("RandomGrayscale")
def random_grayscale(images: Images, p: float = 0.1) -> None:
    images.with_p(number(p), lambda: grey(images, 3))


@_writes("color_space_conversion")
def write_grayscale(transforms: Transforms, step: Step) -> None:
    if (step.fixed("image_type"), step.fixed("output_type")) != ("RGB", "GRAY"):
        raise step.refusal("converts RGB to grey", "output_type")
    transforms.add("Grayscale", 1)
    transforms.measured("grey")


@_match("GaussianBlur", compare=sampled(sigma=None))
def gaussian_blur(images: Images, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
    window = size_of(kernel_size)[::-1]  # torchvision has the width first
    low, high = sigma if isinstance(sigma, Sequence) else (sigma, sigma)
    images.graph = images.graph.gaussian_blur(
        window_size=window[0] if window[0] == window[1] else window,
        sigma=uniform(number(low), number(high)),
    )


@_writes("gaussian_blur")
def write_gaussian_blur(transforms: Transforms, step: Step) -> None:
    sizes = step.fixed("window_size")
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    transforms.measured("gaussian_blur")

    def blur(low: float, high: float) -> Expression:
        window, low, high = blur_window(sizes[0], low, high)
        size = window if len(set(sizes)) == 1 else tuple(map(int, sizes[::-1]))
        return call_of("v2.GaussianBlur", size, sigma=(low, high))

    transforms.add_sampled(step, "sigma", blur)


@_match("GaussianNoise", clip="DALI clips the values to their range")
def gaussian_noise(
    images: Images, mean: float = 0.0, sigma: float = 0.1, clip: bool = True
) -> None:
    images.graph = images.graph.noise.gaussian(mean=255 * number(mean), stddev=255 * number(sigma))


_DRAWN_NOISE = '''\
class DrawnNoise(v2.Transform):
    """Gaussian noise whose deviation is drawn, for values of 0 to 1."""

    def __init__(self, low: float, high: float) -> None:
        super().__init__()
        self.low, self.high = low, high

    def make_params(self, flat_inputs: list[Any]) -> dict[str, float]:
        return {"sigma": torch.empty(()).uniform_(self.low, self.high).item()}

    def transform(self, inpt: torch.Tensor, params: dict[str, float]) -> torch.Tensor:
        return v2.functional.gaussian_noise(inpt, sigma=params["sigma"])
'''


@_writes("noise.gaussian")
def write_gaussian_noise(transforms: Transforms, step: Step) -> None:
    mean, (low, high) = step.fixed("mean"), step.span("stddev")
    transforms.add("ToDtype", Source("torch.float32"), scale=True)
    if low == high:
        transforms.add("GaussianNoise", mean=mean / 255 or None, sigma=low / 255)
    elif mean:
        raise step.refusal("draws the deviation of noise about 0", "mean")
    else:
        transforms.classes["DrawnNoise"] = _DRAWN_NOISE
        transforms.made.append(call_of("DrawnNoise", low / 255, high / 255))
    transforms.add("ToDtype", Source("torch.uint8"), scale=True)


@_match("JPEG", compare=sampled(quality=None))
def jpeg(images: Images, quality: Any) -> None:
    low, high = quality if isinstance(quality, Sequence) else (quality, quality)
    images.graph = images.graph.jpeg_compression_distortion(
        quality=uniform_whole(int(number(low)), int(number(high)))
    )


@_writes("jpeg_compression_distortion")
def write_jpeg(transforms: Transforms, step: Step) -> None:
    low, high = (round(end) for end in step.span("quality"))
    transforms.add("JPEG", (low, high))
    transforms.measured("jpeg_compression_distortion")


TORCHVISION.pair("RandomEqualize", equalize, op="equalize", measured="equalize")
TORCHVISION.pair("RandomInvert", invert, expressions=INVERTED, measured="invert")
_SPAN = "max(sub(reductions.max(x), reductions.min(x)), 1)"
_STRETCHED = f"clamp(mul(sub(x, reductions.min(x)), truediv(255, {_SPAN})), 0, 255)"
TORCHVISION.pair(
    "RandomAutocontrast", stretch_contrast, expressions=[_STRETCHED], measured="autocontrast"
)


@_match("RandomSolarize")
def random_solarize(images: Images, threshold: float, p: float = 0.5) -> None:
    limit = number(threshold) * (255 if isinstance(threshold, float) and threshold <= 1 else 1)
    images.with_p(number(p), lambda: solarize(images, limit))


@_writes_expression("bitxor(x, mul(ge(x, N), 255))")
def write_solarize(transforms: Transforms, step: Step, threshold: float) -> None:
    transforms.add("RandomSolarize", int(threshold), p=1.0)
    transforms.measured("solarize")


@_match("RandomPosterize")
def random_posterize(images: Images, bits: int, p: float = 0.5) -> None:
    images.with_p(number(p), lambda: posterize(images, bits))


@_writes_expression("bitand(x, N)")
def write_posterize(transforms: Transforms, step: Step, mask: float) -> None:
    transforms.add("RandomPosterize", kept_bits(step, mask), p=1.0)
    transforms.measured("posterize")


@_match("RandomAdjustSharpness")
def random_adjust_sharpness(images: Images, sharpness_factor: float, p: float = 0.5) -> None:
    images.with_p(number(p), lambda: sharpen(images, number(sharpness_factor)))
