"""Compositions taken apart, with what they draw pinned."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emit.interop.fixed_transforms import ALL_FIXED, call, composed
from tests.emit.interop.fixed_transforms import albumentations as al
from tests.emit.interop.fixed_transforms import kornia as ko
from tests.emit.interop.fixed_transforms import torchvision as tv
from workbench.catalog import load_catalog
from workbench.emit.interop.graph import import_transforms
from workbench.emit.pipeline_import.transform_call import DrawnValue, NamedValue, TransformCall
from workbench.graph.model import Source
from workbench.transform_comparison.pinned import pinned, pinned_transforms


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
        (DrawnValue(0.1, 2.0), None, 2.0),
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
    """Keywords stand in any order."""
    name, _, given = text.partition("(")
    return [name, *sorted(given.removesuffix(")").split(", "))]


def test_holders_are_opened_and_each_transformation_stands_once() -> None:
    flip = tv("RandomHorizontalFlip")
    blur = call("own.filter", call("PIL.ImageFilter.GaussianBlur", radius=DrawnValue(0.1, 2.0)))
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
    assert normalize.alone.args == ((tv("ToTensor"), normalize.call),)
    assert normalize.without.args == ((tv("ToTensor"),),)


@pytest.mark.parametrize("given", ALL_FIXED, ids=lambda each: f"{each.name}")
def test_nothing_is_left_to_draw_in_what_is_pinned_by_hand_in_the_table(
    given: TransformCall,
) -> None:
    catalog = load_catalog()
    for each in pinned_transforms(composed(given)):
        graph = import_transforms(each.alone).graph
        drawing = [n.op for n in graph.walk() if not isinstance(n, Source) and catalog[n.op].seeded]
        assert drawing == []
