"""Register Albumentations' transforms, and convert compositions, blocks, tensors and floats.

The functions accept the arguments of Albumentations 1.4 and 2.0, with the defaults of 2.0. Each
function is named after the class that it imports. Exports are for version 2, on uint8 arrays
(2.0.8).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from workbench.emit.interop.exporting import exporters
from workbench.emit.interop.exporting.chains import Choice, Step
from workbench.emit.interop.exporting.source_text import Expression, call_of
from workbench.emit.interop.exporting.transforms import Transforms, with_p
from workbench.emit.interop.importing import pixels
from workbench.emit.interop.importing.geometry import fills
from workbench.emit.interop.importing.images import Images, NoMatchError, number
from workbench.emit.interop.library import (
    FORM,
    HOLDS,
    NOTHING,
    Library,
    Unused,
    source_text_of,
    transforms_of,
    unused,
)


def _choice(transforms: Transforms, choice: Choice) -> list[Expression]:
    options = [transforms.of(option).made for option in choice.options]
    if choice.times is not None:
        low, high = choice.times
        counts = [options[0] * times for times in range(low, high + 1)]
        return counts[0] if low == high else [_one_of(counts, (1 / len(counts),) * len(counts))]
    if choice.weights:
        if choice.node.op == "if" and not all(options):
            steps, p = next(
                (each for each in zip(options, choice.weights, strict=True) if each[0]), ([], 0.0)
            )
            return _applied(steps, p)
        return [_one_of(options, choice.weights)]
    kind = "RandomOrder" if choice.shuffled else "SomeOf"
    joined = [_sequential(option, 1.0) for option in options]
    return [call_of(f"A.{kind}", joined, n=choice.count)]


def _one_of(options: list[list[Expression]], weights: Sequence[float]) -> Expression:
    """Return ``A.OneOf``, which always applies one option. Each option's p is its weight."""
    return call_of(
        "A.OneOf",
        [_sequential(option, p, sure=True) for option, p in zip(options, weights, strict=True)],
        p=1.0,
    )


def _sequential(steps: list[Expression], p: float, *, sure: bool = False) -> Expression:
    """Combine the steps into one transform with the probability ``p``.

    If ``sure``, the transform is an option of ``OneOf``: ``p`` is its weight, and its steps must
    run whenever the option is selected.
    """
    if not steps:
        return call_of("A.NoOp", p=round(p, 6))
    if len(steps) == 1 and (own := with_p(steps[0], 1.0)) is not None:
        always = ("p", "1.0") in own.arguments
        if always or not sure:
            found = with_p(own, p)
            assert found is not None
            return found
    return call_of("A.Sequential", steps, p=round(p, 6))


def _applied(steps: list[Expression], p: float) -> list[Expression]:
    if not steps or p >= 1:
        return steps
    return [_sequential(steps, p)]


_ALWAYS = (
    *("Compose", "ReplayCompose", "Resize", "SmallestMaxSize", "LongestMaxSize", "Normalize"),
    *("ToFloat", "ToTensorV2", "PadIfNeeded", "RandomCrop", "CenterCrop", "Crop", "Transforms"),
    *("RandomResizedCrop", "RandomSizedCrop", "CropNonEmptyMaskIfExists", "SquareSymmetry", "D4"),
    *("SomeOf", "RandomOrder"),
    *("RandomCropFromBorders", "RandomSizedBBoxSafeCrop", "FromFloat", "ToTensor"),
)
_MASKS = "the graph has no masks; additional_targets is reported separately"
_REMAP = (
    "DALI does not sample such a field; experimental.remap accepts one that you compute, on a "
    "GPU only"
)
ALBUMENTATIONS = Library(
    "albumentations",
    modules=("albumentations",),
    without_effect={
        "is_check_shapes": "it only checks the input",
        "strict": "it only checks the arguments",
        "save_applied_params": "it only records the parameters",
        "always_apply": "it means p=1; another p is reported",
        "CenterCrop.pad_if_needed": "DALI pads, where the library raises an error without it",
        "telemetry": "it does not affect images",
        "mask_interpolation": _MASKS,
        "mask_value": _MASKS,
        "fill_mask": _MASKS,
        "mask_fill_value": _MASKS,
    },
    not_carried={
        "seed": Unused("the graph has its own seed"),
    },
    usual_chance=0.5,
    chances=dict.fromkeys(_ALWAYS, 1.0),
    arguments=frozenset({"BboxParams", "KeypointParams"}),
    not_imported={
        **dict.fromkeys(
            ("ElasticTransform", "GridDistortion", "OpticalDistortion", "PiecewiseAffine"), _REMAP
        ),
        "Perspective": (
            "DALI samples no perspective; experimental.warp_perspective accepts a matrix that "
            "you compute"
        ),
        "MedianBlur": "DALI's median filter, experimental.median_blur, runs only on a GPU",
        **dict.fromkeys(
            ("RandomRain", "RandomFog", "RandomSnow", "RandomSunFlare", "RandomShadow", "Spatter"),
            "DALI has no weather effects",
        ),
        "Lambda": "your own functions cannot be imported: rewrite this one with @wb.node",
        "ISONoise": "DALI has no noise in the hue",
        **dict.fromkeys(
            ("CropNonEmptyMaskIfExists", "RandomSizedBBoxSafeCrop"),
            "it depends on masks or boxes; the closest operator is random_bbox_crop",
        ),
    },
    not_exported={
        **dict.fromkeys(
            ("rand_augment", "trivial_augment_wide", "auto_augment", "apply_auto_augment"),
            "has no automatic augmentation, unlike torchvision",
        ),
        "grid_mask": "does not rotate the grid of GridDropout",
        "warp_affine": "samples its own affine map (Affine) and accepts no matrix",
        "experimental.warp_perspective": "samples its own perspective and accepts no matrix",
        "noise.shot": "scales shot noise differently",
    },
    prefix="A.",
    choice=_choice,
    one_of=_one_of,
    applied='{}(image=photo)["image"]',
    needs_compose=True,
)


def installed_major() -> int | None:
    """Return the major version of the installed Albumentations, or None."""
    try:
        return int(version("albumentations").partition(".")[0])
    except (PackageNotFoundError, ValueError):
        return None


def is_pair(value: Any) -> bool:
    """Return True if a value is a sequence but not a string."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def shifted(value: Any, by: float) -> tuple[float, float]:
    """Return the range ``value`` with ``by`` added to both ends."""
    return number(value[0]) + by, number(value[1]) + by


def filling(fill: Any, value: Any) -> Any:
    """Return the fill value: ``fill`` (name in version 2) or ``value`` (name in version 1)."""
    return (value if fill is None else fill) or 0


def range_of(value: Any) -> tuple[float, float]:
    """Return the range of an ``Affine`` argument. A single number is used for both ends."""
    if is_pair(value):
        return number(value[0]), number(value[1])
    return number(value), number(value)


_imports, _exports = ALBUMENTATIONS.imports, ALBUMENTATIONS.exports


@_imports("Sequential", compare=HOLDS)
def sequential(images: Images, transforms: Any) -> None:
    ALBUMENTATIONS.import_all(images, transforms)


_NO_TARGETS = "the graph has images and labels only"


@_imports("Compose", "ReplayCompose", compare=HOLDS)
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
            images.report_omission(
                f"{name}={source_text_of(value)} omitted: {_NO_TARGETS}. {advice}"
            )
    if images.call.short_name == "ReplayCompose":
        images.report_omission(f"{save_key}: the graph does not record what was applied")
    ALBUMENTATIONS.import_all(images, transforms)


@_imports("OneOf", compare=HOLDS)
def one_of(images: Images, transforms: Any) -> None:
    weights = [ALBUMENTATIONS.chance_of(each) for each in transforms_of(transforms)]
    steps = ALBUMENTATIONS.import_steps(images, transforms, forced=True)
    images.one_of(steps, None if len(set(weights)) == 1 else weights)


@_imports("OneOrOther", compare=HOLDS)
def one_or_other(
    images: Images,
    first: Any = None,
    second: Any = None,
    transforms: Any = None,
    p: float = 0.5,
) -> None:
    both = [first, second] if transforms is None else transforms
    steps = ALBUMENTATIONS.import_steps(images, both, forced=True)
    images.one_of(steps, [number(p), 1 - number(p)])


@_imports("SomeOf", "RandomOrder", compare=HOLDS)
def some_of(images: Images, transforms: Any, n: int = 1, replace: bool = False) -> None:
    found = transforms_of(transforms)
    if replace:
        raise NoMatchError("DALI selects without replacement; replace is True")
    if len({ALBUMENTATIONS.chance_of(each) for each in found}) > 1:
        images.report_difference("all are selected with equal probability, not by their p")
    images.some_of(
        min(int(n), len(found)),
        ALBUMENTATIONS.import_steps(images, found, forced=True),
        shuffled=True,
    )


@_imports("NoOp", compare=NOTHING)
def no_op(images: Images) -> None:
    """Import a transform that changes nothing."""


@_imports("ToTensorV2", compare=NOTHING, transpose_mask=unused(False, "the graph has no masks"))
def to_tensor_v2(images: Images) -> None:
    images.channels_first = True


@_imports("ToTensor", compare=NOTHING)
def to_tensor(
    images: Images,
    num_classes: Any = unused(1, "the graph has no masks"),
    sigmoid: bool = unused(True, "the graph has no masks"),
    normalize: Any = None,
) -> None:
    images.zero_to_one = images.channels_first = True
    if isinstance(normalize, dict):
        pixels.normalise(images, normalize["mean"], normalize["std"])
    elif normalize is not None:
        raise NoMatchError(
            f"normalize is {source_text_of(normalize)}; only mean and std are supported"
        )


@_imports("ToFloat", compare=FORM)
def to_float(images: Images, max_value: Any = 255.0) -> None:
    if max_value not in (None, 255, 255.0):
        raise NoMatchError(f"max_value is {max_value}; only 255 is supported, for 8-bit pixels")
    images.zero_to_one = True


@_imports("Normalize")
def normalize(
    images: Images,
    mean: Any = (0.485, 0.456, 0.406),
    std: Any = (0.229, 0.224, 0.225),
    max_pixel_value: Any = 255.0,
    normalization: str = "standard",
) -> None:
    if normalization != "standard":
        raise NoMatchError(f"normalization is {normalization}; only standard is supported")
    most = number(max_pixel_value or 1.0)
    factor = most if images.zero_to_one else most / 255
    images.zero_to_one = True
    pixels.normalise(
        images,
        [each * factor for each in fills(mean)],
        [each * factor for each in fills(std)],
    )


@_exports("decoders.image")
def export_decode(transforms: Transforms, step: Step) -> None:
    exporters.require_pillow_decoder_arguments(step)
