"""What of Albumentations is known, and how its transforms are composed."""

from __future__ import annotations

from typing import Any

from workbench.emit.transform_import.geometry import fills
from workbench.emit.transform_import.images import Images, NoMatchError, number
from workbench.emit.transform_import.library import Library, transforms_of
from workbench.emit.transform_import.pixels import normalise

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
_REMAP = "DALI draws no such field; experimental.remap takes one that you compute, on a GPU alone"
ALBUMENTATIONS.unmatched.update(
    {
        **dict.fromkeys(
            ("ElasticTransform", "GridDistortion", "OpticalDistortion", "PiecewiseAffine"), _REMAP
        ),
        "Perspective": "DALI draws no perspective; experimental.warp_perspective takes a matrix "
        "that you compute",
        "MedianBlur": "DALI's median, experimental.median_blur, runs on a GPU alone",
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
    images.zero_to_one = images.channels_first = True


@_match("ToFloat")
def to_float(images: Images, max_value: Any = 255.0) -> None:
    if max_value not in (None, 255, 255.0):
        raise NoMatchError(f"max_value is {max_value}; 255 is known, for pixels of 8 bits")
    images.zero_to_one = True


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
    if images.zero_to_one:
        most = 255.0
    images.zero_to_one = True
    factor = most / 255
    normalise(
        images,
        [each * factor for each in fills(mean)],
        [each * factor for each in fills(std)],
    )
