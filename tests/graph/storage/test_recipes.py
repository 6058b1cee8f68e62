from __future__ import annotations

import re
from pathlib import Path

import pytest

import workbench.graph.storage.recipes
from workbench.errors import GraphFormatError
from workbench.graph import load_recipe, load_recipes
from workbench.graph.model.node_order import ancestors
from workbench.graph.storage.recipes import load_recipe_document

FOLDER = Path(workbench.graph.storage.recipes.__file__).parent


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
        ("simclr", {"if", "random_resized_crop", "flip", "color_twist", "gaussian_blur"}),
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
        ("byol", {"if", "hsv", "brightness_contrast", "math.bitxor", "crop_mirror_normalize"}),
        ("moco-v3", {"if", "color_twist", "math.bitxor", "crop_mirror_normalize"}),
        ("dino", {"if", "random_resized_crop", "color_twist", "math.bitxor"}),
        ("chest-xray", {"transforms.rotation", "transforms.translation", "warp_affine"}),
        ("ct-slice", {"if", "normalize", "rotate", "noise.gaussian", "math.fpow", "flip"}),
        ("rand-augment", {"random_resized_crop", "flip", "rand_augment"}),
        ("auto-augment", {"random_resized_crop", "flip", "auto_augment"}),
        ("trivial-augment", {"random_resized_crop", "flip", "trivial_augment_wide"}),
        (
            "augmix",
            {"if", "apply_auto_augment", "random.beta", "math.mul", "crop_mirror_normalize"},
        ),
        ("ssd", {"readers.coco", "random_bbox_crop", "hsv", "follow_boxes"}),
        ("retinanet", {"readers.coco", "flip", "resize", "follow_boxes"}),
        ("segmentation", {"readers.coco", "resize", "pad", "follow_masks"}),
        ("key-points", {"readers.coco", "transforms.rotation", "warp_affine", "follow_points"}),
        ("two-modalities", {"readers.numpy", "slice", "if", "normalize", "reductions.min"}),
        ("video-clips", {"experimental.readers.video", "resize", "crop_mirror_normalize"}),
        ("histology-stain", {"math.log", "constant", "reductions.sum", "math.exp"}),
    ],
)
def test_recipes_hold_what_their_names_promise(name: str, ops: set[str]) -> None:
    graph = load_recipe(name)
    assert ops <= {node.op for node in graph.walk()}
    assert 0 < len(graph.about) <= 100
    assert "\n" not in graph.about
    seeds = [node.seed for node in graph.walk() if node.seed is not None]
    assert len(set(seeds)) == len(seeds)


def test_there_are_a_dozen_and_the_test_names_each() -> None:
    named = test_recipes_hold_what_their_names_promise.pytestmark[0].args[1]  # type: ignore[attr-defined]
    assert {name for name, _ in named} == set(load_recipes())
    assert len(named) >= 12


def test_the_views_of_a_pair_share_no_draw() -> None:
    for name in ("byol", "moco-v3", "simclr", "two-view"):
        graph = load_recipe(name)
        first, second = (ancestors(graph, [graph.outputs[f"view_{number}"]]) for number in (1, 2))
        assert first & second == {"reader", "decode"}


def test_recipes_of_papers_name_them_and_what_is_otherwise_than_there() -> None:
    for name, graph in load_recipes().items():
        notes = load_recipe_document(name).layout.notes.values()
        papers = set(re.findall(r"arXiv \d{4}\.\d{5}", graph.about))
        assert bool(papers) == bool(notes), name
        for note in notes:
            assert papers <= set(re.findall(r"arXiv \d{4}\.\d{5}", note.text))
            assert re.search(r"^Code: [\w-]+/[\w-]+, ", note.text, re.MULTILINE), name
            assert "\n\nOtherwise than there:\n- " in note.text


def test_what_stands_beside_a_recipe_is_of_its_nodes() -> None:
    for name, graph in load_recipes().items():
        layout = load_recipe_document(name).layout
        assert layout == layout.within(graph)
        placed = {key for key in layout.positions if not key.startswith(":")}
        drawn_alone = {n.id for n in graph.nodes if not n.op.startswith("random.")}
        assert not placed or drawn_alone <= placed


def test_an_unknown_recipe_gets_the_nearest_one() -> None:
    with pytest.raises(GraphFormatError, match=r"Did you mean imagenet-train\? Recipes: aerial, "):
        load_recipe("imagenet-trian")
    with pytest.raises(GraphFormatError, match=r"no recipe 'zzz'. Recipes"):
        load_recipe("zzz")
