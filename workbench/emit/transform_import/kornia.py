"""Kornia's augmentations by DALI's operators.

Arguments and defaults are those of Kornia 0.8 (``kornia/augmentation``); images are floats of 0 to
1, channels first, before and after. Each function is named after its class.
"""

from __future__ import annotations

from typing import Any

from workbench.emit.transform_import import torchvision
from workbench.emit.transform_import.geometry import opposite
from workbench.emit.transform_import.images import (
    Images,
    NoMatchError,
    Step,
    around,
    interp_type,
    number,
    size_of,
    uniform,
)
from workbench.emit.transform_import.library import Library
from workbench.emit.transform_import.pixels import (
    blur_motion,
    brighten,
    equalize,
    grey,
    invert,
    jitter_around,
    jitter_colour,
    posterize,
    solarize,
)

_ALWAYS = (
    *("AugmentationSequential", "ImageSequential", "Sequential", "Normalize", "Resize"),
    *("CenterCrop", "RandomCrop", "RandomResizedCrop", "ColorJitter", "ColorJiggle", "PadTo"),
    *("LongestMaxSize", "SmallestMaxSize", "RandomBrightness", "RandomContrast"),
)
KORNIA = Library(
    "kornia",
    ignored=frozenset(
        {"same_on_batch", "keepdim", "align_corners", "cropping_mode", "antialias", "return_label"}
    ),
    usual_chance=0.5,
    chances={**dict.fromkeys(_ALWAYS, 1.0), "RandomGrayscale": 0.1},
)
_match = KORNIA.match
KORNIA.unmatched.update(
    {
        **dict.fromkeys(
            ("RandomElasticTransform", "RandomThinPlateSpline", "RandomFisheye"),
            "DALI draws no such field; experimental.remap takes one that you compute, on a GPU "
            "alone",
        ),
        "RandomPerspective": "DALI draws no perspective; experimental.warp_perspective takes a "
        "matrix that you compute",
        "RandomMedianBlur": "DALI's median, experimental.median_blur, runs on a GPU alone",
        **dict.fromkeys(
            ("RandomMixUpV2", "RandomMixUp", "RandomCutMixV2", "RandomCutMix"),
            "it mixes a batch: take the template of that name on the canvas",
        ),
    }
)


@_match("AugmentationSequential", "ImageSequential", "Sequential")
def sequential(images: Images, *transforms: Any, random_apply: Any = False, **_: Any) -> None:
    images.zero_to_one = images.channels_first = True
    steps: list[Step] = KORNIA.steps(images, list(transforms))
    if random_apply is False or random_apply is None:
        for step in steps:
            step()
        return
    if not isinstance(random_apply, int) or random_apply is True:
        raise NoMatchError(f"random_apply is {random_apply}; a whole number is known")
    images.some_of(min(random_apply, len(steps)), steps, shuffled=True)


@_match("RandomHorizontalFlip")
def random_horizontal_flip(images: Images, p: float = 0.5) -> None:
    torchvision.random_horizontal_flip(images, p)


@_match("RandomVerticalFlip")
def random_vertical_flip(images: Images, p: float = 0.5) -> None:
    torchvision.random_vertical_flip(images, p)


@_match("RandomResizedCrop")
def random_resized_crop(
    images: Images,
    size: Any,
    scale: Any = (0.08, 1.0),
    ratio: Any = (0.75, 4 / 3),
    resample: Any = "bilinear",
) -> None:
    torchvision.random_resized_crop(images, size, scale, ratio, resample)


@_match("RandomCrop")
def random_crop(
    images: Images,
    size: Any,
    padding: Any = None,
    pad_if_needed: bool = False,
    fill: Any = 0,
    padding_mode: str = "constant",
    resample: Any = "bilinear",
) -> None:
    torchvision.random_crop(images, size, padding, pad_if_needed, fill, padding_mode)


@_match("CenterCrop")
def center_crop(images: Images, size: Any, resample: Any = "bilinear") -> None:
    torchvision.center_crop(images, size)


@_match("Resize")
def resize(images: Images, size: Any, resample: Any = "bilinear", side: str = "short") -> None:
    if side != "short":
        raise NoMatchError(f"side is {side}; short is known")
    sizes: dict[str, Any] = (
        {"resize_shorter": number(size)} if isinstance(size, int) else {"size": size_of(size)}
    )
    images.graph = images.graph.resize(**sizes, interp_type=interp_type(resample), antialias=False)


@_match("SmallestMaxSize")
def smallest_max_size(images: Images, max_size: Any, resample: Any = "bilinear") -> None:
    torchvision.resize(images, max_size, resample)


@_match("RandomRotation")
def random_rotation(images: Images, degrees: Any, resample: Any = "bilinear") -> None:
    torchvision.random_rotation(images, degrees, resample)


@_match("RandomAffine")
def random_affine(
    images: Images,
    degrees: Any,
    translate: Any = None,
    scale: Any = None,
    shear: Any = None,
    resample: Any = "bilinear",
    padding_mode: Any = "zeros",
) -> None:
    if str(padding_mode).rpartition(".")[2].lower() not in ("zeros", "0"):
        images.changed(f"filled with 0, not by padding_mode={padding_mode}")
    torchvision.random_affine(images, around(degrees, 0), translate, scale, shear, resample)


@_match("ColorJitter")
def color_jitter(
    images: Images, brightness: Any = 0.0, contrast: Any = 0.0, saturation: Any = 0.0, hue: Any = 0
) -> None:
    jitter_around(images, brightness, contrast, saturation, hue)


@_match("ColorJiggle")
def color_jiggle(
    images: Images, brightness: Any = 0.0, contrast: Any = 0.0, saturation: Any = 0.0, hue: Any = 0
) -> None:
    low, high = around(brightness, 1, least=0)
    brighten(images, around(contrast, 1, least=0), (low - 1, high - 1))
    unchanged = (1.0, 1.0)
    jitter_colour(
        images,
        brightness=unchanged,
        contrast=unchanged,
        saturation=around(saturation, 1, least=0),
        hue=around(hue, 0),
    )
    if around(saturation, 1) != unchanged:
        images.changed("saturation is that of YIQ, not of HSV")


@_match("RandomBrightness")
def random_brightness(images: Images, brightness: Any = (1.0, 1.0)) -> None:
    low, high = around(brightness, 1, least=0)
    images.graph = images.graph.brightness_contrast(brightness_shift=uniform(low - 1, high - 1))


@_match("RandomContrast")
def random_contrast(images: Images, contrast: Any = (1.0, 1.0)) -> None:
    low, high = around(contrast, 1, least=0)
    images.graph = images.graph.contrast(contrast=uniform(low, high), contrast_center=0.0)


@_match("RandomSaturation")
def random_saturation(images: Images, saturation: Any = (1.0, 1.0)) -> None:
    images.graph = images.graph.saturation(saturation=uniform(*around(saturation, 1, least=0)))


@_match("RandomHue")
def random_hue(images: Images, hue: Any = (0.0, 0.0)) -> None:
    low, high = around(hue, 0)
    images.graph = images.graph.hue(hue=uniform(360 * low, 360 * high))


@_match("RandomGrayscale")
def random_grayscale(images: Images, rgb_weights: Any = None) -> None:
    grey(images, 3)


@_match("RandomGaussianBlur")
def random_gaussian_blur(
    images: Images, kernel_size: Any, sigma: Any, border_type: str = "reflect", **_: Any
) -> None:
    torchvision.gaussian_blur(images, size_of(kernel_size)[::-1], sigma)  # the height first


@_match("RandomGaussianNoise")
def random_gaussian_noise(images: Images, mean: float = 0.0, std: float = 1.0) -> None:
    images.graph = images.graph.noise.gaussian(mean=255 * number(mean), stddev=255 * number(std))


@_match("RandomErasing")
def random_erasing(
    images: Images, scale: Any = (0.02, 0.33), ratio: Any = (0.3, 3.3), value: Any = 0.0
) -> None:
    torchvision.random_erasing(images, 1.0, scale, ratio, value)


@_match("RandomMotionBlur")
def random_motion_blur(
    images: Images,
    kernel_size: Any,
    angle: Any,
    direction: Any,
    border_type: Any = "constant",
    resample: Any = "nearest",
) -> None:
    low, high = kernel_size if isinstance(kernel_size, list | tuple) else 2 * (kernel_size,)

    def step(size: int) -> Step:
        return lambda: blur_motion(images, size, opposite(around(angle, 0)))  # anticlockwise

    images.one_of([step(size) for size in range(int(low) | 1, int(high) + 1, 2)])
    if around(direction, 0) != (0.0, 0.0):
        images.changed("all of the line counts alike, whatever its direction")


@_match("RandomSolarize")
def random_solarize(images: Images, thresholds: Any = 0.1, additions: Any = 0.1) -> None:
    low, high = around(thresholds, 0.5)
    if low != high:
        images.changed("the threshold is the middle of its range, and nothing is added")
    solarize(images, 255 * (low + high) / 2)


@_match("RandomPosterize")
def random_posterize(images: Images, bits: Any = 3) -> None:
    low, high = bits if isinstance(bits, list | tuple) else (bits, 8)

    def step(count: int) -> Step:
        return lambda: posterize(images, count)

    images.one_of([step(count) for count in range(int(low), int(high) + 1)])


@_match("RandomEqualize")
def random_equalize(images: Images) -> None:
    equalize(images)


@_match("RandomInvert")
def random_invert(images: Images, max_val: Any = 1.0) -> None:
    invert(images)


@_match("RandomSharpness")
def random_sharpness(images: Images, sharpness: Any = 0.5) -> None:
    raise NoMatchError("DALI draws no sharpness; filter takes a kernel")


@_match("Normalize")
def normalize(images: Images, mean: Any, std: Any) -> None:
    torchvision.normalize(images, _plain(mean), _plain(std))


def _plain(value: Any) -> Any:
    """The numbers of ``torch.tensor([...])``, as a call."""
    args = getattr(value, "args", None)
    return args[0] if args else value


@_match("PadTo")
def pad_to_(images: Images, size: Any, pad_mode: str = "constant", pad_value: float = 0) -> None:
    images.graph = images.graph.crop(
        crop=size_of(size), crop_pos_x=0.0, crop_pos_y=0.0, out_of_bounds_policy="pad"
    )
