"""The search: what it is given, and what it finds first."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.ui.frontend_module import run_module
from tests.ui.screen import Make
from workbench.catalog import load_catalog
from workbench.catalog.extra_operators import BLOCKS
from workbench.catalog.templates import load_templates
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.edits.compose import place_node, remove_nodes
from workbench.graph.edits.edit import insert_node, set_setting
from workbench.ui.canvas.canvas_payloads import operator_entries
from workbench.ui.canvas.insertions import Add, AddTemplate
from workbench.ui.canvas.suggestions import FindCompatibleOps
from workbench.ui.contract.payloads import argument_entries, recipe_lines, template_entries
from workbench.ui.preview.presenters import recipe_entries

# Items of the search other than operators and nodes.


def test_a_template_says_which_operators_it_takes() -> None:
    (entry,) = template_entries([load_templates()["solarize"]])
    assert entry["label"] == "Solarize"
    assert entry["nodes"] == ["math.ge", "math.mul", "math.bitxor"]
    assert "RandomSolarize" in entry["synonyms"]


def test_arguments_are_those_of_the_operator_without_old_ones() -> None:
    names = [entry["name"] for entry in argument_entries(load_catalog(), "rotate")]
    assert "angle" in names
    assert "output_dtype" not in names
    assert argument_entries(load_catalog(), "") == []


def test_recipes_come_without_pictures() -> None:
    recipe = {"name": "cutout", "line": "A square is erased.", "picture": "data:..."}
    assert recipe_lines([recipe]) == [  # type: ignore[list-item]
        {"name": "cutout", "line": "A square is erased."}
    ]


def test_what_was_tried_at_a_place_is_kept_until_the_graph_changes(make: Make) -> None:
    model, screen = make()
    where = {"do": "compatible_ops", "node": "resize", "output": "output", "edge": ""}
    model.act("canvas", {**where, "tried": ["crop_mirror_normalize"]})
    model.act("canvas", {**where, "tried": ["hue", "nonsense"]})
    found = screen["canvas", "compatible_ops"]
    assert found["tried"] == ["crop_mirror_normalize", "hue"]
    assert found["reasons"]["crop_mirror_normalize"].startswith("rotate.data: it accepts HWC")
    assert "hue" not in found["reasons"]
    assert found["fixes"] == {
        "crop_mirror_normalize": ["Insert crop_mirror_normalize, then transpose to HWC"]
    }
    model.set_graph(Graph())
    model.act("canvas", {**where, "node": "", "output": ""})
    assert screen["canvas", "compatible_ops"]["tried"] == []


def test_recipes_and_commands_are_asked_for_by_the_canvas(make: Make) -> None:
    model, screen = make()
    model.act("canvas", {"do": "recipe", "name": "cutout"})
    assert screen["bar", "title"] == "cutout"
    model.act("canvas", {"do": "new"})
    assert screen["canvas", "nodes"] == []
    model.act("canvas", {"do": "list_folders"})
    assert screen["canvas", "recent_folders"] == []


def test_what_does_not_fit_is_added_with_what_makes_it_fit(make: Make) -> None:
    model, screen = make(graph=load_recipe("imagenet-eval"))
    before = model.graph
    where = {"op": "hsv", "after": "normalize", "sound": True}
    model.act(
        "canvas",
        {
            "do": "compatible_ops",
            "node": "normalize",
            "output": "output",
            "edge": "",
            "tried": ["hsv"],
        },
    )
    before_it, behind_another = screen["canvas", "compatible_ops"]["fixes"]["hsv"]
    model.act("canvas", {"do": "add", **where, "fix": "Insert something else"})
    assert model.graph is before
    assert "no longer available" in screen["bar", "message"]
    model.act("canvas", {"do": "add", **where, "fix": before_it})
    assert before_it == "Insert hsv before normalize"
    assert model.graph.node("normalize").inputs["data"].node == "hsv"
    model.act("canvas", {"do": "undo"})
    model.act("canvas", {"do": "add", **where, "fix": behind_another})
    assert behind_another == "Insert transpose to HWC, then hsv"
    assert model.graph.node("hsv").inputs["data"].node == "transpose"
    assert check_graph(model.graph, load_catalog()) == ()
    assert screen["canvas", "selected"] == ["hsv"]


@pytest.mark.parametrize(
    ("op", "float_after", "label"),
    [
        ("clahe", "resize", "Insert cast to UINT8, then clahe"),
        ("rotate", "reader", "Insert rotate after decode"),
        ("rotate", "", "Insert decoders.image, then rotate"),
    ],
)
def test_a_cast_and_a_decoder_are_offered(op: str, float_after: str, label: str) -> None:
    catalog, graph = load_catalog(), load_recipe("rotate-jitter")
    after = float_after or "reader"
    if float_after == "resize":
        graph, after = insert_node(graph, catalog, "cast", "resize")
        graph = graph.replace_node(graph.node(after).with_args({"dtype": "FLOAT"}))
    elif not float_after:
        graph = remove_nodes(graph, catalog, [n.id for n in graph.nodes if n.id != "reader"])
    found = dict(Add(op, after).repairs(graph, catalog))
    assert label in found
    made, node = found[label]
    assert made.node(node).op == op


def test_two_selected_images_are_mixed_in_one_edit(make: Make) -> None:
    model, _ = make(graph=load_recipe("rotate-jitter"))
    for nodes in (("resize", "rotate"), ("rotate", "resize")):
        other, after = nodes
        mix = {"do": "add_template", "template": "mix", "after": after, "other": other}
        model.act("canvas", {**mix, "sound": True})
        graph = model.graph
        assert model.state.selected == ["share"]
        mixed = [next(iter(graph.node(n).inputs.values())) for n in ("first", "difference")]
        assert {port.node for port in mixed} == set(nodes)
        assert graph.node("color").inputs["data"].node == "mix"
        assert check_graph(graph, load_catalog()) == ()
        model.act("canvas", {"do": "undo"})
    for other in ("", "rotate"):  # nothing, or the same image again
        mix = {"do": "add_template", "template": "mix", "after": "rotate", "other": other}
        model.act("canvas", {**mix, "sound": True})
        assert not model.graph.has("mix")


@pytest.mark.parametrize("selected", [("resize", "gaussian_blur"), ("gaussian_blur", "resize")])
def test_a_branch_is_mixed_into_what_leads_to_an_output(selected: tuple[str, str]) -> None:
    catalog, graph = load_catalog(), load_recipe("rotate-jitter")
    graph, _ = place_node(graph, catalog, "gaussian_blur", Port("resize", "output"))
    other, after = selected
    made, node = AddTemplate("mix", after=after, other=other).insert(graph, catalog)
    fed = {n.id: next(iter(n.inputs.values())).node for n in made.nodes if n.inputs}
    assert (fed["first"], fed["difference"], node) == ("resize", "gaussian_blur", "share")
    assert (fed["gaussian_blur"], fed["rotate"]) == ("resize", "mix")
    assert check_graph(made, catalog) == ()


# What the search finds first, for the words of other libraries and of common speech.
#
# The terms are from the references of torchvision.transforms.v2, Albumentations, Kornia's
# augmentation and imgaug, and from what people say. Each stands behind what has to be found first.

IMAGE: dict[str, str] = {
    # torchvision.transforms.v2
    "RandomHorizontalFlip": "template:random_horizontal_flip",
    "Lambda": "dl_tensor_python_function",  # which says how to write one
    "RandomVerticalFlip": "template:random_vertical_flip",
    "ColorJitter": "template:color_jitter",
    "RandomPhotometricDistort": "template:color_jitter",
    "RandomErasing": "template:random_erasing",
    "RandomResizedCrop": "random_resized_crop",
    "RandomCrop": "template:random_crop",
    "CenterCrop": "crop",
    "Resize": "resize",
    "RandomResize": "template:random_resize",
    "ScaleJitter": "template:random_resize",
    "RandomRotation": "template:random_rotation",
    "RandomAffine": "template:random_affine",
    "RandomPerspective": "template:perspective",
    "ElasticTransform": "template:elastic",
    "RandomZoomOut": "template:random_zoom_out",
    "GaussianBlur": "gaussian_blur",
    "GaussianNoise": "noise.gaussian",
    "RandomInvert": "template:invert",
    "RandomPosterize": "template:posterize",
    "RandomSolarize": "template:solarize",
    "RandomAdjustSharpness": "template:sharpen",
    "RandomAutocontrast": "template:auto_contrast",
    "RandomEqualize": "equalize",
    "RandomGrayscale": "template:random_grayscale",
    "Grayscale": "template:grayscale",
    "JPEG": "jpeg_compression_distortion",
    "ToTensor": "template:to_tensor",
    "ToDtype": "cast",
    "ConvertImageDtype": "cast",
    "Pad": "pad",
    "MixUp": "template:mixup",
    "CutMix": "template:cutmix",
    "RandomApply": ":if",
    "RandAugment": "rand_augment",
    "TrivialAugmentWide": "trivial_augment_wide",
    "AutoAugment": "auto_augment",
    "ImageNet policy": "auto_augment",
    # Albumentations
    "CoarseDropout": "template:coarse_dropout",
    "PixelDropout": "template:pixel_dropout",
    "ChannelDropout": "template:channel_dropout",
    "GridDropout": "grid_mask",
    "CLAHE": "clahe",
    "HueSaturationValue": "hsv",
    "RandomBrightnessContrast": "brightness_contrast",
    "RGBShift": "template:rgb_shift",
    "RandomGamma": "template:gamma",
    "MotionBlur": "template:motion_blur",
    "Sharpen": "template:sharpen",
    "UnsharpMask": "template:unsharp_mask",
    "Emboss": "template:emboss",
    "ImageCompression": "jpeg_compression_distortion",
    "Downscale": "template:pixelate",
    "ISONoise": "noise.shot",
    "GaussNoise": "noise.gaussian",
    "MultiplicativeNoise": "template:multiplicative_noise",
    "SaltAndPepper": "noise.salt_and_pepper",
    "InvertImg": "template:invert",
    "ToGray": "template:grayscale",
    "ToSepia": "template:sepia",
    "ToFloat": "template:to_tensor",
    "RandomFog": "template:fog",
    "PlanckianJitter": "template:color_temperature",
    "RandomRotate90": "template:rotate_90",
    "ShiftScaleRotate": "template:random_affine",
    "GridDistortion": "template:elastic",
    "OpticalDistortion": "sphere",
    "PadIfNeeded": "pad",
    "LongestMaxSize": "resize",
    "SmallestMaxSize": "resize",
    "HorizontalFlip": "template:random_horizontal_flip",
    "Transpose": "transpose",
    "XYMasking": "template:coarse_dropout",
    # Kornia
    "RandomMotionBlur": "template:motion_blur",
    "RandomBoxBlur": "template:box_blur",
    "RandomClahe": "clahe",
    "RandomThinPlateSpline": "template:elastic",
    "RandomShear": "template:shear",
    "RandomFisheye": "sphere",
    "RandomSaltAndPepperNoise": "noise.salt_and_pepper",
    "RandomMixUpV2": "template:mixup",
    "RandomMosaic": "multi_paste",
    "RandomJPEG": "jpeg_compression_distortion",
    "ColorJiggle": "template:color_jitter",
    "RandomHue": "hue",
    # imgaug
    "Fliplr": "template:random_horizontal_flip",
    "Flipud": "template:random_vertical_flip",
    "AddToHueAndSaturation": "template:color_jitter",
    "AdditiveGaussianNoise": "noise.gaussian",
    "GammaContrast": "template:gamma",
    "LinearContrast": "contrast",
    "HistogramEqualization": "equalize",
    "PiecewiseAffine": "template:elastic",
    "PerspectiveTransform": "template:perspective",
    "EdgeDetect": "laplacian",
    "AverageBlur": "template:box_blur",
    "JpegCompression": "jpeg_compression_distortion",
    "BlendAlpha": "template:blend",
    "ChangeColorTemperature": "template:color_temperature",
    "CropToFixedSize": "crop",
    "Sometimes": ":if",
    "UniformColorQuantization": "template:posterize",
    "TranslateX": "template:translate",
    # what people say
    "flip": "flip",
    "mirror": "template:random_horizontal_flip",
    "upside down": "template:random_vertical_flip",
    "turn": "rotate",
    "blur": "gaussian_blur",
    "gaussian blur": "gaussian_blur",
    "noise": "noise.gaussian",
    "jitter": "template:color_jitter",
    "sharpen": "template:sharpen",
    "sharp": "template:sharpen",
    "gamma": "template:gamma",
    "blend": "template:blend",
    "cutout": "template:cutout",
    "mixup": "template:mixup",
    "cutmix": "template:cutmix",
    "solarize": "template:solarize",
    "posterize": "template:posterize",
    "elastic": "template:elastic",
    "zoom": "template:zoom",
    "motion blur": "template:motion_blur",
    "grey": "template:grayscale",
    "black and white": "template:threshold",
    "negative": "template:invert",
    "letterbox": "template:letterbox",
    "resize and pad": "template:letterbox",
    "keep aspect ratio": "template:letterbox",
    "pixelate": "template:pixelate",
    "fisheye": "sphere",
    "ripple": "water",
    "darker": "brightness",
    "white balance": "template:color_temperature",
    "hide a part": "template:cutout",
    "film grain": "noise.shot",
    "compression": "jpeg_compression_distortion",
    "edges": "laplacian",
    "convolution": "filter",
    "lut": "lookup_table",
    "channels first": "transpose",
    "mean and std": "crop_mirror_normalize",
    "crop_mirror": "crop_mirror_normalize",
    "normalize": "template:normalize_channels",
    "normalise": "template:normalize_channels",
    "normalize imagenet": "template:normalize_channels",
    "mean": "reductions.mean",
    "mul": "math.mul",
    "standardize": "crop_mirror_normalize",
    "multi scale": "template:random_resize",
    "perspective": "template:perspective",
    "shear": "template:shear",
    "clip": "math.clamp",
    "+": "math.add",
    "*": "math.mul",
    "-": "math.sub",
    "/": "math.truediv",
    ">": "math.gt",
    "&": "math.bitand",
    "concatenate": "cat",
    "identity": "copy",
    "histogram equalization": "equalize",
    "satur": "saturation",
    "gausian blur": "gaussian_blur",  # slips of the finger
    "brigthness": "brightness",
    "contarst": "contrast",
    "rotat": "rotate",
}
"""Behind an image on the CPU: term -> id of the item."""
PLACES: dict[str, dict[str, str]] = {
    "image on the CPU": IMAGE,
    "image on the GPU": {
        "median": "experimental.median_blur",
        "MedianBlur": "experimental.median_blur",
        "dilate": "experimental.dilate",
        "Erosion": "experimental.erode",
        "GlassBlur": "jitter",
        "grid_sample": "experimental.remap",
        "blur": "gaussian_blur",
    },
    "two selected images": {
        "blend": "template:mix",
        "average": "template:mix",
        "mix": "template:mix",
        "overlay": "template:mix",
        "mean": "template:mix",
    },
    "encoded": {"decode": "decoders.image", "imdecode": "decoders.image", "": "decoders.image"},
    "labels": {
        "one hot": "one_hot",
        "astype": "cast",
        "gaussian blur": "gaussian_blur",  # shown with its reason, and Enter adds nothing
    },
    "nothing": {
        "ImageFolder": "readers.file",
        "load images": "readers.file",
        "dataset": "readers.file",
        "imagenet": "recipe:imagenet-eval",
        "cutout": "recipe:cutout",
        "uniform": "random.uniform",
        "coin": "random.coin_flip",
    },
}
ANSWER = """
import { rank } from "./src/lib/ranking";
import {
  operatorItems,
  recipeItems,
  blockItems,
  templateItems,
} from "./src/canvas/search/searchItems";

function answer({ entries, places }) {
  return places.map(({ terms, compatible, empty, second }) => {
    const at = compatible.place;
    const items = [
      ...operatorItems(entries.operators, compatible, at),
      ...(empty ? recipeItems(entries.recipes) : []),
      ...templateItems(entries.templates, compatible, at, second),
      ...(empty ? [] : blockItems(entries.blocks, ["resize"])),
    ].sort((a, b) => b.weight - a.weight);
    return terms.map((term) =>
      rank(items, term).map(({ id, reason, fix = "" }) => [id, reason, fix]));
  });
}
"""


def entries() -> dict[str, Any]:
    return {
        "operators": operator_entries(load_catalog().values()),
        "blocks": operator_entries(BLOCKS.values()),
        "templates": template_entries(load_templates().values()),
        "recipes": recipe_lines(recipe_entries()),
    }


def place(graph: Graph, node: str = "", output: str = "", **more: Any) -> dict[str, Any]:
    compatible = FindCompatibleOps(node, output, "", **more).find(graph, load_catalog())
    return {"compatible": compatible, "empty": not graph.nodes, "second": "other" in more}


def places() -> dict[str, dict[str, Any]]:
    graph = load_recipe("rotate-jitter")
    mixed = set_setting(graph, device="mixed")
    return {
        "image on the CPU": place(graph, "resize", "output"),
        "image on the GPU": place(mixed, "resize", "output"),
        "two selected images": place(graph, "rotate", "output", other="resize"),
        "encoded": place(graph, "reader", "jpegs"),
        "labels": place(graph, "reader", "labels"),
        "nothing": place(Graph()),
    }


Found = tuple[str, str, str]
"""Id, reason and fix of an item."""


@cache
def found() -> dict[tuple[str, str], list[Found]]:
    """Place and term -> the items, best first."""
    asked = places()
    given = [{**asked[name], "terms": list(terms)} for name, terms in PLACES.items()]
    answers = run_module(ANSWER, {"entries": entries(), "places": given})
    return {
        (name, term): [tuple(item) for item in items]
        for (name, terms), lists in zip(PLACES.items(), answers, strict=True)
        for term, items in zip(terms, lists, strict=True)
    }


def rows() -> Iterator[tuple[str, str, str]]:
    for name, terms in PLACES.items():
        for term, wanted in terms.items():
            yield name, term, wanted


@pytest.mark.parametrize(("name", "term", "wanted"), list(rows()))
def test_the_wanted_result_stands_first(name: str, term: str, wanted: str) -> None:
    assert found()[name, term][0][0] == wanted


def test_what_does_not_fit_says_why_and_stands_below_all_that_fits() -> None:
    assert found()["labels", "gaussian blur"][0][1] == "it accepts images, not labels"
    for items in found().values():
        reasons = [bool(reason) for _, reason, _ in items]
        assert reasons == sorted(reasons)


def test_one_word_leads_to_all_that_it_can_mean() -> None:
    """Before two images are selected, mixing them is listed with what to do."""
    ids = {term: [item for item, _, _ in found()["image on the CPU", term]] for term in IMAGE}
    assert {"template:normalize_channels", "normalize"} <= set(ids["normalize"])
    assert {"template:normalize_channels", "template:mix"} <= set(ids["mean"])
    assert "template:mix" in ids["mul"]
    reasons = {item: reason for item, reason, _ in found()["image on the CPU", "blend"]}
    assert "Shift" in reasons["template:mix"]
    assert reasons["template:blend"] == ""


def test_at_least_120_terms_are_tried() -> None:
    assert len(IMAGE) >= 120


def test_every_name_is_one_thing_only() -> None:
    assert not load_templates().keys() & load_catalog().keys()


RANK = """
import { rank } from "./src/lib/ranking";
function answer(given) {
  return given.map(([items, query]) => rank(items, query).map(({ name }) => name));
}
"""


def thing(name: str, reason: str = "", *synonyms: str, prose: str = "") -> dict[str, Any]:
    return {"name": name, "reason": reason, "synonyms": list(synonyms), "prose": prose}


def test_what_fits_goes_first_and_then_the_better_hit() -> None:
    cases: list[tuple[list[dict[str, Any]], str, list[str]]] = [
        # what fits goes first, among like hits
        ([thing("flip_a", "no"), thing("flip_b")], "flip", ["flip_b", "flip_a"]),
        # also what is hit worse
        ([thing("crop", "no"), thing("a_crop")], "crop", ["a_crop", "crop"]),
        # in between is what fits with another node
        (
            [thing("crop", "no"), {**thing("crop_b"), "fix": "a cast"}, thing("a_crop")],
            "crop",
            ["a_crop", "crop_b", "crop"],
        ),
        # what it is found for goes before what is called so
        ([thing("mix"), {**thing("other"), "firstFor": ["mix"]}], "mix", ["other", "mix"]),
        # a beginning goes before a part, the shorter of two first
        ([thing("x_ab"), thing("abcd"), thing("abc")], "ab", ["abc", "abcd", "x_ab"]),
        # what is called so goes before what begins so
        ([thing("abc"), thing("other", "", "ab")], "ab", ["other", "abc"]),
        # weak hits only where there is no other
        ([thing("abcd", prose="wave"), thing("wave")], "wave", ["wave"]),
        ([thing("abcd", prose="waves of"), thing("other")], "wave", ["abcd"]),
        # not the end of one word and the beginning of the next
        ([thing("around_object"), thing("undo")], "undo", ["undo"]),
        ([thing("one"), thing("two", "no"), thing("three")], "", ["one", "three", "two"]),
        ([thing("one")], "nothing like it", []),
    ]
    given = [[items, query] for items, query, _ in cases]
    assert run_module(RANK, given) == [wanted for _, _, wanted in cases]
