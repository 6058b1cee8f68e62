"""YOLO and Pascal VOC: the boxes of COCO from the same photos, and what is invalid."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import workbench as wb
from tests.emit.targets.test_annotations import loader_of
from tests.helpers import CATALOG, script_batches, with_settings
from tests.sources.test_memory import SHORT
from tests.sources.test_targets_in_records import opened, read_alone
from tests.thorough import one_in
from workbench.bench.experiments.benchmark import Benchmark
from workbench.catalog.spec import Value
from workbench.cli import main
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.graph import load_graph, load_recipe
from workbench.health import check_folder, scan_folder
from workbench.preview import PreviewRequest, preview_batch, preview_outputs
from workbench.preview.verify import Verifier, verify
from workbench.samples.shapes import CLASSES, SCENES
from workbench.sources import (
    class_names,
    describe_not_read,
    list_samples,
    load_source,
    open_dataset,
    require_dataset,
    write_remaining,
)
from workbench.sources.kinds.video_frames import VideoFrames
from workbench.sources.kinds.voc import Voc

KINDS = {"yolo": "ssd", "yolo_pose": "key-points", "voc": "retinanet"}
LINE = "1 0.5 0.5 0.25 0.25\n"


@pytest.mark.parametrize(
    ("kind", "args"),
    one_in(
        3,
        [
            ("yolo", {}),
            ("yolo", {"ltrb": True, "ratio": True, "polygon_masks": True}),
            ("yolo_pose", {"polygon_masks": True}),
            ("yolo_pose", {"polygon_masks": True, "ratio": True}),
            ("voc", {"ltrb": True}),
            ("voc", {"ratio": True}),
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
        boxes, labels, *rest = read_alone(graph, place, folder, args, "boxes", "labels", *points)
        names = np.array(class_names(open_dataset(place)))
        ordered = sorted(CLASSES) if place.name == "voc" else CLASSES
        assert names.tolist() == ["background", *ordered]
        numbers = [[CLASSES.index(name) for name in names[each]] for each in labels]
        found.append([boxes, *rest, numbers])
    for ours, theirs in zip(*found, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("kind", one_in(3, KINDS))
def test_it_is_opened_drawn_verified_measured_and_exported(
    kind: str, shapes: Path, engine: Engine, tmp_path: Path
) -> None:
    place = str(shapes / load_source(kind).sample)
    assert open_dataset(place).kind == kind
    assert open_dataset(Path(place).parent).kind == (kind if kind != "voc" else "folder")
    graph = with_settings(load_recipe(KINDS[kind]), batch_size=4)
    report = Verifier(graph, place, 8, engine=engine).run()
    assert report.exact, report.lines()
    needed = "Pillow" if kind == "voc" else "Pillow and PyYAML"
    for target in ("script", "pytorch", "notebook"):
        text = export(opened(KINDS[kind], place), target).main.text
        assert f"Reading the data also needs {needed}." in text
    preview = preview_batch(engine, PreviewRequest(graph, place, tiles=4))
    marks = [mark for tile in preview.tiles for each in tile.marks for mark in each]
    assert {mark.text for mark in marks} & {*CLASSES}
    assert {mark.text for mark in marks} <= {*CLASSES, ""}
    counted = scan_folder(open_dataset(place))
    assert counted.at_fault == 0
    assert list(counted.class_counts) == class_names(open_dataset(place))[1:]


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
    program = tmp_path / "program.py"
    program.write_text(export(graph, "script", CATALOG, plain=True).main.text)
    done = CliRunner().invoke(main, ["import", str(program), "-o", str(tmp_path / "graph.json")])
    assert f"name the {load_source(kind).about} when you run" in done.output
    assert "pass that as the data" not in done.output
    (read,) = load_graph((tmp_path / "graph.json").read_text()).sources
    assert read.kind == kind


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
    "0.5 0.5 0.5 0.25 0.25": "line 2 has the class 0.5, which is not an integer from 0 to 99999",
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
    with pytest.warns(UserWarning, match=r"^2 of its first 8 samples are faulty; .*has 4 numbers"):
        preview_outputs(engine, PreviewRequest(graph, str(copied), tiles=1))
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


def test_boxes_polygons_and_oriented_boxes_may_be_mixed(
    copied: Path, tmp_path: Path, engine: Engine
) -> None:
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
    graph = wb.read(str(copied), polygon_masks=True).decode().rotate(angle=30, keep_size=True)
    graph = with_settings(graph, batch_size=1)
    (batch,) = script_batches(graph, copied, 1, tmp_path)
    turned = dict(zip(graph.outputs, batch, strict=True))
    size = np.array(Image.open(min((copied / "images").iterdir())).size)
    turn = np.array(
        [[np.cos(np.pi / 6), np.sin(np.pi / 6)], [-np.sin(np.pi / 6), np.cos(np.pi / 6)]]
    )
    corners = (np.array(found[3]) * size - size / 2) @ turn.T + size / 2
    np.testing.assert_allclose(turned["vertices"][0], corners, atol=1e-3)
    assert turned["polygons"][0].tolist() == [[1, 0, 4]]
    for path in sorted((copied / "labels").iterdir()):
        path.write_text(LINE)
    min((copied / "labels").iterdir()).write_text("1 0.1 0.5 0.25 0.25")
    with pytest.warns(UserWarning, match="1 of 2 images read have a box beyond the edge"):
        batch = wb.read(str(copied)).with_settings(batch_size=2).batch(0)
    assert (batch.labels.shape, batch.classes) == ((2, 1), ())  # as with several boxes
    weights = [1.0] * len([*(copied / "labels").iterdir()])
    assert "sample_weights" in wb.read(copied, weights=weights).sources[0].args
    with pytest.raises(
        DataError, match="has boxes, but no polygons for the argument 'pixelwise_masks' of the"
    ):
        preview_batch(engine, PreviewRequest(load_recipe("segmentation"), str(copied)))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("names: [a]\n", r"data.yaml has no 'train' \(found: no split\). Add its path"),
        ("train: 3\n", "'train' of .* is 3. Use the path of a folder or list of images"),
        ("train: images/000000.jpg\n", "is neither a folder nor a text file in UTF-8"),
        ("train: elsewhere\n", "elsewhere, which does not exist. Correct the path"),
        ("path: /absent\ntrain: images\n", "'path' of .* is /absent, which does not exist"),
        ("train: images\nnames: coco.names\n", "'names' of .* is 'coco.names'. Use a list"),
        ("train: images\nkpt_shape: 17\n", r"'kpt_shape' of data.yaml is 17. Use \[points, 2\]"),
        ("train: [images\n", "is not valid YAML"),
        ("- images\n", "has no entries. Add 'names' and 'train'"),
        ("train: &a images\nval: *a\n", r"has an alias \(\*name\), which can expand"),
        ("train: images\nnames: {1000000000: a}\n", "'names' of .* Use a list of class names"),
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
    (copied / "other.txt").write_text("images/train/000000.jpg 1\n")
    with pytest.raises(DataError, match=r"lists 'images/train/000000.jpg 1'. Use the path of an"):
        require_dataset(open_dataset(f"yolo:{copied / 'other.txt'}"))
    (copied / "data.yaml").write_text("train: train.txt\nval: images/val\nnames: [a, b, c, d, e]\n")
    (note,) = describe_not_read(dataset)  # images of another split are not named one by one
    assert note == f"Only train is read. Open {copied}/data.yaml:val to read val."
    graph = wb.read(copied, split="val")
    val = graph.datasets["data"]
    assert val.location == f"{copied}/data.yaml:val"
    assert [Path(each.path).parent.name for each in list_samples(val)] == ["val"] * 3
    assert "Open " + str(copied / "data.yaml:train") in describe_not_read(val)[-1]
    assert verify(
        graph.decode().resize(size=(8, 8)).with_settings(batch_size=2), val.location, 1
    ).exact
    with pytest.raises(DataError, match=r"data.yaml has no 'test' \(found: train, val\). Add its"):
        wb.read(copied / "data.yaml", split="test")
    rest = write_remaining(dataset, names[:1], tmp_path / "rest")
    left = list(list_samples(open_dataset(rest)))
    assert len(left) == 3
    assert class_names(open_dataset(rest)) == class_names(dataset)


def test_numbered_images_of_splits_are_not_frames_of_a_video(copied: Path) -> None:
    image = next((copied / "images").iterdir()).read_bytes()
    for split in ("train", "val"):
        for name in ("images", "labels"):
            (copied / name / split).mkdir()
        for number in range(10):
            (copied / "images" / split / f"{number:04}.jpg").write_bytes(image)
            (copied / "labels" / split / f"{number:04}.txt").write_text(LINE)
    for path in (*(copied / "images").glob("*.jpg"), *(copied / "labels").glob("*.txt")):
        path.unlink()
    (copied / "data.yaml").write_text("train: images/train\nnames: [a, b]\n")
    assert VideoFrames().accepts(copied)
    assert open_dataset(copied).kind == "yolo"


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


# Pascal VOC.


def box_of(left: object, top: object, right: object, bottom: object, name: str = "cat") -> str:
    sides = {"xmin": left, "ymin": top, "xmax": right, "ymax": bottom}
    corners = "".join(f"<{side}>{value}</{side}>" for side, value in sides.items())
    return f"<object><name>{name}</name><bndbox>{corners}</bndbox></object>"


SIZE = "<size><width>{}</width><height>{}</height></size>"


@pytest.fixture
def voc(shapes: Path, tmp_path: Path) -> Path:
    """Eight images and their XML files in one folder, with one box each."""
    (tmp_path / "set").mkdir()
    for path in sorted((shapes / "voc" / "JPEGImages").iterdir())[:8]:
        shutil.copy(path, tmp_path / "set")
        text = (
            f"<annotation>{SIZE.format(*Image.open(path).size)}{box_of(1, 1, 40, 30)}</annotation>"
        )
        (tmp_path / "set" / f"{path.stem}.xml").write_text(text)
    return tmp_path / "set"


VOC_FAULTS = {
    box_of(40, 1, 10, 30): "object 1 (cat) has the corners 40, 1, 10, 30. xmax and ymax must be",
    box_of(0, 0, 0, 0): "object 1 (cat) has the corners 0, 0, 0, 0. xmax and ymax must be larger",
    box_of(1, "nan", 10, 30): "object 1 (cat) has the box ['1', 'nan', '10', '30']. Use four",
    "<object><name>cat</name></object>": "has the box [None, None, None, None]. Use four numbers",
    "<object><bndbox/></object>": "object 1 has no name",
    box_of(900, 1, 950, 30): "the box [899.0, 0.0, 51.0, 30.0] is outside the image",
    "<object>": "it is not valid XML (mismatched tag",
}


def rotated(*values: object) -> str:
    sides = zip(("cx", "cy", "w", "h", "angle"), values, strict=False)
    box = "".join(f"<{side}>{value}</{side}>" for side, value in sides)
    return f"<object><name>cat</name><robndbox>{box}</robndbox></object>"


def test_rotated_boxes_are_polygons(voc: Path) -> None:
    """roLabelImg's boxes follow a rotation as oriented boxes; upright ones have no polygon."""
    size = SIZE.format(*Image.open(voc / "000000.jpg").size)
    turned = rotated(100, 60, 80, 20, np.pi / 6)
    text = f"<annotation>{size}{turned}{box_of(1, 1, 40, 30)}</annotation>"
    (voc / "000000.xml").write_text(text)
    kind, dataset = Voc(), open_dataset(voc)
    one, other = kind.document(dataset)["annotations"][:2]
    along = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
    across = np.array([-along[1], along[0]])
    corners = [(100, 60) + i * 40 * along + j * 10 * across for i, j in [(-1, -1), (1, -1)]]
    corners += [(100, 60) + i * 40 * along + j * 10 * across for i, j in [(1, 1), (-1, 1)]]
    np.testing.assert_allclose(np.reshape(one["segmentation"][0], (4, 2)), corners)
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    np.testing.assert_allclose(one["bbox"], [*low, *(high - low)])
    assert (other["bbox"], "segmentation" in other) == ([0, 0, 40, 30], False)
    graph = wb.read(voc, polygon_masks=True).decode().with_settings(batch_size=1)
    found = np.asarray(graph.rotate(angle=30.0, keep_size=True).batch(0).vertices[0])
    sides = np.sort(np.ptp(found, axis=0))  # upright after the rotation
    np.testing.assert_allclose(sides, [20, 80], atol=1e-3)
    for values, words in (
        ((1, 2, 3), "['1', '2', '3', None, None]"),
        ((9, 9, 0, 4, 0), "'0', '4'"),
    ):
        (voc / "000001.xml").write_text(f"<annotation>{rotated(*values)}</annotation>")
        (bad,) = check_folder(voc, full=False).bad
        assert "object 1 (cat) has the robndbox" in bad.reason
        assert words in bad.reason


def test_an_invalid_xml_file_is_named_and_its_image_excluded(voc: Path, engine: Engine) -> None:
    files = sorted(voc.glob("*.xml"))
    for path, content in zip(files, VOC_FAULTS, strict=False):
        path.write_text(f"<annotation>{content}</annotation>")
    entity = '<!DOCTYPE a [<!ENTITY b "ha">]>'
    files[7].write_text(f"{entity}<annotation>{box_of(1, 1, 40, 30, '&b;')}</annotation>")
    found = check_folder(voc, full=False).bad
    words = [
        *VOC_FAULTS.values(),
        "it declares a document type or entities. Remove the declaration",
    ]
    assert [each.reason for each in found if words.pop(0) not in each.reason] == []
    assert not words
    with pytest.raises(ValueError, match=r"000000\.xml: object 1 \(cat\) has the corners 40, 1"):
        load_source("voc").find(str(voc))
    files[6].write_text("<?xml version='1.0' encoding='none'?><annotation/>")
    faults = [each.fault for each in list_samples(open_dataset(voc))]
    assert "it is not valid XML (unknown encoding" in faults[6]
    for path in files[2:]:
        path.write_text(f"<annotation>{box_of(1, 1, 40, 30)}</annotation>")
    graph = with_settings(load_recipe("ssd"), batch_size=3)
    report = Verifier(graph, str(voc), 2, engine=engine).run()
    assert report.exact, report.lines()
    assert len(report.left_out) == 2


def test_corners_count_from_one_unless_one_is_below(voc: Path) -> None:
    kind, dataset = Voc(), open_dataset(voc)
    assert dataset.kind == "voc"
    assert kind.document(dataset)["annotations"][0]["bbox"] == [0, 0, 40, 30]
    assert next(kind.unread_notes(dataset)).endswith("count from 1, as in the VOC challenges.")
    (voc / "000003.xml").write_text(f"<annotation>{box_of(0, 5, 40, 30)}</annotation>")
    assert kind.document(dataset)["annotations"][0]["bbox"] == [1, 1, 39, 29]
    assert "count from 0, because a corner is below 1" in next(kind.unread_notes(dataset))


def test_sizes_come_from_the_image_if_the_file_has_none(voc: Path, tmp_path: Path) -> None:
    files, boxes = sorted(voc.glob("*.xml")), box_of(1, 1, 40, 30)
    for path, size in zip(
        files, ["", SIZE.format(0, 10**20), SIZE.format(30, "")] * 3, strict=False
    ):
        path.write_text(f"<annotation>{size}{boxes}</annotation>")
    read = read_alone(opened("ssd", voc), voc, tmp_path, {"ratio": True, "ltrb": True}, "boxes")[0]
    sizes = [Image.open(path).size for path in sorted(voc.glob("*.jpg"))]
    for box, (width, height) in zip(read, sizes, strict=False):
        np.testing.assert_allclose(box, [[0, 0, 40 / width, 30 / height]], rtol=1e-6)
    with pytest.raises(DataError, match=r"There is no image with a mask in .*Alternatively"):
        opened("segmentation", voc)
    files[0].write_text(f"<annotation>{SIZE.format(30, 40)}{boxes}</annotation>")
    (unusual,) = check_folder(voc, full=False).files
    assert unusual.findings[0].reason.startswith("its annotations are for 30×40, but it is ")


def test_files_are_paired_by_name_and_else_by_filename(voc: Path) -> None:
    (voc / "000001.xml").rename(voc / "other.xml")
    (voc / "other.xml").write_text(
        f"<annotation><filename>000001.jpg</filename>{box_of(1, 1, 9, 9, 'dog')}</annotation>"
    )
    named = f"<annotation><filename>000002.png</filename>{box_of(1, 1, 9, 9, 'dog')}</annotation>"
    (voc / "000002.xml").write_text(named)
    (voc / "lost.xml").write_text(f"<annotation>{box_of(1, 1, 9, 9, 'eel')}</annotation>")
    (voc / "000004.xml").unlink()
    kind, dataset = Voc(), open_dataset(voc)
    assert [one["category_id"] for one in kind.document(dataset)["annotations"]] == [
        1,
        2,
        2,
        *[1] * 4,
    ]
    assert class_names(dataset) == ["background", "cat", "dog", "eel"]
    assert kind.without_targets(dataset) == 1
    assert [each.name for each in kind.list_samples(dataset) if each.fault] == ["lost.xml"]
    (voc / "classes.txt").write_text("dog\r\ncat\r\n")
    assert class_names(dataset) == ["background", "dog", "cat"]
    (voc / "000005.xml").write_text(f"<annotation>{box_of(1, 1, 9, 9, 'cow')}</annotation>")
    faults = [each.fault for each in kind.list_samples(dataset)]
    assert [each for each in faults if "the class cow is not in" in each]


def test_a_list_selects_images_and_difficult_objects_can_be_omitted(
    shapes: Path, tmp_path: Path
) -> None:
    place = tmp_path / "voc"
    shutil.copytree(shapes / "voc", place)
    every = class_names(open_dataset(place))
    path = place / "ImageSets" / "Main" / "train.txt"
    dataset = open_dataset(path)
    assert dataset.kind == "voc"
    assert len(list(list_samples(dataset))) == SCENES // 2
    assert wb.read(place, split="train").datasets["data"] == dataset
    with pytest.raises(DataError, match=r"has no split 'test'. Use data.yaml, a folder with Image"):
        wb.read(place, split="test")
    rest = write_remaining(dataset, ["000000.jpg"], tmp_path / "rest")
    assert len(list(list_samples(open_dataset(rest)))) == SCENES // 2 - 1
    first = place / "Annotations" / "000000.xml"
    first.write_text(first.read_text().replace("<difficult>0", "<difficult>1", 1))
    args: dict[str, Value] = {"include_iscrowd": False}
    path.write_text("000000\n")
    boxes = read_alone(opened("ssd", path), path, tmp_path, args, "boxes")[0]
    assert len(boxes[0]) == first.read_text().count("<object>") - 1
    assert class_names(dataset) == every
    for content, words in {
        "000000\nabsent\n": r"1 names of .* have no image in .*JPEGImages \(first: absent\)",
        "000000 -1\n000001  1\n": "has a second column, which marks images of one class",
    }.items():
        path.write_text(content)
        with pytest.raises(DataError, match=words):
            require_dataset(dataset)


def test_a_recipe_opened_on_other_annotations_keeps_its_outputs_or_names_the_lost_ones(
    shapes: Path, tmp_path: Path
) -> None:
    for place, lost in (("yolo_pose/data.yaml", []), ("voc", ["points", "visible"])):
        program = tmp_path / "loader.py"
        done = CliRunner().invoke(
            main, ["export", "key-points", "--data", str(shapes / place), "-o", str(program)]
        )
        assert done.exit_code == 0, done.output
        kept = [name for name in ("points", "visible") if name not in lost]
        assert f"return {', '.join(['images', *kept, 'mirror'])}\n" in program.read_text()
        note = "the data have no annotations for these outputs: points, visible (removed)"
        assert (note in done.stderr) == bool(lost)
