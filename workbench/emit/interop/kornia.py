"""Convert Kornia's augmentations to DALI operators.

Arguments and defaults are those of Kornia 0.8 (``kornia/augmentation``). Input and output images
are channels-first floats from 0 to 1. Each function is named after the class that it imports.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from workbench.emit.interop.importing import pixels
from workbench.emit.interop.importing.geometry import erased_value, opposite
from workbench.emit.interop.importing.images import (
    Images,
    NoMatchError,
    interp_type,
    number,
    range_around,
    rounded,
    size_of,
    uniform,
)
from workbench.emit.interop.library import (
    COLOURS,
    HOLDS,
    WINDOW,
    Comparison,
    Library,
    Unused,
    sampled,
    unused,
    unused_keyword,
)
from workbench.emit.interop.torchvision import colour, composition, geometry

_ALWAYS = (
    *("AugmentationSequential", "ImageSequential", "Sequential", "Normalize", "Resize"),
    *("CenterCrop", "RandomCrop", "RandomResizedCrop", "ColorJitter", "ColorJiggle", "PadTo"),
    *("LongestMaxSize", "SmallestMaxSize", "RandomBrightness", "RandomContrast"),
    *("RandomSaturation", "RandomHue"),
)
KORNIA = Library(
    "kornia",
    modules=("kornia.augmentation",),
    without_effect={
        "keepdim": "it only matters for single images, but the graph has batches",
        "RandomCrop.pad_if_needed": "DALI pads, where the library raises an error without it",
        "separable": "one pass and two passes compute the same",
    },
    not_carried={
        "same_on_batch": Unused("DALI samples per image", (False, None)),
        "p_batch": Unused("DALI decides per image, not per batch", (1, 1.0)),
        "cropping_mode": Unused("whole pixels are cropped", ("slice",)),
        "return_transform": Unused("the graph returns no matrix", (False, None)),
        "transformation_matrix_mode": Unused("the graph returns no matrix", ("silent",)),
    },
    not_imported={
        **dict.fromkeys(
            ("RandomElasticTransform", "RandomThinPlateSpline", "RandomFisheye"),
            "DALI does not sample such a field; experimental.remap accepts one that you compute, "
            "on a GPU only",
        ),
        "RandomPerspective": (
            "DALI samples no perspective; experimental.warp_perspective accepts a matrix that "
            "you compute"
        ),
        "RandomMedianBlur": "DALI's median filter, experimental.median_blur, runs only on a GPU",
        **dict.fromkeys(
            ("RandomMixUpV2", "RandomMixUp", "RandomCutMixV2", "RandomCutMix"),
            "it mixes images of a batch: use the template of that name on the canvas",
        ),
    },
    usual_chance=0.5,
    chances={**dict.fromkeys(_ALWAYS, 1.0), "RandomGrayscale": 0.1},
)
_imports = KORNIA.imports
_imports("RandomHorizontalFlip")(geometry.random_horizontal_flip)
_imports("RandomVerticalFlip")(geometry.random_vertical_flip)


@_imports("AugmentationSequential", "ImageSequential", "Sequential", compare=HOLDS)
def sequential(
    images: Images,
    *transforms: Any,
    data_keys: Any = None,
    extra_args: Any = None,
    random_apply: Any = False,
    random_apply_weights: Any = unused(None, "all are selected with equal probability"),
    if_unsupported_ops: str = unused("raise", "unsupported transforms are omitted"),
    disable_item_features: bool = unused(True, "the images are a batch"),
    disable_sequential_features: bool = unused(False, "the images are a batch"),
) -> None:
    images.zero_to_one = images.channels_first = images.floats = True
    keys = data_keys if isinstance(data_keys, list | tuple) else [data_keys or "image"]
    others = [str(key) for key in keys if _key(key) not in ("image", "input", "0")]
    if others:
        images.report_omission(
            f"data_keys: {', '.join(others)} omitted: the graph has images and labels only. Use a "
            "source of masks or boxes"
        )
    if extra_args and others:
        images.report_omission("extra_args omitted, like the data_keys that they are for")
    if random_apply is False or random_apply is None:
        KORNIA.import_all(images, transforms)
        return
    if not isinstance(random_apply, int) or random_apply is True:
        raise NoMatchError(f"random_apply is {random_apply}; only an integer is supported")
    steps = KORNIA.import_steps(images, transforms)
    images.some_of(min(random_apply, len(steps)), steps, shuffled=True)


def _key(key: Any) -> str:
    return str(key).rpartition(".")[2].lower()


@_imports("RandomResizedCrop", compare=WINDOW)
def random_resized_crop(
    images: Images,
    size: Any,
    scale: Any = (0.08, 1.0),
    ratio: Any = (0.75, 4 / 3),
    resample: Any = "bilinear",
    *,
    align_corners: Any = True,
) -> None:
    images.graph = images.graph.random_resized_crop(
        size=size_of(size),
        random_area=rounded(scale),
        random_aspect_ratio=rounded(ratio),
        **_sampling(images, resample, align_corners, antialias=False),
    )


def _sampling(
    images: Images, resample: Any, align_corners: Any, *, antialias: Any
) -> dict[str, Any]:
    found = {"interp_type": interp_type(images, resample), "antialias": bool(antialias)}
    if found["interp_type"] == "INTERP_NN":
        images.report_difference("nearest neighbour is relative to pixel centres, not corners")
        return found
    if found["interp_type"] == "INTERP_CUBIC":
        images.report_difference("PyTorch's cubic has the parameter -0.75, DALI's -0.5")
    if align_corners is not False:
        images.report_difference(
            f"align_corners={align_corners} is ignored: DALI treats pixels as areas"
        )
    if antialias:
        images.report_difference(
            "antialias: Kornia blurs before it resizes, DALI widens the filter"
        )
    return found


_ALIGNED = unused_keyword(True, "DALI counts from the edges of pixels")
_SLICED = "whole pixels are cropped, so nothing is interpolated"

_imports(
    "RandomCrop",
    resample=unused("bilinear", _SLICED),
    align_corners=unused_keyword(True, _SLICED),
)(geometry.random_crop)


@_imports("CenterCrop", align_corners=unused(True, _SLICED), resample=unused("bilinear", _SLICED))
def center_crop(images: Images, size: Any) -> None:
    images.graph = images.graph.crop(
        crop=size_of(size), rounding="truncate", out_of_bounds_policy="pad"
    )


_SIDES = {
    "short": "resize_shorter",
    "long": "resize_longer",
    "vert": "resize_y",
    "horz": "resize_x",
}


@_imports("Resize")
def resize(
    images: Images,
    size: Any,
    side: str = "short",
    resample: Any = "bilinear",
    align_corners: Any = True,
    antialias: bool = False,
) -> None:
    if side not in _SIDES:
        raise NoMatchError(f"side is {side}; only {', '.join(_SIDES)} are supported")
    sizes: dict[str, Any] = (
        {_SIDES[side]: number(size)} if isinstance(size, int) else {"size": size_of(size)}
    )
    sampling = _sampling(images, resample, align_corners, antialias=antialias)
    images.graph = images.graph.resize(**sizes, **sampling)
    if isinstance(size, int):
        images.report_difference(
            "the other side is rounded, not truncated: it can be one pixel longer"
        )


@_imports("SmallestMaxSize", "LongestMaxSize")
def max_size_(
    images: Images, max_size: Any, resample: Any = "bilinear", align_corners: Any = True
) -> None:
    side = "short" if images.call.short_name == "SmallestMaxSize" else "long"
    resize(images, max_size, side, resample, align_corners)


@_imports("RandomRotation", compare=sampled(degrees=0), align_corners=_ALIGNED)
def random_rotation(images: Images, degrees: Any, resample: Any = "bilinear") -> None:
    geometry.random_rotation(images, degrees, resample)


@_imports(
    "RandomAffine",
    compare=Comparison(ranges={"degrees": 0, "scale": None, "shear": 0}, fixed={"translate": None}),
    align_corners=unused_keyword(False, _ALIGNED.why),
)
def random_affine(
    images: Images,
    degrees: Any,
    translate: Any = None,
    scale: Any = None,
    shear: Any = None,
    resample: Any = "bilinear",
    *,
    padding_mode: Any = "zeros",
    fill_value: Any = None,
) -> None:
    if str(padding_mode).rpartition(".")[2].lower() not in ("zeros", "0"):
        images.report_difference(f"filled with 0, not by padding_mode={padding_mode}")
    if fill_value is not None:
        images.report_difference(f"filled with 0, not with fill_value={fill_value}")
    geometry.random_affine(images, range_around(degrees, 0), translate, scale, shear, resample)


_ORDER = unused_keyword(None, "DALI applies one order")

_imports("ColorJitter", compare=COLOURS, order=_ORDER)(colour.color_jitter)


@_imports("ColorJiggle", compare=COLOURS, order=_ORDER)
def color_jiggle(
    images: Images, brightness: Any = 0.0, contrast: Any = 0.0, saturation: Any = 0.0, hue: Any = 0
) -> None:
    low, high = range_around(brightness, 1, least=0)
    pixels.brighten(images, range_around(contrast, 1, least=0), (low - 1, high - 1))
    pixels.jitter_colour(
        images, saturation=range_around(saturation, 1, least=0), hue=range_around(hue, 0)
    )
    if range_around(saturation, 1) != (1.0, 1.0):
        images.report_difference("saturation is that of YIQ, not of HSV")


_CLIPPED = unused(True, "DALI clips the values to their range")


@_imports("RandomBrightness", compare=sampled(brightness=1), clip_output=_CLIPPED)
def random_brightness(images: Images, brightness: Any = (1.0, 1.0)) -> None:
    low, high = range_around(brightness, 1, least=0)
    images.graph = images.graph.brightness_contrast(brightness_shift=uniform(low - 1, high - 1))


@_imports("RandomContrast", compare=sampled(contrast=1), clip_output=_CLIPPED)
def random_contrast(images: Images, contrast: Any = (1.0, 1.0)) -> None:
    low, high = range_around(contrast, 1, least=0)
    images.graph = images.graph.contrast(contrast=uniform(low, high), contrast_center=0.0)


@_imports("RandomSaturation", compare=sampled(saturation=1))
def random_saturation(images: Images, saturation: Any = (1.0, 1.0)) -> None:
    images.report_difference("saturation is that of YIQ, not of HSV")
    images.graph = images.graph.saturation(
        saturation=uniform(*range_around(saturation, 1, least=0))
    )


@_imports("RandomHue", compare=sampled(hue=0))
def random_hue(images: Images, hue: Any = (0.0, 0.0)) -> None:
    low, high = range_around(hue, 0)
    images.report_difference("the hue is rotated in YIQ, not in HSV: saturated colours differ")
    images.graph = images.graph.hue(hue=uniform(360 * low, 360 * high))


@_imports("RandomGrayscale", rgb_weights=unused(None, "the weights are those of ITU-R 601"))
def random_grayscale(images: Images) -> None:
    pixels.grey(images, 3)


@_imports(
    "RandomGaussianBlur",
    compare=sampled(sigma=None),
    border_type=unused("reflect", "DALI reflects at the border"),
)
def random_gaussian_blur(images: Images, kernel_size: Any, sigma: Any) -> None:
    colour.gaussian_blur(images, size_of(kernel_size)[::-1], sigma)  # the height first


@_imports("RandomGaussianNoise")
def random_gaussian_noise(images: Images, mean: float = 0.0, std: float = 1.0) -> None:
    images.graph = images.graph.noise.gaussian(mean=255 * number(mean), stddev=255 * number(std))


@_imports("RandomErasing")
def random_erasing(
    images: Images, scale: Any = (0.02, 0.33), ratio: Any = (0.3, 3.3), value: Any = 0.0
) -> None:
    geometry.random_erasing(images, 1.0, scale, ratio, value)


_FILTER = "DALI's filter mirrors the image at the border and does not flip the kernel"


@_imports(
    "RandomMotionBlur",
    border_type=unused("constant", _FILTER),
    resample=unused("nearest", _FILTER),
)
def random_motion_blur(images: Images, kernel_size: Any, angle: Any, direction: Any) -> None:
    low, high = kernel_size if isinstance(kernel_size, list | tuple) else 2 * (kernel_size,)

    def blur(size: int) -> None:
        pixels.blur_motion(images, size, opposite(range_around(angle, 0)))  # anticlockwise

    images.one_of_values(range(int(low) | 1, int(high) + 1, 2), blur)
    images.report_difference(
        "the line is at one of six angles, and the image is mirrored at its border"
    )
    if range_around(direction, 0) != (0.0, 0.0):
        images.report_difference(f"the line has equal weights, without direction={direction}")


@_imports(
    "RandomSolarize",
    compare=Comparison(ranges={"thresholds": 0.5}, fixed={"additions": (0.0, 0.0)}),
)
def random_solarize(images: Images, thresholds: Any = 0.1, additions: Any = 0.1) -> None:
    low, high = range_around(thresholds, 0.5)
    if low != high:
        images.report_difference(f"the threshold is the mean of {low} and {high}, not sampled")
    if range_around(additions, 0) != (0.0, 0.0):
        images.report_difference(f"nothing is added, but additions is {additions}")
    pixels.solarize(images, 255 * (low + high) / 2)


@_imports("RandomPosterize", compare=sampled(bits=0))
def random_posterize(images: Images, bits: Any = 3) -> None:
    low, high = bits if isinstance(bits, list | tuple) else (bits, 8)
    images.one_of_values(range(int(low), int(high) + 1), partial(pixels.posterize, images))


@_imports("RandomEqualize")
def random_equalize(images: Images) -> None:
    images.report_difference("the histogram is equalized as in OpenCV")
    pixels.equalize(images)


_imports("RandomInvert", max_val=unused(1.0, "inverted about 0.5, for pixels of 0 to 1"))(
    pixels.invert
)


@_imports("RandomSharpness")
def random_sharpness(images: Images, sharpness: Any = 0.5) -> None:
    raise NoMatchError("DALI has no random sharpness; use filter with a fixed kernel")


@_imports("Normalize")
def normalize(images: Images, mean: Any, std: Any) -> None:
    composition.normalize(images, _tensor_values(mean), _tensor_values(std))


def _tensor_values(value: Any) -> Any:
    """Return the list in a call ``torch.tensor([...])``. Any other value is returned unchanged."""
    args = getattr(value, "args", None)
    return args[0] if args else value


@_imports("PadTo")
def pad_to_(
    images: Images,
    size: Any,
    pad_mode: str = unused("constant", "padded with a value"),
    pad_value: float = 0,
    *,
    crop_if_exceeds: bool = True,
) -> None:
    if not crop_if_exceeds:
        images.report_difference("crop_if_exceeds=False: larger images are cropped to the size")
    images.graph = images.graph.crop(
        crop=size_of(size),
        crop_pos_x=0.0,
        crop_pos_y=0.0,
        out_of_bounds_policy="pad",
        fill_values=erased_value(images, pad_value),
    )
