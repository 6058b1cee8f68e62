"""Compositions of Albumentations, and what makes images tensors or floats.

Arguments are those of Albumentations 1.4 and 2.0, defaults those of 2.0 where the two differ; each
function is named after its class. What is written is for version 2, on uint8 arrays (2.0.8).
"""

from __future__ import annotations

from typing import Any

from workbench.emit.interop.albumentations.library import ALBUMENTATIONS
from workbench.emit.interop.common.geometry import fills
from workbench.emit.interop.common.images import Images, NoMatchError, number
from workbench.emit.interop.common.library import FORM, HOLDS, NOTHING, transforms_of, written
from workbench.emit.interop.common.pixels import normalise
from workbench.emit.interop.common.steps import Step, decoded_with_pillow
from workbench.emit.interop.common.transforms import Transforms

_match, _writes = ALBUMENTATIONS.match, ALBUMENTATIONS.writes


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


@_writes("decoders.image")
def write_decode(transforms: Transforms, step: Step) -> None:
    decoded_with_pillow(step)
