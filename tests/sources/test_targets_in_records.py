"""Boxes, points and masks in TFRecord and WebDataset: those of COCO and folders, and bad ones."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.helpers import script_batches, with_settings
from tests.thorough import one_in
from workbench.bench.experiments.benchmark import Benchmark
from workbench.catalog import load_catalog
from workbench.catalog.spec import Value
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.variants.source_annotations import with_opened
from workbench.health import check_folder, scan_folder
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.samples.records import encode_example, encode_tfrecord, write_shard
from workbench.samples.shapes import CLASSES, SCENES
from workbench.sources import class_names, open_dataset, open_datasets, require_dataset

CATALOG = load_catalog()
BOXES, MASKS, ANNOTATED = "tfrecord_boxes", "webdataset_masks", "webdataset_boxes"
RECIPES = {BOXES: "ssd", MASKS: "segmentation", ANNOTATED: "ssd"}
PLACES = {BOXES: "tfrecord", MASKS: "webdataset", ANNOTATED: "webdataset"}


def opened(recipe: str, path: Path | str) -> Graph:
    graph = with_settings(load_recipe(recipe), batch_size=6)
    return with_opened(graph, open_datasets(str(path)), CATALOG)


def read_alone(
    graph: Graph, path: Path, folder: Path, args: dict[str, Value], *names: str
) -> Sequence[list[NDArray[np.generic]]]:
    """The reader's outputs for all scenes, in order."""
    (reader,) = graph.sources
    graph = with_settings(graph.replace_node(replace(reader, args=args)), batch_size=SCENES)
    graph = replace(graph, outputs={name: Port(reader.id, name) for name in names})
    (batch,) = script_batches(graph, path, 1, folder)
    return batch


@pytest.mark.parametrize("kind", [BOXES, ANNOTATED])
@pytest.mark.parametrize("args", [{}, {"ltrb": True}, {"ltrb": True, "ratio": True}])
def test_boxes_are_those_of_coco(
    kind: str, shapes: Path, tmp_path: Path, args: dict[str, Value]
) -> None:
    found = []
    for number, place in enumerate((shapes / PLACES[kind], shapes / "coco" / "annotations.json")):
        folder = tmp_path / str(number)
        folder.mkdir()
        graph = opened("ssd", place)
        assert graph.sources[0].kind == ("coco" if number else kind)
        found.append(read_alone(graph, place, folder, args, "boxes", "labels"))
    for ours, theirs in zip(found[0][0], found[1][0], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-3)
    for ours, theirs in zip(found[0][1], found[1][1], strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("ratio", [False, True])
@pytest.mark.parametrize("kind", [BOXES, ANNOTATED])
def test_key_points_are_those_of_coco(kind: str, ratio: bool, shapes: Path, tmp_path: Path) -> None:
    """And the recipe for key points runs on them."""
    found = []
    args: dict[str, Value] = {"polygon_masks": True, "ratio": ratio}
    for number, place in enumerate((shapes / PLACES[kind], shapes / "coco" / "keypoints.json")):
        folder = tmp_path / str(number)
        folder.mkdir()
        graph = opened("key-points", place)
        assert graph.sources[0].kind == ("coco_keypoints" if number else kind)
        assert not check_graph(graph, CATALOG)
        found.append(read_alone(graph, place, folder, args, "polygons", "vertices"))
    for ours, theirs in zip(*(each[0] for each in found), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(*(each[1] for each in found), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_masks_are_those_of_the_folder(shapes: Path, tmp_path: Path) -> None:
    found = []
    for place in ("webdataset", "segmentation"):
        (tmp_path / place).mkdir()
        graph = opened("segmentation", shapes / place)
        found.append(read_alone(graph, shapes / place, tmp_path / place, {}, "masks")[0])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("kind", "recipe"),
    one_in(5, [*RECIPES.items(), (BOXES, "key-points"), (ANNOTATED, "key-points")]),
)
def test_it_is_drawn_and_verified(kind: str, recipe: str, shapes: Path, engine: Engine) -> None:
    place = shapes / PLACES[kind]
    graph = with_settings(load_recipe(recipe), batch_size=6)
    report = Verifier(graph, str(place), 2, engine=engine).run()
    assert report.exact, report.lines()
    preview = preview_batch(engine, PreviewRequest(graph, str(place), tiles=4))
    marks = [mark for tile in preview.tiles for each in tile.marks for mark in each]
    assert any(mark.mask for mark in marks) == (kind == MASKS)
    if recipe == "ssd":
        assert {mark.text for mark in marks} <= {*CLASSES}


@pytest.mark.parametrize("kind", [BOXES, ANNOTATED])
def test_classes_of_boxes_are_named(kind: str, shapes: Path) -> None:
    found = class_names(open_dataset(f"{kind}:{shapes / PLACES[kind]}"))
    assert found == ["background", *CLASSES]


def test_bad_annotations_in_an_archive_are_named_counted_and_left_out(
    tmp_path: Path, engine: Engine
) -> None:
    def notes(**changed: object) -> bytes:
        one = {"bbox": [10, 5, 20, 20], "category_id": 1}
        return json.dumps([one, {**one, **changed}]).encode()

    bad = {
        "its box 1 has a negative size": notes(bbox=[1, 2, -3, 4]),
        "its box 1 has a NaN or infinite number": notes(bbox=[1, 2, float("nan"), 4]),
        "its box 1 is not four numbers": notes(bbox=[1, 2]),
        "its class 1 is 'dog'": notes(category_id="dog"),
        "its key points 1 are not three": notes(keypoints=[1, 2]),
        "its json has no annotations": b"{",
        "it has no component 'json'": None,
    }
    rows = [notes(), *bad.values(), b"[]", notes()]
    path = tmp_path / "boxes.tar"
    write_shard([{"jpg": _jpeg(), **({"json": row} if row else {})} for row in rows], path)
    found = check_folder(f"{ANNOTATED}:{path}", full=False)
    assert len(found.bad) == len(bad)
    for one, words in zip(found.bad, bad, strict=True):
        assert one.reason.startswith(words)
    graph = with_settings(load_recipe("ssd"), batch_size=3)
    report = Verifier(graph, f"{ANNOTATED}:{path}", 1, engine=engine).run()
    assert report.exact, report.lines()
    assert len(report.left_out) == len(bad)


def test_key_points_that_do_not_fit_are_named(tmp_path: Path) -> None:
    place = {f"image/object/bbox/{name}": [0.1] for name in ("xmin", "ymin", "xmax", "ymax")}
    base = {"image/encoded": _jpeg(), **place, "image/object/class/label": [1]}
    key = "image/object/keypoint/"
    records = [
        {f"{key}x": [0.1, 0.2], f"{key}y": [0.1, 0.2]},
        {f"{key}x": [0.1, 0.2], f"{key}y": [0.1]},
        {f"{key}x": [0.1], f"{key}y": [0.1], "image/object/class/label": [1, 1]}
        | {name: [0.1, 0.1] for name in place},
    ]
    path = tmp_path / "points.tfrecord"
    path.write_bytes(
        b"".join(encode_tfrecord(encode_example({**base, **each})) for each in records)
    )
    found = check_folder(f"{BOXES}:{path}", full=False).bad
    assert [one.reason.split(" of ")[0] for one in found] == [
        "it has 2, 1, 0",
        "it has 1 key points for 2 boxes",
    ]


def _jpeg(width: int = 60, height: int = 40) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), "white").save(buffer, "JPEG")
    return buffer.getvalue()


def _record(*boxes: tuple[float, ...], labels: int | None = None) -> bytes:
    sides = dict(zip(("xmin", "ymin", "xmax", "ymax"), zip(*boxes, strict=True), strict=True))
    count = len(boxes) if labels is None else labels
    return encode_tfrecord(
        encode_example(
            {
                "image/encoded": _jpeg(),
                **{f"image/object/bbox/{name}": list(map(float, v)) for name, v in sides.items()},
                "image/object/class/label": [1] * count,
            }
        )
    )


def test_bad_boxes_are_named_counted_and_left_out(tmp_path: Path, engine: Engine) -> None:
    good = _record((0.1, 0.1, 0.5, 0.9), (0.2, 0.2, 0.4, 0.4))
    bad = [
        _record((float("nan"), 0.1, 0.5, 0.9)),
        _record((1.2, 0.1, 1.5, 0.9)),
        _record((0.5, 0.1, 0.2, 0.9)),
        _record((0.1, 0.1, 0.5, 0.9), labels=2),
        encode_tfrecord(
            encode_example({"image/encoded": _jpeg(), "image/object/class/label": [1]})
        ),
    ]
    path = tmp_path / "boxes.tfrecord"
    none = {f"image/object/bbox/{name}": [] for name in ("xmin", "ymin", "xmax", "ymax")}
    bare = encode_tfrecord(
        encode_example({"image/encoded": _jpeg(), **none, "image/object/class/label": []})
    )
    path.write_bytes(b"".join([good, *bad, bare, good, good]))
    found = check_folder(f"{BOXES}:{path}", full=False)
    words = (
        "(nan, ",
        "outside the image",
        "has a negative size",
        "it has 1, 1, 1, 1, 2",
        "missing",
    )
    assert len(found.bad) == len(words)
    for one, said in zip(found.bad, words, strict=True):
        assert said in one.reason
    rest = found.write_good(str(tmp_path / "good"))
    graph = with_settings(load_recipe("ssd"), batch_size=4)
    report = Verifier(graph, f"{BOXES}:{rest}", 1, engine=engine).run()
    assert report.exact, report.lines()


def test_bad_masks_are_named_and_counted(tmp_path: Path) -> None:
    def png(width: int, height: int) -> bytes:
        buffer = io.BytesIO()
        Image.new("L", (width, height), 1).save(buffer, "PNG")
        return buffer.getvalue()

    components = [
        {"jpg": _jpeg(), "mask.png": png(60, 40)},
        {"jpg": _jpeg(), "mask.png": png(60, 41)},
        {"jpg": _jpeg()},
        {"jpg": _jpeg(), "mask.png": b"no picture"},
    ]
    write_shard(components, tmp_path / "masks.tar")
    found = check_folder(f"{MASKS}:{tmp_path / 'masks.tar'}", full=False)
    assert [one.reason for one in found.bad] == [
        "its mask is 60×41, but it is 60×40",
        "it has no component 'mask.png', unlike the others",
        "its mask cannot be opened",
    ]


@pytest.mark.parametrize("kind", RECIPES)
def test_without_targets_it_says_what_is_there(kind: str, tmp_path: Path) -> None:
    if kind == BOXES:
        path = tmp_path / "plain.tfrecord"
        path.write_bytes(encode_tfrecord(encode_example({"image": _jpeg(), "label": [1]})))
    else:
        path = tmp_path / "plain.tar"
        write_shard([{"jpg": _jpeg(), "cls": b"1"}], path)
    with pytest.raises(DataError, match=r"found: .*(label|cls)"):
        require_dataset(open_dataset(f"{kind}:{path}"))
    with pytest.raises(DataError, match=r"found: .*(label|cls)"):
        opened(RECIPES[kind], path)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [BOXES, ANNOTATED])
def test_a_bad_box_of_plainly_given_data_is_told_wherever_it_is(
    kind: str, tmp_path: Path, engine: Engine
) -> None:
    """The reader takes it in silence. A preview looks as far ahead as its reader draws from; the
    count, Verify and the measurements look at all."""
    far, count = 1400, 1500
    if kind == BOXES:
        path = tmp_path / "boxes.tfrecord"
        good, bad = _record((0.1, 0.1, 0.5, 0.9)), _record((float("nan"), 0.1, 0.5, 0.9))
        path.write_bytes(b"".join(bad if n == far else good for n in range(count)))
    else:
        path = tmp_path / "boxes.tar"
        one = {"bbox": [10, 5, 20, 20], "category_id": 1}
        notes = [json.dumps([one]).encode()] * count
        notes[far] = json.dumps([{**one, "bbox": [10, 5, 20, -20]}]).encode()
        write_shard([{"jpg": _jpeg(), "json": note} for note in notes], path)
    graph = with_settings(load_recipe("ssd"), batch_size=4)
    told = [
        preview_batch(engine, PreviewRequest(graph, str(path), batch=batch, tiles=1)).note
        for batch in (0, 100)
    ]
    assert "at fault" not in told[0]
    facts = scan_folder(str(path), kind=kind)
    name = facts.first_fault.partition(",")[0]
    assert (facts.count, facts.at_fault) == (count, 1)
    assert f"1 of its first {1024 + 102 * 4:,} samples are faulty; the first, {name}" in told[1]
    report = Verifier(graph, str(path), 1, engine=engine).run()
    assert report.exact, report.lines()
    assert [one.file for one in report.left_out] == [name]
    experiment = Benchmark(graph, str(path))
    experiment.usable.exclude_bad(full=False)
    assert [one.file for one in experiment.usable.excluded] == [name]
