"""Targets through random chains of geometric operators, against where the pixels went."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.graph.annotations.geometry_chains import require_near
from tests.graph.annotations.ramps import (
    WIDTH,
    box_errors,
    coco_start,
    replace_visible,
    run_graph,
)
from tests.helpers import with_node
from workbench.catalog import load_catalog
from workbench.catalog.spec import Value
from workbench.graph.annotations.follower_edits import with_followers
from workbench.graph.checks.check import check_graph
from workbench.graph.edits.edit import insert_node
from workbench.graph.model import Graph, Node, Port

SHEAR = (1.0, 0.2, 0.0, 0.0, 1.0, 0.0)
_BOXES = {"boxes": Port("reader", "boxes")}


def _worst(folder: Path, graph: Graph) -> tuple[float, float]:
    images, boxes, _ = run_graph(replace_visible(graph))
    originals = run_graph(coco_start(folder))[1]
    return box_errors(images, boxes, originals)


def _followed(folder: Path, op: str, args: dict[str, Value]) -> Graph:
    """One operator, or a decoder that crops in the decoder's place."""
    catalog, start = load_catalog(), coco_start(folder)
    if op.startswith("decoders"):
        graph = with_node(start, "decode", op=op, args=args)
        if "random" in op:
            graph = with_node(graph, "decode", seed=5)
    else:
        graph, after = insert_node(start, catalog, op, "decode")
        graph = with_node(graph, after, args=args)
    return with_followers(start, graph, catalog)


@pytest.mark.parametrize(
    "seeds",
    [range(20), pytest.param(range(20, 350), marks=pytest.mark.thorough)],
    ids=["twenty", "hundreds"],
)
def test_all_targets_follow_chains(seeds: range, folder: Path) -> None:
    require_near(folder, seeds)


@pytest.mark.gpu
@pytest.mark.timeout(900)
def test_all_targets_follow_a_thousand_chains_on_the_gpu(folder: Path) -> None:
    require_near(folder, range(1000), "mixed")


CROPPED: list[tuple[str, dict[str, Value]]] = [
    (
        "resize_crop_mirror",
        {"resize_shorter": 251, "crop": (200, 210), "crop_pos_x": 0.3, "crop_pos_y": 0.7},
    ),
    ("resize_crop_mirror", {"resize_shorter": 187, "crop": (170, 180), "mirror": 1}),
    ("decoders.image_slice", {"rel_start": (0.113, 0.057), "rel_end": (0.9, 0.97)}),
    ("decoders.image_slice", {"start": (13, 8), "shape": (200, 190)}),
    ("decoders.image_crop", {"crop": (200, 190), "crop_pos_x": 0.3, "crop_pos_y": 0.8}),
    ("decoders.image_random_crop", {"random_area": (0.6, 0.9)}),
    ("slice", {"start": (8, 13), "shape": (190, 200), "axis_names": "HW"}),
    ("slice", {"start": (13, 8), "shape": (200, 190), "axis_names": "WH"}),
    ("slice", {"rel_start": (0.113, 0.057), "rel_end": (0.9, 0.97), "axis_names": "WH"}),
    ("slice", {"start": (8, 13), "shape": (190, 200), "axes": (0, 1)}),
    ("slice", {"rel_start": (0.113, 0.057), "rel_end": (0.9, 0.97), "axes": (1, 0)}),
    ("slice", {"shape": (190, 200), "axes": (0, 1)}),
    (
        "crop_mirror_normalize",
        {"crop": (200, 190), "crop_pos_x": 0.3, "mirror": 1, "output_layout": "HWC"},
    ),
]


@pytest.mark.parametrize(("op", "args"), CROPPED)
def test_boxes_follow_what_crops_and_does_more(
    folder: Path, op: str, args: dict[str, Value]
) -> None:
    graph = _followed(folder, op, args)
    assert graph.has("follow_boxes")
    off, least = _worst(folder, graph)
    assert off < 0.5
    assert least > 0.98


@pytest.mark.parametrize("decodes", [True, False])
@pytest.mark.parametrize(
    "args",
    [
        {"rel_start": (0.1, 0.05), "rel_shape": (0.8, 0.9)},
        {"start": (20, 10), "shape": (180, 230)},
        {},  # an anchor and a shape as inputs, as random_bbox_crop outputs
    ],
)
def test_targets_follow_a_slice_and_a_decoder_that_slices(
    folder: Path, args: dict[str, Value], decodes: bool
) -> None:
    start = coco_start(folder)
    sliced: dict[str, Value] = {**args, "axis_names": "HW"}
    decode = start.node("decode")
    window: dict[str, Value] = {} if args else {"anchor": (0.1,), "shape_input": (0.8,)}
    given = [
        Node(name, "random.uniform", {"values": value, "shape": (2,)}, seed=at)
        for at, (name, value) in enumerate(window.items(), 50)
    ]
    by = {name: Port(name, "output") for name in window}
    nodes = (decode, Node("cut", "slice", sliced, {"data": Port("decode", "output"), **by}))
    if decodes:
        decode = replace(decode, op="decoders.image_slice", args=sliced)
        nodes = (replace(decode, inputs={**decode.inputs, **by}),)
    nodes = (*given, *nodes)
    reader = start.node("reader")
    reader = replace(reader, args={**reader.args, "pixelwise_masks": True})
    image = Port(nodes[-1].id, "output")
    boxes = Node("b", "follow_boxes", {"visible": 0.0}, {**_BOXES, "image": image})
    masks = Node("m", "follow_masks", {}, {"masks": Port("reader", "masks"), "image": image})
    outputs = {"images": image, "boxes": Port("b", "boxes"), "masks": Port("m", "masks")}
    graph = replace(start, nodes=(reader, *nodes, boxes, masks), outputs=outputs)
    images, found, moved = run_graph(graph)
    off, least = box_errors(images, found, run_graph(start)[1])
    assert off < 0.05
    assert least > 0.99
    for picture, mask, own in zip(images, moved, found, strict=True):
        assert mask.shape[:2] == picture.shape[:2]
        for left, top, right, bottom in np.asarray(own).round().astype(int):
            assert mask[top:bottom, left:right].all()


def test_an_operator_without_a_rule_says_so(folder: Path) -> None:
    catalog = load_catalog()
    graph, _ = insert_node(coco_start(folder), catalog, "rotate", "decode")
    graph = with_followers(coco_start(folder), graph, catalog)
    graph, _ = insert_node(graph, catalog, "water", "rotate")
    (fault,) = check_graph(graph, catalog)
    assert fault.node == "water"
    assert "no rule by which annotations follow water" in fault.message
    assert "mute 'water'" in fault.remedy


def test_the_follower_goes_with_the_last_geometric_operator(folder: Path) -> None:
    from workbench.graph.edits.compose import remove_nodes

    catalog, start = load_catalog(), coco_start(folder)
    graph, _ = insert_node(start, catalog, "rotate", "decode")
    graph = with_followers(start, graph, catalog)
    assert graph.outputs["boxes"] == Port("follow_boxes", "boxes")
    assert graph.outputs["labels"] == Port("follow_boxes", "labels")
    bare = with_followers(graph, remove_nodes(graph, catalog, ["rotate"]), catalog)
    assert bare.outputs == start.outputs
    assert not bare.has("follow_boxes")


def test_colour_brings_no_follower(folder: Path) -> None:
    catalog, start = load_catalog(), coco_start(folder)
    graph, _ = insert_node(start, catalog, "brightness", "decode")
    assert with_followers(start, graph, catalog) is graph


def _with_its_pixels_as_mask(graph: Graph) -> Graph:
    """The mask of each image is the image itself, as it was read."""
    image = graph.outputs["images"]
    inputs = {"masks": Port("mask", "output"), "image": image}
    nodes = (
        Node("mask", "decoders.image", {}, {"data": Port("reader", "jpegs")}),
        Node("moved", "follow_masks", {}, inputs),
    )
    outputs = {"images": image, "masks": Port("moved", "masks")}
    return replace(graph, nodes=(*graph.nodes, *nodes), outputs=outputs)


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("flip", {"horizontal": 1}),
        ("rotate", {"keep_size": True, "angle": 20.0, "interp_type": "INTERP_NN", "fill_value": 0}),
        ("crop", {"crop": (100, 120), "crop_pos_x": 0.2}),
        ("random_resized_crop", {"size": (90, 80), "interp_type": "INTERP_NN"}),
        ("resize", {"size": (90, 80), "interp_type": "INTERP_NN"}),
        ("warp_affine", {"matrix": SHEAR, "interp_type": "INTERP_NN", "fill_value": 0}),
        *[row for row in CROPPED if "image_" in row[0]][:3],
    ],
)
def test_a_mask_is_moved_as_its_image_to_the_pixel(
    folder: Path, op: str, args: dict[str, Value]
) -> None:
    graph = _followed(folder, op, args)
    images, masks = run_graph(_with_its_pixels_as_mask(graph))
    for image, moved in zip(images, masks, strict=True):
        np.testing.assert_array_equal(image, moved)


def test_points_follow_a_flip_and_say_which_are_seen(folder: Path) -> None:
    catalog = load_catalog()
    graph, flip = insert_node(coco_start(folder), catalog, "flip", "decode")
    graph, crop = insert_node(graph, catalog, "crop", flip)
    graph = with_node(graph, crop, args={"crop": (100, 100)})
    drawn: dict[str, Value] = {"range": (0.0, 220.0), "shape": (6, 2)}
    points = Node("points", "random.uniform", drawn, seed=9)
    inputs = {"points": Port("points", "output"), "image": Port(crop, "output")}
    follower = Node("follow_points", "follow_points", {}, inputs)
    outputs = {
        "images": Port(crop, "output"),
        "before": Port("points", "output"),
        "after": Port("follow_points", "points"),
        "seen": Port("follow_points", "visible"),
    }
    graph = replace(graph, nodes=(*graph.nodes, points, follower), outputs=outputs)
    _, before, after, seen = run_graph(graph)
    for one, two, visible in zip(before, after, seen, strict=True):
        wanted = np.asarray(one, np.float64) * (-1, 1) + (WIDTH, 0) - (75, 60)
        np.testing.assert_allclose(two, wanted, atol=1e-3)
        inside = ((wanted >= 0) & (wanted <= 100)).all(axis=1)
        np.testing.assert_array_equal(np.asarray(visible, bool), inside)


def test_another_layout_moves_nothing_and_another_shape_has_no_rule(folder: Path) -> None:
    catalog, start = load_catalog(), coco_start(folder)
    graph, turned = insert_node(start, catalog, "rotate", "decode")
    graph = with_followers(start, graph, catalog)
    graph, named = insert_node(graph, catalog, "reinterpret", turned)
    node = graph.node(named)
    kept = graph.replace_node(replace(node, args={"layout": "HWC"}))
    assert check_graph(kept, catalog) == ()
    moved = graph.replace_node(replace(node, args={"shape": (220, 250, 3)}))
    assert "unfollowed" in {fault.code for fault in check_graph(moved, catalog)}
