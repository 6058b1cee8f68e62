"""Automatic augmentation and photometric distortion of torchvision, and the reverse."""

from __future__ import annotations

from typing import Any

from workbench.emit.interop.common.images import Images, NoMatchError, number, warp_interp_type
from workbench.emit.interop.common.pixels import jitter_colour
from workbench.emit.interop.common.source_text import Source
from workbench.emit.interop.common.steps import Step
from workbench.emit.interop.common.transforms import Transforms
from workbench.emit.interop.torchvision.geometry import one_fill
from workbench.emit.interop.torchvision.library import TORCHVISION

_match, _writes = TORCHVISION.match, TORCHVISION.writes


@_match("RandAugment")
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


@_writes("rand_augment")
def write_rand_augment(transforms: Transforms, step: Step) -> None:
    bins = step.fixed("num_magnitude_bins")
    transforms.add(
        "RandAugment",
        num_ops=step.fixed("n"),
        magnitude=step.fixed("m"),
        num_magnitude_bins=bins if bins != 31 else None,
    )
    _note_policy(transforms, step)


@_match("TrivialAugmentWide")
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


@_writes("trivial_augment_wide")
def write_trivial_augment_wide(transforms: Transforms, step: Step) -> None:
    bins = step.fixed("num_magnitude_bins")
    transforms.add("TrivialAugmentWide", num_magnitude_bins=bins if bins != 31 else None)
    _note_policy(transforms, step)


@_match("AutoAugment")
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
        policy_name="image_net" if name == "imagenet" else name,
        **_of_augment(images, interpolation, fill),
    )


@_writes("auto_augment")
def write_auto_augment(transforms: Transforms, step: Step) -> None:
    names = {"image_net": "IMAGENET", "svhn": "SVHN"}
    policy = step.fixed("policy_name")
    if policy not in names:
        raise step.refusal(f"has no policy {policy}", "policy_name")
    transforms.add("AutoAugment", Source(f"v2.AutoAugmentPolicy.{names[policy]}"))
    _note_policy(transforms, step)


def _of_augment(images: Images, interp: Any, fill: Any) -> dict[str, Any]:
    images.changed(
        "augmentations and magnitudes are those of nvidia.dali.auto_aug, not of torchvision"
    )
    return {
        "interp_type": warp_interp_type(images, interp),
        "fill_value": 0 if fill is None else int(one_fill(images, fill)),
    }


def _note_policy(transforms: Transforms, step: Step) -> None:
    step.read |= {"fill_value", "interp_type", "max_translate_abs", "max_translate_rel"}
    transforms.note("automatic augmentation has torchvision's operations and magnitudes")


@_match("RandomPhotometricDistort")
def random_photometric_distort(
    images: Images,
    brightness: Any = (0.875, 1.125),
    contrast: Any = (0.5, 1.5),
    saturation: Any = (0.5, 1.5),
    hue: Any = (-0.05, 0.05),
    p: float = 0.5,
) -> None:
    chance = number(p)
    images.with_p(chance, lambda: jitter_colour(images, brightness=tuple(brightness)))
    images.with_p(chance, lambda: jitter_colour(images, contrast=tuple(contrast)))
    images.with_p(chance, lambda: jitter_colour(images, saturation=tuple(saturation)))
    images.with_p(chance, lambda: jitter_colour(images, hue=tuple(hue)))
    images.changed("contrast stands before saturation and hue; channels are not permuted")
