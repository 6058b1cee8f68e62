from __future__ import annotations

from pathlib import Path

import pytest

import workbench.graph.recipes
from workbench.errors import GraphFormatError
from workbench.graph import load_recipe, load_recipes
from workbench.graph.model import ancestors

FOLDER = Path(workbench.graph.recipes.__file__).parent


def test_one_file_is_one_recipe_of_that_name() -> None:
    assert list(load_recipes()) == sorted(path.stem for path in FOLDER.glob("*.json"))
    assert {"imagenet-train", "imagenet-eval", "rotate-jitter", "simclr"} <= set(load_recipes())


@pytest.mark.parametrize(
    ("name", "ops"),
    [
        (
            "imagenet-train",
            {"readers.file", "decoders.image", "random_resized_crop", "crop_mirror_normalize"},
        ),
        ("imagenet-eval", {"readers.file", "decoders.image", "resize", "crop_mirror_normalize"}),
        ("rotate-jitter", {"resize", "rotate", "color_twist", "random.uniform"}),
        ("simclr", {"random_resized_crop", "color_twist", "gaussian_blur"}),
        ("two-view", {"random_resized_crop", "color_twist", "gaussian_blur", "random.coin_flip"}),
        ("aerial", {"random_resized_crop", "rotate", "flip", "brightness_contrast"}),
        ("medical-gray", {"clahe", "rotate", "crop_mirror_normalize"}),
        ("document-warp", {"rotate", "experimental.warp_perspective", "gaussian_blur"}),
        ("robustness", {"gaussian_blur", "noise.gaussian", "jpeg_compression_distortion"}),
        ("cutout", {"random_resized_crop", "erase"}),
        ("grid-mask", {"random_resized_crop", "grid_mask"}),
        ("colour-constancy", {"crop_mirror_normalize", "brightness"}),
        ("test-time-views", {"resize", "crop_mirror_normalize"}),
        ("video-frame", {"rotate", "crop", "jpeg_compression_distortion"}),
    ],
)
def test_recipes_hold_what_their_names_promise(name: str, ops: set[str]) -> None:
    graph = load_recipe(name)
    assert ops <= {node.op for node in graph.nodes}
    assert 0 < len(graph.about) <= 100
    assert "\n" not in graph.about
    seeds = [node.seed for node in graph.nodes if node.seed is not None]
    assert len(set(seeds)) == len(seeds)


def test_there_are_a_dozen_and_the_test_names_each() -> None:
    named = test_recipes_hold_what_their_names_promise.pytestmark[0].args[1]  # type: ignore[attr-defined]
    assert {name for name, _ in named} == set(load_recipes())
    assert len(named) >= 12


def test_the_views_of_a_pair_share_no_draw() -> None:
    for name in ("simclr", "two-view"):
        graph = load_recipe(name)
        first, second = (ancestors(graph, [graph.outputs[f"view_{number}"]]) for number in (1, 2))
        assert first & second == {"reader", "decode"}


def test_an_unknown_recipe_gets_the_nearest_one() -> None:
    with pytest.raises(GraphFormatError, match=r"Did you mean imagenet-train\? Recipes: aerial, "):
        load_recipe("imagenet-trian")
    with pytest.raises(GraphFormatError, match=r"no recipe 'zzz'. Recipes"):
        load_recipe("zzz")
