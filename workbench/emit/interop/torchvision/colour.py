"""Convert torchvision's colour, noise, blur, JPEG and AutoAugment to DALI, and vice versa."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.emit.interop.exporting import exporters
from workbench.emit.interop.exporting.chains import Step
from workbench.emit.interop.exporting.source_text import Expression, Source, call_of
from workbench.emit.interop.exporting.transforms import Transforms
from workbench.emit.interop.importing import pixels
from workbench.emit.interop.importing.images import (
    Images,
    NoMatchError,
    number,
    size_of,
    uniform,
    uniform_whole,
    warp_interp_type,
)
from workbench.emit.interop.library import COLOURS, sampled, unused
from workbench.emit.interop.torchvision.composition import TORCHVISION
from workbench.emit.interop.torchvision.geometry import one_fill

_imports, _exports = TORCHVISION.imports, TORCHVISION.exports
_exports_expression = TORCHVISION.exports_expression


@_imports("ColorJitter", compare=COLOURS)
def color_jitter(
    images: Images, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0
) -> None:
    pixels.jitter_around(images, brightness, contrast, saturation, hue)


_BRIGHTEN = '''\
class Brighten(v2.Transform):
    """Add a random fraction of 255."""

    def __init__(self, low: float, high: float) -> None:
        super().__init__()
        self.low, self.high = low, high

    def make_params(self, flat_inputs: list[Any]) -> dict[str, float]:
        return {"share": torch.empty(()).uniform_(self.low, self.high).item()}

    def transform(self, inpt: torch.Tensor, params: dict[str, float]) -> torch.Tensor:
        return (inpt + 255 * params["share"]).round().clamp(0, 255).to(torch.uint8)
'''


@_exports(
    "color_twist", "brightness_contrast", "brightness", "contrast", "saturation", "hue", "hsv"
)
def export_color_jitter(transforms: Transforms, step: Step) -> None:
    if step.op == "saturation" and (p := exporters.grey_share(step)):
        transforms.add("RandomGrayscale", p=p)
        transforms.measured("grey")
        return
    factors, hue = exporters.jitter(step)
    if factors or hue:
        transforms.add("ColorJitter", **factors, hue=hue)
    if "brightness_shift" in step.given:
        transforms.classes["Brighten"] = _BRIGHTEN
        transforms.made.append(call_of("Brighten", *step.span("brightness_shift")))
        transforms.measured("brightness_shift")
    if "contrast_center" in step.given:
        step.fixed("contrast_center")
    exporters.report_jitter(transforms, factors, hue)


@_imports("Grayscale")
def grayscale(images: Images, num_output_channels: int = 1) -> None:
    pixels.grey(images, num_output_channels)


@_imports("RandomGrayscale")
def random_grayscale(images: Images, p: float = 0.1) -> None:
    images.with_p(number(p), lambda: pixels.grey(images, 3))


@_exports("color_space_conversion")
def export_grayscale(transforms: Transforms, step: Step) -> None:
    exporters.require_grey(step)
    transforms.add("Grayscale", 1)
    transforms.measured("grey")


@_imports("GaussianBlur", compare=sampled(sigma=None))
def gaussian_blur(images: Images, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
    window = size_of(kernel_size)[::-1]  # torchvision has the width first
    low, high = sigma if isinstance(sigma, Sequence) else (sigma, sigma)
    images.graph = images.graph.gaussian_blur(
        window_size=window[0] if window[0] == window[1] else window,
        sigma=uniform(number(low), number(high)),
    )


@_exports("gaussian_blur")
def export_gaussian_blur(transforms: Transforms, step: Step) -> None:
    sizes = step.items("window_size")
    transforms.measured("gaussian_blur")

    def blur(low: float, high: float) -> Expression:
        window, low, high = exporters.blur_window(sizes[0], low, high)
        size = window if len(set(sizes)) == 1 else tuple(map(int, sizes[::-1]))
        return call_of("v2.GaussianBlur", size, sigma=(low, high))

    transforms.add_sampled(step, "sigma", blur)


@_imports("GaussianNoise", clip=unused(True, "DALI clips the values to their range"))
def gaussian_noise(images: Images, mean: float = 0.0, sigma: float = 0.1) -> None:
    images.graph = images.graph.noise.gaussian(mean=255 * number(mean), stddev=255 * number(sigma))


_DRAWN_NOISE = '''\
class DrawnNoise(v2.Transform):
    """Gaussian noise with a random standard deviation, for values of 0 to 1."""

    def __init__(self, low: float, high: float) -> None:
        super().__init__()
        self.low, self.high = low, high

    def make_params(self, flat_inputs: list[Any]) -> dict[str, float]:
        return {"sigma": torch.empty(()).uniform_(self.low, self.high).item()}

    def transform(self, inpt: torch.Tensor, params: dict[str, float]) -> torch.Tensor:
        return v2.functional.gaussian_noise(inpt, sigma=params["sigma"])
'''


@_exports("noise.gaussian")
def export_gaussian_noise(transforms: Transforms, step: Step) -> None:
    mean, (low, high) = step.fixed("mean"), step.span("stddev")
    transforms.add("ToDtype", Source("torch.float32"), scale=True)
    if low == high:
        transforms.add("GaussianNoise", mean=mean / 255 or None, sigma=low / 255)
    elif mean:
        raise step.refusal("only supports noise with a mean of 0", "mean")
    else:
        transforms.classes["DrawnNoise"] = _DRAWN_NOISE
        transforms.made.append(call_of("DrawnNoise", low / 255, high / 255))
    transforms.add("ToDtype", Source("torch.uint8"), scale=True)


@_imports("JPEG", compare=sampled(quality=None))
def jpeg(images: Images, quality: Any) -> None:
    low, high = quality if isinstance(quality, Sequence) else (quality, quality)
    images.graph = images.graph.jpeg_compression_distortion(
        quality=uniform_whole(int(number(low)), int(number(high)))
    )


@_exports("jpeg_compression_distortion")
def export_jpeg(transforms: Transforms, step: Step) -> None:
    low, high = (round(end) for end in step.span("quality"))
    transforms.add("JPEG", (low, high))
    transforms.measured("jpeg_compression_distortion")


TORCHVISION.pair("RandomEqualize", pixels.equalize, op="equalize", measured="equalize")
TORCHVISION.pair("RandomInvert", pixels.invert, expressions=pixels.INVERTED, measured="invert")
_SPAN = "max(sub(reductions.max(x), reductions.min(x)), 1)"
_STRETCHED = f"clamp(mul(sub(x, reductions.min(x)), truediv(255, {_SPAN})), 0, 255)"
TORCHVISION.pair(
    "RandomAutocontrast", pixels.stretch_contrast, expressions=[_STRETCHED], measured="autocontrast"
)


@_imports("RandomSolarize")
def random_solarize(images: Images, threshold: float, p: float = 0.5) -> None:
    limit = number(threshold) * (255 if isinstance(threshold, float) and threshold <= 1 else 1)
    images.with_p(number(p), lambda: pixels.solarize(images, limit))


@_exports_expression("bitxor(x, mul(ge(x, N), 255))")
def export_solarize(transforms: Transforms, step: Step, threshold: float) -> None:
    transforms.add("RandomSolarize", int(threshold), p=1.0)
    transforms.measured("solarize")


@_imports("RandomPosterize")
def random_posterize(images: Images, bits: int, p: float = 0.5) -> None:
    images.with_p(number(p), lambda: pixels.posterize(images, bits))


@_exports_expression("bitand(x, N)")
def export_posterize(transforms: Transforms, step: Step, mask: float) -> None:
    transforms.add("RandomPosterize", exporters.unmasked_bits(step, mask), p=1.0)
    transforms.measured("posterize")


@_imports("RandomAdjustSharpness")
def random_adjust_sharpness(images: Images, sharpness_factor: float, p: float = 0.5) -> None:
    images.with_p(number(p), lambda: pixels.sharpen(images, number(sharpness_factor)))


@_imports("RandAugment")
def rand_augment(
    images: Images,
    num_ops: int = 2,
    magnitude: int = 9,
    num_magnitude_bins: int = 31,
    interpolation: Any = "nearest",
    fill: Any = None,
) -> None:
    images.graph = images.graph.rand_augment(
        n=num_ops,
        m=magnitude,
        num_magnitude_bins=num_magnitude_bins,
        **_of_augment(images, interpolation, fill),
    )


@_exports("rand_augment")
def export_rand_augment(transforms: Transforms, step: Step) -> None:
    bins = step.fixed("num_magnitude_bins")
    transforms.add(
        "RandAugment",
        num_ops=step.fixed("n"),
        magnitude=step.fixed("m"),
        num_magnitude_bins=bins if bins != 31 else None,
    )
    _note_policy(transforms, step)


@_imports("TrivialAugmentWide")
def trivial_augment_wide(
    images: Images,
    num_magnitude_bins: int = 31,
    interpolation: Any = "nearest",
    fill: Any = None,
) -> None:
    images.graph = images.graph.trivial_augment_wide(
        num_magnitude_bins=num_magnitude_bins,
        **_of_augment(images, interpolation, fill),
    )


@_exports("trivial_augment_wide")
def export_trivial_augment_wide(transforms: Transforms, step: Step) -> None:
    bins = step.fixed("num_magnitude_bins")
    transforms.add("TrivialAugmentWide", num_magnitude_bins=bins if bins != 31 else None)
    _note_policy(transforms, step)


@_imports("AutoAugment")
def auto_augment(
    images: Images,
    policy: Any = "imagenet",
    interpolation: Any = "nearest",
    fill: Any = None,
) -> None:
    name = str(policy).rpartition(".")[2].lower()
    if name not in ("imagenet", "svhn"):
        raise NoMatchError(f"DALI has no policy {name}; it has image_net, reduced_image_net, svhn")
    images.graph = images.graph.auto_augment(
        policy_name="image_net" if name == "imagenet" else "svhn",
        **_of_augment(images, interpolation, fill),
    )


@_exports("auto_augment")
def export_auto_augment(transforms: Transforms, step: Step) -> None:
    names = {"image_net": "IMAGENET", "svhn": "SVHN"}
    policy = step.fixed("policy_name")
    if policy not in names:
        raise step.refusal(f"has no policy {policy}", "policy_name")
    transforms.add("AutoAugment", Source(f"v2.AutoAugmentPolicy.{names[policy]}"))
    _note_policy(transforms, step)


def _of_augment(images: Images, interp: Any, fill: Any) -> dict[str, Any]:
    images.report_difference(
        "augmentations and magnitudes are those of nvidia.dali.auto_aug, not of torchvision"
    )
    return {
        "interp_type": warp_interp_type(images, interp),
        "fill_value": 0 if fill is None else int(one_fill(images, fill)),
    }


def _note_policy(transforms: Transforms, step: Step) -> None:
    step.read |= {"fill_value", "interp_type", "max_translate_abs", "max_translate_rel"}
    transforms.note("automatic augmentation has torchvision's operations and magnitudes")


@_imports("RandomPhotometricDistort")
def random_photometric_distort(
    images: Images,
    brightness: Any = (0.875, 1.125),
    contrast: Any = (0.5, 1.5),
    saturation: Any = (0.5, 1.5),
    hue: Any = (-0.05, 0.05),
    p: float = 0.5,
) -> None:
    chance = number(p)
    images.with_p(chance, lambda: pixels.jitter_colour(images, brightness=tuple(brightness)))
    images.with_p(chance, lambda: pixels.jitter_colour(images, contrast=tuple(contrast)))
    images.with_p(chance, lambda: pixels.jitter_colour(images, saturation=tuple(saturation)))
    images.with_p(chance, lambda: pixels.jitter_colour(images, hue=tuple(hue)))
    images.report_difference("contrast comes before saturation and hue; channels are not permuted")
