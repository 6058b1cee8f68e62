"""What of Albumentations is known, and how its transforms are composed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from workbench.emit.interop.common.geometry import fills
from workbench.emit.interop.common.images import Images, NoMatchError, number
from workbench.emit.interop.common.library import (
    FORM,
    HOLDS,
    NOTHING,
    Library,
    Unused,
    transforms_of,
    written,
)
from workbench.emit.interop.common.pixels import normalise

_ALWAYS = (
    *("Compose", "ReplayCompose", "Resize", "SmallestMaxSize", "LongestMaxSize", "Normalize"),
    *("ToFloat", "ToTensorV2", "PadIfNeeded", "RandomCrop", "CenterCrop", "Crop", "Transforms"),
    *("RandomResizedCrop", "RandomSizedCrop", "CropNonEmptyMaskIfExists", "SquareSymmetry", "D4"),
    *("SomeOf", "RandomOrder"),
    *("RandomCropFromBorders", "RandomSizedBBoxSafeCrop", "FromFloat", "ToTensor"),
)
_MASKS = "the graph has no masks, which a report of additional targets names"
ALBUMENTATIONS = Library(
    "albumentations",
    modules=("albumentations",),
    without_effect={
        "is_check_shapes": "it only checks the input",
        "strict": "it only checks the arguments",
        "save_applied_params": "it only records the parameters",
        "always_apply": "it is p=1, which is reported where p is another",
        "CenterCrop.pad_if_needed": "DALI pads, where the library raises an error without it",
        "telemetry": "it concerns no image",
        "mask_interpolation": _MASKS,
        "mask_value": _MASKS,
        "fill_mask": _MASKS,
        "mask_fill_value": _MASKS,
    },
    not_carried={
        "seed": Unused("the graph has a seed of its own"),
    },
    usual_chance=0.5,
    chances=dict.fromkeys(_ALWAYS, 1.0),
    comparisons=dict.fromkeys(("BboxParams", "KeypointParams"), NOTHING),
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


def installed_major() -> int | None:
    """The major version of the installed Albumentations; None if it is not installed."""
    try:
        return int(version("albumentations").partition(".")[0])
    except (PackageNotFoundError, ValueError):
        return None


@_match("Sequential", compare=HOLDS)
def sequential(images: Images, transforms: Any) -> None:
    for each in transforms_of(transforms):
        ALBUMENTATIONS.apply(images, each)


_NO_TARGETS = "the graph has images and labels only"


@_match("Compose", "ReplayCompose", compare=HOLDS)
def compose(
    images: Images,
    transforms: Any,
    bbox_params: Any = None,
    keypoint_params: Any = None,
    additional_targets: Any = None,
    *,
    save_key: str = "replay",
) -> None:
    given = {
        "bbox_params": (bbox_params, "Use a source of boxes"),
        "keypoint_params": (keypoint_params, "Use a source of key points"),
        "additional_targets": (additional_targets, "Use a source of them"),
    }
    for name, (value, advice) in given.items():
        if value:
            images.refused(f"{name}={written(value)} left out: {_NO_TARGETS}. {advice}")
    if images.call.short_name == "ReplayCompose":
        images.refused(f"{save_key}: the graph does not record what was applied")
    for each in transforms_of(transforms):
        ALBUMENTATIONS.apply(images, each)


@_match("OneOf", compare=HOLDS)
def one_of(images: Images, transforms: Any) -> None:
    weights = [ALBUMENTATIONS.chance_of(each) for each in transforms_of(transforms)]
    steps = ALBUMENTATIONS.steps(images, transforms, forced=True)
    images.one_of(steps, None if len(set(weights)) == 1 else weights)


@_match("OneOrOther", compare=HOLDS)
def one_or_other(
    images: Images,
    first: Any = None,
    second: Any = None,
    transforms: Any = None,
    p: float = 0.5,
) -> None:
    both = [first, second] if transforms is None else transforms
    steps = ALBUMENTATIONS.steps(images, both, forced=True)
    images.one_of(steps, [number(p), 1 - number(p)])


@_match("SomeOf", compare=HOLDS)
def some_of(images: Images, transforms: Any, n: int = 1, replace: bool = False) -> None:
    found = transforms_of(transforms)
    if replace:
        raise NoMatchError("some of several are drawn without repetition; replace is True")
    if len({ALBUMENTATIONS.chance_of(each) for each in found}) > 1:
        images.changed("all are drawn equally often, not by their p")
    images.some_of(
        min(int(n), len(found)), ALBUMENTATIONS.steps(images, found, forced=True), shuffled=True
    )


@_match("RandomOrder", compare=HOLDS)
def random_order(images: Images, transforms: Any, n: int = 1, replace: bool = False) -> None:
    some_of(images, transforms, n, replace)


@_match("NoOp", compare=NOTHING)
def no_op(images: Images) -> None:
    """A transform that changes nothing."""


@_match("ToTensorV2", compare=NOTHING, transpose_mask="the graph has no masks")
def to_tensor_v2(images: Images, transpose_mask: bool = False) -> None:
    images.channels_first = True


@_match(
    "ToTensor",
    compare=NOTHING,
    num_classes="the graph has no masks",
    sigmoid="the graph has no masks",
)
def to_tensor(
    images: Images, num_classes: Any = 1, sigmoid: bool = True, normalize: Any = None
) -> None:
    images.zero_to_one = images.channels_first = True
    if isinstance(normalize, dict):
        normalise(images, normalize["mean"], normalize["std"])
    elif normalize is not None:
        raise NoMatchError(f"normalize is {written(normalize)}; mean and std are known")


@_match("ToFloat", compare=FORM)
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
