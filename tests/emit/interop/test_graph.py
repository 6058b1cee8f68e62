"""Compositions of libraries as graphs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.emit.interop.fixed_transforms import (
    ALL_FIXED,
    albumentations,
    composed,
    kornia,
    run,
    torchvision,
    with_decoded,
)
from workbench.catalog import Catalog, load_catalog
from workbench.emit.interop.albumentations import composition as albumentations_table
from workbench.emit.interop.graph import from_albumentations, from_torchvision, import_transforms
from workbench.emit.pipeline_import.transform_call import (
    NamedValue,
    TransformCall,
    from_plain,
    to_plain,
)
from workbench.errors import ImportFailedError
from workbench.graph.builder import data_node
from workbench.graph.checks.check import check_graph
from workbench.graph.model import Graph
from workbench.graph.model.faults import Fault

CATALOG = load_catalog()
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph.walk()]


@pytest.mark.parametrize("call", ALL_FIXED, ids=str)
def test_each_known_transform_is_a_sound_graph(call: TransformCall) -> None:
    found = import_transforms(composed(call))
    assert not found.report.refused
    assert [str(fault) for fault in check_graph(found.graph, CATALOG)] == []


def test_order_chance_and_ranges_are_the_librarys() -> None:
    jitter = torchvision("ColorJitter", 0.8, 0.8, 0.8, 0.2)
    found = import_transforms(
        composed(
            torchvision("RandomResizedCrop", 224, scale=(0.2, 1.0)),
            torchvision("RandomApply", [jitter], p=0.8),
            torchvision("RandomGrayscale", p=0.2),
            torchvision("RandomHorizontalFlip"),
            torchvision("ToTensor"),
            torchvision("Normalize", MEAN, STD),
        ),
        "simclr",
    )
    graph = found.graph
    main = [node.op for node in graph.nodes if not node.op.startswith("random.")]
    assert main == [
        *("readers.file", "decoders.image", "random_resized_crop", "if", "if", "flip"),
        "crop_mirror_normalize",
    ]
    chances = [node.args["probability"] for node in graph.walk() if node.op == "random.coin_flip"]
    assert sorted(chances) == [0.2, 0.5, 0.8]
    assert graph.node("crop_mirror_normalize").args["mean"] == pytest.approx(
        (123.675, 116.28, 103.53)
    )
    assert {issue.node for issue in found.report.changed} == {"ColorJitter"}
    assert graph.name == "simclr"


def test_a_block_is_called_as_its_transform_and_collapsed_where_it_calculates() -> None:
    """RandomErasing takes 25 nodes of arithmetic."""
    steps = torchvision("RandomGrayscale", p=0.2), torchvision("RandomErasing", p=0.5)
    imported = import_transforms(composed(*steps))
    assert [n.id for n in imported.graph.nodes if n.bodies] == [
        "random_grayscale",
        "random_erasing",
    ]
    assert imported.document.layout.collapsed == {"random_erasing"}
    report = imported.report
    assert {*report.exact, *report.changed_nodes} == {n.id for n in imported.graph.walk()}


def test_one_of_has_the_chances_of_its_members_as_weights() -> None:
    either = albumentations(
        "OneOf", [albumentations("Blur", p=0.3), albumentations("Equalize", p=0.7)], p=0.5
    )
    graph = import_transforms(composed(either)).graph
    assert ops(graph).count("one_of") >= 1
    assert any(
        node.args.get("p") == (0.3, 0.7) or (0.3, 0.7) in node.args.values()
        for node in graph.walk()
    )


def test_what_has_no_match_is_named_with_its_reason_and_line_and_left_out() -> None:
    lost = TransformCall("albumentations.ElasticTransform", (), {"p": 0.5}, "train.py:7")
    found = import_transforms(composed(albumentations("HorizontalFlip"), lost))
    (issue,) = found.report.refused
    assert (issue.node, issue.place) == ("ElasticTransform", "train.py:7")
    assert "remap" in issue.why
    assert "if" not in ops(found.graph), "an empty block"


@pytest.mark.parametrize(
    ("policy", "magnitudes", "refused"), [("rand-m15-n2", [10], 0), ("augmix-m5-w4-d2", [], 1)]
)
def test_what_timm_augments_with_does_not_end_the_rest(
    policy: str, magnitudes: list[int], refused: int
) -> None:
    given = {"is_training": True, "auto_augment": policy}
    found = import_transforms(TransformCall("timm.data.create_transform", (64,), given))
    nodes = list(found.graph.walk())
    assert {"random_resized_crop", "flip"} <= {node.op for node in nodes}
    assert [node.args["m"] for node in nodes if node.op == "rand_augment"] == magnitudes
    assert len(found.report.refused) == refused


def test_windows_of_two_sides_are_height_and_width() -> None:
    for call in (torchvision("GaussianBlur", (3, 7)), kornia("RandomGaussianBlur", (7, 3), (1, 1))):
        found = import_transforms(composed(call))
        blurs = [node for node in found.graph.walk() if node.op == "gaussian_blur"]
        assert [node.args["window_size"] for node in blurs] == [(7, 3)]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (torchvision("Resize"), "arguments"),
        (torchvision("Resiz", 3), "Resize"),
        (torchvision("RandomRotation", 5, center=(0, 0)), "center"),
        (torchvision("RandomApply", 5), "not a list"),
        (torchvision("RandomAffine", 5, translate=0.1), "do not fit"),
        (torchvision("Resize", NamedValue("args.size")), "args.size is .* --arg"),
        (albumentations("Normalize", normalization="image"), "standard"),
        (TransformCall("imported_source.GaussianBlur"), "your own code"),
    ],
    ids=lambda each: each.short_name if isinstance(each, TransformCall) else each,
)
def test_what_cannot_be_done_says_why(call: TransformCall, words: str) -> None:
    found = import_transforms(composed(torchvision("ToTensor"), call))
    assert re.search(words, found.report.refused[0].why)


def test_another_library_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ImportFailedError, match="torchvision, albumentations, kornia, timm"):
        import_transforms(TransformCall("imgaug.augmenters.Fliplr"))


def test_a_call_travels_as_plain_values() -> None:
    call = composed(torchvision("Resize", NamedValue("size"), extra={"a": [1, None, "x"]}))
    assert from_plain(json.loads(json.dumps(to_plain(call)))) == call


def test_pixels_are_those_of_the_plain_arithmetic(photos: Path) -> None:
    calls = [torchvision("RandomInvert", p=1.0), torchvision("RandomSolarize", 100, p=1.0)]
    graph = import_transforms(composed(*calls)).graph
    found = run(with_decoded(graph, 4), photos, 4)
    for decoded, made in zip(found["decoded"], found["images"], strict=True):
        inverted = 255 - decoded.astype(np.int32)
        np.testing.assert_array_equal(made, np.where(inverted >= 100, 255 - inverted, inverted))


def test_whole_numbers_are_drawn_from_their_range_and_no_others(photos: Path) -> None:
    call = albumentations("ImageCompression", quality_range=(98, 100), p=1.0)
    graph = import_transforms(composed(call)).graph
    (node,) = (node for node in graph.walk() if node.op == "jpeg_compression_distortion")
    drawn = replace(graph, outputs={**graph.outputs, "quality": node.inputs["quality"]})
    found = [int(each) for each in run(drawn.with_settings(batch_size=96), photos, 96)["quality"]]
    assert set(found) == {98, 99, 100}
    assert min(map(found.count, set(found))) > 16


SAVED: dict[str, Any] = {
    "__version__": "2.0.8",
    "transform": {
        "__class_fullname__": "Compose",
        "p": 1.0,
        "bbox_params": None,
        "transforms": [
            {"__class_fullname__": "HorizontalFlip", "p": 0.25},
            {"__class_fullname__": "RandomCrop", "p": 1.0, "height": 64, "width": 96},
            {"__class_fullname__": "my_package.Own", "p": 1.0},
        ],
    },
}


@pytest.mark.parametrize("form", ["dictionary", "json", "yaml"])
def test_what_albumentations_saved_is_read(form: str, tmp_path: Path) -> None:
    saved: Any = SAVED
    if form != "dictionary":
        saved = tmp_path / f"saved.{form}"  # what is JSON is YAML too
        saved.write_text(json.dumps(SAVED))
    found = from_albumentations(saved)
    assert ops(found.graph)[2:] == ["random.coin_flip", "flip", *ops(found.graph)[4:]]
    assert found.graph.node("crop").args["crop"] == (64, 96)
    assert [issue.node for issue in found.report.refused] == ["Own"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"a": 1}, "no Albumentations composition"),
        ("missing.json", "cannot be read"),
        (5, "not a transform"),
    ],
)
def test_what_is_no_composition_is_refused(given: Any, words: str) -> None:
    with pytest.raises(ImportFailedError, match=words):
        from_albumentations(given)


def configuration(*names: str) -> dict[str, Any]:
    """A configuration file with a saved composition, flip by flip, under each of the keys."""
    found: dict[str, Any] = {}
    for number, name in enumerate(names, start=1):
        flip = {"__class_fullname__": "HorizontalFlip", "p": number / 10}
        found[name] = {"batch": [1, 2], "__version__": "2.0.8", "transform": flip}
    return {"lr": 0.1, "data": found}


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_saved_composition_under_a_key_is_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"train.{suffix}"
    path.write_text(json.dumps(configuration("train")))
    assert wb.from_file(path).graph.has("flip")
    path.write_text(json.dumps(configuration("train", "val")))
    with pytest.raises(ImportFailedError, match=r"2 compositions: data\.train.*, data\.val"):
        wb.from_file(path)
    chances = [
        str(
            wb.from_file(path, f"data.{name}.transform")
            .graph.node("horizontal")
            .args["probability"]
        )
        for name in ("train", "val")
    ]
    assert chances == ["0.1", "0.2"]
    with pytest.raises(ImportFailedError, match=r"is named 'test'\. Use one of: data\.train"):
        wb.from_file(path, "test")
    with pytest.raises(ImportFailedError, match="has no arguments"):
        wb.from_file(path, args={"p": 1})


def test_an_object_of_another_library_is_refused() -> None:
    with pytest.raises(ImportFailedError, match="not a transform of torchvision"):
        from_torchvision(object())


@pytest.mark.parametrize(
    ("call", "op"),
    [
        (
            TransformCall("timm.data.transforms.RandomResizedCropAndInterpolation", (96,)),
            "random_resized_crop",
        ),
        (albumentations("SaltAndPepper"), "noise.salt_and_pepper"),
    ],
)
def test_a_transform_of_another_library_is_that_librarys(call: TransformCall, op: str) -> None:
    found = import_transforms(composed(torchvision("ToTensor"), call))
    assert not found.report.refused
    assert op in ops(found.graph)


def test_motion_blur_goes_along_its_angle() -> None:
    """As Albumentations' ``create_motion_kernel`` has it: 45 degrees are down to the right."""
    given = {"blur_limit": (3, 3), "angle_range": (45, 45), "p": 1.0}
    found = import_transforms(composed(albumentations("MotionBlur", **given)))
    (kernel,) = (node for node in found.graph.walk() if node.op == "constant")
    third = round(1 / 3, 6)
    assert kernel.args["fdata"] == (third, 0.0, 0.0, 0.0, third, 0.0, 0.0, 0.0, third)
    drawn = import_transforms(composed(albumentations("MotionBlur", blur_limit=3, p=0.5)))
    assert len([node for node in drawn.graph.walk() if node.op == "filter"]) == 6
    assert not drawn.report.refused
    turned = kornia("RandomMotionBlur", 3, (30.0, 60.0), 0.0, p=1.0)
    assert not import_transforms(composed(turned)).report.refused


def test_the_nodes_of_a_composition_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[int] = []

    def check(graph: Graph, catalog: Catalog) -> tuple[Fault, ...]:
        checked.append(len(graph.nodes))
        return check_graph(graph, catalog)

    monkeypatch.setattr(data_node, "check_graph", check)
    blur = torchvision("RandomApply", [torchvision("GaussianBlur", 3)])
    found = import_transforms(composed(*[blur] * 12))
    assert ops(found.graph).count("if") == 12
    assert checked == [2]  # the reader and its decoder


@pytest.mark.parametrize(
    "call",
    [
        albumentations("RandomResizedCrop", (224, 224), area_for_downscale="image"),
        albumentations("Resize", 256, 256, area_for_downscale="image"),
        albumentations("SmallestMaxSize", 256, area_for_downscale="image"),
    ],
)
def test_an_area_for_downscale_is_antialiasing_and_loses_no_crop(call: TransformCall) -> None:
    found = import_transforms(composed(call))
    assert not found.report.refused
    sized = found.graph.nodes[-1]
    assert sized.args.get("antialias", True) is True
    plain = replace(call, kwargs={"p": 1.0})
    assert import_transforms(composed(plain)).graph.nodes[-1].args["antialias"] is False


def test_shifts_of_albumentations_are_whole_pixels(photos: Path) -> None:
    """A shift of 0.9 pixels is cut to 0, so the image stays as it is."""
    call = albumentations("Affine", translate_percent=(0.9 / 1000, 0.9 / 1000), p=1.0)
    graph = import_transforms(composed(call)).graph
    found = run(with_decoded(graph, 2), photos, 2)
    for decoded, made in zip(found["decoded"], found["images"], strict=True):
        assert max(decoded.shape) < 1111
        np.testing.assert_array_equal(made, decoded)


def test_two_calls_that_are_reported_alike_are_both_inexact() -> None:
    jitter = torchvision("ColorJitter", 0.4)
    other = torchvision("ColorJitter", contrast=0.4)
    flip = torchvision("RandomHorizontalFlip")
    report = import_transforms(composed(other, other, jitter, flip)).report
    assert report.headline == "partly: 2 of 4 steps exact, 2 changed"


@pytest.mark.parametrize("version", ["1.4.3", "2.0.8", None])
def test_the_sigma_of_albumentations_is_that_of_its_version(
    version: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def installed(_: str) -> str:
        if version is None:
            raise PackageNotFoundError
        return version

    monkeypatch.setattr(albumentations_table, "version", installed)
    found = import_transforms(composed(albumentations("GaussianBlur", blur_limit=(3, 5))))
    blurs = [node for node in found.graph.walk() if node.op == "gaussian_blur"]
    assert [node.args["window_size"] for node in blurs] == [3, 5]
    if version == "2.0.8":
        assert all("sigma" in node.inputs for node in blurs), "drawn"
        assert not found.report.changed
    else:
        assert [node.args["sigma"] for node in blurs] == pytest.approx([0.8, 1.1])
        assert "as before version 2" in found.report.changed[0].why


def test_transformations_by_name_and_of_a_live_composition() -> None:
    """A live ``Compose`` stores its transforms under the name of its argument."""
    steps = [torchvision("Resize", 8), torchvision("RandomHorizontalFlip", p=1.0)]
    named = TransformCall("torchvision.Compose", kwargs={"transforms": steps})
    assert ops(import_transforms(named).graph)[-2:] == ["resize", "flip"]

    def init(self: Any, **given: Any) -> None:
        vars(self).update(given)

    def kind(name: str, *parameters: str) -> Any:
        made = type(name, (), {"__module__": "torchvision.transforms", "__init__": init})
        kinds = [Parameter(each, Parameter.KEYWORD_ONLY) for each in parameters]
        made.__signature__ = Signature(kinds)  # type: ignore[attr-defined]
        return made

    resize = kind("Resize", "size")(size=8)
    flip = kind("RandomHorizontalFlip", "p")(p=1.0)
    whole = kind("Compose", "transforms")(transforms=[resize, flip])
    assert ops(from_torchvision(whole).graph)[-2:] == ["resize", "flip"]
    held = {"__module__": "torch.nn", "__iter__": lambda _: iter([resize, flip])}
    sequence = type("Sequential", (), held)
    assert ops(from_torchvision(sequence()).graph)[-2:] == ["resize", "flip"]


def test_what_albumentations_does_not_save_is_reported() -> None:
    A = pytest.importorskip("albumentations")  # noqa: N806
    assert from_albumentations(A.Compose([A.HorizontalFlip()])).report.is_exact
    assert "seed=3" in str(from_albumentations(A.Compose([A.HorizontalFlip()], seed=3)).report)
    changed = A.HorizontalFlip()
    changed.apply = lambda image, **_: image
    report = from_albumentations(A.Compose([A.Sequential([changed])])).report
    assert not report.is_exact
    assert "HorizontalFlip" in str(report)


def test_objects_of_another_library_keep_their_arguments_or_are_omitted() -> None:
    class RandomHorizontalFlip:
        def __init__(self, p: float = 0.5) -> None:
            self.p = p

    class RandomGaussianBlur:
        def __init__(self, sigma: float = 1.0) -> None:
            self.flags = {"sigma": sigma}

    class Compose:
        def __init__(self, transforms: list[Any]) -> None:
            self.transforms = transforms

    RandomHorizontalFlip.__module__ = RandomGaussianBlur.__module__ = "kornia.augmentation"
    Compose.__module__ = "torchvision.transforms"
    found = from_torchvision(Compose([RandomHorizontalFlip(p=1.0), RandomGaussianBlur(3.0)]))
    assert [node.args for node in found.graph.walk() if node.op == "flip"] == [{"horizontal": 1}]
    (issue,) = found.report.entries
    assert "the object does not store its arguments" in issue.why
