"""The sample targets are data of each kind: each opens, previews and verifies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from tests.helpers import script_batches, with_args, with_settings
from tests.thorough import one_in
from workbench.cli import main
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.graph import Graph, Port, load_recipe
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.samples import write_samples
from workbench.samples.annotations import CLIPS, FRAMES, VOLUMES
from workbench.samples.records import encode_tfrecord
from workbench.samples.shapes import (
    CLASSES,
    KEY_POINTS,
    OUTLINES,
    SCENES,
    Scene,
    inside,
    scenes,
    shape_at,
)
from workbench.sources import list_samples, load_source, open_dataset, require_dataset, source_kinds

ELSEWHERE = {"encoded_videos", "record_io_labels", "request_videos", "tfrecord_features"}
ELSEWHERE |= {"video_request", "webdataset_features"}
"""Kinds that fit no recipe of photos; tests/sources has their tests."""
KINDS = [kind for kind in source_kinds() if load_source(kind).sample and kind not in ELSEWHERE]
COUNT = 4


def graph_for(kind: str) -> Graph:
    recipes = {"numpy_files": "two-modalities", "coco_keypoints": "key-points"}
    recipes |= {"yolo_pose": "key-points"}
    recipes |= dict.fromkeys(["video", "video_frames"], "video-clips")
    recipes |= {"image_masks": "segmentation"}
    graph = with_settings(load_recipe(recipes.get(kind, "rotate-jitter")), batch_size=COUNT)
    (reader,) = graph.sources
    stride = {"stride": 1} if kind == "video_frames" else {}  # every fourth frame is there
    return with_args(graph, reader.id, **stride)


COUNTS = {
    "video": len(CLASSES) * CLIPS,
    "video_frames": len(CLASSES) * FRAMES // 4,
    "numpy_files": VOLUMES,
}


NAMED = ("tfrecord_boxes", "webdataset_boxes", "webdataset_masks")
"""Read without their targets otherwise."""


@pytest.mark.parametrize("kind", one_in(8, KINDS))
def test_it_opens_previews_and_verifies(kind: str, shapes: Path, engine: Engine) -> None:
    path = shapes / load_source(kind).sample
    named = kind in NAMED
    dataset = open_dataset(f"{kind}:{path}" if named else path)
    assert dataset.kind == kind
    require_dataset(dataset)
    samples = list(list_samples(dataset))
    assert len(samples) == COUNTS.get(kind, SCENES)
    assert not any(sample.fault for sample in samples)
    if not named and not load_source(kind).targets and kind != "numpy_files":
        assert {sample.label for sample in samples} == set(range(len(CLASSES)))
    preview = preview_batch(engine, PreviewRequest(graph_for(kind), str(path), tiles=COUNT))
    assert [tile.sample.error for tile in preview.tiles] == [""] * COUNT
    report = Verifier(graph_for(kind), str(path), 2, engine=engine).run()
    assert report.exact, report.lines()


def test_the_command_tells_what_to_open(tmp_path: Path, shapes: Path) -> None:
    done = CliRunner().invoke(main, ["samples", str(tmp_path / "shapes"), "--annotations"])
    assert done.exit_code == 0, done.output
    told = [line.split()[0] for line in done.output.splitlines()[1:]]
    assert set(told) == {str(tmp_path / "shapes" / load_source(kind).sample) for kind in KINDS}
    assert all(Path(path).exists() for path in told)
    # A second run, elsewhere, writes the same bytes.
    assert digests(tmp_path / "shapes") == digests(shapes)
    both = CliRunner().invoke(main, ["samples", str(tmp_path / "x"), "--annotations", "--formats"])
    assert both.exit_code == 2
    assert "Run the command once with each" in both.output
    renamed = CliRunner().invoke(main, ["samples", str(tmp_path / "x"), "--targets"])
    assert "--targets was renamed. Use --annotations." in renamed.output


def digests(folder: Path) -> dict[str, str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 11e6
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_photos_and_targets_do_not_share_a_folder(photos: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="contains files other"):
        write_samples(photos, annotations=True)
    (tmp_path / "coco").mkdir()
    (tmp_path / "coco" / "mine.json").write_text("mine")
    with pytest.raises(DataError, match=r"coco.*empty folder"):
        write_samples(tmp_path, annotations=True)
    with pytest.raises(DataError, match="separate folders"):
        write_samples(tmp_path / "new", formats=True, annotations=True)


def test_annotations_say_what_is_in_the_masks(shapes: Path, tmp_path: Path) -> None:
    document = json.loads((shapes / "coco" / "annotations.json").read_text())
    assert [each["name"] for each in document["categories"]] == list(CLASSES)
    classes = {}
    for image in document["images"]:
        own = [one for one in document["annotations"] if one["image_id"] == image["id"]]
        stem = Path(image["file_name"]).stem
        mask = np.asarray(Image.open(shapes / "segmentation" / "masks" / f"{stem}.png"))
        each = np.asarray(Image.open(shapes / "segmentation" / "instances" / f"{stem}.png"))
        assert mask.shape == (image["height"], image["width"])
        wanted, numbers = np.zeros_like(mask), np.zeros_like(mask)
        for number, one in enumerate(own):
            (polygon,) = one["segmentation"]
            corners = list(zip(polygon[::2], polygon[1::2], strict=True))
            within = inside(corners, image["width"], image["height"])
            wanted[within], numbers[within] = one["category_id"], number + 1
            xs, ys = zip(*corners, strict=True)
            left, top, width, height = one["bbox"]
            assert (left, top) == (min(xs), min(ys))
            assert (left + width, top + height) == pytest.approx((max(xs), max(ys)), abs=0.011)
            keys = np.array(one["keypoints"]).reshape(-1, 3)
            assert (keys[:, 2] == 2).all()
            assert (keys[:, :2] >= np.array([left, top]) - 0.01).all()
            assert (keys[:, :2] <= np.array([left + width, top + height]) + 0.01).all()
        assert (mask == wanted).all()
        assert (each == numbers).all()
        classes[image["id"]] = mask
    # DALI's own masks of the polygons are the same but for their edges.
    graph = with_settings(load_recipe("segmentation"), batch_size=SCENES)
    (reader,) = graph.sources
    args = {**reader.args, "random_shuffle": False}
    graph = replace(
        graph.replace_node(replace(reader, args=args)), outputs={"masks": Port("reader", "masks")}
    )
    ((found,),) = script_batches(graph, shapes / "coco" / "annotations.json", 1, tmp_path)
    for number, theirs in enumerate(found):
        ours = classes[number]
        assert (theirs[..., 0] != ours).mean() < 0.01
        assert ((theirs[..., 0] > 0) & (ours > 0)).sum() > 0.95 * (ours > 0).sum()


def test_arrays_and_volumes(shapes: Path) -> None:
    arrays = [np.load(path) for path in sorted((shapes / "numpy").glob("*.npy"))]
    assert {(each.shape, str(each.dtype)) for each in arrays} == {((120, 160, 3), "uint8")}
    for path in (shapes / "volumes" / "images").iterdir():
        volume, mask = np.load(path), np.load(shapes / "volumes" / "masks" / path.name)
        assert volume.shape == (*mask.shape, 2)
        assert (str(volume.dtype), set(np.unique(mask))) == ("int16", {0, 1})
        first, second = (volume[..., channel][mask == 1].mean() for channel in (0, 1))
        assert first < second  # dark in one modality, bright in the other


def test_a_tfrecord_has_checksums() -> None:
    # RFC 3720, appendix B.4: of 32 zeros the checksum is 8A9136AA; then TensorFlow's mask
    crc = 0x8A9136AA
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert encode_tfrecord(bytes(32))[-4:] == masked.to_bytes(4, "little")


@pytest.mark.thorough
def test_tensorflow_reads_the_tfrecord(shapes: Path) -> None:
    tf = pytest.importorskip("tensorflow", reason="tensorflow is not installed")
    path = str(next((shapes / "tfrecord").iterdir()))
    records = [tf.train.Example.FromString(each.numpy()) for each in tf.data.TFRecordDataset(path)]
    assert len(records) == SCENES
    for record in records:
        features = record.features.feature
        count = len(features["image/object/class/label"].int64_list.value)
        assert 1 <= count <= 4
        for side in ("xmin", "ymin", "xmax", "ymax"):
            values = features[f"image/object/bbox/{side}"].float_list.value
            assert len(values) == count
            assert all(0 <= value <= 1 for value in values)


def test_a_recipe_on_other_data_says_what_it_wants(
    photos: Path, data_of: Callable[[Graph], Path], tmp_path: Path
) -> None:
    for name in ("ssd", "video-clips", "two-modalities"):
        graph = load_recipe(name)
        output = str(tmp_path / "sheet.png")
        command = ["preview", name, "--data", str(photos), "-o", output]
        refused = CliRunner().invoke(main, command)
        assert refused.exit_code == 1
        wanted = load_source(graph.sources[0].kind).sample
        assert "`workbench samples shapes --annotations` writes some" in refused.output
        assert f"open shapes/{wanted}" in refused.output
        assert data_of(graph).parts[-len(Path(wanted).parts) :] == Path(wanted).parts


# Annotations match the drawn shapes.


@cache
def grey(name: str) -> Image.Image:
    return Image.new("RGB", (600, 500), (128, 128, 128))


@pytest.fixture(scope="module")
def pictures() -> tuple[Scene, ...]:
    return scenes(grey, ("a", "b"))


def test_every_class_is_there_and_pictures_have_one_to_four(pictures: tuple[Scene, ...]) -> None:
    assert len(pictures) == SCENES
    assert {shape.name for one in pictures for shape in one.shapes} == set(CLASSES)
    assert {len(one.shapes) for one in pictures} == {1, 2, 3, 4}
    assert {one.label for one in pictures} == set(range(len(CLASSES)))


def test_a_mask_is_what_was_drawn(pictures: tuple[Scene, ...]) -> None:
    for one in pictures:
        for number, shape in enumerate(one.shapes):
            mask = one.instances == number + 1
            assert (one.classes[mask] == shape.label).all()
            colour = np.abs(one.pixels.astype(int) - shape.colour).sum(axis=2)
            changed = (one.pixels != 128).any(axis=2)
            left, top, right, bottom = shape.box
            rows, columns = np.nonzero(mask)
            assert left - 0.5 <= columns.min() <= left + 1.5
            assert top - 0.5 <= rows.min() <= top + 1.5
            assert right - 2.5 <= columns.max() <= right
            assert bottom - 2.5 <= rows.max() <= bottom
            full = inside(shape.corners, *one.size, fine=4)
            full = full.reshape(one.size[1], 4, one.size[0], 4).all(axis=(1, 3))
            assert (colour[full] == 0).all()
            assert changed[mask].all()
            assert mask.sum() == pytest.approx(shape.area, rel=0.03)
        background = one.classes == 0
        assert (one.pixels[background] == 128).all(axis=1).mean() > 0.97  # the rest are edges


def test_shapes_lie_inside_and_apart(pictures: tuple[Scene, ...]) -> None:
    for one in pictures:
        boxes = np.array([shape.box for shape in one.shapes])
        assert (boxes[:, :2] >= 0).all()
        assert (boxes[:, 2:] <= one.size).all()
        for index, box in enumerate(boxes):
            for other in boxes[index + 1 :]:
                assert (box[2:] < other[:2]).any() or (other[2:] < box[:2]).any()


@pytest.mark.parametrize("name", CLASSES)
def test_key_points_turn_with_their_shape(name: str) -> None:
    corners, points = OUTLINES[name]
    assert len(points) == len(KEY_POINTS)
    upright = shape_at(name, (50, 60), 20, 0, "red")
    assert upright.points[0][1] == min(y for _, y in upright.corners)  # the tip is above
    assert upright.points[1][0] > upright.points[4][0] > upright.points[3][0]
    turned = shape_at(name, (50, 60), 20, np.pi, "red")
    np.testing.assert_allclose(np.array(turned.points), [100, 120] - np.array(upright.points))
    assert len(turned.corners) == len(corners)


def test_inside_of_a_triangle_is_what_lies_right_of_its_sides() -> None:
    corners = [(10.3, 5.2), (52.9, 20.1), (30.4, 48.7)]
    wanted = np.ones((56, 64), np.bool_)
    y, x = np.mgrid[:56, :64] + 0.5
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        wanted &= (x1 - x0) * (y - y0) > (y1 - y0) * (x - x0)
    assert (inside(corners, 64, 56) == wanted).all()
    assert wanted.sum() > 500
