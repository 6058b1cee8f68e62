from __future__ import annotations

from pathlib import Path

import pytest

import workbench.graph.recipes
from workbench.errors import GraphFormatError
from workbench.graph import load_recipe, load_recipes

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
    ],
)
def test_recipes_hold_what_their_names_promise(name: str, ops: set[str]) -> None:
    graph = load_recipe(name)
    assert ops <= {node.op for node in graph.nodes}
    assert graph.about
    seeds = [node.seed for node in graph.nodes if node.seed is not None]
    assert len(set(seeds)) == len(seeds)


def test_an_unknown_recipe_gets_the_nearest_one() -> None:
    with pytest.raises(GraphFormatError, match=r"Did you mean imagenet-train\? Recipes: imagenet-"):
        load_recipe("imagenet-trian")
    with pytest.raises(GraphFormatError, match=r"no recipe 'zzz'. Recipes"):
        load_recipe("zzz")
