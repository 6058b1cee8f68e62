"""Each format contains the values of the graph, as another library reads them."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from tests.versions.test_render import write_photos
from workbench.catalog import load_catalog
from workbench.engine.build.in_process_loader import build_pipeline
from workbench.errors import ArgumentError, DataError
from workbench.graph.resolved import resolve
from workbench.graph.storage.io import graph_from_json
from workbench.sources import open_datasets
from workbench.sources.kinds.records.tfrecord import (
    numbers_of,
    read_features,
    records_of,
)
from workbench.versions.formats import load_format
from workbench.versions.formats.format import annotations_of, json_part
from workbench.versions.manifest import Version, open_version, write_version
from workbench.versions.outputs import POLYGONS, SampleReader, roles_of
from workbench.versions.pictures import pictures_of, samples_by_class
from workbench.versions.planning import plan_version, write_inputs
from workbench.versions.proof import _changed_parts, _changed_whole_files
from workbench.versions.records import WORK
from workbench.versions.shard import ShardRenderer, shard_graph, split_data

ANNOTATED = {
    "copy-paste": "coco/annotations.json",
    "key-points": "coco/keypoints.json",
    "mosaic": "coco/annotations.json",
    "retinanet": "coco/annotations.json",
    "segmentation": "coco/annotations.json",
    "ssd": "coco/annotations.json",
}
CATALOG = load_catalog()
CLASSES = ("background", "triangle", "square", "star", "arrow", "hexagon")
Sample = dict[str, Any]
"""``picture``, ``boxes`` (left, top, right, bottom in pixels), ``labels``, ``points`` (x, y, shown)
and ``masks`` of a sample, as far as a format has them."""


def render_here(graph: wb.Graph, folder: Path, data: Path, **options: Any) -> Version:
    """Render a version in this process. Skips the test if a format's library is missing."""
    if extra := load_format(options.get("format", "folder")).extra:
        pytest.importorskip(extra)
    plan, samples, _ = plan_version(graph, open_datasets(data), **options)
    (folder / WORK).mkdir(parents=True)
    write_inputs(folder, plan, samples)
    renderer = ShardRenderer(folder, 2)
    for task in plan.tasks():
        renderer.render(task)
    write_version(folder, plan)
    return open_version(folder)


@lru_cache(maxsize=1)
def expected(folder: Path, name: str) -> list[Sample]:
    """Run the graph of the first shard of a version, and return its outputs in pixels."""
    plan = open_version(folder).plan
    task = next(plan.tasks())
    data = split_data(folder, plan, task)
    graph = shard_graph(plan, task, data, task, 2)
    pipe = build_pipeline(graph, data)
    found: list[Sample] = []
    while len(found) < plan.splits[0].samples:
        outputs = [each.as_cpu() for each in pipe.run()]
        for at in range(len(outputs[0])):
            values = {n: np.asarray(o[at]) for n, o in zip(graph.outputs, outputs, strict=True)}
            height, width = values["images"].shape[:2]
            sides = np.array([width, height] * 2) if name != "retinanet" else 1  # it is in pixels
            one: Sample = {"picture": values["images"]}
            if "boxes" in values:
                one |= {"boxes": values["boxes"] * sides, "labels": values["labels"]}
            if "masks" in values:
                one["masks"] = values["masks"][:, :, 0]
            if "points" in values:
                shown = values["visible"] & (values["points"] >= 0).all(axis=1)
                shown &= (values["points"] <= (width, height)).all(axis=1)
                points = np.where(shown[:, None], values["points"], 0)
                rows = [slice(first, end) for _, first, end in values[POLYGONS]]
                objects = [np.column_stack([points[each], shown[each]]) for each in rows]
                one["points"] = [each for each in objects if each[:, 2].any()]
            found.append(one)
    return found[: plan.splits[0].samples]


def picture(content: bytes) -> Any:
    return np.asarray(Image.open(io.BytesIO(content)))


def from_coco_objects(objects: list[Any]) -> Sample:
    boxes = np.array([one["bbox"] for one in objects], float).reshape(-1, 4)
    boxes[:, 2:] += boxes[:, :2]
    points = [np.array(one.get("keypoints", [])).reshape(-1, 3) for one in objects]
    return {
        "boxes": boxes,
        "labels": np.array([one["category_id"] for one in objects]),
        "points": [np.column_stack([each[:, :2], each[:, 2] > 0]) for each in points],
    }


def read_coco(folder: Path) -> dict[str, Sample]:
    (path,) = (folder / "annotations").iterdir()
    try:
        from pycocotools.coco import COCO
    except ImportError:
        found = json.loads(path.read_text())
        images, listed = found["images"], found["annotations"]
        names = [each["name"] for each in found["categories"]]
    else:
        coco = COCO(str(path))
        images, listed = coco.loadImgs(coco.getImgIds()), coco.loadAnns(coco.getAnnIds())
        names = [each["name"] for each in coco.loadCats(coco.getCatIds())]
    assert names in ([*CLASSES[1:]], ["object"])
    made = {}
    for each in images:
        own = [one for one in listed if one["image_id"] == each["id"]]
        name = each["file_name"]
        shown = picture((folder / "train" / name).read_bytes())
        assert shown.shape[:2] == (each["height"], each["width"])
        made[name.removesuffix(".png")] = {"picture": shown, **from_coco_objects(own)}
        if (mask := folder / "masks" / "train" / name).is_file():
            made[name.removesuffix(".png")]["masks"] = picture(mask.read_bytes())
    return made


def read_webdataset(folder: Path) -> dict[str, Sample]:
    (path,) = (folder / "train").iterdir()
    found: dict[str, dict[str, bytes]] = {}
    try:
        import webdataset
    except ImportError:
        with tarfile.open(path) as archive:
            for member in archive:
                key, _, ending = member.name.partition(".")
                found.setdefault(key, {})[ending] = archive.extractfile(member).read()  # type: ignore
    else:
        for one in webdataset.WebDataset(str(path), shardshuffle=False):
            found[one["__key__"]] = {name: one[name] for name in one if name[0] != "_"}
    made = {}
    for key, parts in found.items():
        objects = json.loads(parts["json"])["annotations"] if "json" in parts else []
        made[key] = {"picture": picture(parts["png"]), **from_coco_objects(objects)}
        if "masks.png" in parts:
            made[key]["masks"] = picture(parts["masks.png"])
    return made


def tensorflow_features(path: Path) -> Iterator[dict[str, list[Any]]]:
    """Yield the features of each record."""
    try:
        import tensorflow as tf
    except ImportError:
        for _, record in records_of(str(path)):
            assert record is not None
            found = {}
            for name, (kind, start, end) in read_features(record).items():
                numbers = numbers_of(record, (kind, start, end))
                found[name] = [record[start:end]] if kind == "bytes" else numbers
            yield found
        return
    for record in tf.data.TFRecordDataset(str(path)):
        example = tf.train.Example.FromString(record.numpy())
        found = {
            name: each.ListFields()[0][1].value for name, each in example.features.feature.items()
        }
        yield {name: list(values) for name, values in found.items()}


def read_tfrecord(folder: Path) -> dict[str, Sample]:
    (path,) = (folder / "train").iterdir()
    made = {}
    for found in tensorflow_features(path):
        (key,) = found["image/source_id"]
        (height,), (width,) = found["image/height"], found["image/width"]
        shown = picture(found["image/encoded"][0])
        assert shown.shape[:2] == (height, width)
        one: Sample = {"picture": shown}
        if "image/object/class/label" in found:
            sides = [
                found[f"image/object/bbox/{side}"] for side in ("xmin", "ymin", "xmax", "ymax")
            ]
            one["boxes"] = np.array(sides).T.reshape(-1, 4) * (width, height, width, height)
            one["labels"] = np.array(found["image/object/class/label"])
        if "image/object/keypoint/x" in found:
            points = (found[f"image/object/keypoint/{name}"] for name in ("x", "y", "visibility"))
            across, down, seen = points
            rows = np.column_stack([np.array(across) * width, np.array(down) * height, seen])
            rows[:, 2] = rows[:, 2] > 0
            one["points"] = np.split(rows, len(one["labels"])) if len(rows) else []
        if "image/segmentation/class/encoded" in found:
            one["masks"] = picture(found["image/segmentation/class/encoded"][0])
        made[key.decode()] = one
    return made


def read_parquet(folder: Path) -> dict[str, Sample]:
    (path,) = (folder / "train").iterdir()
    made = {}
    for row in pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist():
        points = row.get("keypoints") or [[] for _ in row.get("boxes", ())]
        names = ("bbox", "category_id", "keypoints")
        listed = zip(row.get("boxes", ()), row.get("labels", ()), points, strict=True)
        objects = [dict(zip(names, each, strict=True)) for each in listed]
        made[row["key"]] = {"picture": picture(row["image"]["bytes"]), **from_coco_objects(objects)}
        if "masks" in row:
            made[row["key"]]["masks"] = picture(row["masks"]["bytes"])
    return made


READERS: dict[str, Callable[[Path], dict[str, Sample]]] = {
    "coco": read_coco,
    "webdataset": read_webdataset,
    "tfrecord": read_tfrecord,
    "parquet": read_parquet,
}


def require_equal(version: Version, wanted: list[Sample]) -> None:
    """Compare each sample of a version with the outputs of its graph."""
    found = READERS[version.plan.format](version.path)
    assert list(found) == [each.key for each in version.records()]
    assert len(found) == len(wanted)
    for one, other in zip(found.values(), wanted, strict=True):
        assert np.array_equal(one["picture"], other["picture"])
        if "masks" in other:
            assert np.array_equal(one["masks"], other["masks"])
        if "boxes" in other:
            assert one["boxes"].shape == other["boxes"].shape
            assert np.allclose(one["boxes"], other["boxes"], atol=0.5)
            assert one["labels"].tolist() == other["labels"].tolist()
        if "points" in other:
            assert len(one["points"]) == len(other["points"])
            for its, theirs in zip(one["points"], other["points"], strict=True):
                assert np.allclose(its, theirs, atol=0.5)


def opened(version: Version) -> Path:
    """Return the path by which a version is opened as data."""
    if version.plan.format == "coco":
        return next((version.path / "annotations").iterdir())
    return version.path / "train"


@pytest.mark.thorough
@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize("name", ANNOTATED)
def test_every_annotated_recipe(name: str, format: str, shapes: Path, tmp_path: Path) -> None:
    if (name, format) == ("segmentation", "coco"):
        pytest.skip("COCO has no masks of classes")
    graph = wb.load_recipe(name).with_settings(batch_size=8)
    version = render_here(graph, tmp_path / name, shapes / ANNOTATED[name], format=format)
    require_equal(version, expected(version.path, name))
    if format == "parquet" or (name, format) == ("segmentation", "tfrecord"):
        return  # the workbench has no reader of these files
    again = wb.load_recipe("ssd" if name in ("copy-paste", "mosaic") else name)
    batch = again.with_settings(batch_size=4).batch(0, data=opened(version))
    assert len(batch.images) == 4


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """COCO annotations of six small pictures with three objects each."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "images").mkdir()
    images: list[Any] = []
    annotations: list[Any] = []
    for number in range(1, 7):
        noise = np.random.default_rng(number).integers(0, 256, (36, 48, 3), np.uint8)
        Image.fromarray(noise).save(folder / "images" / f"{number}.png")
        images.append({"id": number, "file_name": f"{number}.png", "width": 48, "height": 36})
        for category, box in enumerate(((0, 0, 8, 6), (16, 10, 14, 12), (36, 30, 12, 6)), 1):
            left, top, width, height = box
            corners = [(left, top), (left + width, top), (left + width / 2, top + height)]
            one = {"image_id": number, "category_id": category, "bbox": box, "iscrowd": 0}
            outline = [sum(corners, ())]
            points = [value for corner in corners for value in (*corner, 2)]
            more = {"segmentation": outline, "keypoints": points, "num_keypoints": 3}
            annotations.append({"id": len(annotations) + 1, **one, **more})
    names = {"keypoints": ["a", "b", "c"], "skeleton": []}
    categories = [{"id": n, "name": name, **names} for n, name in enumerate(CLASSES[1:], 1)]
    found = {"images": images, "annotations": annotations, "categories": categories}
    for name in ("annotations.json", "keypoints.json"):
        (folder / name).write_text(json.dumps(found))
    return folder


@pytest.mark.parametrize("format", READERS)
def test_boxes_and_damage(format: str, small: Path, tmp_path: Path) -> None:
    graph = wb.load_recipe("ssd").with_settings(batch_size=4)
    version = render_here(graph, tmp_path / "v1", small / "annotations.json", format=format)
    require_equal(version, expected(version.path, "ssd"))
    parts = {"coco": "annotations/instances_train.json", "parquet": "00000-of-00001.parquet"}
    with pytest.raises(DataError, match=f"is a dataset version.*{parts.get(format, '/train')}"):
        wb.read(version.path)
    shown = pictures_of(version, samples_by_class(version))
    assert {each.shape[2] for each in shown.values()} == {3}
    assert len(shown) == 6
    shutil.rmtree(version.path / WORK)
    (task,) = version.plan.tasks()
    assert not [*_changed_parts(version, task), *_changed_whole_files(version, ())]
    record = list(version.records())[3]
    damage(version, record.key)
    found = [*_changed_parts(version, task), *_changed_whole_files(version, ())]
    assert record.key in found[0]
    assert record.source in found[0]


def damage(version: Version, key: str) -> None:
    """Change the class of one object of a sample."""
    path = opened(version)
    path = next(path.iterdir()) if path.is_dir() else path
    if version.plan.format == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        table = parquet.read_table(path)
        labels = table["labels"].to_pylist()
        labels[3][0] = 4
        at = table.column_names.index("labels")
        parquet.write_table(table.set_column(at, table.field(at), [labels]), path)
        return
    content = path.read_bytes()
    start, name = content.index(key.encode()), b'"category_id": '
    if version.plan.format == "coco":
        start = content.index(b'"image_id": %d' % json.loads(content)["images"][3]["id"])
    elif version.plan.format == "tfrecord":
        name = b"image/object/class/label"
    at = content.index(name, start) + len(name) + 6 * (version.plan.format == "tfrecord")
    path.write_bytes(content[:at] + b"4" + content[at + 1 :])


@pytest.mark.parametrize("name", ["annotations.json", "keypoints.json"])
def test_points_stay_with_their_boxes(name: str, small: Path, tmp_path: Path) -> None:
    """The crop removes some boxes, and the points of an object are the corners of its box."""
    shift = wb.random.uniform(range=(0, 1))
    graph = wb.read(small / name, polygon_masks=True).decode()
    graph = graph.crop(crop=(26, 34), crop_pos_x=shift, crop_pos_y=shift)
    version = render_here(graph, tmp_path / "v1", small / name, format="coco", copies=2)
    (path,) = (version.path / "annotations").iterdir()
    assert path.name.startswith("keypoints" if "key" in name else "instances")
    objects = json.loads(path.read_text())["annotations"]
    assert 12 < len(objects) < 36
    assert {one["category_id"] for one in objects} >= {2, 3}
    for one in objects:
        left, top, width, height = one["bbox"]
        box = [left, top, left + width, top + height]
        if "segmentation" in one:
            points = np.clip(np.reshape(one["segmentation"], (-1, 2)), 0, (34, 26))
            assert np.allclose([*points.min(axis=0), *points.max(axis=0)], box, atol=0.5)
        for x, y, shown in np.reshape(one.get("keypoints", []), (-1, 3)):
            assert not shown or (left - 0.5 < x < box[2] + 0.5 and top - 0.5 < y < box[3] + 0.5)


def test_originals_are_whole(small: Path, tmp_path: Path) -> None:
    """The recipe decodes a random crop, which is not the original."""
    data = small / "annotations.json"
    graph = wb.load_recipe("ssd").with_settings(batch_size=6)
    version = render_here(graph, tmp_path / "v1", data, format="coco", originals=True)
    found = json.loads((version.path / "annotations" / "instances_train.json").read_text())
    given = json.loads(data.read_text())["annotations"]
    assert [one["bbox"] for one in found["annotations"][:18]] == [one["bbox"] for one in given]
    assert {(each["width"], each["height"]) for each in found["images"][:6]} == {(48, 36)}


def test_outputs_that_do_not_belong_together(small: Path, tmp_path: Path) -> None:
    graph = wb.load_recipe("ssd").with_settings(batch_size=4)
    (tmp_path / WORK).mkdir()
    plan, samples, _ = plan_version(graph, open_datasets(small / "annotations.json"), format="coco")
    write_inputs(tmp_path, plan, samples)
    (task,) = plan.tasks()
    resolved = resolve(shard_graph(plan, task, open_datasets(dict(plan.data)), task, 1), CATALOG)
    reader = SampleReader(resolved)
    boxes = np.array([[0.1, 0.1, 0.5, 0.5], [0.2, 0.2, 0.9, 0.6]])
    values = {"images": np.zeros((8, 8, 3), np.uint8), "boxes": boxes, "labels": np.array([1])}
    sample = reader.sample("one-0", "1.png", values)
    with pytest.raises(DataError, match=r"1.png: 'labels' has 1 values, but 'boxes' has 2 objects"):
        annotations_of(sample, plan, reader.roles)
    with pytest.raises(DataError, match="infinite or not a number"):
        json_part([{"bbox": [0.0, float("nan"), 1.0, 1.0]}], {}, "1.png")


def test_depth_is_not_a_picture(small: Path) -> None:
    data = small / "annotations.json"
    read = wb.read(data, pixelwise_masks=True).decode()
    graph = wb.outputs(images=read.images, depth=read.masks.cast(dtype="FLOAT") * 0.5)
    plan, _, _ = plan_version(graph, open_datasets(data), format="webdataset")
    assert roles_of(resolve(graph_from_json(plan.graphs["train"]), CATALOG)).arrays == ("depth",)
    for format in ("folder", "coco"):
        with pytest.raises(ArgumentError, match=r"cannot contain 'depth'|outputs none"):
            plan_version(graph, open_datasets(data), format=format)


def test_class_numbers_of_image_folder(tmp_path: Path) -> None:
    write_photos(tmp_path / "photos", 3, ("ant", "bee"))
    (tmp_path / "list.csv").write_text(
        "path,label\n" + "".join(f"photos/ant/ant{at}.png,{at * 5}\n" for at in range(3))
    )
    graph = wb.read(tmp_path / "list.csv").decode().resize(size=(8, 8))
    plan, _, _ = plan_version(graph, open_datasets(tmp_path / "list.csv"), split=(0.6, 0.4))
    assert "'10' is 1 there, 10 here" in str(plan.notes)
    assert "val has no sample of class" in str(plan.notes)


def test_a_version_is_divided_again(small: Path, tmp_path: Path) -> None:
    """Annotations and archives are divided by copies of the annotations and by indices."""
    graph = wb.load_recipe("ssd").with_settings(batch_size=6)
    options = {"split": (0.5, 0.5), "evaluation": graph}
    first = render_here(
        graph, tmp_path / "v1", small / "annotations.json", format="webdataset", **options
    )
    again = render_here(graph, tmp_path / "v2", first.path / "train", format="coco", **options)
    assert dict(first.samples) == {"train": 3, "val": 3}
    assert {each.source for each in first.records()} == {f"{at}.png" for at in range(1, 7)}
    train, val = ([each.source for each in again.records(name)] for name in ("train", "val"))
    assert len({*train, *val}) == 3
    assert all(name.startswith("train-copy0-00000-of-00001.tar:") for name in (*train, *val))
