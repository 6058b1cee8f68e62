"""SimCLR's draws, against 10,000 draws of torchvision's own code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.graph.storage.test_recipe_draws import SAMPLES, draws
from tests.helpers import torchvision_transforms
from workbench.graph import load_recipe

SMALLEST = 0.001
"""Of two samples of one distribution, one pair in a thousand is farther apart."""
HEIGHT, WIDTH = 375, 500
Draws = NDArray[Any]


@pytest.fixture(scope="module")
def transforms() -> Any:
    return torchvision_transforms()


def same_distribution(ours: Draws, theirs: Draws) -> bool:
    from scipy.stats import ks_2samp

    return bool(ks_2samp(ours.ravel(), theirs.ravel()).pvalue > SMALLEST)


def repeated(draw: Callable[[], Any]) -> Draws:
    return np.array([draw() for _ in range(SAMPLES)], np.float64)


def windows(view: int) -> tuple[Draws, Draws]:
    """Heights and widths of SimCLR's crops in a photo of ``HEIGHT`` and ``WIDTH``, in pixels."""
    from nvidia.dali import fn, pipeline_def

    graph = load_recipe("simclr")
    crop = graph.node(f"crop_{view}")
    photo = np.array([HEIGHT, WIDTH], np.int64)

    @pipeline_def(batch_size=SAMPLES, num_threads=1, device_id=None)
    def pipeline() -> Any:
        shapes = fn.external_source(lambda info: photo, batch=False)
        _, window = fn.random_crop_generator(
            shapes,
            random_area=list(crop.args["random_area"]),  # type: ignore[arg-type]
            num_attempts=crop.args["num_attempts"],
            seed=graph.settings.seed + (crop.seed or 0),
        )
        return window

    pipe = pipeline()
    pipe.build()
    found = np.asarray(pipe.run()[0].as_array(), np.float64)
    return found[:, 0], found[:, 1]


@pytest.mark.parametrize("view", [1, 2])
def test_strengths_of_the_jitter(transforms: Any, view: int) -> None:
    graph = load_recipe("simclr")
    jitter = transforms.ColorJitter(0.8, 0.8, 0.8, 0.2)
    theirs = repeated(
        lambda: jitter.get_params(
            jitter.brightness, jitter.contrast, jitter.saturation, jitter.hue
        )[1:]
    )
    for column, (name, scale) in enumerate(
        {"brightness": 1, "contrast": 1, "saturation": 1, "hue": 360}.items()
    ):
        ours = draws(graph, graph.node(f"{name}_{view}"))
        assert same_distribution(ours, theirs[:, column] * scale), name


@pytest.mark.parametrize("view", [1, 2])
def test_strength_of_the_blur(transforms: Any, view: int) -> None:
    graph = load_recipe("simclr")
    blur = transforms.GaussianBlur(23, (0.1, 2.0))
    theirs = repeated(lambda: blur.get_params(*blur.sigma))
    assert same_distribution(draws(graph, graph.node(f"sigma_{view}")), theirs)
    assert graph.node(f"gaussian_{view}").args["window_size"] == blur.kernel_size[0]


@pytest.mark.parametrize("view", [1, 2])
def test_area_and_ratio_of_the_crop(transforms: Any, view: int) -> None:
    import torch

    crop = transforms.RandomResizedCrop(224)
    photo = torch.zeros(3, HEIGHT, WIDTH)
    theirs = repeated(lambda: crop.get_params(photo, list(crop.scale), list(crop.ratio)))
    high, wide = windows(view)
    assert same_distribution(high * wide, theirs[:, 2] * theirs[:, 3])
    assert same_distribution(wide / high, theirs[:, 3] / theirs[:, 2])


@pytest.mark.parametrize("view", [1, 2])
def test_how_often_each_is_applied(transforms: Any, view: int) -> None:
    """By their constructors' probabilities: ours are tested to be as often in ``draws``."""
    graph = load_recipe("simclr")
    flip, gray = transforms.RandomHorizontalFlip(), transforms.RandomGrayscale(0.2)
    jitter = transforms.RandomApply([transforms.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8)
    blur = transforms.RandomApply([transforms.GaussianBlur(23)], p=0.5)
    for coin, theirs in (
        ("mirror", flip),
        ("with_jitter", jitter),
        ("with_gray", gray),
        ("with_blur", blur),
    ):
        assert graph.node(f"{coin}_{view}").args["probability"] == theirs.p, coin


def test_the_windows_are_those_of_the_recipe() -> None:
    high, wide = windows(1)
    shares = high * wide / (HEIGHT * WIDTH)
    assert shares.min() > 0.079
    assert shares.max() <= 1
    assert (wide / high).min() > 0.74
    assert (wide / high).max() < 1.35
