"""Marks are at the positions of the annotations, on the original and on the result."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.graph.annotations.ramps import coco_start, write_ramps
from tests.helpers import CATALOG, with_args, with_node, with_nodes
from tests.sources.written import read_photos, write_coco
from workbench.engine import Engine
from workbench.graph import Graph, Node, Port, check_graph, load_recipe
from workbench.graph.annotations.follower_edits import with_followers
from workbench.graph.edits.edit import insert_node, set_setting
from workbench.graph.variants.source_annotations import with_opened
from workbench.preview import PreviewRequest, preview_batch, preview_card_pictures, preview_steps
from workbench.preview.pictures.annotation_overlays import (
    AnnotationOverlay,
    _ltrb,
    depth_overlay,
    mask_overlay,
)
from workbench.sources import open_datasets


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ramps(tmp_path_factory.mktemp("coco"))


def masked(folder: Path) -> Graph:
    """COCO with masks as output, rotated by 90 degrees."""
    start = coco_start(folder)
    start = with_args(start, "reader", pixelwise_masks=True)
    start = with_nodes(start, masks=Port("reader", "masks"))
    graph, turned = insert_node(start, CATALOG, "rotate", "decode")
    graph = with_args(graph, turned, angle=90.0, keep_size=False)
    return with_followers(start, graph, CATALOG)


def drawn(mark: AnnotationOverlay) -> NDArray[np.uint8]:
    """Alpha of a mask's picture."""
    with Image.open(io.BytesIO(mark.mask)) as picture:
        return np.asarray(picture.convert("RGBA"))[..., 3]


def test_masks_follow_and_are_drawn_where_the_boxes_are(folder: Path, engine: Engine) -> None:
    graph = masked(folder)
    assert graph.outputs["masks"] == Port("follow_masks", "masks")
    assert check_graph(graph, CATALOG) == ()
    preview = preview_batch(engine, PreviewRequest(graph, {}, tiles=2))
    for tile in preview.tiles:
        for marks in tile.marks:
            (mask,) = [mark for mark in marks if mark.mask]
            boxes = [mark for mark in marks if not mark.mask]
            assert mask.text == "marker"
            assert len(boxes) == 3
            alpha = drawn(mask)
            height, width = alpha.shape
            wanted = np.zeros_like(alpha)
            for box in boxes:
                sides = np.array(box.corners) * (width, height, width, height)
                left, top, right, bottom = sides.round().astype(int)
                wanted[top:bottom, left:right] = 255
            np.testing.assert_array_equal(alpha, wanted)


def test_names_of_opened_annotations_are_in_the_order_of_the_file(
    photos: Path, tmp_path: Path, engine: Engine
) -> None:
    path = write_coco(read_photos(photos)[:6], tmp_path / "coco")
    document = json.loads(path.read_text())
    document["categories"] = [{"id": 99, "name": "none"}, *document["categories"][::-1]]
    path.write_text(json.dumps(document))
    data = open_datasets(str(path))
    graph = set_setting(load_recipe("rotate-jitter"), batch_size=6)
    preview = preview_batch(engine, PreviewRequest(with_opened(graph, data, CATALOG), data))
    names = {category["id"]: category["name"] for category in document["categories"]}
    for tile in preview.tiles:
        number = int(tile.sample.file.removesuffix(".jpg"))
        classes = [
            names[each["category_id"]]
            for each in document["annotations"]
            if each["image_id"] == number
        ]
        assert [mark.text for mark in tile.marks[0]] == classes
    assert len(preview.tiles) == 6


@pytest.mark.parametrize(
    ("form", "box"),
    [("relative ltrb", (2, 3, 6, 9)), ("xywh", (2, 3, 4, 6)), ("relative cxcywh", (4, 6, 4, 6))],
)
def test_a_box_of_any_form_has_its_corners(form: str, box: tuple[float, ...]) -> None:
    assert _ltrb(np.array([box], float), form).tolist() == [[2, 3, 6, 9]]


def test_a_large_mask_is_drawn_smaller_with_classes_apart() -> None:
    mask = np.zeros((1500, 3000, 1), np.int32)
    mask[:, 1000:2000] = 1
    mask[:, 2000:] = 14
    (mark,) = mask_overlay(mask, ["cat"])
    assert mark.text == "cat, 14"
    with Image.open(io.BytesIO(mark.mask)) as picture:
        assert picture.size == (512, 256)
        assert len(picture.convert("RGBA").getcolors() or []) == 3
    assert len(mark.mask) < 3000


def test_an_empty_mask_is_no_mark() -> None:
    assert mask_overlay(np.zeros((4, 4, 1), np.int16), []) == ()


def test_polygons_are_drawn_as_outlines_of_their_boxes(folder: Path, engine: Engine) -> None:
    start = coco_start(folder)
    start = with_args(start, "reader", polygon_masks=True)
    given = {name: Port("reader", name) for name in ("polygons", "vertices")}
    start = with_nodes(start, **given)
    graph, turned = insert_node(start, CATALOG, "rotate", "decode")
    graph = with_args(graph, turned, angle=90.0, keep_size=False)
    graph = with_followers(start, graph, CATALOG)
    assert check_graph(graph, CATALOG) == ()
    preview = preview_batch(engine, PreviewRequest(graph, {}, tiles=2))
    for tile in preview.tiles:
        for marks in tile.marks:
            outlines = [mark for mark in marks if mark.outline]
            boxes = [mark for mark in marks if not mark.outline]
            assert [mark.text for mark in outlines] == ["marker"] * 3
            for outline, box in zip(outlines, boxes, strict=True):
                np.testing.assert_allclose(outline.corners, box.corners, atol=1e-4)
                assert len(outline.outline) == 8


def test_points_that_have_left_are_marked_at_the_edge(folder: Path, engine: Engine) -> None:
    start = coco_start(folder)
    graph, cut = insert_node(start, CATALOG, "crop", "decode")
    graph = with_node(graph, cut, args={"crop": (100, 100)})
    drawn = {"range": (0.0, 200.0), "shape": (12, 2)}
    inputs = {"points": Port("points", "output"), "image": Port(cut, "output")}
    nodes = (
        Node("points", "random.uniform", drawn, seed=9),
        Node("moved", "follow_points", {}, inputs),
    )
    outputs = {"images": Port(cut, "output"), "points": Port("moved", "points")}
    graph = replace(graph, nodes=(*graph.nodes, *nodes), outputs=outputs)
    preview = preview_batch(engine, PreviewRequest(graph, {}, tiles=2))
    assert len(preview.tiles) == 2
    for tile in preview.tiles:
        marks = tile.marks[-1]
        assert len(marks) == 12
        assert {mark.left for mark in marks} == {False, True}
        for mark in marks:
            inside = all(0 < value < 1 for value in mark.corners)
            assert inside != mark.left or mark.left
            assert all(0 <= value <= 1 for value in mark.corners)


def test_a_mask_of_another_size_says_so(folder: Path, engine: Engine) -> None:
    graph = masked(folder)
    small = Node("small", "resize", {"size": (50, 60)}, {"data": Port("reader", "masks")})
    follower = graph.node("follow_masks")
    inputs = {**follower.inputs, "masks": Port("small", "output")}
    graph = graph.replace_node(replace(follower, inputs=inputs))
    cast = Node("cast", "cast", {"dtype": "UINT8"}, {"data": Port("reader", "masks")})
    small = replace(small, inputs={"data": Port("cast", "output")})
    graph = with_nodes(graph, cast, small)
    assert check_graph(graph, CATALOG) == ()
    preview = preview_batch(engine, PreviewRequest(graph, {}, tiles=1))
    marks = preview.tiles[0].marks[-1]
    assert [mark.text for mark in marks if "mask" in mark.text] == ["mask 50×60 on 220×250"]


@pytest.mark.parametrize("closely", [False, True])
@pytest.mark.parametrize("shown", [True, False])
def test_targets_are_drawn_on_the_cards_of_the_images_they_lie_on(
    folder: Path, engine: Engine, closely: bool, shown: bool
) -> None:
    """On those between, too, and where they are wanted."""
    before = masked(folder)
    graph, _ = insert_node(before, CATALOG, "flip", "rotate")
    graph = with_followers(before, graph, CATALOG)
    request = PreviewRequest(graph, {}, tiles=2, tile_size=96)
    boxes = {}
    if closely:
        steps = preview_steps(engine, request, 1, times=False, targets=shown)
        sheet = np.asarray(Image.open(io.BytesIO(steps.image)), int)
        boxes = {step.node: output.box for step in steps.steps for output in step.outputs}
    else:
        cards = preview_card_pictures(engine, request, 1, targets=shown)
        sheet = np.asarray(Image.open(io.BytesIO(cards.image)), int)
        boxes = {card.node: card.box for card in cards.cards}
        assert boxes.keys() == {node.id for node in graph.nodes}
    for node in ("decode", "rotate", "flip"):
        place = boxes[node]
        assert place is not None
        x, y, width, height = place
        picture = sheet[y : y + height, x : x + width]
        drawn_over = picture[..., 2] < 220  # elsewhere the ramps are blue
        assert (0.02 < drawn_over.mean() < 0.4) == shown


def test_ids_of_instances_have_colours_of_their_own_and_a_name_on_each() -> None:
    mask = np.zeros((60, 80, 1), np.int32)
    mask[5:20, 5:30] = 70_001
    mask[5:20, 40:60] = 70_002
    mask[30:50, 5:75] = 3
    (mark,) = mask_overlay(mask, ["car", "cat", "dog"])
    assert mark.text == "dog, 70001, 70002"
    with Image.open(io.BytesIO(mark.mask)) as picture:
        pixels = np.asarray(picture.convert("RGBA"))
    seen = {tuple(pixels[10, 10]), tuple(pixels[10, 50]), tuple(pixels[40, 40])}
    assert len(seen) == 3
    for name, number in zip(mark.names, (3, 70_001, 70_002), strict=True):
        assert mask[int(name.y * 60), int(name.x * 80), 0] == number


def test_a_mask_of_many_ids_names_the_largest() -> None:
    mask = np.repeat(np.arange(1, 41), 10).reshape(20, 20, 1)
    (mark,) = mask_overlay(mask, [])
    assert len(mark.names) == 12
    assert mark.text.endswith("28 more")


def test_depth_is_drawn_by_one_scale_and_clear_where_there_is_none(
    folder: Path, engine: Engine
) -> None:
    depth = np.linspace(2, 9, 40 * 50, dtype=np.float32).reshape(40, 50, 1)
    depth[:10], depth[10:12] = 0, np.nan
    (mark,) = depth_overlay(depth)
    assert mark.text == "4.101 … 9"
    with Image.open(io.BytesIO(mark.mask)) as picture:
        pixels = np.asarray(picture.convert("RGBA"))
    assert not pixels[:12, :, 3].any()
    assert pixels[12:, :, 3].all()
    assert tuple(pixels[12, 0, :3]) == (68, 1, 84)
    assert tuple(pixels[-1, -1, :3]) == (253, 231, 37)
    assert depth_overlay(np.zeros((4, 4, 1), np.float32)) == ()
    # What is read between pixels is depth, on the original too.
    graph = masked(folder)
    follower = graph.node("follow_masks")
    args = {**follower.args, "interpolation": "linear"}
    graph = graph.replace_node(replace(follower, args=args))
    preview = preview_batch(engine, PreviewRequest(graph, {}, tiles=1))
    for marks in preview.tiles[0].marks:
        assert [mark.text for mark in marks if mark.mask] == ["1 … 1"]


def test_ids_paths_and_shares_of_classes_stand_beside_the_picture(
    photos: Path, folder: Path, engine: Engine
) -> None:
    start = coco_start(folder)
    start = with_args(start, "reader", image_ids=True)
    place = Node("path", "get_property", {"key": "source_info"}, {"data": Port("reader", "jpegs")})
    given = {"image_ids": Port("reader", "image_ids"), "paths": Port("path", "output")}
    graph = with_nodes(start, place, **given)
    preview = preview_batch(engine, PreviewRequest(graph, {}, tiles=2))
    for number, tile in enumerate(preview.tiles):
        assert len(tile.targets) == 2  # labels are those of boxes
        assert tile.targets[0] == f"image_ids {number}"
        assert tile.targets[1].startswith("paths ")
        assert tile.targets[1].endswith(f"{number}.png")
    cards = preview_card_pictures(engine, PreviewRequest(graph, {}, tiles=2), 1).cards
    assert next(card.text for card in cards if card.node == "path").endswith("1.png")
    # A label as shares of classes, by their names.
    graph = load_recipe("rotate-jitter")
    classes = len({path.parent for path in photos.glob("*/*")})
    args = {"num_classes": classes}
    node = Node("shares", "one_hot", args, {"data": Port("reader", "labels")})
    graph = with_nodes(graph, node, labels=Port("shares", "output"))
    preview = preview_batch(engine, PreviewRequest(graph, str(photos), tiles=3))
    for tile in preview.tiles:
        assert tile.targets == (f"labels {tile.class_name}",)
    # Arithmetic changes the number: it is that of another class, whose name says nothing.
    one = {"right": 1, "constant_type": "INT32"}
    more = Node("more", "math.add", one, {"data": Port("reader", "labels")})
    shares = replace(node, inputs={"data": Port("more", "output")}, args={"num_classes": 99})
    graph = with_nodes(graph, more).replace_node(shares)
    preview = preview_batch(engine, PreviewRequest(graph, str(photos), tiles=3))
    for tile in preview.tiles:
        assert tile.targets == (f"labels {int(tile.label) + 1}",)


def test_boxes_whose_numbers_were_changed_have_no_names(
    folder: Path, engine: Engine, tmp_path: Path
) -> None:
    document = json.loads((folder / "boxes.json").read_text())
    document["categories"].append({"id": 2, "name": "another"})
    (tmp_path / "boxes.json").write_text(json.dumps(document))
    start = coco_start(folder)
    args = {"annotations_file": str(tmp_path / "boxes.json")}
    start = with_args(start, "reader", **args)
    graph, _ = insert_node(start, CATALOG, "flip", "decode")
    graph = with_followers(start, graph, CATALOG)
    follower = next(node for node in graph.nodes if node.op == "follow_boxes")
    one = {"right": 1, "constant_type": "INT32"}
    more = Node("more", "math.add", one, {"data": follower.inputs["labels"]})
    changed = replace(follower, inputs={**follower.inputs, "labels": Port("more", "output")})
    other = with_nodes(graph, more).replace_node(changed)
    texts, numbers = (
        [
            mark.text
            for mark in preview_batch(engine, PreviewRequest(each, {}, tiles=1)).tiles[0].marks[-1]
            if not mark.mask
        ]
        for each in (graph, other)
    )
    assert set(texts) == {"marker"}
    assert set(numbers) == {"2"}
