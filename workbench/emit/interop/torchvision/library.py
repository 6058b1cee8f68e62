"""The table of torchvision's transforms, and how blocks are written in them."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.emit.interop.common.library import Library
from workbench.emit.interop.common.source_text import Expression, Source, call_of
from workbench.emit.interop.common.steps import Choice
from workbench.emit.interop.common.transforms import Transforms, with_p


def _choice(transforms: Transforms, choice: Choice) -> list[Expression]:
    options = [transforms.of(option).made for option in choice.options]
    if choice.times is not None:
        return _repeated(options[0], *choice.times)
    if choice.weights:
        if choice.node.op == "if" and not all(options):
            ((steps, p),) = [
                each for each in zip(options, choice.weights, strict=True) if each[0]
            ] or [([], 0.0)]
            return _applied(steps, p)
        return [_one_of(options, choice.weights)]
    joined = [_joined(option) for option in options]
    if choice.shuffled and choice.count == len(options):
        return [call_of("v2.RandomOrder", joined)]
    kind = "permutations" if choice.shuffled else "combinations"
    transforms.imports.add(f"from itertools import {kind}")
    transforms.options[choice.node.id] = joined
    chosen = f"[v2.Compose(each) for each in {kind}({choice.node.id}, {choice.count})]"
    return [call_of("v2.RandomChoice", Source(chosen))]


def _one_of(options: list[list[Expression]], weights: Sequence[float]) -> Expression:
    joined = [_joined(option) for option in options]
    shares = [round(each, 6) for each in weights]
    equal = len(set(shares)) == 1
    return call_of("v2.RandomChoice", joined, p=None if equal else Source(str(shares)))


def _joined(steps: list[Expression]) -> Expression:
    if not steps:
        return call_of("v2.Identity")
    return steps[0] if len(steps) == 1 else call_of("v2.Compose", steps)


def _applied(steps: list[Expression], p: float) -> list[Expression]:
    """The steps with a probability: in the transform itself where it takes one."""
    if not steps or p >= 1:
        return steps
    if len(steps) == 1 and (own := with_p(steps[0], p)):
        return [own]
    return [call_of("v2.RandomApply", steps, p=p)]


def _repeated(steps: list[Expression], low: int, high: int) -> list[Expression]:
    if not steps or high < 1:
        return []
    joined = _joined(steps)
    counts = [_joined([joined] * times) for times in range(low, high + 1)]
    return counts if low == high else [call_of("v2.RandomChoice", counts)]


TORCHVISION = Library(
    "torchvision",
    modules=("torchvision.transforms", "torchvision.transforms.v2"),
    without_effect={
        "inplace": "it decides where the result is stored",
        "RandomCrop.pad_if_needed": "DALI pads, where the library raises an error without it",
    },
    prefix="v2.",
    choice=_choice,
    one_of=_one_of,
    channels_first=True,
)
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
TORCHVISION.unwritten.update(
    {
        "clahe": "has no CLAHE; albumentations has",
        "grid_mask": "has no grid mask",
        "median_blur": "has no median blur; albumentations has",
        "warp_affine": "draws its affine map itself (RandomAffine), and takes no matrix",
        "experimental.warp_perspective": "draws its perspective itself, and takes no matrix",
        "auto_augment": "has magnitudes of its own in AutoAugment",
        "noise.salt_and_pepper": "has no salt and pepper noise; albumentations has",
        "noise.shot": "has no shot noise; albumentations has",
    }
)
