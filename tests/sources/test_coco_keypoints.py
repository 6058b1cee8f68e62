"""Key points of COCO: point for point what the file says, and never visible where it says none."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.helpers import script_batches, with_settings
from workbench.catalog import load_catalog
from workbench.errors import DataError
from workbench.graph import Graph, Port, load_recipe
from workbench.graph.variants.source_targets import with_opened
from workbench.samples.shapes import KEY_POINTS
from workbench.sources import open_dataset, open_datasets, require_dataset

COUNT = 6


@pytest.fixture
def copied(shapes: Path, tmp_path: Path) -> Path:
    """Annotations that a test may change, beside the images."""
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
    with pytest.raises(DataError, match=r"1 annotations have no key points, the first of image"):
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
