"""The graphs that each target holds, and what it says of the others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tests.helpers import CATALOG, flat_recipes
from workbench.emit.targets import export, load_target, target_names
from workbench.graph import Graph, load_recipe, load_recipes
from workbench.graph.edits.edit import set_setting

SIDE_BY_SIDE = "side-by-side"
RECIPES = {
    **load_recipes(),
    SIDE_BY_SIDE: set_setting(load_recipe("cutout"), pipelines=2),
}
HOLD_NO_BLOCK = ("dynamic", "notebook", "ray")
BOXES = {"ssd", "retinanet", "mosaic", "copy-paste"}
RAGGED = {
    **dict.fromkeys(BOXES, r"follow_boxes\.boxes: .* the length of 'boxes' differs .* Add a pad"),
    "key-points": r"follow_points\.points: .* the length of 'points' differs .* Add a pad",
}
FOLDERS = dict.fromkeys(
    (*BOXES, "key-points", "segmentation", "two-modalities", "video-clips"),
    r": .* reads (a|one) folder of photos, but the .*, or export for pytorch",
)
TRANSFORMS = {
    **FOLDERS,
    "augmix": r"mixed: .* has no random\.beta, .* Remove the node, or export for pytorch",
    "chest-xray": r"affine: .* samples its own affine map .* and accepts no matrix\. Remove",
    "colour-constancy": r"normalize\.std: .* a fixed 'std', but it is random\. Set a fixed value",
    "ct-slice": r"restored_2: .* this combines 2 images\. Remove the node",
    "document-warp": r"warp: .* samples its own perspective and accepts no matrix\. Remove",
    "grid-mask": r"mask: .* grid.*\. Remove the node",
    "histology-stain": r"levels: .* this combines 2 images\. Remove the node",
}
REFUSED: Mapping[str, Mapping[str, str]] = {
    "torchvision": {
        **TRANSFORMS,
        "medical-gray": r"clahe: torchvision has no CLAHE, unlike albumentations\. Remove the node",
        "video-frame": r"resize\.mode: .* mode is not_smaller\. Change this",
    },
    "albumentations": {
        **TRANSFORMS,
        **dict.fromkeys(
            ("auto-augment", "rand-augment", "trivial-augment"),
            r"augment: albumentations has no automatic augmentation, unlike torchvision\. Remove",
        ),
        "test-time-views": r"top_right\.crop_pos_x: .* the upper left\. Change this",
        "video-frame": r"crop\.crop_pos_x: .* position \(0 to 1\) or at the centre .* Change this",
    },
    "dynamic": {
        **dict.fromkeys(
            BOXES, r"(follow|own)_[a-z]*: .* not support annotations that follow .* Export"
        ),
        "key-points": r"follow_points: .* not support annotations that follow an image\. Export",
        "segmentation": r"follow_masks: .* not support annotations that follow an image\. Export",
        "video-clips": r"reader: .* no reader like read_videos\. Export",
    },
    **dict.fromkeys(("jax", "paddle", "keras"), RAGGED),
    "huggingface": dict.fromkeys(
        RAGGED,
        r"^[a-z_]*\.[a-z]*: .* the shape of '[a-z]*' differs between images\. Resize or pad",
    ),
    "proxy": FOLDERS,
    "tensorflow": RAGGED,
    "triton": {
        "key-points": r"follow_points\.points is connected to reader\.vertices, .* Remove",
        **dict.fromkeys(
            ("mosaic", "copy-paste"), r": .* omits random operators, .* Mute the nodes"
        ),
        "two-modalities": r"reader: a Triton client sends .* readers.numpy decodes files itself",
        "ssd": r"decode\.anchor is connected to reader\.boxes, .* Remove",
        "retinanet": r"follow_boxes\.boxes is connected to reader\.boxes, .* Remove",
        "segmentation": r"follow_masks\.masks is connected to reader\.masks, .* Remove",
        "video-clips": r"reader: a Triton client sends .* decodes files itself",
    },
}
"""Target -> recipes with targets or videos that it cannot carry, and what it says."""
WITHOUT_DALI = ("torchvision", "albumentations")
"""Targets that write the graph in another library: see ``emit/interop``."""
FOLDERS_ALONE = (*WITHOUT_DALI, "proxy")
"""Targets whose data set reads a folder with one of photos for each class, no list of files."""
PYTHON = [name for name in target_names() if name != "notebook"]


def held(target: str) -> dict[str, Graph]:
    """The recipes that a target can hold."""
    found = {name: g for name, g in RECIPES.items() if name not in REFUSED.get(target, ())}
    if target in HOLD_NO_BLOCK:
        flat = {graph.name for graph in flat_recipes()}
        found = {name: graph for name, graph in found.items() if graph.name in flat}
    if not load_target(target).side_by_side:
        del found[SIDE_BY_SIDE]
    return found


def files_of(graph: Graph, target: str, with_: str = "") -> Mapping[str, str]:
    """What a target writes; of a recipe once for all tests, which must not change it."""
    with_ = "training" if target == "triton" else with_  # which is else without what draws
    recipe = next((name for name, known in RECIPES.items() if known is graph), None)
    return _written(graph, target, with_) if recipe is None else _of_recipe(recipe, target, with_)


@cache
def _of_recipe(recipe: str, target: str, with_: str) -> Mapping[str, str]:
    return _written(RECIPES[recipe], target, with_)


def _written(graph: Graph, target: str, with_: str) -> Mapping[str, str]:
    made = export(graph, target, CATALOG, with_=with_, plain=True)
    return {name: file.text for name, file in made.files.items()}
