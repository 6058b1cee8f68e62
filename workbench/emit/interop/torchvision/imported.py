"""torchvision's transforms, v1 and v2, by DALI's operators.

Arguments and defaults are those of torchvision 0.26 (``torchvision/transforms/transforms.py`` and
``torchvision/transforms/v2``); each function is named after its class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.emit.interop.common.geometry import (
    affine,
    crop_at_random,
    erase_at_random,
    erased_value,
    opposite,
    pad_sides,
)
from workbench.emit.interop.common.images import (
    Images,
    NoMatchError,
    around,
    coin,
    interp_type,
    number,
    rounded,
    size_of,
    uniform,
    uniform_whole,
    warp_interp_type,
)
from workbench.emit.interop.common.library import (
    COLOURS,
    FORM,
    HOLDS,
    NOTHING,
    WINDOW,
    Comparison,
    Library,
    ranges,
    transforms_of,
)
from workbench.emit.interop.common.pixels import (
    equalize,
    grey,
    invert,
    jitter_around,
    normalise,
    posterize,
    sharpen,
    solarize,
    stretch_contrast,
)
from workbench.emit.pipeline_import.transform_call import TransformCall

TORCHVISION = Library(
    "torchvision",
    modules=("torchvision.transforms", "torchvision.transforms.v2"),
    without_effect={
        "inplace": "it decides where the result is stored",
        "RandomCrop.pad_if_needed": "DALI pads, where the library raises an error without it",
    },
)
_match = TORCHVISION.match
TORCHVISION.unmatched.update(
    {
        **dict.fromkeys(
            ("FiveCrop", "TenCrop"),
            "it makes several images of one; give each crop an output of its own",
        ),
        "RandomPerspective": "DALI draws no perspective; experimental.warp_perspective takes a "
        "matrix that you compute",
        "ElasticTransform": "DALI draws no elastic field; experimental.remap, on a GPU, takes one",
        "LinearTransformation": "DALI multiplies no flattened image by a matrix",
        **dict.fromkeys(
            ("MixUp", "CutMix"), "it mixes a batch: take the template of that name on the canvas"
        ),
    }
)


@_match("Sequential", compare=HOLDS)
def sequential(images: Images, *transforms: Any) -> None:
    for each in transforms:
        for inner in each if isinstance(each, list | tuple) else [each]:
            TORCHVISION.apply(images, inner)


@_match(
    "Compose",
    compare=HOLDS,
    batch_size="a setting of the pipeline, which the workbench sets",
    num_threads="a setting of the pipeline, which the workbench sets",
)
def compose(
    images: Images, transforms: Any, *, batch_size: Any = None, num_threads: Any = None
) -> None:
    # batch_size and num_threads are of DALI's own Compose, nvidia.dali.experimental.torchvision
    for each in transforms_of(transforms):
        TORCHVISION.apply(images, each)


@_match("RandomApply", compare=HOLDS)
def random_apply(images: Images, transforms: Any, p: float = 0.5) -> None:
    steps = TORCHVISION.steps(images, transforms)
    images.with_p(number(p), lambda: [step() for step in steps].clear())


@_match("Lambda", types="applied to images, whatever the types")
def lambda_(images: Images, lambd: Any, *types: Any) -> None:
    """A function of the script's own, whose steps were read where that is possible."""
    if not isinstance(lambd, TransformCall):
        raise NoMatchError("a function of your own: write it as @wb.node")
    TORCHVISION.apply(images, lambd)


@_match("RandomChoice", compare=HOLDS)
def random_choice(images: Images, transforms: Any, p: Any = None) -> None:
    weights = None if p is None else [number(each) for each in p]
    images.one_of(TORCHVISION.steps(images, transforms), weights)


@_match("RandomOrder", compare=HOLDS)
def random_order(images: Images, transforms: Any) -> None:
    steps = TORCHVISION.steps(images, transforms)
    images.some_of(len(steps), steps, shuffled=True)


@_match("Identity", "RGB", "ToPureTensor", compare=NOTHING)
def nothing(images: Images) -> None:
    """A transform that changes no pixel of an RGB image."""


@_match("SanitizeBoundingBoxes", "ClampBoundingBoxes", "ConvertBoundingBoxFormat", compare=NOTHING)
def boxes(images: Images, *_: Any, **__: Any) -> None:
    raise NoMatchError("the graph has images and labels, no boxes: use a source of boxes")


@_match("ToPILImage", compare=NOTHING)
def to_pil_image(images: Images, mode: Any = None) -> None:
    if mode not in (None, "RGB"):
        raise NoMatchError(f"mode is {mode}; RGB is known")
    if images.normalised:
        raise NoMatchError("the images are normalised already")
    images.zero_to_one = images.channels_first = images.floats = False


@_match("ToTensor", compare=FORM)
def to_tensor(images: Images) -> None:
    images.zero_to_one = images.channels_first = True


@_match("ConvertImageDtype", compare=FORM)
def convert_image_dtype(images: Images, dtype: Any = "float32") -> None:
    to_dtype(images, dtype, scale=True)


@_match("ToDtype", compare=FORM)
def to_dtype(images: Images, dtype: Any = "float32", scale: bool = False) -> None:
    images.channels_first = True
    name = _image_dtype(dtype)
    if name == "uint8" and not images.normalised and (scale or not images.zero_to_one):
        images.zero_to_one = images.floats = False
        return
    if name != "float32":
        images.changed(f"floats of 32 bits, not {name}")
    if not images.floats and not images.normalised:
        images.zero_to_one = images.zero_to_one or scale
        images.floats = True
    elif scale and not images.zero_to_one:
        images.changed("floats are not scaled again")


def _image_dtype(dtype: Any) -> str:
    """The type that images get, also of a dictionary of types: ``float32``."""
    if isinstance(dtype, dict):
        for name, each in dtype.items():
            if "Image" in str(name) or str(name) == "others":
                return _image_dtype(each)
        return "uint8"
    return str(dtype).rpartition(".")[2]


@_match("ToImage", "PILToTensor", "ToImageTensor", compare=FORM)
def to_image(images: Images) -> None:
    """A tensor of the same numbers; what follows scales it."""
    images.channels_first = True


@_match("Normalize")
def normalize(images: Images, mean: Any, std: Any) -> None:
    images.zero_to_one = images.zero_to_one or not images.floats
    images.channels_first = True
    normalise(images, mean, std)


@_match("Resize", "Scale")
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
    images.changed("the longer side is rounded, not cut: it can be one pixel longer")


def _sampling(images: Images, interpolation: Any, antialias: Any) -> dict[str, Any]:
    """Arguments of DALI's resizes. PIL images are always antialiased, whatever the argument."""
    found: dict[str, Any] = {"interp_type": interp_type(images, interpolation)}
    if found["interp_type"] == "INTERP_NN":
        if images.channels_first and "exact" not in str(interpolation):
            images.changed("nearest by the middle of pixels, not by their corner as on tensors")
        return found
    if antialias is True:
        return found
    if images.channels_first:
        if found["interp_type"] == "INTERP_CUBIC":
            images.changed("PyTorch's cubic has the parameter -0.75, DALI's -0.5")
        return {**found, "antialias": False}
    images.changed(f"antialias={antialias} has no effect on PIL images, and these are assumed")
    return found


@_match("CenterCrop")
def center_crop(images: Images, size: Any) -> None:
    images.changed("where an odd number of pixels is left over, the crop can be one pixel off")
    images.graph = images.graph.crop(crop=size_of(size), out_of_bounds_policy="pad")


@_match("RandomCrop")
def random_crop(
    images: Images,
    size: Any,
    padding: Any = None,
    pad_if_needed: bool = False,
    fill: Any = 0,
    padding_mode: str = "constant",
) -> None:
    if padding_mode != "constant":
        images.changed(f"padded with {fill}, not by padding_mode={padding_mode}")
    crop_at_random(images, size_of(size), sides(padding or 0), erased_value(images, fill))


@_match("Pad")
def pad(images: Images, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
    if padding_mode != "constant":
        raise NoMatchError(f"DALI pads with a value, not by padding_mode={padding_mode}")
    pad_sides(images, sides(padding), erased_value(images, fill))


def sides(padding: Any) -> tuple[int, int, int, int]:
    """Left, top, right and bottom, of torchvision's one, two or four numbers."""
    if not isinstance(padding, Sequence):
        padding = (padding,)
    left, top, *other = [int(number(each)) for each in padding] * (2 if len(padding) == 1 else 1)
    right, bottom = other or (left, top)
    return left, top, right, bottom


@_match("RandomResizedCrop", "RandomSizedCrop", compare=WINDOW)
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


@_match("RandomHorizontalFlip")
def random_horizontal_flip(images: Images, p: float = 0.5) -> None:
    images.graph = images.graph.flip(horizontal=coin(number(p)))


@_match("RandomVerticalFlip")
def random_vertical_flip(images: Images, p: float = 0.5) -> None:
    images.graph = images.graph.flip(horizontal=0, vertical=coin(number(p)))


@_match("RandomRotation", compare=ranges(degrees=0))
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
        raise NoMatchError("DALI's rotate turns about the middle; center is given")
    images.graph = images.graph.rotate(
        angle=uniform(*around(degrees, 0)),
        keep_size=not expand,
        interp_type=warp_interp_type(images, resample or interpolation),
        fill_value=one_fill(images, fill),
    )


@_match(
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
        raise NoMatchError("only an affine map about the middle is known; center is given")
    shears = around(shear, 0) if shear is not None else (0.0, 0.0)
    second = (0.0, 0.0)
    if isinstance(shear, Sequence) and len(shear) == 4:
        second = (number(shear[2]), number(shear[3]))
    across, down = translate or (0, 0)
    affine(
        images,
        angle=uniform(*around(degrees, 0)),
        scale=uniform(*scale) if scale else 1.0,
        shear=(uniform(*opposite(shears)), uniform(*opposite(second))),
        shift=((-number(across), number(across)), (-number(down), number(down))),
        interp=warp_interp_type(images, resample or interpolation),
        fill=one_fill(images, fill),
    )


def one_fill(images: Images, fill: Any) -> float:
    """One value for all channels, as DALI's warps take it."""
    values = erased_value(images, fill)
    if len(set(values)) == 1:
        return values[0]
    images.changed(f"filled with the mean of {fill}: DALI's warps take one value")
    return sum(values) / len(values)


@_match("ColorJitter", compare=COLOURS)
def color_jitter(
    images: Images, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0
) -> None:
    jitter_around(images, brightness, contrast, saturation, hue)


@_match("Grayscale")
def grayscale(images: Images, num_output_channels: int = 1) -> None:
    grey(images, num_output_channels)


@_match("RandomGrayscale")
def random_grayscale(images: Images, p: float = 0.1) -> None:
    images.with_p(number(p), lambda: grey(images, 3))


@_match("GaussianBlur", compare=ranges(sigma=None))
def gaussian_blur(images: Images, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
    window = size_of(kernel_size)[::-1]  # torchvision has the width first
    low, high = sigma if isinstance(sigma, Sequence) else (sigma, sigma)
    images.graph = images.graph.gaussian_blur(
        window_size=window[0] if window[0] == window[1] else window,
        sigma=uniform(number(low), number(high)),
    )


@_match("RandomErasing")
def random_erasing(
    images: Images,
    p: float = 0.5,
    scale: Any = (0.02, 0.33),
    ratio: Any = (0.3, 3.3),
    value: Any = 0,
) -> None:
    if value == "random":
        images.changed("erased with 0, not with noise")
        value = 0
    images.with_p(number(p), lambda: erase_at_random(images, tuple(scale), tuple(ratio), value))


@_match("RandomInvert")
def random_invert(images: Images, p: float = 0.5) -> None:
    images.with_p(number(p), lambda: invert(images))


@_match("RandomSolarize")
def random_solarize(images: Images, threshold: float, p: float = 0.5) -> None:
    limit = number(threshold) * (255 if isinstance(threshold, float) and threshold <= 1 else 1)
    images.with_p(number(p), lambda: solarize(images, limit))


@_match("RandomPosterize")
def random_posterize(images: Images, bits: int, p: float = 0.5) -> None:
    images.with_p(number(p), lambda: posterize(images, bits))


@_match("RandomEqualize")
def random_equalize(images: Images, p: float = 0.5) -> None:
    images.with_p(number(p), lambda: equalize(images))


@_match("RandomAutocontrast")
def random_autocontrast(images: Images, p: float = 0.5) -> None:
    images.with_p(number(p), lambda: stretch_contrast(images))


@_match("RandomAdjustSharpness")
def random_adjust_sharpness(images: Images, sharpness_factor: float, p: float = 0.5) -> None:
    images.with_p(number(p), lambda: sharpen(images, number(sharpness_factor)))


@_match("GaussianNoise", clip="DALI clips the values to their range")
def gaussian_noise(
    images: Images, mean: float = 0.0, sigma: float = 0.1, clip: bool = True
) -> None:
    images.graph = images.graph.noise.gaussian(mean=255 * number(mean), stddev=255 * number(sigma))


@_match("JPEG", compare=ranges(quality=None))
def jpeg(images: Images, quality: Any) -> None:
    low, high = quality if isinstance(quality, Sequence) else (quality, quality)
    images.graph = images.graph.jpeg_compression_distortion(
        quality=uniform_whole(int(number(low)), int(number(high)))
    )


@_match("RandomShortestSize", compare=ranges(min_size=None))
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

    def step(size: Any) -> Any:
        def shorter() -> None:
            images.graph = images.graph.resize(resize_shorter=number(size), **sampling, **limit)

        return shorter

    images.one_of([step(size) for size in sizes])
    _round_longer_side(images)


@_match("RandomResize")
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
