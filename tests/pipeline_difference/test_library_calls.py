"""Libraries' own transformations, made of calls, and taken apart with what they draw pinned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.emit.interop.fixed_transforms import ALL_FIXED, call, composed
from tests.emit.interop.fixed_transforms import albumentations as al
from tests.emit.interop.fixed_transforms import kornia as ko
from tests.emit.interop.fixed_transforms import torchvision as tv
from tests.emit.interop.libraries import require
from workbench.catalog import load_catalog
from workbench.emit.interop.graph import import_transforms
from workbench.emit.interop.live import call_of_object
from workbench.emit.pipeline_import.transform_call import NamedValue, RandomValue, TransformCall
from workbench.graph.model import Source
from workbench.pipeline_difference.sides import library_calls
from workbench.pipeline_difference.sides.library_calls import (
    CannotCallError,
    library_fault,
    library_function,
)
from workbench.pipeline_difference.sides.pinned import pinned, pinned_transforms

PICTURE = np.random.default_rng(7).integers(0, 256, (20, 30, 3), np.uint8)


def made(within: str, *calls: TransformCall) -> Any:
    return library_function(calls, within)(PICTURE)


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


def test_transforms_of_version_2_are_created_by_version_2() -> None:
    """Version 2 stores the interpolation as text, which version 1 rejects."""
    kind = type("Resize", (), {"__module__": "torchvision.transforms.v2._geometry"})
    assert call_of_object(kind(), "torchvision").name == "torchvision.transforms.v2.Resize"


def test_grey_ones_have_a_channel() -> None:
    assert made("torchvision", call("own.convert", "L")).shape == (20, 30, 1)


def test_arithmetic_is_on_tensors() -> None:
    with pytest.raises(CannotCallError, match="it applies arithmetic to a Pillow image"):
        made("torchvision", call("own.mul", 2))
    pytest.importorskip("torch")
    halved = made("kornia", call("own.mul", 0.5))
    assert np.allclose(halved, PICTURE / 510, atol=1e-6)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (call("os.system", "true"), r"os\.system is not a supported class"),
        (call("own.open", "x"), "open is not a supported step"),
        (call("torchvision.datasets.CIFAR10", "x"), "CIFAR10 is not a supported class"),
    ],
)
def test_only_classes_that_are_known_are_called(step: TransformCall, words: str) -> None:
    with pytest.raises(CannotCallError, match=words):
        made("torchvision", step)


def test_a_library_that_is_not_there_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_calls, "find_spec", lambda _: None)
    assert library_fault("kornia") == "kornia is not installed here (pip install kornia)"


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
    with pytest.raises(CannotCallError, match=r"only the name of its argument args\.size is known"):
        made("torchvision", tv("Resize", NamedValue("args.size")))


def test_albumentations_takes_arrays() -> None:
    require("albumentations")
    flip = call("albumentations.VerticalFlip", p=1.0, always_apply=True)
    assert np.array_equal(made("albumentations", flip), PICTURE[::-1])
    with pytest.raises(
        CannotCallError, match="has no argument quality_lower; the call is for another"
    ):
        made("albumentations", call("albumentations.ImageCompression", quality_lower=5, p=1.0))


def test_kornia_takes_batches_of_tensors() -> None:
    require("kornia")
    flip = call("kornia.augmentation.RandomHorizontalFlip", p=1.0)
    assert np.allclose(made("kornia", flip), PICTURE[:, ::-1] / 255, atol=1e-6)


@pytest.mark.parametrize(
    ("value", "middle", "found"),
    [
        (15, 0, (15, 15)),
        ((-30, 10), 0, (10, 10)),
        ([0.1, 2.0], None, (2.0, 2.0)),
        (0.4, 1, (1.4, 1.4)),
        (5, None, 5),
        ([-5, 5, -3, 3], 0, (5, 5, 3, 3)),
        ({"x": (0.8, 1.2), "y": 1}, None, {"x": (1.2, 1.2), "y": 1}),
        (RandomValue(0.1, 2.0), None, 2.0),
        (None, 0, None),
        (True, 0, True),
        (NamedValue("args.degrees"), 0, NamedValue("args.degrees")),
        ([NamedValue("low"), 3], 0, [NamedValue("low"), 3]),
        ([], 0, []),
    ],
)
def test_of_a_range_the_upper_end_is_left(value: Any, middle: Any, found: Any) -> None:
    assert pinned(value, middle) == found


CASES = [
    (tv("RandomHorizontalFlip"), ["RandomHorizontalFlip(p=1.0)"]),
    (tv("RandomHorizontalFlip", 0.3), ["RandomHorizontalFlip(1.0)"]),
    (tv("RandomRotation", 15), ["RandomRotation((15, 15))"]),
    (tv("GaussianBlur", 23, (0.1, 2.0)), ["GaussianBlur(23, (2.0, 2.0))"]),
    (tv("GaussianBlur", 23), ["GaussianBlur(23, sigma=(2.0, 2.0))"]),
    (
        tv("ColorJitter", 0.4, hue=0.1),
        ["ColorJitter(brightness=(1.4, 1.4))", "ColorJitter(hue=(0.1, 0.1))"],
    ),
    (tv("ColorJitter"), []),
    (
        tv("RandomAffine", 10, translate=(0.1, 0.1), shear=5),
        ["RandomAffine((10, 10), shear=(5, 5))"],
    ),
    (tv("RandomResizedCrop", 224, interpolation=3), ["Resize((224, 224), interpolation=3)"]),
    (al("Rotate"), ["Rotate(p=1.0, limit=(90, 90))"]),
    (al("Blur", 7, p=0.2), ["Blur((7, 7), p=1.0)"]),
    (al("RandomResizedCrop", 224, 160), ["Resize(224, 160, p=1.0)"]),
    (al("RandomResizedCrop", size=(224, 160)), ["Resize(224, 160, p=1.0)"]),
    (al("ColorJitter", 0.2, 0, 0, 0), ["ColorJitter(brightness=(1.2, 1.2), p=1.0)"]),
    (al("GaussianBlur"), ["GaussianBlur(p=1.0, sigma_limit=(3.0, 3.0))"]),
    (ko("RandomPosterize", 3), ["RandomPosterize((3, 3), p=1.0)"]),
    (ko("ColorJiggle", 0.2, 0.0, 0.0, 0.0, p=0.5), ["ColorJiggle(p=1.0, brightness=(1.2, 1.2))"]),
    (
        ko("RandomSolarize", 0.1, 0.1),
        ["RandomSolarize((0.6, 0.6), (0.0, 0.0), p=1.0)"],
    ),
]


@pytest.mark.parametrize(("given", "texts"), CASES, ids=lambda each: getattr(each, "name", ""))
def test_what_is_drawn_is_pinned_by_the_name_of_the_argument(
    given: TransformCall, texts: list[str]
) -> None:
    found = pinned_transforms(composed(given))
    assert [sorted_words(each.text) for each in found] == [*map(sorted_words, texts)]


def sorted_words(text: str) -> list[str]:
    """Keywords are in any order."""
    name, _, given = text.partition("(")
    return [name, *sorted(given.removesuffix(")").split(", "))]


def test_holders_are_opened_and_each_transformation_stands_once() -> None:
    flip = tv("RandomHorizontalFlip")
    blur = call("own.filter", call("PIL.ImageFilter.GaussianBlur", radius=RandomValue(0.1, 2.0)))
    whole = tv(
        "Compose",
        [
            tv("RandomApply", [tv("RandomGrayscale", 0.2), flip], p=0.3),
            tv("RandomChoice", [flip, tv("RandomVerticalFlip")], p=[0.5, 0.5]),
            call("own.steps", [call("own.drawn", 0.5, [blur], [])]),
            tv("Lambda", call("own.steps", [call("own.invert")])),
            NamedValue("mine of train.py:3"),
        ],
    )
    assert [each.text for each in pinned_transforms(whole)] == [
        "RandomGrayscale(1.0)",
        "RandomHorizontalFlip(p=1.0)",
        "RandomVerticalFlip(p=1.0)",
        "filter(GaussianBlur(radius=2.0))",
        "invert()",
        "mine()",
    ]


def test_what_stands_behind_a_change_of_form_gets_that_form() -> None:
    whole = tv("Compose", [tv("Resize", 8), tv("ToTensor"), tv("Normalize", (0.5,), (0.5,))])
    resize, normalize = pinned_transforms(whole)
    assert [each.short_name for each in resize.before] == []
    assert [each.short_name for each in normalize.before] == ["ToTensor"]
    assert normalize.composition.args == ((tv("ToTensor"), normalize.call),)
    assert normalize.conversions_alone.args == ((tv("ToTensor"),),)


@pytest.mark.parametrize("given", ALL_FIXED, ids=lambda each: f"{each.name}")
def test_nothing_is_left_to_draw_in_what_is_pinned_by_hand_in_the_table(
    given: TransformCall,
) -> None:
    catalog = load_catalog()
    for each in pinned_transforms(composed(given)):
        graph = import_transforms(each.composition).graph
        drawing = [n.op for n in graph.walk() if not isinstance(n, Source) and catalog[n.op].seeded]
        assert drawing == []
