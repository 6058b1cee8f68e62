"""Faulty COCO annotations: named, counted, skipped or refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from tests.helpers import script_batches, with_settings
from tests.sources.test_init import a_graph
from tests.sources.written import WRITERS, read_photos
from tests.thorough import one_in
from workbench.catalog import load_catalog
from workbench.cli import main
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.graph import Graph, Port, load_recipe
from workbench.graph.variants.source_annotations import with_opened
from workbench.health import check_folder, scan_folder
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.samples.shapes import KEY_POINTS
from workbench.sources import (
    class_names,
    list_samples,
    open_dataset,
    open_datasets,
    require_dataset,
)
from workbench.sources.kinds.coco import find_annotations


@pytest.fixture
def path(photos: Path, tmp_path: Path) -> Path:
    """Annotations of six photos."""
    return WRITERS["coco"](read_photos(photos)[:6], tmp_path / "coco")


@contextmanager
def edited(path: Path) -> Iterator[dict[str, Any]]:
    """The annotations of a file, which are written back."""
    found = json.loads(path.read_text())
    yield found
    path.write_text(json.dumps(found))


@pytest.mark.parametrize(
    ("box", "words"),
    [
        ([float("nan"), 1, 2, 3], "a NaN or infinite number"),
        ([4000, 1, 2, 3], "outside the image"),
        ([1, 1, -2, 3], "a negative size"),
        ([1, 1], "not four numbers"),
    ],
)
def test_a_box_that_cannot_be_one_is_named(
    path: Path, tmp_path: Path, box: list[float], words: str
) -> None:
    with edited(path) as found:
        found["annotations"][1]["bbox"] = box
    checked = check_folder(str(path), full=False)
    (bad,) = checked.bad
    assert bad.file == "000002.jpg"
    assert words in bad.reason
    assert "annotation 2" in bad.reason
    rest = open_dataset(checked.write_good(str(tmp_path / "good")))
    assert len(list(list_samples(rest))) == 5


@pytest.mark.parametrize(
    ("entries", "change", "bad", "words"),
    [
        ("annotations", {"category_id": 99}, 1, "annotation 2 is of category 99"),
        ("images", {"id": 0}, 2, "its id 0 is used by another image"),
    ],
)
def test_what_dali_ends_at_is_left_out_by_name(
    path: Path, engine: Engine, entries: str, change: dict[str, int], bad: int, words: str
) -> None:
    with edited(path) as found:
        found[entries][1] |= change
    told = Verifier(a_graph(shuffled=False), str(path), 1, engine=engine).run()
    assert told.exact, told.lines()
    reasons = [each.reason for each in check_folder(str(path), full=False).bad]
    assert len([each for each in reasons if words in each]) == bad


@pytest.mark.parametrize(
    ("entries", "key", "told"),
    one_in(
        3,
        [
            ("images", "file_name", {"images[2]": "the entry has no file_name"}),
            ("images", "id", {"images[2]": "the entry has no id"}),
            (
                "annotations",
                "image_id",
                {"annotations": "1 belongs to an image that the file does not list"},
            ),
            ("annotations", "category_id", {"000002.jpg": "its annotation 2 has no category_id"}),
            ("annotations", "bbox", {"000002.jpg": "is not four numbers"}),
        ],
    ),
)
def test_entries_that_lack_something_are_left_out(
    path: Path, engine: Engine, entries: str, key: str, told: dict[str, str]
) -> None:
    """DALI takes most of them in silence."""
    with edited(path) as found:
        assert found["annotations"][1]["image_id"] == found["images"][2]["id"]
        del found[entries][2 if entries == "images" else 1][key]
    require_dataset(open_dataset(path))
    reasons = {each.file: each.reason for each in check_folder(str(path), full=False).bad}
    assert reasons.keys() == told.keys() | ({"annotations"} if entries == "images" else set())
    assert all(words in reasons[name] for name, words in told.items())
    verified = Verifier(a_graph(shuffled=False), str(path), 1, engine=engine).run()
    assert verified.exact, verified.lines()
    assert {each.file for each in verified.left_out} == reasons.keys()
    preview = preview_batch(engine, PreviewRequest(a_graph(shuffled=False), str(path), tiles=4))
    assert next(iter(told)) in preview.note


@pytest.mark.parametrize(
    ("entries", "value", "words"),
    [
        ("images", [{"id": 1}, {"file_name": "a.jpg"}], "no entry of 'images' has both"),
        ("images", ["a.jpg"], "entries of 'images' are not objects"),
        ("annotations", [7], "entries of 'annotations' are not objects"),
        ("categories", [{"name": "cat"}], "a category has no field 'id'"),
    ],
)
def test_annotations_of_another_form_are_refused_with_the_remedy(
    path: Path, entries: str, value: list[object], words: str
) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), entries: value}))
    with pytest.raises(DataError, match=words):
        require_dataset(open_dataset(path))


@pytest.mark.parametrize(
    ("file", "images"),
    [
        ("a.json", "."),
        ("a.json", "images"),
        ("annotations/a.json", "images"),
        ("annotations/instances_val2017.json", "val2017"),
        ("instances_val2017.json", "val2017"),
        ("annotations/a.json", "elsewhere"),
    ],
)
def test_the_images_are_found_where_exported_scripts_find_them(
    tmp_path: Path, file: str, images: str
) -> None:
    location = tmp_path / file
    for each in (location, tmp_path / images / "1.jpg"):
        each.parent.mkdir(exist_ok=True)
    (tmp_path / images / "1.jpg").touch()
    listed = {"images": [{"id": 1, "file_name": "1.jpg"}], "annotations": [], "categories": []}
    location.write_text(json.dumps(listed))
    (sample,) = list_samples(open_dataset(location))
    assert os.path.isfile(sample.path) == (images != "elsewhere")
    if images == "elsewhere":
        with pytest.raises(FileNotFoundError, match=r"No image of .*a\.json is in .*images"):
            find_annotations(str(location))
    else:
        assert os.path.dirname(sample.path) == find_annotations(str(location))["file_root"]


def test_the_folder_with_most_images_is_read(path: Path) -> None:
    """A stray image in the folder that is looked in first chooses nothing."""
    file = path.with_name("annotations") / "instances_train2017.json"
    file.parent.mkdir()
    path.rename(file)
    stray = file.parents[1] / "train2017"
    stray.mkdir()
    images = file.parents[1] / "images"
    shutil.copy(next(images.iterdir()), stray)
    assert Path(find_annotations(str(file))["file_root"]) == images
    assert open_dataset(file).root == str(images)


def test_folders_next_to_annotations_are_no_classes(path: Path) -> None:
    said = f"with its folders as classes, without .* Open {re.escape(str(path))} for boxes"
    with pytest.warns(UserWarning, match=said):
        wb.read(path.parent)
    moved = path.with_name("annotations") / "instances_images.json"
    moved.parent.mkdir()
    path.rename(moved)
    with pytest.raises(DataError, match=f"Open {re.escape(str(moved))}, or only the .*/images"):
        wb.read(path.parent)
    moved.rename(path.parent / "images" / "all.json")
    with pytest.warns(UserWarning, match="images is read without .* Open .*all.json for boxes"):
        wb.read(path.parent / "images")


def test_the_copy_with_key_points_is_removed_when_the_program_ends(shapes: Path) -> None:
    place = str(shapes / "coco" / "keypoints.json")
    lines = (
        "import os, sys; from workbench.sources.kinds.coco import find_keypoints",
        "found = find_keypoints(sys.argv[1])['annotations_file']",
        "print(os.path.isfile(found), found)",
    )
    command = [sys.executable, "-c", "\n".join(lines), place]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    existed, copy = done.stdout.split()
    assert existed == "True"
    assert not os.path.exists(copy)


def test_the_file_is_parsed_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[object] = []
    loads = json.loads

    def count(*args: Any, **options: Any) -> Any:
        parsed.append(args)
        return loads(*args, **options)

    monkeypatch.setattr(json, "loads", count)  # which json.load calls
    dataset = open_dataset(path)
    require_dataset(dataset)
    assert list(list_samples(dataset))
    assert class_names(dataset)
    assert len(parsed) == 1


def test_classes_without_names_are_numbers(path: Path) -> None:
    with edited(path) as found:
        for category in found["categories"]:
            category["name"] = None
        del found["categories"][0]["name"]
    numbers = [str(category["id"]) for category in found["categories"]]
    assert class_names(open_dataset(path)) == ["background", *numbers]


def test_annotations_without_categories_or_images_without_annotations_are_told(
    path: Path, engine: Engine
) -> None:
    found = json.loads(path.read_text())
    path.write_text(json.dumps({**found, "categories": []}))
    with pytest.raises(DataError, match=r"'categories' is missing or empty\. Add"):
        require_dataset(open_dataset(path))
    path.write_text(json.dumps({**found, "annotations": []}))
    told = Verifier(load_recipe("ssd"), str(path), 1, engine=engine).run()
    assert "none of its 6 images has an annotation" in told.failure, told.failure


def test_a_check_that_goes_on_sees_annotations_that_changed(path: Path) -> None:
    """The images did not, and were sound."""
    assert not check_folder(str(path), full=False).bad
    with edited(path) as found:
        found["annotations"][1]["bbox"] = [1, 1, -2, 3]
    (bad,) = check_folder(str(path), full=False).bad
    assert bad.file == "000002.jpg"


@pytest.mark.parametrize("missing", ["000001.jpg", "000004.jpg"])
def test_an_image_that_is_not_there_is_left_out(path: Path, missing: str) -> None:
    """The first one too, by which the folder of the others is not to be judged."""
    (path.parent / "images" / missing).unlink()
    require_dataset(open_dataset(path))
    (bad,) = check_folder(str(path), full=False).bad
    assert bad.file == missing


def test_images_that_are_put_there_later_are_found(path: Path, tmp_path: Path) -> None:
    images = path.parent / "images"
    images.rename(tmp_path / "away")
    with pytest.raises(DataError, match=r"none of its 6 images \(first"):
        require_dataset(open_dataset(path))
    (tmp_path / "away").rename(images)
    require_dataset(open_dataset(path))
    assert all(os.path.isfile(each.path) for each in list_samples(open_dataset(path)))


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("annotations", {"iscrowd": False}, r"iscrowd of annotations\[1\] is false, and DALI"),
        ("annotations", {"category_id": 1.0}, r"category_id of annotations\[1\] is 1\.0"),
        ("images", {"id": 2**31}, r"id of images\[1\] is 2147483648"),
        ("images", {"id": "1"}, r'id of images\[1\] is "1"'),
        ("images", {"width": 3.5}, r"width of images\[1\] is 3\.5"),
        ("images", {"file_name": 7}, "the file_name of an image is 7"),
        ("categories", {"id": None}, r"id of categories\[1\] is null"),
        ("annotations", None, r"entries of 'annotations' are not objects \(first: null\)"),
        ("images", [1], r"entries of 'images' are not objects \(first: \[1\]\)"),
    ],
)
def test_entries_that_dali_stops_at_in_silence_are_refused(
    path: Path, part: str, change: Any, words: str
) -> None:
    with edited(path) as found:
        found[part] += found[part][:1] * (len(found[part]) == 1)
        found[part][1] = {**found[part][1], **change} if isinstance(change, dict) else change
    with pytest.raises(DataError, match=words):
        require_dataset(open_dataset(path))


def test_annotations_of_no_listed_image_are_named_and_left_out(
    path: Path, tmp_path: Path, engine: Engine
) -> None:
    """DALI skips them; a file without any image is refused."""
    with edited(path) as found:
        found["annotations"] += [{**found["annotations"][0], "image_id": 77}] * 3
    require_dataset(open_dataset(path))
    checked = check_folder(str(path), full=False)
    (bad,) = checked.bad
    assert "3 belong to images that the file does not list (first: image 77)" in bad.reason
    assert (checked.count, checked.counts["of no sample"]) == (6, 1), "the entries are no file"
    facts = scan_folder(str(path))
    assert (facts.count, facts.at_fault, facts.formats) == (6, 0, {"JPEG": 6})
    assert facts.first_fault.startswith("annotations, 3 belong to images")
    rest = json.loads(Path(checked.write_good(str(tmp_path / "good"))).read_text())
    assert (len(rest["images"]), len(rest["annotations"])) == (6, len(found["annotations"]) - 3)
    verified = Verifier(a_graph(shuffled=False), str(path), 1, engine=engine).run()
    assert verified.exact, verified.lines()
    path.write_text(json.dumps({**found, "images": []}))
    with pytest.raises(DataError, match='"images" is empty, but there are'):
        require_dataset(open_dataset(path))


def test_images_that_are_not_there_are_not_told_as_decoded(path: Path, tmp_path: Path) -> None:
    with edited(path) as found:
        found["annotations"].append({**found["annotations"][0], "image_id": 77})
    for name in ("000002.jpg", "000004.jpg"):
        next(tmp_path.glob(f"coco/**/{name}")).unlink()
    checked = check_folder(str(path))
    assert (checked.count, checked.decoded, len(checked.bad)) == (6, 4, 3)
    assert "6 files (4 decoded)" in repr(checked)
    told = CliRunner().invoke(main, ["check", str(path), "--full"])
    assert told.exit_code == 1
    assert "6 files (4 decoded): 3 bad" in told.stdout
    assert check_folder(str(path), full=False).decoded == 0


# Key points of COCO: point for point what the file says, and never visible where it says none.

COUNT = 6


@pytest.fixture
def copied(shapes: Path, tmp_path: Path) -> Path:
    """Annotations that a test may change, next to the images."""
    path = tmp_path / "person_keypoints_mine.json"
    shutil.copy(shapes / "coco" / "keypoints.json", path)
    (tmp_path / "images").symlink_to(shapes / "coco" / "images")
    return path


def unmoved() -> Graph:
    """The points and ids of images as they are read, in the order of the file."""
    graph = with_settings(load_recipe("key-points"), batch_size=COUNT)
    (reader,) = graph.sources
    args = {"polygon_masks": True, "image_ids": True}
    graph = graph.replace_node(replace(reader, args=args))
    outputs = {"points": Port("reader", "vertices"), "ids": Port("reader", "image_ids")}
    return replace(graph, outputs=outputs)


def test_the_reader_gives_them_point_for_point(copied: Path, tmp_path: Path) -> None:
    assert open_dataset(copied).kind == "coco_keypoints"
    document = json.loads(copied.read_text())
    ((points, ids),) = script_batches(unmoved(), copied, 1, tmp_path)
    for own, number in zip(points, ids, strict=True):
        wanted = [
            np.array(one["keypoints"]).reshape(-1, 3)[:, :2]
            for one in document["annotations"]
            if one["image_id"] == number
        ]
        assert len(own) == len(wanted) * len(KEY_POINTS)
        np.testing.assert_allclose(own, np.concatenate(wanted), atol=1e-3)


def test_what_is_not_labelled_is_never_visible(copied: Path, tmp_path: Path) -> None:
    document = json.loads(copied.read_text())
    for one in document["annotations"]:
        one["keypoints"][3:6] = [0, 0, 0]
    copied.write_text(json.dumps(document))
    graph = with_settings(load_recipe("key-points"), batch_size=COUNT)
    (found,) = script_batches(graph, copied, 1, tmp_path)
    outputs = dict(zip(graph.outputs, found, strict=True))
    seen = np.concatenate(outputs["visible"]).reshape(-1, len(KEY_POINTS))
    assert not seen[:, 1].any()
    assert seen[:, [0, 2, 3, 4]].mean() > 0.5
    for points, visible in zip(outputs["points"], outputs["visible"], strict=True):
        inside = ((points >= 0) & (points <= 512)).all(axis=1)
        assert (inside == visible).all()


@pytest.mark.parametrize("points", [None, [1, 2, 2], [1.0] * 10])
def test_annotations_without_key_points_are_named(copied: Path, points: object) -> None:
    document = json.loads(copied.read_text())
    document["annotations"][3]["keypoints"] = points
    copied.write_text(json.dumps(document))
    with pytest.raises(DataError, match=r"no valid key points in 1 of \d+ annotations \(first: im"):
        require_dataset(open_dataset(copied))


def test_opened_in_another_place_they_are_given_out_and_follow(shapes: Path) -> None:
    data = open_datasets(shapes / "coco" / "keypoints.json")
    opened = with_opened(load_recipe("rotate-jitter"), data, load_catalog())
    assert opened.node(opened.outputs["vertices"].node).op == "follow_points"
    read = wb.read(shapes / "coco" / "keypoints.json").decode().flip()
    assert read.node(read.outputs["vertices"].node).op == "follow_points"
    annotations = open_datasets(shapes / "coco" / "annotations.json")
    boxes = with_opened(load_recipe("retinanet"), data, load_catalog())
    assert boxes.outputs == load_recipe("retinanet").outputs, "what reads boxes alone stays so"
    assert with_opened(load_recipe("key-points"), annotations, load_catalog())
