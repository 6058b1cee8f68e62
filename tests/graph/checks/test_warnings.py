"""Warnings: constants, covered annotations, mirrored names, boxes, the order of the data."""

from __future__ import annotations

import random
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from tests.emit.test_box_clipping import cropping
from tests.graph.annotations.test_mixes import start_of
from tests.helpers import CATALOG, with_nodes
from workbench.catalog.spec import Value
from workbench.engine import Engine
from workbench.graph.checks.check import check_graph
from workbench.graph.checks.check_warnings import check_warnings
from workbench.graph.fixes import fixes
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.faults import Faults
from workbench.graph.resolved import ResolvedGraph
from workbench.preview import PreviewRequest, preview_outputs
from workbench.sources import DataFacts, data_facts, open_dataset
from workbench.sources.annotation_faults import box_remark

UNIT = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
BYTES = {"mean": (123.675, 116.28, 103.53), "std": (58.395, 57.12, 57.375)}


def codes(found: Faults) -> list[str]:
    return [each.code for each in found]


def divided(graph: Graph) -> Graph:
    return wb.outputs(images=graph.images / 255.0)


@pytest.mark.parametrize("steps", ["", "resize", "cast", "flip"])
@pytest.mark.parametrize(("unit", "given"), [(False, UNIT), (True, BYTES)])
def test_constants_of_another_range_are_a_warning_with_a_fix(
    unit: bool, given: dict[str, tuple[float, ...]], steps: str
) -> None:
    start = start_of("coco")
    start = {
        "": lambda g: g,
        "resize": lambda g: g.resize(size=(32, 32)),
        "cast": lambda g: g.cast(dtype="FLOAT"),
        "flip": lambda g: g.flip(horizontal=1),
    }[steps](start)
    start = divided(start) if unit else start
    wrong = start.crop_mirror_normalize(**given)
    (found,) = check_warnings(wrong)
    assert found.code == "scale"
    assert not check_graph(wrong)
    (fix,) = fixes(ResolvedGraph(wrong, CATALOG), found)
    assert fix.label.endswith("mean and std by 255")
    assert not check_warnings(fix.graph)
    right = BYTES if given is UNIT else UNIT
    assert not check_warnings(start.crop_mirror_normalize(**right))


@pytest.mark.parametrize(
    ("op", "args", "unit"),
    [
        ("normalize", {"mean": 0.485, "stddev": 0.229}, False),
        ("normalize", {"mean": 123.675, "stddev": 58.395}, True),
        ("math.sub", {"right": 0.485}, False),
        ("math.add", {"right": 0.5}, False),
        ("math.sub", {"right": 123.675}, True),
    ],
)
def test_constants_of_normalize_and_arithmetic_are_a_warning_with_a_fix(
    op: str, args: dict[str, Value], unit: bool
) -> None:
    start = divided(start_of("coco")) if unit else start_of("coco")
    (image,) = start.outputs.values()
    node = Node("it", op, args, {"data": image})
    wrong = replace(start, nodes=(*start.nodes, node), outputs={"images": Port("it", "output")})
    (found,) = check_warnings(wrong)
    assert (found.node, found.code) == ("it", "scale")
    (fix,) = fixes(ResolvedGraph(wrong, CATALOG), found)
    assert not check_warnings(fix.graph)


def test_pixels_divided_twice_are_a_warning() -> None:
    twice = wb.outputs(images=divided(start_of("coco")).images / 255.0)
    assert codes(check_warnings(twice)) == ["scale"]


@pytest.mark.parametrize(
    ("op", "args"), [("erase", {"anchor": (0, 0), "shape": (9, 9)}), ("grid_mask", {})]
)
@pytest.mark.parametrize(("kind", "output"), [("coco", "boxes"), ("image_masks", "masks")])
def test_operators_that_cover_annotations_are_a_warning(
    kind: str, output: str, op: str, args: dict[str, Any]
) -> None:
    start = start_of(kind)
    both = replace(start, outputs={**start.outputs, output: Port("reader", output)})
    covered = getattr(both, op)(**args)
    (found,) = check_warnings(covered)
    assert (found.node, found.code) == (op, "covered")
    assert not check_warnings(fixes(ResolvedGraph(covered, CATALOG), found)[0].graph)
    assert not check_warnings(getattr(start, op)(**args))


@pytest.mark.parametrize(
    "names",
    [("nose", "left_eye", "right_eye"), ("L_hand", "R_hand"), ("eyeLeft", "eyeRight"),
     ("knee-l", "knee-r"), ("Left Foot", "Right Foot")],
)  # fmt: skip
@pytest.mark.parametrize("mirror", ["flip", "crop_mirror_normalize", "resize_crop_mirror"])
def test_mirrored_names_with_a_side_are_a_warning(names: tuple[str, ...], mirror: str) -> None:
    start = start_of("coco", polygon_masks=True)
    start = with_nodes(start, points=Port("reader", "vertices"))
    args = {"horizontal": 1} if mirror == "flip" else {"mirror": 1}
    if mirror == "resize_crop_mirror":
        args["resize_shorter"] = 64
    mirrored = getattr(start, mirror)(**args)
    facts = {"data": DataFacts(key_points=names)}
    (found,) = check_warnings(mirrored, facts=facts)
    assert found.code == "sides"
    for fix in fixes(ResolvedGraph(mirrored, CATALOG, facts), found)[:2]:  # swap them, or none
        assert not check_warnings(fix.graph, facts=facts)
    assert not check_warnings(mirrored, facts={"data": DataFacts(key_points=("nose", "left_eye"))})
    assert not check_warnings(start.gaussian_blur(sigma=1.0), facts=facts)


SORTED = tuple(label for label in range(10) for _ in range(500))
MIXED = tuple(random.Random(0).sample(SORTED, len(SORTED)))


def test_sorted_data_without_shuffling_are_a_warning() -> None:
    graph = read_by()
    (found,) = check_warnings(graph, facts={"data": DataFacts(labels=SORTED)})
    assert (found.node, found.code) == ("reader", "unshuffled")
    (fix,) = fixes(ResolvedGraph(graph, CATALOG), found)
    assert not check_warnings(fix.graph, facts={"data": DataFacts(labels=SORTED)})
    assert not check_warnings(graph, facts={"data": DataFacts(labels=MIXED)})


@pytest.mark.parametrize("reader", ["webdataset", "tfrecord", "mxnet", "caffe", "caffe2"])
def test_a_buffer_too_small_for_sorted_data_is_a_warning(reader: str) -> None:
    graph = read_by(reader, random_shuffle=True)
    (found,) = check_warnings(graph, facts={"data": DataFacts(labels=SORTED)})
    assert (found.arg, found.code) == ("initial_fill", "buffer")
    (fix,) = fixes(ResolvedGraph(graph, CATALOG), found)
    assert not check_warnings(fix.graph, facts={"data": DataFacts(labels=SORTED)})
    assert not check_warnings(graph, facts={"data": DataFacts(labels=MIXED)})


def read_by(reader: str = "file", **args: object) -> Graph:
    start = start_of("coco", **args)
    source = replace(
        start.node("reader"), op=f"readers.{reader}", kind=READERS[reader], args=dict(args)
    )
    outputs = {**start.outputs, "labels": Port("reader", "labels")}
    settings = replace(start.settings, batch_size=64)
    return replace(start, outputs=outputs, settings=settings).replace_node(source)


READERS = {
    "file": "folder",
    "webdataset": "webdataset",
    "tfrecord": "tfrecord",
    "mxnet": "record_io",
    "caffe": "caffe_lmdb",
    "caffe2": "caffe2_lmdb",
}


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("resize", {"size": (0, 0)}),
        ("resize", {"size": -3}),
        ("resize", {"resize_shorter": 0}),
        ("flip", {"horizontal": 2}),
        ("crop_mirror_normalize", {"mirror": 2}),
        ("crop_mirror_normalize", {"mean": (1.0, 2.0)}),
        ("crop", {"crop": (-1, 20)}),
    ],
)
def test_values_without_a_meaning_are_a_fault(op: str, args: dict[str, Value]) -> None:
    start = start_of("coco")
    node = Node("it", op, args, {"data": Port("decode", "output")})
    graph = replace(start, nodes=(*start.nodes, node), outputs={"images": Port("it", "output")})
    assert {(fault.node, fault.arg) for fault in check_graph(graph)} == {("it", *args)}


@pytest.mark.parametrize(
    ("op", "args", "words"),
    [
        ("erase", {"anchor": (0.2, 0.2), "shape": (3, 3)}, "anchor: 0.2, .* Set normalized_anchor"),
        ("erase", {"anchor": (0, 0), "shape": (0.3, 0.3)}, "shape: 0.3, .* Set normalized_shape"),
        ("erase", {"anchor": (0.2, 0.2), "shape": (0.3, 0.3), "normalized": True}, ""),
        (
            "resize",
            {"size": (24.5, 24.5)},
            "size: 24.5, 24.5 is not an integer, and DALI rounds it",
        ),
        ("color_twist", {"hue": 0.1}, "hue: 0.1 is in degrees"),
        ("hue", {"hue": wb.random.uniform(range=(-0.5, 0.5))}, "hue: -0.5, 0.5 is in degrees"),
        ("hue", {"hue": wb.random.uniform(range=(-18, 18))}, ""),
    ],
)
def test_values_in_another_unit_are_a_warning(
    photos: Path, op: str, args: dict[str, Any], words: str
) -> None:
    graph = getattr(wb.read(photos).decode(), op)(**args)
    found = check_warnings(graph)
    assert len(found) == bool(words)
    assert re.search(words, str(found))
    if op == "erase" and found:
        (fix,) = fixes(ResolvedGraph(graph, CATALOG), found[0])
        assert not check_warnings(fix.graph)


@pytest.mark.parametrize(
    ("box", "words"),
    [
        ((60, 10, 20.3, 20), "reaches 0.3 beyond the edge"),
        ((10, -0.0001, 20, 20), "reaches 0.0001 beyond the edge"),
        ((10, 10, 0, 5), "has no width"),
        ((10, 10, 5, 0), "has no height"),
        ((10, 10, 5, 5), ""),
    ],
)
def test_boxes_that_are_unusual_are_named(box: tuple[float, ...], words: str) -> None:
    assert box_remark(box, 80, 60) == words


# Warnings about boxes: over the edge, without an area, in another layout or unit.

FACTS = {"data": DataFacts(outside=2, first_outside="3.jpg: the box reaches 0.3 beyond the edge")}


def test_clipped_boxes_are_counted_and_named_also_behind_other_operators() -> None:
    clamp = Node("clamp", "math.mul", {"right": 1.0}, {"data": Port("reader", "boxes")})
    for graph in (cropping(), cropping(between=(clamp,))):
        (found,) = check_warnings(graph, facts=FACTS)
        assert (found.node, found.code) == ("crop", "overhang")
        assert found.message.startswith("2 images have boxes beyond the edge, which are clipped")
        assert "3.jpg" in found.message
        assert not check_warnings(graph, facts={"data": DataFacts()})


def test_boxes_of_other_data_are_not_counted() -> None:
    graph = cropping()
    other = Source("other", "readers.coco", {"ratio": True}, seed=5, kind="coco", dataset="data_2")
    graph = with_nodes(graph, other, other=Port("other", "boxes"))
    facts = {"data": DataFacts(), "data_2": FACTS["data"]}
    assert "overhang" not in codes(check_warnings(graph, facts=facts))
    assert "overhang" in codes(check_warnings(graph, facts=FACTS))


def test_a_layout_that_is_not_clipped_says_so() -> None:
    (found,) = check_warnings(cropping(bbox_layout="XYxy"), facts=FACTS)
    assert "DALI stops" in found.message


def test_boxes_without_an_area_are_named_with_what_drops_them() -> None:
    facts = {"data": DataFacts(without_area=1, first_without_area="7.jpg: the box has no width")}
    (found,) = check_warnings(cropping(), facts=facts)
    assert (found.node, found.code) == ("reader", "without_area")
    assert "the reader drops" in found.message
    assert "7.jpg" in found.message
    assert not check_warnings(start_of("coco"), facts=facts)


@pytest.mark.parametrize("ltrb", [True, False])
def test_another_layout_or_unit_is_a_warning_with_a_fix(ltrb: bool) -> None:
    sound = cropping(ltrb)
    assert not check_warnings(sound)
    graph = cropping(ltrb, bbox_layout="xyWH" if ltrb else "xyXY")
    (found,) = check_warnings(graph)
    (fix,) = fixes(ResolvedGraph(graph, CATALOG), found)
    assert fix.graph.node("crop") == sound.node("crop")
    reader = replace(sound.node("reader"), args={"ltrb": ltrb})
    in_pixels = sound.replace_node(reader)
    (found,) = check_warnings(in_pixels)
    assert "in pixels" in found.message
    (fix,) = fixes(ResolvedGraph(in_pixels, CATALOG), found)
    assert not check_warnings(fix.graph)


def _mixed(first: str, second: str) -> Graph:
    steps = {
        "image": lambda x: x,
        "flipped": lambda x: wb.fn.flip(x, horizontal=1),
        "blurred": lambda x: wb.fn.gaussian_blur(x, sigma=1.0),
        "turned": lambda x: wb.fn.rotate(x, angle=5.0, keep_size=True),
        "enlarged": lambda x: wb.fn.rotate(x, angle=5.0),
        "shorter": lambda x: wb.fn.resize(x, resize_shorter=40.0),
        "fixed": lambda x: wb.fn.resize(x, size=(32, 32)),
        "flipped, shorter": lambda x: wb.fn.resize(
            wb.fn.flip(x, horizontal=1), resize_shorter=40.0
        ),
        "another": lambda x: wb.fn.permute_batch(x, indices=wb.fn.batch_permutation()),
        "mean": wb.fn.reductions.mean,
    }
    images = start_of("coco").images
    return wb.outputs(images=steps[first](images) + steps[second](images))


@pytest.mark.parametrize(
    ("first", "second", "unequal"),
    [
        ("image", "flipped", False),
        ("image", "blurred", False),
        ("image", "turned", False),
        ("image", "mean", False),
        ("shorter", "flipped, shorter", False),
        ("fixed", "fixed", False),
        ("image", "enlarged", True),
        ("image", "shorter", True),
        ("image", "fixed", True),
        ("image", "another", True),
    ],
)
def test_arithmetic_of_images_that_can_differ_in_size_is_a_warning_with_a_fix(
    first: str, second: str, unequal: bool
) -> None:
    graph = _mixed(first, second)
    found = [each for each in check_warnings(graph) if each.code == "unequal"]
    assert bool(found) == unequal
    for each in found:
        (fix,) = fixes(ResolvedGraph(graph, CATALOG), each)
        assert fix.label == "Resize both images to the same size"
        assert "unequal" not in codes(check_warnings(fix.graph))
        assert not check_graph(fix.graph)


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize("name", ["labels", "masks"])
def test_annotations_of_another_reader_are_a_warning(
    photos: Path, shapes: Path, name: str, shuffled: bool
) -> None:
    data = photos if name == "labels" else shapes / "segmentation"
    graph, other = wb.read(data).decode(), wb.read(data, random_shuffle=shuffled)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = wb.outputs(images=graph.images, **{name: getattr(other, name)})
    words = f"the outputs 'images' and '{name}' come from two readers (reader, reader_2), so "
    words += "they belong to different files. Use one reader."
    assert [fault.text for fault in check_warnings(made)] == [words] * shuffled
    assert [str(each.message) for each in told] == [words] * shuffled


def test_readers_of_different_lengths_are_a_warning(tmp_path: Path) -> None:
    """Data sets that are read in order belong together, if they have the same length."""
    for name, count in (("a", 3), ("b", 2)):
        (tmp_path / name).mkdir()
        for number in range(count):
            np.save(tmp_path / name / f"{number}.npy", np.zeros((4, 4, 1), np.uint8))
    one, two = (wb.read({name: tmp_path / name}) for name in ("a", "b"))
    graph = wb.outputs(first=one.images, second=two.images)
    assert not check_warnings(graph)
    facts = {name: data_facts(open_dataset(tmp_path / name)) for name in ("a", "b")}
    (found,) = check_warnings(graph, facts=facts)
    assert found.code == "lengths"
    assert "it reads 2 samples, but reader reads 3" in str(found)
    assert not check_warnings(graph, facts={"a": facts["a"], "b": facts["a"]})
    for options in ({"sampler": "random"}, {"shuffle_after_epoch": True}):
        both = [wb.read({name: tmp_path / name}, **options).images for name in ("a", "b")]
        graph = wb.outputs(first=both[0], second=both[1])
        assert [each.code for each in check_warnings(graph, facts=facts)] == ["lengths"]
    with pytest.warns(UserWarning, match="come from two readers"):  # only one is shuffled later
        graph = wb.outputs(first=one.images, second=both[1])


@pytest.mark.parametrize("options", [{"random_shuffle": True, "seed": 3}, {"sampler": "random"}])
def test_data_sets_of_two_names_are_shuffled_alike(
    options: dict[str, Any], tmp_path: Path, engine: Engine
) -> None:
    for number in range(9):
        for name in ("photos", "arrays"):
            (tmp_path / name / str(number)).mkdir(parents=True)
        pixels = np.full((4, 4, 1), number, np.uint8)
        np.save(tmp_path / "arrays" / str(number) / "0.npy", pixels)
        Image.fromarray(pixels[..., 0]).save(tmp_path / "photos" / str(number) / "0.png")
    photos = wb.read(tmp_path / "photos", **options).decode(output_type="GRAY")
    arrays = wb.read({"arrays": tmp_path / "arrays"}, **options)
    graph = wb.outputs(photos=photos.images, depth=arrays.images).with_settings(batch_size=9)
    assert not check_warnings(graph)
    batch = preview_outputs(engine, PreviewRequest(graph, dict(graph.datasets or {})))
    assert (batch.photos == batch.depth).all()
    assert batch.photos[:, 0, 0, 0].tolist() != [*range(9)]
    other = wb.read(tmp_path / "arrays", **options)
    with pytest.raises(wb.GraphEditError, match=r"are both named 'data'. To read both, name one"):
        wb.outputs(photos=photos.images, arrays=other.images)


def test_images_of_two_readers_are_a_warning_unless_they_are_mixed(photos: Path) -> None:
    size = (8, 8)
    one = wb.read(photos).decode().resize(size=size)
    two = wb.read(photos, random_shuffle=True).decode().resize(size=size)
    with pytest.warns(UserWarning, match="sample k of one is not from the same file"):
        made = wb.outputs(first=one.images, second=two.images, labels=two.labels)
    assert codes(check_warnings(made)) == ["readers"]
    assert not check_warnings(wb.outputs(first=one.images, second=wb.read(photos).decode().images))
    assert not check_warnings(wb.outputs(images=one.images + two.images, labels=two.labels))
