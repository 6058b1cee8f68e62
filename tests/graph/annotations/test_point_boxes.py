"""Key points belong to a box: they are removed with it, and stay with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from PIL import Image

import workbench as wb
from tests.graph.annotations.test_sides import BLOCKS, CHAINS
from tests.helpers import CATALOG, with_args
from workbench.errors import WorkbenchError
from workbench.graph.annotations.follower_edits import with_new_targets
from workbench.graph.checks.check import check_graph
from workbench.graph.execution.active import with_step_followers
from workbench.graph.fixes import fixes
from workbench.graph.model import Graph, Port
from workbench.graph.resolved import ResolvedGraph
from workbench.preview.verify import Verifier

WIDTH, HEIGHT, COUNT = 64, 48, 3
Objects = list[dict[str, Any]]


def _objects() -> Objects:
    """Up to six objects in each of eight images: the class of an object is its place, from 1.

    The points are in the box of the object; some are not labelled.
    """
    chance, found = np.random.default_rng(3), []
    for image in range(8):
        for at in range(image % 7):
            x, y = chance.integers(0, 44), chance.integers(0, 32)
            points = chance.uniform((x, y), (x + 20, y + 16), (COUNT, 2))
            seen = chance.integers(0, 3, COUNT)
            row = {"image_id": image, "category_id": at + 1, "iscrowd": 0, "area": 320}
            row |= {"id": len(found), "bbox": [int(x), int(y), 20, 16]}
            keys = np.column_stack([points.round(3), seen]).ravel().tolist()
            found.append({**row, "keypoints": keys})
    return found


def _images(folder: Path) -> None:
    folder.mkdir(parents=True)
    chance = np.random.default_rng(0)
    for at in range(8):
        pixels = chance.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{at}.png")


def coco(folder: Path, objects: Objects) -> str:
    """Write objects as COCO key points, and return the path."""
    _images(folder / "images")
    sides = {"width": WIDTH, "height": HEIGHT}
    images = [{"id": at, "file_name": f"{at}.png", **sides} for at in range(8)]
    names = ["left_hand", "right_hand", "nose"]
    kinds = [{"id": at, "name": f"c{at}", "keypoints": names} for at in range(1, 7)]
    found = {"images": images, "annotations": objects, "categories": kinds}
    path = folder / "keypoints.json"
    path.write_text(json.dumps(found))
    return str(path)


def yolo(folder: Path, objects: Objects) -> str:
    """Write the same objects as YOLO poses, and return the path."""
    _images(folder / "images")
    (folder / "labels").mkdir()
    sides = np.array([WIDTH, HEIGHT])
    for one in objects:
        corner, size = np.split(np.array(one["bbox"], float), 2)
        keys = np.array(one["keypoints"]).reshape(-1, 3) / (*sides, 1)
        row = [*(corner + size / 2) / sides, *size / sides, *keys.ravel()]
        with open(folder / "labels" / f"{one['image_id']}.txt", "a") as file:
            file.write(" ".join(map(repr, [one["category_id"] - 1, *map(float, row)])) + "\n")
    head = f"train: images\nnames: [{', '.join(f'c{at}' for at in range(1, 7))}]\n"
    names = "kpt_names: {0: [left_hand, right_hand, nose]}\n"
    (folder / "data.yaml").write_text(f"{head}kpt_shape: [3, 3]\n{names}flip_idx: [1, 0, 2]\n")
    return str(folder)


FORMS = {"coco": coco, "yolo": yolo}


def _points_by_class(objects: Objects, image: int) -> dict[int, NDArray[np.float64]]:
    own = [one for one in objects if one["image_id"] == image]
    return {one["category_id"]: np.reshape(one["keypoints"], (-1, 3)) for one in own}


def _with_visible(graph: Graph) -> Graph:
    followers = [node.id for node in graph.nodes if node.op == "follow_points"]
    return replace(graph, outputs={**graph.outputs, "visible": Port(followers[-1], "visible")})


@pytest.mark.parametrize("form", FORMS)
def test_points_are_removed_with_their_box(tmp_path: Path, form: str) -> None:
    objects = _objects()
    start = wb.read(FORMS[form](tmp_path / form, objects)).decode().with_settings(batch_size=8)
    graph = start.crop(crop=(32, 32), crop_pos_x=0.25, crop_pos_y=0.5)
    assert graph.node("follow_points").inputs["places"] == Port("follow_boxes", "places")
    batch = _with_visible(graph).batch(0)
    removed = hidden = 0
    for at in range(8):
        before, labels = _points_by_class(objects, at), np.asarray(batch.labels[at])
        points = np.asarray(batch.vertices[at]).reshape(-1, COUNT, 2)
        seen = np.asarray(batch.visible[at]).reshape(-1, COUNT)
        assert len(points) == len(labels) == len(batch.boxes[at])
        rows = [[n, COUNT * n, COUNT * n + COUNT] for n in range(len(labels))]
        assert np.array_equal(np.reshape(batch.polygons[at], (-1, 3)), np.reshape(rows, (-1, 3)))
        for label, own, shown in zip(labels, points, seen, strict=True):
            wanted = before[label][:, :2] - (8, 8)
            labelled = before[label][:, 2] > 0
            np.testing.assert_allclose(own[labelled], wanted[labelled], atol=1e-3)
            inside = ((wanted >= 0) & (wanted <= 32)).all(axis=1)
            assert np.array_equal(shown, inside & labelled)
            hidden += int((labelled & ~inside).sum())
        removed += len(before) - len(labels)
    assert removed > 5
    assert hidden > 5
    assert "places" not in start.flip(horizontal=1).node("follow_points").inputs


@pytest.mark.filterwarnings("ignore:.*does not change the images")
@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_points_of_the_remaining_boxes_are_those_of_all_points(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Through any chain of operators and blocks, with names that a mirror swaps."""
    data = coco(tmp_path_factory.mktemp("poses") / "data", _objects())
    start = wb.read(data).decode().with_settings(batch_size=8)
    chains = removed = 0

    @settings(max_examples=80, deadline=None, derandomize=True, database=None)
    @given(CHAINS)
    def check(chain: list[tuple[str, str, dict[str, Any]]]) -> None:
        nonlocal chains, removed
        graph = start
        for op, block, args in chain:
            wrap, _ = BLOCKS[block]
            graph = wrap(graph, lambda images, op=op, args=args: attrgetter(op)(images)(**args))
        followers = [node for node in graph.nodes if node.op == "follow_points"]
        if not followers or "places" not in followers[-1].inputs:
            return
        (node,) = followers
        every = replace(node.without({"polygons", "places"}), id="every")
        outputs = {**graph.outputs, "places": node.inputs["places"]}
        outputs |= {"seen": Port(node.id, "visible"), "every": Port("every", "points")}
        outputs |= {"all_seen": Port("every", "visible")}
        chains += 1
        batch = replace(graph, nodes=(*graph.nodes, every), outputs=outputs).batch(0)
        for at, places in enumerate(map(np.ravel, batch.places)):
            removed += len(batch.every[at]) // COUNT - len(places)
            rows = np.add.outer(places * COUNT, np.arange(COUNT)).ravel()
            assert len(places) == len(batch.boxes[at]) == len(batch.labels[at])
            assert np.array_equal(batch.vertices[at], np.asarray(batch.every[at])[rows])
            assert np.array_equal(batch.seen[at], np.asarray(batch.all_seen[at])[rows])

    check()
    assert chains > 20
    assert removed > 100


@pytest.mark.thorough
def test_points_of_boxes_are_equal_in_preview_and_export(tmp_path: Path) -> None:
    data = coco(tmp_path / "data", _objects())
    graph = wb.read(data).decode().with_settings(batch_size=8).rotate(angle=15.0, keep_size=True)
    graph = graph.with_p(0.5, lambda images: images.crop(crop=(24, 24))).flip(horizontal=1)
    for target in ("script", "pytorch"):
        report = Verifier(_with_visible(graph), data, 2, target=target).run()
        assert report.exact, report.lines()


def _cropped_by_boxes(data: str) -> Graph:
    """The recipe ssd on key points, with the points as an output."""
    recipe = wb.load_recipe("ssd").with_settings(batch_size=8)
    recipe = with_args(recipe, "reader", polygon_masks=True, random_shuffle=False)
    source = replace(recipe.sources[0], kind="coco_keypoints")
    graph = recipe.replace_node(source)
    outputs = {**graph.outputs, "points": Port("reader", "vertices")}
    return with_new_targets(replace(graph, outputs=outputs), CATALOG, {"points"})


def test_points_of_boxes_that_random_bbox_crop_removes_are_removed(tmp_path: Path) -> None:
    """The points fill the boxes after the crop, which are as large as the points extend."""
    objects = _objects()
    for one in objects:
        x, y, w, h = one["bbox"]
        one["keypoints"] = [x, y, 2, x + w, y + h, 2, x + w, y, 2]
    data = coco(tmp_path / "data", objects)
    graph = _cropped_by_boxes(data)
    assert graph.node("follow_boxes").inputs["indices"] == Port("crop", "indices")
    assert check_graph(graph) == ()
    removed = 0
    for number in range(4):
        batch = graph.batch(number, data=data)
        for labels, boxes, points in zip(batch.labels, batch.boxes, batch.points, strict=True):
            own = np.asarray(points).reshape(-1, COUNT, 2)
            low, high = own.min(axis=1), own.max(axis=1)
            around = np.concatenate([low, high], axis=1).clip(0, 1)
            assert len(own) == len(np.asarray(labels))
            np.testing.assert_allclose(boxes, around, atol=0.05)
            removed += 6 - len(own)
    assert removed


def test_unbound_points_are_a_warning_with_a_fix(tmp_path: Path) -> None:
    start = wb.read(coco(tmp_path / "data", _objects())).decode()
    graph = start.crop(crop=(32, 32))
    points = graph.node("follow_points")
    plain = graph.replace_node(points.without({"polygons", "places"}))
    outputs = {name: port for name, port in plain.outputs.items() if name != "polygons"}
    plain = replace(plain, outputs=outputs)
    (warning,) = wb.check_warnings(plain)
    assert warning.text.startswith(
        "it outputs the points of boxes that follow_boxes removes. Connect polygons of reader"
    )
    (fix, *_) = fixes(ResolvedGraph(plain, CATALOG), warning)
    assert fix.graph.node("follow_points") == points
    steps = with_step_followers(graph.flip(horizontal=1), CATALOG)
    assert steps.node("follow_points_on_crop").inputs["places"].node == "follow_boxes_on_crop"
    half = graph.replace_node(points.without({"polygons"}))
    assert "it needs both polygons and places" in check_graph(half)[0].text
    read = replace(graph, outputs={**graph.outputs, "polygons": Port("reader", "polygons")})
    (fault,) = [each for each in check_graph(read) if each.code == "bound"]
    assert fault.text == (
        "output 'polygons' refers to all points, but follow_points removes some. "
        "Output polygons of follow_points instead."
    )
    bare = graph["follow_boxes"].remove()
    assert "places" not in bare.node("follow_points").inputs


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keypoints": [1, 1, 2]}, "no valid key points in 1 of 21"),
        ({"keypoints": None}, "no valid key points in 1 of 21"),
    ],
)
def test_objects_without_points_are_reported(
    tmp_path: Path, change: Mapping[str, Any], message: str
) -> None:
    objects = _objects()
    objects[4] |= change
    data = coco(tmp_path / "data", objects)
    with pytest.raises(WorkbenchError, match=message):
        wb.read(data).decode().crop(crop=(32, 32)).with_settings(batch_size=8).batch(0)


def test_points_of_uneven_and_crowd_objects_keep_their_box(tmp_path: Path) -> None:
    objects = _objects()
    for one in objects[::2]:
        one["keypoints"] += [one["bbox"][0] + 1.0, one["bbox"][1] + 1.0, 2]
    for one in objects[::5]:
        one |= {"iscrowd": 1, "segmentation": {"counts": [48 * 64], "size": [48, 64]}}
    objects[7]["bbox"][2:] = [0.01, 0.01]  # which DALI's reader drops
    start = wb.read(coco(tmp_path / "data", objects)).decode().with_settings(batch_size=8)
    batch = start.crop(crop=(32, 32), crop_pos_x=0.25, crop_pos_y=0.5).batch(0)
    for at in range(8):
        before = _points_by_class(objects, at)
        rows = np.reshape(batch.polygons[at], (-1, 3))
        assert len(rows) == len(batch.labels[at])
        for label, (_, first, end) in zip(np.asarray(batch.labels[at]), rows, strict=True):
            wanted, labelled = before[label][:, :2] - (8, 8), before[label][:, 2] > 0
            own = np.asarray(batch.vertices[at])[first:end]
            np.testing.assert_allclose(own[labelled], wanted[labelled], atol=1e-3)
