"""YOLO and Pascal VOC: the boxes of COCO from the same photos, and what is invalid."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.emit.targets.test_annotations import loader_of
from tests.helpers import with_settings
from tests.sources.test_memory import SHORT
from tests.sources.test_targets_in_records import opened, read_alone
from tests.thorough import one_in
from workbench.bench.experiments.benchmark import Benchmark
from workbench.catalog.spec import Value
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.graph import load_recipe
from workbench.health import check_folder, scan_folder
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.samples.shapes import CLASSES, SCENES
from workbench.sources import (
    class_names,
    list_samples,
    load_source,
    open_dataset,
    require_dataset,
    write_remaining,
)

KINDS = {"yolo": "ssd", "yolo_pose": "key-points"}
LINE = "1 0.5 0.5 0.25 0.25\n"


@pytest.mark.parametrize(
    ("kind", "args"),
    one_in(
        4,
        [
            ("yolo", {}),
            ("yolo", {"ltrb": True, "ratio": True, "polygon_masks": True}),
            ("yolo_pose", {"polygon_masks": True}),
            ("yolo_pose", {"polygon_masks": True, "ratio": True}),
        ],
    ),
)
def test_annotations_are_those_of_coco(
    kind: str, args: dict[str, Value], shapes: Path, tmp_path: Path
) -> None:
    points = ("polygons", "vertices") if args.get("polygon_masks") else ()
    coco = "keypoints.json" if kind == "yolo_pose" else "annotations.json"
    found = []
    for place in (shapes / load_source(kind).sample, shapes / "coco" / coco):
        folder = tmp_path / place.name
        folder.mkdir()
        graph = opened(KINDS[kind], place)
        found.append(read_alone(graph, place, folder, args, "boxes", "labels", *points))
    for ours, theirs in zip(*found, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("kind", one_in(2, KINDS))
def test_it_is_opened_drawn_verified_measured_and_exported(
    kind: str, shapes: Path, engine: Engine, tmp_path: Path
) -> None:
    place = str(shapes / load_source(kind).sample)
    assert open_dataset(place).kind == open_dataset(Path(place).parent).kind == kind
    graph = with_settings(load_recipe(KINDS[kind]), batch_size=4)
    report = Verifier(graph, place, 8, engine=engine).run()
    assert report.exact, report.lines()
    preview = preview_batch(engine, PreviewRequest(graph, place, tiles=4))
    marks = [mark for tile in preview.tiles for each in tile.marks for mark in each]
    assert {mark.text for mark in marks} & {*CLASSES}
    assert {mark.text for mark in marks} <= {*CLASSES, ""}
    counted = scan_folder(open_dataset(place))
    assert counted.at_fault == 0
    assert list(counted.class_counts) == list(CLASSES)
    assert class_names(open_dataset(place)) == ["background", *CLASSES]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_measured_and_read_by_a_pytorch_loader(
    kind: str, shapes: Path, tmp_path: Path
) -> None:
    place = str(shapes / load_source(kind).sample)
    graph = opened(KINDS[kind], place)
    assert Benchmark(graph, place, ["cpu"], measurement_config=SHORT).run().best
    loader = loader_of(graph, tmp_path)
    batches = list(loader.Loader(loader.build_pipeline(place)))
    assert sum(len(batch["images"]) for batch in batches) == SCENES


@pytest.fixture
def copied(shapes: Path, tmp_path: Path) -> Path:
    """The first eight images with their labels, in folders that a test may change."""
    for name in ("images", "labels"):
        (tmp_path / "set" / name).mkdir(parents=True)
        for path in sorted((shapes / "yolo" / name).iterdir())[:8]:
            shutil.copy(path, tmp_path / "set" / name)
    shutil.copy(shapes / "yolo" / "data.yaml", tmp_path / "set")
    return tmp_path / "set"


FAULTS = {
    "1 0.5 0.5 0.25": "line 2 has 4 numbers. Use 5 (class, centre x, centre y, width, height)",
    "1 0.5 0.5 0.25 0.25 0.9": "line 2 has 6 numbers: class, box and, in predictions, a confidence",
    "1 0.5 0.5 0.25 1.25": "line 2 has 1.25, which is not relative to the image (0 to 1)",
    "1 0.5 -0.5 0.25 0.25": "line 2 has -0.5, which is not relative",
    "1 0.5 nan 0.25 0.25": "line 2 has a NaN or infinite number",
    "5 0.5 0.5 0.25 0.25": "line 2 has the class 5, but the names end at 4",
    "0.5 0.5 0.5 0.25 0.25": "line 2 has the class 0.5, which is not an integer from 0",
    "cat 0.5 0.5 0.25 0.25": "line 2 is not numbers only: 'cat 0.5 0.5 0.25 0.25'",
}


def test_an_invalid_line_is_named_and_its_image_excluded(copied: Path, engine: Engine) -> None:
    labels = sorted((copied / "labels").iterdir())
    for path, line in zip(labels, FAULTS, strict=True):
        path.write_text(f"{LINE}{line}\n")
    reasons = [each.reason for each in check_folder(copied, full=False).bad]
    assert [words in reason for reason, words in zip(reasons, FAULTS.values(), strict=True)]
    assert all(str(path) in reason for path, reason in zip(labels, reasons, strict=True))
    for path in labels[2:]:
        path.write_text(LINE)
    graph = with_settings(load_recipe("ssd"), batch_size=3)
    report = Verifier(graph, str(copied), 2, engine=engine).run()
    assert report.exact, report.lines()
    assert len(report.left_out) == 2
    find = load_source("yolo").find
    with pytest.raises(ValueError, match=r"000000\.txt: line 2 has 4 numbers"):
        find(str(copied))


def test_empty_files_windows_text_and_missing_label_files(copied: Path) -> None:
    first, second, third, *_ = sorted((copied / "labels").iterdir())
    first.write_bytes(b"")
    second.unlink()
    third.write_bytes(b"\xef\xbb\xbf" + LINE.encode().replace(b"\n", b"\r\n") * 2)
    (copied / "labels" / "lost.txt").write_text(LINE)
    (copied / "labels" / "classes.txt").write_text("cat\ndog\n")
    dataset = open_dataset(copied)
    assert load_source("yolo").without_targets(dataset) == 2
    samples = list(list_samples(dataset))
    assert [each.name for each in samples if each.fault] == ["../labels/lost.txt"]
    assert scan_folder(dataset).of_no_sample == 1
    found = load_source("yolo").document(dataset)["annotations"]  # type: ignore[attr-defined]
    assert [one["image_id"] for one in found][:2] == [2, 2]
    assert np.allclose(found[0]["bbox"], found[1]["bbox"])


def test_boxes_polygons_and_oriented_boxes_may_be_mixed(copied: Path, tmp_path: Path) -> None:
    for path in sorted((copied / "labels").iterdir()):
        path.write_text(f"{LINE}0 0.5 0.25 0.75 0.5 0.5 0.75 0.25 0.5\n")
    graph = opened("ssd", copied)
    names = "boxes", "labels", "polygons", "vertices"
    args: dict[str, Value] = {"polygon_masks": True, "ratio": True, "ltrb": True}
    found = [each[0] for each in read_alone(graph, copied, tmp_path, args, *names)]
    np.testing.assert_allclose(found[0], [[0.375, 0.375, 0.625, 0.625], [0.25, 0.25, 0.75, 0.75]])
    assert found[1].tolist() == [2, 1]
    assert found[2].tolist() == [[1, 0, 4]]
    np.testing.assert_allclose(found[3], [[0.5, 0.25], [0.75, 0.5], [0.5, 0.75], [0.25, 0.5]])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("names: [a]\n", "train of .* is None. Use the path of a folder or list of images"),
        ("train: elsewhere\n", "elsewhere, which does not exist. Correct the path"),
        ("path: /absent\ntrain: images\n", "path of .* is /absent, which does not exist"),
        ("train: images\nnames: coco.names\n", "names of .* is 'coco.names'. Use a list"),
        ("train: images\nkpt_shape: 17\n", r"kpt_shape of data.yaml is 17. Use \[points, 2\]"),
        ("train: [images\n", "is not valid YAML"),
        ("- images\n", "has no entries. Add names and train"),
    ],
)
def test_an_invalid_data_yaml_is_refused_with_the_remedy(
    copied: Path, content: str, words: str
) -> None:
    (copied / "data.yaml").write_text(content)
    with pytest.raises(DataError, match=words):
        require_dataset(open_dataset(copied / "data.yaml"))


def test_train_is_a_list_and_a_split_a_folder(copied: Path, tmp_path: Path) -> None:
    for name in ("images", "labels"):
        for number, path in enumerate(sorted((copied / name).iterdir())):
            place = copied / name / ("train" if number < 5 else "val")
            place.mkdir(exist_ok=True)
            path.rename(place / path.name)
    images = sorted((copied / "images").rglob("*.jpg"))
    (copied / "data.yaml").unlink()
    with pytest.raises(DataError, match=r"has the folders train, val. Open one: .*images/train"):
        require_dataset(open_dataset(copied))
    val = open_dataset(copied / "images" / "val")
    assert val.kind == "yolo"
    assert class_names(val) == ["background", *map(str, range(len(class_names(val)) - 1))]
    lines = [f"./{path.relative_to(copied)}" for path in images[:4]]
    (copied / "train.txt").write_text("\n".join(lines))
    (copied / "data.yaml").write_text("train: train.txt\nnames: {0: a, 1: b, 4: e}\n")
    dataset = open_dataset(copied / "data.yaml")
    names = [each.name for each in list_samples(dataset) if not each.fault]
    assert len([*list_samples(dataset)]) == 4
    assert class_names(dataset) == ["background", "a", "b", "2", "3", "e"]
    assert open_dataset(copied / "train.txt").kind == "yolo"
    rest = write_remaining(dataset, names[:1], tmp_path / "rest")
    left = list(list_samples(open_dataset(rest)))
    assert len(left) == 3
    assert class_names(open_dataset(rest)) == class_names(dataset)


def test_texts_next_to_images_that_are_no_labels_are_a_folder(copied: Path) -> None:
    for path in (copied / "images").iterdir():
        path.with_suffix(".txt").write_text("a photo of 3 shapes")
    shutil.rmtree(copied / "labels")
    (copied / "data.yaml").unlink()
    assert open_dataset(copied / "images").kind == "folder"
    for path in (copied / "images").glob("*.txt"):
        path.write_text(LINE)
    assert open_dataset(copied / "images").kind == "yolo"


def test_mirrored_points_are_those_of_flip_idx(shapes: Path, tmp_path: Path) -> None:
    kind, place = load_source("yolo_pose"), shapes / "yolo_pose"
    assert kind.key_point_pairs(open_dataset(place)) == [("right", "left")]
    shutil.copytree(place, tmp_path / "pose")
    path = tmp_path / "pose" / "data.yaml"
    path.write_text(path.read_text().replace("kpt_names", "other"))
    assert kind.key_point_pairs(open_dataset(path)) == [("1", "3")]
    path.write_text(path.read_text().replace("[0, 3, 2, 1, 4]", "[0, 3, 2, 4, 1]"))
    with pytest.raises(DataError, match=r"flip_idx is \[0, 3, 2, 4, 1\]. Use 5 numbers from 0"):
        require_dataset(open_dataset(path))
