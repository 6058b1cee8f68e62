"""The table of Albumentations' transforms, how blocks are written in them, and its ranges."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from workbench.emit.interop.common.images import number
from workbench.emit.interop.common.library import NOTHING, Library, Unused
from workbench.emit.interop.common.source_text import Expression, call_of
from workbench.emit.interop.common.steps import Choice
from workbench.emit.interop.common.transforms import Transforms, with_p


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
    joined = [_joined(option, 1.0) for option in options]
    return [call_of(f"A.{kind}", joined, n=choice.count)]


def _one_of(options: list[list[Expression]], weights: Sequence[float]) -> Expression:
    """``OneOf``, which takes each transform's p for its weight, and the one it takes always."""
    return call_of(
        "A.OneOf",
        [_joined(option, p, sure=True) for option, p in zip(options, weights, strict=True)],
        p=1.0,
    )


def _joined(steps: list[Expression], p: float, *, sure: bool = False) -> Expression:
    """The steps as one transform of a probability; ``sure`` where that stands for a weight."""
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
    return [_joined(steps, p)]


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
    prefix="A.",
    choice=_choice,
    one_of=_one_of,
    applied='{}(image=photo)["image"]',
    needs_compose=True,
)
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
ALBUMENTATIONS.unwritten.update(
    {
        **dict.fromkeys(
            ("rand_augment", "trivial_augment_wide", "auto_augment", "apply_auto_augment"),
            "has no automatic augmentation; torchvision has",
        ),
        "grid_mask": "turns no grid in GridDropout",
        "warp_affine": "draws its affine map itself (Affine), and takes no matrix",
        "experimental.warp_perspective": "draws its perspective itself, and takes no matrix",
        "noise.shot": "scales shot noise otherwise",
    }
)


def installed_major() -> int | None:
    """The major version of the installed Albumentations; None if it is not installed."""
    try:
        return int(version("albumentations").partition(".")[0])
    except (PackageNotFoundError, ValueError):
        return None


def is_pair(value: Any) -> bool:
    """Whether it is a list of numbers."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def shifted(value: Any, by: float) -> tuple[float, float]:
    """A range, moved."""
    return number(value[0]) + by, number(value[1]) + by


def filling(fill: Any, value: Any) -> Any:
    """What is filled with: ``fill`` in version 2, ``value`` in version 1."""
    return (value if fill is None else fill) or 0


def range_of(value: Any) -> tuple[float, float]:
    """The range that Affine means: a number is that number itself."""
    if is_pair(value):
        return number(value[0]), number(value[1])
    return number(value), number(value)
