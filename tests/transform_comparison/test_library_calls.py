"""Libraries' own transformations, made of calls; without a library its tests are skipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.emit.interop.fixed_transforms import call
from tests.emit.interop.fixed_transforms import torchvision as tv
from tests.emit.interop.libraries import require
from workbench.emit.pipeline_import.transform_call import NamedValue, TransformCall
from workbench.transform_comparison.library_calls import (
    CannotCallError,
    library_fault,
    made_by_library,
)

PICTURE = np.random.default_rng(7).integers(0, 256, (20, 30, 3), np.uint8)


def made(within: str, *calls: TransformCall) -> Any:
    return made_by_library(calls, within)(PICTURE)


@pytest.mark.parametrize(
    ("step", "found"),
    [
        (call("own.mirror"), PICTURE[:, ::-1]),
        (call("own.invert"), 255 - PICTURE),
        (call("own.solarize", 128), np.where(PICTURE < 128, PICTURE, 255 - PICTURE)),
        (call("own.posterize", 4), PICTURE & 0xF0),
        (call("own.Brightness", 0.0), np.zeros_like(PICTURE)),
        (
            call("own.filter", call("PIL.ImageFilter.BoxBlur", radius=0)),
            PICTURE,
        ),
    ],
    ids=lambda each: getattr(each, "short_name", ""),
)
def test_steps_of_the_scripts_own_are_made_by_pillow(step: TransformCall, found: Any) -> None:
    assert np.array_equal(made("torchvision", step), found)


def test_grey_ones_have_a_channel() -> None:
    assert made("torchvision", call("own.convert", "L")).shape == (20, 30, 1)


def test_arithmetic_is_on_tensors() -> None:
    with pytest.raises(CannotCallError, match="arithmetic on a picture of Pillow's"):
        made("torchvision", call("own.mul", 2))
    pytest.importorskip("torch")
    halved = made("kornia", call("own.mul", 0.5))
    assert np.allclose(halved, PICTURE / 510, atol=1e-6)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (call("os.system", "true"), r"os\.system is not among the classes that are known"),
        (call("own.open", "x"), "open is not among the steps that are known"),
        (call("torchvision.datasets.CIFAR10", "x"), "CIFAR10 is not among the classes"),
    ],
)
def test_only_classes_that_are_known_are_called(step: TransformCall, words: str) -> None:
    with pytest.raises(CannotCallError, match=words):
        made("torchvision", step)


def test_a_library_that_is_not_there_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.transform_comparison.library_calls.find_spec", lambda _: None)
    assert library_fault("kornia") == "kornia is not installed here: pip install kornia"


def test_torchvision_takes_pictures_and_tensors() -> None:
    require("torchvision")
    assert np.array_equal(made("torchvision", tv("RandomHorizontalFlip", 1.0)), PICTURE[:, ::-1])
    normalized = made("torchvision", tv("ToTensor"), tv("Normalize", [0.5] * 3, [0.5] * 3))
    assert np.allclose(normalized, PICTURE / 127.5 - 1, atol=1e-6)
    scaled = made(
        "torchvision",
        call("torchvision.transforms.v2.ToImage"),
        call("torchvision.transforms.v2.ToDtype", NamedValue("torch.float32"), scale=True),
    )
    assert np.allclose(scaled, PICTURE / 255, atol=1e-6)
    smaller = tv("Resize", (10, 15), interpolation=NamedValue("InterpolationMode.BICUBIC"))
    assert made("torchvision", smaller).shape == (10, 15, 3)
    with pytest.raises(CannotCallError, match=r"its argument args\.size is known by its name"):
        made("torchvision", tv("Resize", NamedValue("args.size")))


def test_albumentations_takes_arrays() -> None:
    require("albumentations")
    flip = call("albumentations.VerticalFlip", p=1.0, always_apply=True)
    assert np.array_equal(made("albumentations", flip), PICTURE[::-1])
    with pytest.raises(CannotCallError, match="has no argument quality_lower: it is of another"):
        made("albumentations", call("albumentations.ImageCompression", quality_lower=5, p=1.0))


def test_kornia_takes_batches_of_tensors() -> None:
    require("kornia")
    flip = call("kornia.augmentation.RandomHorizontalFlip", p=1.0)
    assert np.allclose(made("kornia", flip), PICTURE[:, ::-1] / 255, atol=1e-6)
