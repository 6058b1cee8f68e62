"""Losses planted into compositions: none of them counts as exact."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.emit.interop.fixed_transforms import albumentations, composed, kornia, torchvision
from workbench.emit.interop.graph import LIBRARIES, from_albumentations, import_transforms
from workbench.emit.interop.library import Library
from workbench.emit.pipeline_import.transform_call import TransformCall
from workbench.engine.importing import from_file

IMPORT_A = "import albumentations as A\n"
IMPORT_K = "import kornia.augmentation as K\n"
IMPORT_T = "import torchvision.transforms as T\nfrom torchvision.transforms import v2\n"
FLIP = "A.HorizontalFlip(p=0.5)"


def compose_a(arguments: str, steps: str = FLIP) -> str:
    return f"{IMPORT_A}t = A.Compose([{steps}]{arguments})\n"


def compose_t(steps: str) -> str:
    return f"{IMPORT_T}t = T.Compose([{steps}])\n"


def compose_k(steps: str) -> str:
    return f"{IMPORT_K}t = K.AugmentationSequential({steps})\n"


def test_functions_of_the_scripts_own_transforms_are_no_losses(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        f"{IMPORT_T}import torchvision.transforms.functional as F\n"
        "class Mirror:\n    def __call__(self, image):\n        return F.hflip(image)\n"
        "t = T.Compose([Mirror()])\nsize = F.get_image_size\n"
    )
    found = from_file(file)
    assert found.report.is_exact, found.report
    assert any(node.op == "flip" for node in found.graph.nodes)


CALLED = {
    "a method around it": (
        "import torchvision.transforms.functional as F\n"
        + compose_t("T.Resize((8, 8))")
        + "class Photos:\n    def __getitem__(self, i):\n        return F.hflip(t(i))\n",
        "F.hflip is called outside the composition",
    ),
    "a function before it": (
        "from torchvision.transforms.v2.functional import rotate as turn\n"
        + compose_t("T.Resize((8, 8))")
        + "def load(x):\n    return t(turn(x, 90))\n",
        "turn is called outside the composition",
    ),
    "by its whole name": (
        "import kornia\n"
        + compose_k("K.RandomHorizontalFlip()")
        + "def load(x):\n    return t(kornia.geometry.transform.vflip(x))\n",
        "vflip is called outside the composition",
    ),
}
PLANTED = {
    **CALLED,
    "boxes": (compose_a(", bbox_params=A.BboxParams(format='coco')"), "bbox_params"),
    "box area": (compose_a(", bbox_params=A.BboxParams('coco', min_area=9)"), "min_area=9"),
    "key points": (compose_a(", keypoint_params=A.KeypointParams('xy')"), "keypoint_params"),
    "targets": (compose_a(", additional_targets={'mask2': 'mask'}"), "mask2"),
    "seed": (compose_a(", seed=3"), "seed=3"),
    "replay": (f"{IMPORT_A}t = A.ReplayCompose([{FLIP}])\n", "record"),
    "always": (compose_a("", "A.VerticalFlip(always_apply=True, p=0.2)"), "always_apply"),
    "border": (compose_a("", "A.Rotate(9, border_mode=4)"), "border_mode=4"),
    "position": (compose_a("", "A.PadIfNeeded(64, 64, position='top_right')"), "position"),
    "noise fill": (compose_a("", "A.CoarseDropout(fill='random')"), "random"),
    "cubic": (compose_a("", "A.Resize(32, 32, interpolation=2)"), "cubic"),
    "area": (compose_a("", "A.Resize(32, 32, interpolation=3)"), "area"),
    "new argument": (compose_a("", "A.Blur(3, strange=1)"), "strange=1"),
    "antialias": (compose_t("v2.Resize((32, 32), antialias=False)"), "antialias"),
    "box filter": (compose_t("T.Resize((32, 32), interpolation=4)"), "box"),
    "hamming": (compose_t("T.Resize((32, 32), interpolation=5)"), "Hamming"),
    "bicubic turn": (compose_t("T.RandomRotation(9, interpolation=3)"), "linearly"),
    "padding mode": (
        compose_t("T.RandomCrop(32, pad_if_needed=True, padding_mode='reflect')"),
        "padding_mode",
    ),
    "colours": (compose_t("T.RandomRotation(9, fill=(1, 2, 3))"), "mean"),
    "sanitise": (compose_t("v2.SanitizeBoundingBoxes()"), "boxes"),
    "longer side": (compose_t("T.Resize(32)"), "longer side"),
    "no clip": (compose_t("v2.GaussianNoise(clip=False)"), "clip=False"),
    "half": (f"import torch\n{compose_t('v2.ToDtype(torch.float16, scale=True)')}", "float16"),
    "own function": (compose_t("T.Lambda(lambda x: x.rotate(x.size[0]))"), "rotate"),
    "data keys": (compose_k("K.RandomHorizontalFlip(), data_keys=['input', 'mask']"), "mask"),
    "batch": (compose_k("K.RandomRotation(9.0, same_on_batch=True)"), "same_on_batch"),
    "p batch": (compose_k("K.RandomHorizontalFlip(p_batch=0.5)"), "p_batch"),
    "corners": (compose_k("K.Resize((32, 32))"), "align_corners"),
    "fill value": (compose_k("K.RandomAffine(9.0, fill_value=1.0)"), "fill_value"),
    "weights": (
        compose_k(
            "K.RandomHorizontalFlip(), K.RandomVerticalFlip(), random_apply=1, "
            "random_apply_weights=[0.9, 0.1]"
        ),
        "random_apply_weights",
    ),
    "timm": (
        "from timm.data import create_transform\n"
        "t = create_transform(32, is_training=True, separate=True)\n",
        "separate",
    ),
    "failing line": (
        f"{IMPORT_T}import absent_settings\n"
        "def t(size=32):\n"
        "    steps = [T.RandomHorizontalFlip()]\n"
        "    steps.append(T.Resize((int(absent_settings.height), size)))\n"
        "    return T.Compose(steps)\n",
        "train.py:6",
    ),
    "condition": (
        f"{IMPORT_T}import absent_settings\n"
        "steps = [T.RandomHorizontalFlip()]\n"
        "if absent_settings.augment:\n"
        "    steps.append(T.RandomVerticalFlip())\n"
        "t = T.Compose(steps)\n",
        "absent_settings.augment",
    ),
    "overridden": (
        f"{IMPORT_T}class Crop(T.RandomCrop):\n"
        "    @staticmethod\n"
        "    def get_params(image, size):\n"
        "        return 0, 0, *size\n"
        "t = T.Compose([Crop(32)])\n",
        "your own",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_loss_is_named_and_not_exact(name: str, tmp_path: Path) -> None:
    text, words = PLANTED[name]
    script = tmp_path / "train.py"
    script.write_text(text)
    report = from_file(script, "t").report
    assert not report.is_exact
    assert report.headline.startswith("partly: ")
    assert words in str(report)
    assert all(entry.place for entry in report.entries if entry.node), "the line is known"


def test_boxes_of_a_saved_composition_are_named() -> None:
    saved = {
        **{"__class_fullname__": "Compose", "p": 1.0, "transforms": []},
        "bbox_params": {"format": "coco", "label_fields": ["labels"], "clip": True},
        "additional_targets": {"other": "image"},
    }
    report = from_albumentations(saved).report
    assert len(report.refused) == 2
    assert "'clip': True" in report.refused[0].why


CONTROLS = [
    torchvision("Resize", (32, 32), antialias=True),
    torchvision("RandomHorizontalFlip"),
    albumentations("HorizontalFlip", always_apply=False),
    albumentations("Resize", 32, 32, mask_interpolation=0),
    kornia("RandomHorizontalFlip", p_batch=1.0, same_on_batch=False, keepdim=True),
    kornia("Resize", (32, 32), align_corners=False),
]


@pytest.mark.parametrize("call", CONTROLS, ids=str)
def test_arguments_without_effect_are_exact(call: TransformCall) -> None:
    report = import_transforms(composed(call)).report
    assert report.is_exact, str(report)
    assert not report.headline.startswith("partly")


REQUIRED: dict[str, Any] = {
    **{"size": (32, 32), "height": 32, "width": 32, "degrees": 9.0, "mean": (0.4,), "std": (0.2,)},
    **{"kernel_size": 5, "sigma": (0.5, 1.0), "angle": 9.0, "direction": 0.5, "threshold": 9},
    **{"bits": 4, "quality": 50, "sharpness_factor": 2.0, "padding": 3, "min_size": 20},
    **{"max_size": 40, "input_size": 32, "min_max_height": (20, 30), "sharpness": 0.5},
    **{"brightness": 0.1, "contrast": 0.1},
}
"""Values of parameters without a default."""
OTHER: dict[str, Any] = {
    **{"interpolation": 0, "resample": "nearest", "side": "long", "padding_mode": "reflect"},
    **{"border_mode": 1, "mode": 1, "fill": 7, "value": 7, "cval": 7, "pad_value": 0.5},
    **{"border_type": "circular", "pad_mode": "reflect", "scale": (0.5, 0.6), "ratio": (0.9, 1.1)},
    **{"rotate_method": "ellipse", "method": "pca", "normalization": "image", "policy": "svhn"},
    **{"position": "top_left", "pad_position": "top_left", "compression_type": "webp"},
    **{"order": [0, 1, 2, 3], "center": (0, 0), "size": (24, 24), "p": 0.25, "shear": (3, 4)},
    **{"brightness": (0.5, 0.6), "contrast": (0.5, 0.6), "saturation": (0.5, 0.6)},
    **{"hue": (0.1, 0.2), "thresholds": 0.3, "additions": 0.2, "translate": (0.1, 0.1)},
    **{"translate_percent": (0.1, 0.2), "translate_px": 3, "rotate": 9, "max_size": 48},
    **{"max_size_hw": (9, 9), "area_for_downscale": "image", "std_range": (0.1, 0.2)},
    **{"mean_range": (0.1, 0.2), "var_limit": (3, 9), "threshold_range": (0.1, 0.2)},
    **{"num_bits": 3, "quality_range": (20, 30), "amount": (0.2, 0.3)},
    **{"salt_vs_pepper": (0.1, 0.2), "alpha": (0.1, 0.2), "lightness": (0.1, 0.2)},
    **{"multiplier": (0.5, 0.6), "limit": 5, "blur_limit": (5, 5), "sigma_limit": (1, 2)},
    **{"angle_range": (10, 20), "direction_range": (0, 1), "gamma_limit": (50, 60)},
    **{"clip_limit": (2, 2), "tile_grid_size": (4, 4), "num_holes_range": (3, 4)},
    **{"hole_height_range": (0.3, 0.4), "hole_width_range": (0.3, 0.4), "fill_value": 7},
    **{"bits": 2, "rgb_weights": (1, 0, 0), "dtype": "float16", "mask": "x", "mask_params": ("x",)},
    **{"std": (0.5,), "mean": (0.1,), "num_output_channels": 3, "sigma": (2.0, 3.0)},
    **{"random_apply": 1, "data_keys": ["mask"], "w2h_ratio": 0.5, "max_height": 3},
    **{"max_width": 3, "min_holes": 2, "min_height": 2, "min_width": 2, "max_h_size": 3},
    **{
        "max_w_size": 3,
        "num_holes": 3,
        "max_holes": 3,
        "clip": False,
        "kernel_size": 7,
        "angle": 60.0,
    },
    **{
        "auto_augment": "rand-m9",
        "train_crop_mode": "rkrc",
        "crop_pct": 0.5,
        "crop_mode": "squash",
    },
    **{"color_jitter_prob": 0.5, "direction": 0.9, "brightness_limit": 0.7, "contrast_limit": 0.7},
}
"""A value of each parameter that is not its default; numbers and switches are changed by rule."""
TOGETHER: dict[tuple[str, str], dict[str, Any]] = {
    ("Resize", "max_size"): {"size": 32},
    ("Scale", "max_size"): {"size": 32},
    ("Resize", "side"): {"size": 32},
    ("RandomResizedCrop", "height"): {"width": 32},
    ("RandomSizedCrop", "height"): {"width": 32},
    ("Affine", "keep_ratio"): {"scale": (0.5, 0.9)},
    ("Cutout", "min_holes"): {"num_holes": 4},
}
"""Arguments that are needed for another one to have an effect."""
_CONDITIONAL = {
    **{("ToGray", "num_output_channels"): 1, ("RandomGrayscale", "num_output_channels"): 1},
    **{("GaussNoise", "mean"): 3, ("Grayscale", "num_output_channels"): 3},
    **{("GaussianNoise", "sigma"): 0.3, ("GaussianNoise", "mean"): 0.2},
    **{("RandomGaussianNoise", "mean"): 0.2, ("RandomGaussianNoise", "std"): 0.3},
    **{("Affine", "scale"): (0.5, 0.6), ("IAAAdditiveGaussianNoise", "scale"): (3, 4)},
    **{("RandomErasing", "value"): 0.5, ("ToDtype", "scale"): True, ("Sharpen", "sigma"): 2.0},
    **{("Equalize", "mode"): "pil", ("ToFloat", "max_value"): 9, ("ToTensor", "normalize"): 3},
    **{("IAASharpen", "sigma"): 2.0, ("RandomSizedCrop", "width"): 24},
    **{(name, "interpolation"): "bilinear" for name in ("RandomRotation", "RandomAffine")},
    **{(name, "resample"): "bilinear" for name in ("RandomRotation", "RandomAffine")},
    **{(name, "interpolation"): "bilinear" for name in ("RandAugment", "AutoAugment")},
    ("TrivialAugmentWide", "interpolation"): "bilinear",
}
HOLDERS = {
    *("Compose", "Sequential", "RandomApply", "RandomChoice", "RandomOrder", "Lambda", "OneOf"),
    *("OneOrOther", "SomeOf", "AugmentationSequential", "ImageSequential", "ReplayCompose"),
    *("SanitizeBoundingBoxes", "ClampBoundingBoxes", "ConvertBoundingBoxFormat", "RandomSharpness"),
}
"""Their arguments are tested above, or they are always omitted."""


def cases() -> Iterator[tuple[str, str]]:
    for library in LIBRARIES.values():
        for name, importer in library.importers.items():
            if name in HOLDERS or (library.name == "torchvision" and name.islower()):
                continue
            for argument in importer.signature.parameters:
                if f"{name}.{argument}" not in library.without_effect:
                    yield f"{library.name}.{name}", argument


def other_value(name: str, parameter: inspect.Parameter) -> Any:
    default = parameter.default
    if _CONDITIONAL.get((name, parameter.name), default) != default:
        return _CONDITIONAL[name, parameter.name]
    if parameter.name in OTHER and OTHER[parameter.name] != default:
        return OTHER[parameter.name]
    if isinstance(default, bool):
        return not default
    if isinstance(default, int | float):
        return default + 3 if isinstance(default, int) else default / 2 + 0.1
    return 5


def result(library: Library, name: str, kwargs: dict[str, Any]) -> tuple[object, list[str]]:
    found = import_transforms(composed(TransformCall(f"{library.name}.{name}", (), kwargs)))
    return found.graph, [str(entry) for entry in found.report.entries]


@pytest.mark.parametrize(("full_name", "argument"), [*cases()])
def test_each_argument_changes_the_graph_or_the_report(full_name: str, argument: str) -> None:
    library_name, name = full_name.split(".")
    library = LIBRARIES[library_name]
    parameters = library.importers[name].signature.parameters
    given: dict[str, Any] = {
        each.name: REQUIRED.get(each.name, 9)
        for each in parameters.values()
        if each.default is each.empty
    }
    if {"size", "width", "height"} <= set(parameters):
        given["size"] = (32, 32)
    given |= TOGETHER.get((name, argument), {})
    if name == "create_transform":
        given["is_training"] = argument not in ("is_training", "crop_pct", "crop_mode")
        given["re_prob"] = 0.5 if argument.startswith("re_") and argument != "re_prob" else 0.0
    before = result(library, name, given)
    after = result(library, name, {**given, argument: other_value(name, parameters[argument])})
    assert before != after


@pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
def test_an_argument_that_is_not_known_is_reported(library: Library) -> None:
    for name in set(library.importers) - HOLDERS:
        parameters = library.importers[name].signature.parameters.values()
        if any(each.kind == each.VAR_KEYWORD for each in parameters):
            continue
        given = {
            each.name: REQUIRED.get(each.name, 9)
            for each in parameters
            if each.default is each.empty and each.kind == each.POSITIONAL_OR_KEYWORD
        }
        entries = result(library, name, {**given, "invented": 1})[1]
        assert entries, name
