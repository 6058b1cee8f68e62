"""Annotations of every kind and format follow; those that cannot are reported."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.graph.annotations.ramps import HEIGHT, WIDTH, coco_start, run_graph
from tests.helpers import CATALOG, with_args, with_node, with_nodes
from workbench.catalog.extra_operators import BOX_FORMATS
from workbench.catalog.spec import Value
from workbench.emit.targets import export
from workbench.errors import GraphError, GraphFaultsError
from workbench.graph.annotations.follower_edits import with_followers
from workbench.graph.annotations.geometry import geometry_path
from workbench.graph.checks.check import check_graph
from workbench.graph.edits.compose import remove_nodes
from workbench.graph.edits.edit import insert_node
from workbench.graph.fixes import fixes
from workbench.graph.model import Graph, Node, Port
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.typed_graph import TypedGraph

KEY_POINTS = ((10, 20), (30, 40, 50, 60), (), (5, 5, 100, 100, 7, 9))
TWO: Mapping[str, Value] = {"horizontal": 1, "vertical": 0}


def _flipped(folder: Path, reader: Mapping[str, Value]) -> Graph:
    start = coco_start(folder)
    start = with_args(start, "reader", **reader)
    flip = Node("flip", "flip", TWO, {"data": Port("decode", "output")})
    outputs = {"images": Port("flip", "output")}
    return replace(start, nodes=(*start.nodes, flip), outputs=outputs)


@pytest.mark.parametrize("form", BOX_FORMATS)
def test_boxes_of_every_format_follow_a_flip(folder: Path, form: str) -> None:
    unit, corners = form.split()
    graph = _flipped(folder, {"ltrb": corners == "ltrb", "ratio": unit == "relative"})
    boxes = Port("reader", "boxes")
    if corners == "cxcywh":  # of the reader's left, top, width and height
        nodes = (
            Node("size", "subscript", {"index": ":, 2:4"}, {"data": boxes}),
            Node("low", "subscript", {"index": ":, 0:2"}, {"data": boxes}),
            Node("half", "math.mul", {"right": 0.5}, {"data": Port("size", "output")}),
            Node(
                "centre",
                "math.add",
                {},
                {"data": Port("low", "output"), "right": Port("half", "output")},
            ),
            Node(
                "centred",
                "cat",
                {"axis": 1},
                {"input_0": Port("centre", "output"), "input_1": Port("size", "output")},
            ),
        )
        graph, boxes = with_nodes(graph, *nodes), Port("centred", "output")
    args = {"format": form, "visible": 0.0}
    follower = Node(
        "moved", "follow_boxes", args, {"boxes": boxes, "image": Port("flip", "output")}
    )
    graph = with_nodes(graph, follower, before=boxes, after=Port("moved", "boxes"))
    _, before, after = run_graph(graph)
    width = 1 if unit == "relative" else WIDTH
    for one, two in zip(before, after, strict=True):
        wanted = np.asarray(one, np.float64).copy()
        wanted[:, 0] = width - wanted[:, 0]
        if corners == "xywh":
            wanted[:, 0] -= wanted[:, 2]
        if corners == "ltrb":
            wanted[:, 2] = width - wanted[:, 2]
            wanted[:, [0, 2]] = wanted[:, [2, 0]]
        np.testing.assert_allclose(two, wanted, atol=1e-3)


@pytest.mark.parametrize("relative", [False, True])
def test_polygons_follow_by_their_vertices(folder: Path, relative: bool) -> None:
    graph = _flipped(folder, {"polygon_masks": True, "ratio": relative})
    outputs = {"images": Port("decode", "output")}
    outputs |= {name: Port("reader", name) for name in ("polygons", "vertices")}
    start = replace(graph, nodes=graph.nodes[:-1], outputs=outputs)
    graph, flip = insert_node(start, CATALOG, "flip", "decode")
    graph = with_node(graph, flip, args=TWO)
    graph = with_followers(start, graph, CATALOG)
    assert graph.outputs["vertices"] == Port("follow_points", "points")
    assert graph.outputs["polygons"] == Port("reader", "polygons")
    _, polygons, after = run_graph(graph)
    _, _, before = run_graph(start)
    width = 1 if relative else WIDTH
    for table, one, two in zip(polygons, before, after, strict=True):
        assert np.asarray(table).shape == (3, 3)
        np.testing.assert_allclose(two, np.asarray(one) * (-1, 1) + (width, 0), atol=1e-3)


def _cut_with_polygons(folder: Path) -> tuple[Graph, Graph]:
    """Boxes, labels and polygons as outputs, and the same cropped, without some boxes."""
    start = coco_start(folder)
    start = with_args(start, "reader", polygon_masks=True)
    rows = {name: Port("reader", name) for name in ("polygons", "vertices")}
    start = with_nodes(start, **rows)
    graph, cut = insert_node(start, CATALOG, "crop", "decode")
    crop: Mapping[str, Value] = {"crop": (110, 120), "crop_pos_x": 0.2}
    graph = with_node(graph, cut, args=crop)
    return start, with_followers(start, graph, CATALOG)


def test_polygons_count_the_boxes_that_are_left(folder: Path) -> None:
    start, graph = _cut_with_polygons(folder)
    assert graph.outputs["polygons"] == Port("follow_boxes", "polygons")
    assert check_graph(graph, CATALOG) == ()
    _, boxes, labels, polygons, vertices = run_graph(graph)
    gone = kept = 0
    for its_boxes, its_labels, rows, points in zip(boxes, labels, polygons, vertices, strict=True):
        table = np.asarray(rows)
        assert table.shape == (3, 3)
        assert len(its_boxes) == len(its_labels)
        assert [*table[table[:, 0] >= 0, 0]] == [*range(len(its_boxes))]
        for number, first, end in table:
            if number < 0:
                gone += 1
                continue
            kept += 1
            low, high = np.split(np.asarray(its_boxes)[number], 2)
            own = np.clip(np.asarray(points)[first:end], 0, (120, 110))
            np.testing.assert_allclose([own.min(0), own.max(0)], [low, high], atol=1e-3)
    assert gone
    assert kept
    # With the operator that moves pixels the followers go, and the rows are those that were read.
    assert with_followers(graph, remove_nodes(graph, CATALOG, ["crop"]), CATALOG) == start


def test_polygons_of_boxes_that_another_numbering_has_are_a_fault(folder: Path) -> None:
    _, graph = _cut_with_polygons(folder)
    node = graph.node("follow_boxes")
    unfed = {name: port for name, port in node.inputs.items() if name != "polygons"}
    wrong = graph.replace_node(replace(node, inputs=unfed))
    wrong = with_nodes(wrong, polygons=Port("reader", "polygons"))
    (fault,) = check_graph(wrong, CATALOG)
    assert (fault.node, fault.code) == ("follow_boxes", "polygons")
    assert "reader.polygons refers to the boxes as read" in str(fault)
    with pytest.raises(GraphFaultsError, match="polygons refers to the boxes"):
        export(wrong, "script", CATALOG)
    assert next(fix.graph for fix in fixes(ResolvedGraph(wrong, CATALOG), fault)) == graph
    told = with_node(wrong, "follow_boxes", args={"places": True})
    told = with_nodes(told, places=Port("follow_boxes", "places"))
    assert check_graph(told, CATALOG) == ()


def test_depth_is_found_between_pixels_and_classes_are_not(folder: Path) -> None:
    graph = coco_start(folder)
    turn = Node("turn", "rotate", {"angle": 20.0, "keep_size": True, "fill_value": 0})
    turn = replace(turn, inputs={"data": Port("decode", "output")})
    depth = Node(
        "depth", "decoders.image", {"output_type": "GRAY"}, {"data": Port("reader", "jpegs")}
    )
    image = {"masks": Port("depth", "output"), "image": Port("turn", "output")}
    linear = Node("linear", "follow_masks", {"interpolation": "linear"}, image)
    nearest = Node("nearest", "follow_masks", {}, image)
    outputs = {
        "images": Port("turn", "output"),
        "before": Port("depth", "output"),
        "linear": Port("linear", "masks"),
        "nearest": Port("nearest", "masks"),
    }
    graph = replace(graph, nodes=(*graph.nodes, turn, depth, linear, nearest), outputs=outputs)
    _, before, between, exact = run_graph(graph)
    middle = np.s_[HEIGHT // 4 : HEIGHT // 2, WIDTH // 4 : WIDTH // 2, 0]
    assert set(np.unique(exact[0])) <= {0, *np.unique(before[0])}
    steps = np.abs(np.diff(between[0][middle].astype(int), axis=1))
    assert steps.max() <= np.abs(np.diff(exact[0][middle].astype(int), axis=1)).max()
    assert (between[0] != exact[0]).any()


def test_ids_of_instances_beyond_two_bytes_stay_what_they_are(folder: Path) -> None:
    graph = _flipped(folder, {"pixelwise_masks": True})
    large = Node("large", "math.mul", {"right": 5_000_000}, {"data": Port("reader", "masks")})
    turn = {"angle": 15.0, "keep_size": True}
    turned = Node("turn", "rotate", turn, {"data": Port("flip", "output")})
    inputs = {"masks": Port("large", "output"), "image": Port("turn", "output")}
    moved = Node("moved", "follow_masks", {}, inputs)
    graph = with_nodes(graph, large, turned, moved, ids=Port("moved", "masks"))
    graph = with_nodes(graph, images=Port("turn", "output"))
    _, ids = run_graph(graph)
    assert {int(each) for each in np.unique(ids)} == {0, 5_000_000}


STEPS: Mapping[str, tuple[tuple[str, Mapping[str, Value]], ...]] = {
    "call by call": (
        ("pad", {"axis_names": "HW", "shape": (HEIGHT + 30, WIDTH + 40)}),
        ("flip", TWO),
    ),
    "a larger crop": (("crop", {"crop": (HEIGHT + 30, 40), "out_of_bounds_policy": "pad"}),),
    "pasted": (("paste", {"ratio": 1.5, "fill_value": (0, 0, 0)}),),
    "one warp": (
        ("rotate", {"angle": 20.0, "keep_size": True, "fill_value": 0}),
        ("rotate", {"angle": 10.0, "keep_size": True, "fill_value": 0}),
    ),
    "cut off, then turned": (
        ("rotate", {"angle": 20.0, "keep_size": True, "fill_value": 0}),
        ("crop", {"crop": (HEIGHT // 2, WIDTH // 2)}),
        ("rotate", {"angle": -20.0, "keep_size": False, "fill_value": 0}),
    ),
}


@pytest.mark.parametrize(
    ("dtype", "number", "fill"),
    [("UINT8", 7, 255), ("INT32", 70007, 65535), ("FLOAT", 0.3, 300)],
)
@pytest.mark.parametrize("case", STEPS)
def test_what_shows_no_part_of_the_photo_has_the_number_that_is_wanted(
    case: str, dtype: str, number: float, fill: int, folder: Path
) -> None:
    """The mask has one number on all of the photo: what is 0 without ``fill`` is outside of it."""
    graph = coco_start(folder)
    port = Port("decode", "output")
    for at, (op, args) in enumerate(STEPS[case]):
        graph = with_nodes(graph, Node(f"step_{at}", op, args, {"data": port}))
        port = Port(f"step_{at}", "output")
    photo = {"output_type": "GRAY"}
    grey = Node("grey", "decoders.image", photo, {"data": Port("reader", "jpegs")})
    nothing = Node("nothing", "math.mul", {"right": 0}, {"data": Port("grey", "output")})
    whole = Node("whole", "math.add", {"right": number}, {"data": Port("nothing", "output")})
    mask = Node("mask", "cast", {"dtype": dtype}, {"data": Port("whole", "output")})
    inputs = {"masks": Port("mask", "output"), "image": port}
    plain = Node("plain", "follow_masks", {}, inputs)
    filled = Node("filled", "follow_masks", {"fill": fill}, inputs)
    graph = with_nodes(graph, grey, nothing, whole, mask, plain, filled)
    graph = replace(graph, outputs={"a": Port("plain", "masks"), "b": Port("filled", "masks")})
    usual, found = run_graph(graph)
    for one, other in zip(usual, found, strict=True):
        assert {*np.unique(one)} == {0, one.dtype.type(number)}
        assert one.dtype == other.dtype
        assert (other == np.where(one == 0, fill, one)).all()


def test_a_fill_that_a_mask_cannot_hold_is_an_error(folder: Path) -> None:
    graph = _flipped(folder, {"pixelwise_masks": True})
    seen = Node("seen", "math.gt", {"right": 0}, {"data": Port("reader", "masks")})
    inputs = {"masks": Port("seen", "output"), "image": Port("flip", "output")}
    moved = Node("moved", "follow_masks", {"fill": 255}, inputs)
    graph = with_nodes(graph, seen, moved, masks=Port("moved", "masks"))
    with pytest.raises(GraphError, match=r"its masks are BOOL\. Set it to at most 1"):
        export(graph, "script", CATALOG)


def _written(folder: Path, tmp_path: Path, change: str) -> Path:
    """Other annotations of the same images."""
    document = json.loads((folder / "boxes.json").read_text())
    notes = document["annotations"]
    if change == "outside":
        notes[0]["bbox"] = [WIDTH + 50, 10, 20, 20]
    elif change == "beyond":
        notes[0]["bbox"] = [WIDTH - 10, 10, 40, 20]
    elif change == "bare":
        notes[:] = [note for note in notes if note["image_id"] != 0]
    elif change == "none":
        notes.clear()
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document))
    return path


def _cut(graph: Graph) -> Graph:
    """A crop behind the flip, which cuts nothing off: but followers cannot know."""
    size: dict[str, Value] = {"crop": (HEIGHT, WIDTH)}
    cut = Node("cut", "crop", size, {"data": Port("flip", "output")})
    return with_nodes(graph, cut, images=Port("cut", "output"))


@pytest.mark.parametrize(("change", "count"), [("outside", 2), ("beyond", 3), ("bare", 0)])
def test_boxes_that_are_none_are_left_out_with_their_labels(
    folder: Path, tmp_path: Path, change: str, count: int
) -> None:
    graph = _cut(_flipped(folder, {"annotations_file": str(_written(folder, tmp_path, change))}))
    inputs = {name: Port("reader", name) for name in ("boxes", "labels")}
    graph = with_nodes(
        graph,
        Node("moved", "follow_boxes", {}, {**inputs, "image": Port("cut", "output")}),
        Node("mirrored", "follow_boxes", {}, {**inputs, "image": Port("flip", "output")}),
        boxes=Port("moved", "boxes"),
        labels=Port("moved", "labels"),
        mirrored=Port("mirrored", "boxes"),
        flipped=Port("flip", "output"),
    )
    _, boxes, labels, mirrored, _ = run_graph(graph)
    assert [len(each) for each in boxes] == [count, 3, 3, 3]
    assert [len(each) for each in labels] == [count, 3, 3, 3]
    assert [len(each) for each in mirrored] == [3 if count else 0, 3, 3, 3]  # no more than read
    assert all(np.isfinite(each).all() for each in boxes)
    for each in boxes:
        assert (np.asarray(each) >= 0).all()
        assert (np.asarray(each) <= (WIDTH, HEIGHT, WIDTH, HEIGHT)).all()


OPERATORS: Mapping[str, Mapping[str, Value]] = {
    "flip": TWO,
    "resize": {"size": (90, 120)},
    "rotate": {"angle": 20.0},
    "warp_affine": {"matrix": (1.0, 0.1, 0.0, 0.0, 1.0, 0.0)},
    "experimental.warp_perspective": {
        "matrix": (1.0, 0.1, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
        "pixel_origin": "corner",
    },
}


@pytest.mark.parametrize("form", ["absolute xywh", "relative cxcywh"])
@pytest.mark.parametrize("op", OPERATORS)
def test_a_batch_without_a_box_or_point_stays_one(
    folder: Path, tmp_path: Path, op: str, form: str
) -> None:
    start = coco_start(folder)
    start = with_args(start, "reader", annotations_file=str(_written(folder, tmp_path, "none")))
    start = with_args(start, "reader", polygon_masks=True)
    turn = Node("turn", op, OPERATORS[op], {CATALOG[op].inputs[0].name: Port("decode", "output")})
    image = Port("turn", "output")
    graph = with_nodes(
        start,
        turn,
        Node("b", "follow_boxes", {"format": form}, {**_READ, "image": image}),
        Node("p", "follow_points", {}, {"points": Port("reader", "vertices"), "image": image}),
        images=image,
        boxes=Port("b", "boxes"),
        labels=Port("b", "labels"),
        points=Port("p", "points"),
        visible=Port("p", "visible"),
    )
    _, boxes, labels, points, visible = run_graph(graph)
    for found, shape in ((boxes, (0, 4)), (labels, (0,)), (points, (0, 2)), (visible, (0,))):
        assert [each.shape for each in found] == [shape] * 4


_READ = {name: Port("reader", name) for name in ("boxes", "labels")}


def test_what_is_no_number_is_not_seen(folder: Path) -> None:
    graph = _cut(_flipped(folder, {}))
    drawn = Node("drawn", "random.uniform", {"range": (-100.0, 100.0), "shape": (8, 4)}, seed=3)
    boxes = Node("boxes", "math.sqrt", {}, {"data": Port("drawn", "output")})  # half of them NaN
    points = Node("points", "subscript", {"index": ":, 0:2"}, {"data": Port("boxes", "output")})
    image = Port("cut", "output")
    nodes = (
        *(drawn, boxes, points),
        Node("seen", "follow_points", {}, {"points": Port("points", "output"), "image": image}),
        Node(
            "kept",
            "follow_boxes",
            {"format": "absolute xywh", "visible": 0.0},
            {"boxes": Port("boxes", "output"), "image": image},
        ),
    )
    given = {"given": Port("boxes", "output"), "kept": Port("kept", "boxes")}
    graph = with_nodes(graph, *nodes, seen=Port("seen", "visible"), **given)
    _, seen, given_boxes, kept = run_graph(graph)
    for visible, one, left in zip(seen, given_boxes, kept, strict=True):
        whole = np.isfinite(one)
        np.testing.assert_array_equal(np.asarray(visible, bool), whole[:, :2].all(axis=1))
        assert len(left) == whole.all(axis=1).sum()
        assert np.isfinite(left).all()


def test_key_points_that_a_function_looks_up_follow(folder: Path) -> None:
    """DALI reads none of COCO: the id of an image is enough to find them."""

    @wb.node
    def key_points(image_id: Any) -> Any:
        """Of an image, in pixels (N, 2)."""
        import numpy as np

        found = ((10, 20), (30, 40, 50, 60), (), (5, 5, 100, 100, 7, 9))
        return np.float32(found[int(image_id[0])]).reshape(-1, 2)

    graph = _flipped(folder, {"image_ids": True})
    looked_up = Node("looked_up", key_points.op, key_points.args)
    looked_up = replace(looked_up, inputs={"input_0": Port("reader", "image_ids")})
    inputs = {"points": Port("looked_up", "output"), "image": Port("flip", "output")}
    graph = with_nodes(
        graph, looked_up, Node("moved", "follow_points", {}, inputs), points=Port("moved", "points")
    )
    _, points = run_graph(graph)
    for index, found in enumerate(points):
        wanted = np.reshape(KEY_POINTS[index], (-1, 2)) * (-1, 1) + (WIDTH, 0)
        np.testing.assert_allclose(found, wanted, atol=1e-3)


def _sharpened(image: Any) -> Any:
    return image * 1.5 - image.gaussian_blur(sigma=2.0) * 0.5


def _given_out(start: Graph, image: Any) -> Graph:
    """The start with another image as output: annotations of a source follow automatically."""
    after = replace(image.graph, outputs={**start.outputs, "images": image.port})
    return with_followers(start, after, CATALOG)


def test_arithmetic_of_an_image_and_its_own_leaves_targets_in_their_places(folder: Path) -> None:
    start = coco_start(folder)
    for image in (start.images * 2, 255 - start.images, _sharpened(start.images)):
        assert _given_out(start, image).outputs["boxes"] == Port("reader", "boxes")
    flipped = start.images.flip(**TWO)
    plain, sharpened = _given_out(start, flipped), _given_out(start, _sharpened(flipped))
    assert not check_graph(sharpened)
    for one, two in zip(run_graph(plain)[1], run_graph(sharpened)[1], strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("first", [True, False])
def test_arithmetic_of_images_that_lie_otherwise_says_so(folder: Path, first: bool) -> None:
    start = coco_start(folder)
    parts = [start.images * 0.7, start.images.flip(**TWO) * 0.3]
    (left, right) = parts if first else parts[::-1]
    graph = _given_out(start, left + right)
    assert graph.outputs["boxes"] == Port("follow_boxes", "boxes")
    (fault,) = check_graph(graph)
    assert (fault.node, fault.code) == ("add", "unfollowed")
    names = ("decode", "flip") if first else ("flip", "decode")
    assert "images of {} and of {}, whose pixels".format(*names) in fault.message


def test_a_mask_that_an_image_is_multiplied_by_does_not_hide_how_it_moved(folder: Path) -> None:
    graph = _flipped(folder, {"pixelwise_masks": True})
    inputs = {"masks": Port("reader", "masks"), "image": Port("flip", "output")}
    moved = Node("moved", "follow_masks", {}, inputs)
    sides = {"data": Port("moved", "masks"), "other": Port("flip", "output")}
    graph = with_nodes(graph, moved, Node("cut", "math.mul", {}, sides))
    path = geometry_path(TypedGraph(graph, CATALOG), Port("cut", "output"))
    assert [step.node.id for step in path.steps] == ["flip"]


def test_sums_that_stand_in_sums_are_looked_through_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = coco_start(folder).images
    for _ in range(12):
        image = _sharpened(image)
    asked: list[Port] = []

    def count(typed: TypedGraph, port: Port, *given: Any, **options: Any) -> Any:
        asked.append(port)
        return geometry_path(typed, port, *given, **options)

    monkeypatch.setattr("workbench.graph.annotations.geometry.geometry_path", count)
    assert geometry_path(TypedGraph(image.graph, CATALOG), image.port).root == Port(
        "decode", "output"
    )
    assert len(asked) == len(set(asked)) > 20


def test_outputs_by_name_that_no_image_lies_under_are_told(folder: Path) -> None:
    start = coco_start(folder)
    flipped = start.images.flip(**TWO)
    mixed = start.images * 0.7 + flipped * 0.3
    for image, moved in ((flipped, "flip"), (mixed, "add")):
        with pytest.warns(UserWarning, match=f"does not follow the images through '{moved}'"):
            wb.outputs(images=image, boxes=start.boxes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wb.outputs(images=flipped, before=start.images, boxes=start.boxes)
        wb.outputs(images=start.images * 2, boxes=start.boxes)
        wb.outputs(images=flipped, boxes=wb.fn.follow_boxes(start.boxes, flipped))


def test_targets_of_an_earlier_image_are_told_too(folder: Path) -> None:
    small = coco_start(folder).resize(size=(90, 120))
    for image in (small.images.rotate(angle=5.0), small.rotate(angle=5.0)):
        with pytest.warns(UserWarning, match="The output 'boxes' of .* through 'rotate'"):
            wb.outputs(images=image, boxes=small.boxes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wb.outputs(images=small.images * 2, boxes=small.boxes)
        turned = small.rotate(angle=5.0)
        wb.outputs(images=turned, boxes=turned.boxes, labels=turned.labels)


# Followers that edits bring about, lead on, and leave away.


def test_a_follower_that_a_person_removed_does_not_come_back(folder: Path) -> None:
    graph = coco_start(folder).flip(**TWO)["follow_boxes"].remove()
    assert graph.outputs["boxes"] == Port("reader", "boxes")
    assert graph.rotate(angle=20.0).outputs["boxes"] == Port("reader", "boxes")


def test_a_follower_goes_on_through_each_further_call(folder: Path) -> None:
    start = coco_start(folder)
    step_by_step = start.resize(size=(90, 120)).brightness(brightness=1.2).rotate(angle=30.0)
    step_by_step = step_by_step.with_p(0.5, lambda x: x.flip()).contrast(contrast=0.9)
    at_once = start.images.resize(size=(90, 120)).brightness(brightness=1.2).rotate(angle=30.0)
    plain = replace(at_once.graph, outputs={"images": at_once.port})
    plain = plain.with_p(0.5, lambda x: x.flip()).contrast(contrast=0.9)
    wanted = with_followers(
        start, replace(plain, outputs={**start.outputs, **plain.outputs}), CATALOG
    )
    assert not check_graph(step_by_step)
    assert step_by_step.node("follow_boxes").inputs["image"] == Port("branch", "images")
    for one, other in zip(run_graph(step_by_step), run_graph(wanted), strict=True):
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)


def test_a_follower_stays_with_an_image_that_is_still_given_out(folder: Path) -> None:
    start = coco_start(folder).resize(size=(90, 120))
    turned = start.images.rotate(angle=30.0)
    two = {**start.outputs, "images": turned.port, "small": start.outputs["images"]}
    after = with_followers(start, replace(turned.graph, outputs=two), CATALOG)
    assert after.node("follow_boxes").inputs["image"] == start.outputs["images"]


def test_an_image_made_from_what_a_follower_gives_has_one_more(folder: Path) -> None:
    start = coco_start(folder).resize(size=(90, 120))
    first = start.labels[0]  # of which the angle is made
    made = start.rotate(angle=first * 10.0)
    assert not check_graph(made)
    further = made.node(made.outputs["boxes"].node)
    assert further.inputs["boxes"] == Port("follow_boxes", "boxes")
    assert further.inputs["labels"] == Port("follow_boxes", "labels")
    assert further.inputs["before"] == made.node("follow_boxes").inputs["image"]
    _, boxes, labels = run_graph(made)
    assert all(len(b) == len(n) for b, n in zip(boxes, labels, strict=True))
    assert made.outputs["labels"] == Port(further.id, "labels")


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("block", [False, True])
def test_tight_boxes_are_around_the_outlines(folder: Path, relative: bool, block: bool) -> None:
    start = wb.read(folder / "boxes.json", polygon_masks=True, ltrb=True, ratio=relative)
    graph = start.decode().rotate(angle=30.0, keep_size=False, **({"p": 0.5} if block else {}))
    graph = with_nodes(graph.flip(horizontal=1), points=Port("follow_points", "points"))
    with pytest.raises(GraphFaultsError, match=r"needs the outlines.*Turn on polygon_masks"):
        graph["follow_boxes"].set(tight=True)
    boxes = graph.node("follow_boxes").with_args({"tight": True, "visible": 0.0})
    (fault,) = check_graph(graph.replace_node(boxes))
    graph = fixes(ResolvedGraph(graph.replace_node(boxes), CATALOG), fault)[0].graph
    batch = graph.with_settings(batch_size=4).batch(0)
    assert sum(len(np.asarray(each)) for each in batch.boxes)
    for at in range(4):
        points, sides = np.asarray(batch.points[at]), np.asarray(batch.images[at]).shape[1::-1]
        sides = (1, 1) if relative else sides
        wanted = []
        for _, first, end in np.asarray(batch.polygons[at]):
            outline = points[first:end]
            wanted.append([*outline.min(axis=0).clip(0), *outline.max(axis=0).clip(0, sides)])
        np.testing.assert_allclose(np.asarray(batch.boxes[at]), wanted, atol=0.01)
