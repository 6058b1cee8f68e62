"""A script's own functions and classes, read by calling them with a recorded picture."""

from __future__ import annotations

import random
from collections.abc import Callable
from random import uniform
from typing import Any

import numpy as np
import pytest
from PIL import ImageEnhance, ImageFilter, ImageOps

from workbench.emit.pipeline_import.transform_call import DrawnValue, TransformCall
from workbench.engine.script_import.stand_ins import StandIns
from workbench.engine.transform_tracing.own_transforms import read_own_transform
from workbench.engine.transform_tracing.recorded_calls import RecordedCall
from workbench.engine.transform_tracing.recorded_values import transform_call


def steps(transform: Callable[..., Any]) -> list[Any] | None:
    found = read_own_transform(transform, StandIns(), transform_call)
    return None if found is None else list(map(short, found.args[0]))


def short(call: TransformCall) -> Any:
    if call.short_name == "drawn":
        p, yes, no = call.args
        return (p, [*map(short, yes)], [*map(short, no)])
    given = [*call.args, *call.kwargs.values()]
    return (call.short_name, *(short(a) if isinstance(a, TransformCall) else a for a in given))


class Blur:
    def __init__(self, p: float) -> None:
        self.p = p

    def __call__(self, image: Any) -> Any:
        if random.random() < self.p:
            sigma = random.random() * 1.5 + 0.5
            return image.filter(ImageFilter.GaussianBlur(radius=sigma))
        return image


def solarised(image: Any) -> Any:
    do_it = np.random.rand() <= 0.25
    if not do_it:
        return image
    return ImageOps.solarize(image, 100)


def one_of_two(image: Any) -> Any:
    image = image.convert("RGB")
    return random.choice([ImageOps.mirror, ImageOps.invert])(image)


def brightened(image: Any) -> Any:
    return ImageEnhance.Brightness(image).enhance(uniform(0.5, 1.5))


def decided_in_turn(image: Any) -> Any:
    if random.randint(0, 3) == 1:
        if random.uniform(-1, 1) > 0.5:
            image = ImageOps.flip(image)
        image = ImageOps.invert(image)
    return image


@pytest.mark.parametrize(
    ("transform", "read"),
    [
        (Blur(0.4), [(0.4, [("filter", ("GaussianBlur", DrawnValue(0.5, 2.0)))], [])]),
        (solarised, [(0.25, [("solarize", 100)], [])]),
        (one_of_two, [("convert", "RGB"), (0.5, [("mirror",)], [("invert",)])]),
        (brightened, [("Brightness", DrawnValue(0.5, 1.5))]),
        (decided_in_turn, [(0.25, [(0.75, [("invert",)], [("flip",), ("invert",)])], [])]),
        (lambda image: (image * 2 - 1).contiguous(), [("mul", 2), ("sub", 1), ("contiguous",)]),
        (lambda image: image, []),
        (lambda image: image.convert("RGB") if image.mode != "RGB" else image, []),
    ],
)
def test_what_is_done_is_read(transform: Callable[..., Any], read: list[Any]) -> None:
    assert steps(transform) == read


def draws_otherwise(image: Any) -> Any:
    return ImageOps.posterize(image, int(np.random.default_rng().integers(0, 10**9)))


def draws_once_for_two(image: Any) -> Any:
    factor = random.random()
    image = ImageEnhance.Brightness(image).enhance(factor)
    return ImageEnhance.Contrast(image).enhance(factor)


@pytest.mark.parametrize(
    "transform",
    [
        draws_otherwise,
        draws_once_for_two,
        lambda image: image.resize((image.size[0] // 2, 8)) if image.size > (8, 8) else image,
        lambda image: (image, image),
        lambda image: np.asarray(image)[::2],
        lambda image, mask: image,
        lambda image: 3,
        lambda image: [image][1],
    ],
)
def test_what_cannot_be_read_is_told(transform: Callable[..., Any]) -> None:
    assert steps(transform) is None


def test_functions_that_draw_are_as_before() -> None:
    before = random.random, np.random.rand, uniform, ImageOps.solarize
    assert steps(brightened) is not None
    assert steps(draws_once_for_two) is None
    assert (random.random, np.random.rand, uniform, ImageOps.solarize) == before


def test_a_library_s_transform_within_is_its_own_step() -> None:
    owner = StandIns()
    inner = RecordedCall(owner, "torchvision.transforms.Grayscale", (3,), {})
    found = read_own_transform(lambda image: inner(image), owner, transform_call)
    assert found is not None
    assert [call.name for call in found.args[0]] == ["torchvision.transforms.Grayscale"]
