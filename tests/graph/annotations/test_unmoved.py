"""Annotations that do not follow their image are a fault, with a fix at a click."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.helpers import CATALOG, with_nodes
from workbench.catalog.spec import Value
from workbench.graph import load_recipe
from workbench.graph.checks.check import check_graph
from workbench.graph.fixes import fixes
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.resolved import ResolvedGraph

OPERATORS = {
    "flip": lambda g: g.flip(horizontal=1),
    "crop": lambda g: g.crop(crop=(32, 32)),
    "resize": lambda g: g.resize(size=(40, 50)),
    "rotate": lambda g: g.rotate(angle=20.0),
    "warp_affine": lambda g: g.warp_affine(matrix=(1.0, 0.1, 0.0, 0.0, 1.0, 0.0)),
    "paste": lambda g: g.paste(ratio=1.5, fill_value=0),
    "slice": lambda g: g.slice(start=(2, 3), shape=(20, 20), axes=(0, 1)),
    "crop_mirror_normalize": lambda g: g.crop_mirror_normalize(mirror=1),
    "random_resized_crop": lambda g: g.random_resized_crop(size=(32, 32)),
    "a block": lambda g: g.with_p(0.5, lambda x: x.flip(horizontal=1)),
}
ANNOTATIONS = [
    ("coco", "boxes", {}),
    ("coco", "vertices", {"polygon_masks": True}),
    ("coco", "masks", {"pixelwise_masks": True}),
    ("tfrecord_boxes", "boxes", {}),
    ("tfrecord_boxes", "vertices", {"polygon_masks": True}),
    ("webdataset_boxes", "boxes", {}),
    ("webdataset_boxes", "vertices", {"polygon_masks": True}),
    ("image_masks", "masks", {}),
    ("webdataset_masks", "masks", {}),
]


def start_of(kind: str, **args: object) -> Graph:
    source = Source("reader", f"readers.{kind}", dict(args), seed=0, kind=kind, dataset="data")
    decode = Node("decode", "decoders.image", {}, {"data": Port("reader", "jpegs")})
    return Graph("start", nodes=(source, decode), outputs={"images": Port("decode", "output")})


def with_raw(graph: Graph, output: str) -> Graph:
    return with_nodes(graph, target=Port("reader", output))


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(("kind", "output", "args"), ANNOTATIONS)
def test_annotations_as_read_beside_a_moved_image_are_a_fault(
    kind: str, output: str, args: dict[str, object], operator: str
) -> None:
    start = start_of(kind, **args)
    assert not check_graph(with_raw(start, output))
    moved = with_raw(OPERATORS[operator](start), output)
    (fault,) = check_graph(moved)
    assert fault.code == "unmoved"
    assert "'target'" in fault.message
    first = fixes(ResolvedGraph(moved, CATALOG), fault)[0]
    assert first.label == "Let target follow the image"
    assert first.graph.outputs["target"].node.startswith("follow_")
    assert not check_graph(first.graph)


@pytest.mark.parametrize("op", ["water", "sphere", "jitter"])
@pytest.mark.parametrize(("kind", "output"), [("coco", "boxes"), ("image_masks", "masks")])
def test_an_operator_without_a_rule_is_a_fault_that_removal_fixes(
    kind: str, output: str, op: str
) -> None:
    start = start_of(kind)
    device = "gpu" if op == "jitter" else "cpu"
    start = start.with_settings(device="mixed" if op == "jitter" else "cpu")
    seed = 3 if CATALOG[op].seeded else None
    inputs = {CATALOG[op].inputs[0].name: Port("decode", "output")}
    node = Node(op, op, {}, inputs, device=device, seed=seed)
    moved = replace(start, nodes=(*start.nodes, node), outputs={"images": Port(op, "output")})
    moved = with_raw(moved, output)
    (fault,) = check_graph(moved)
    assert fault.code == "unmoved"
    assert op in fault.message
    offered = fixes(ResolvedGraph(moved, CATALOG), fault)
    assert {each.label for each in offered} >= {f"Remove {op}", "Remove the output target"}
    assert not check_graph(offered[0].graph)


@pytest.mark.parametrize("op", ["pad", "cast"])
def test_an_operator_that_changes_only_type_or_shape_hides_nothing(op: str) -> None:
    start = start_of("coco").flip(horizontal=1)
    args = {"dtype": "FLOAT"} if op == "cast" else {}
    node = Node("changed", op, args, {CATALOG[op].inputs[0].name: Port("reader", "boxes")})
    moved = with_nodes(start, node, target=Port("changed", "output"))
    (fault,) = check_graph(moved)
    fixed = fixes(ResolvedGraph(moved, CATALOG), fault)[0].graph
    assert fixed.node("changed").inputs[CATALOG[op].inputs[0].name].node == "follow_boxes"
    assert not check_graph(fixed)


def test_boxes_passed_through_a_block_are_a_fault() -> None:
    start = start_of("coco")
    boxed = with_nodes(start, boxes=Port("reader", "boxes"))
    moved = boxed.with_p(0.5, lambda x: x.flip(horizontal=1))
    assert not check_graph(moved)
    raw = with_nodes(moved, boxes=Port("reader", "boxes"))
    assert [fault.code for fault in check_graph(raw)] == ["unmoved"]


def test_relative_boxes_are_right_after_a_resize_and_wrong_after_a_crop() -> None:
    start = start_of("coco", ratio=True)
    assert not check_graph(with_raw(start.resize(size=(40, 50)), "boxes"))
    assert check_graph(with_raw(start.crop(crop=(20, 20)), "boxes"))


def test_annotations_are_right_beside_the_image_that_they_lie_on() -> None:
    start = start_of("coco")
    moved = start.flip(horizontal=1)
    both = {**moved.outputs, "original": Port("decode", "output")}
    assert not check_graph(with_raw(replace(moved, outputs=both), "boxes"))


def test_a_mask_that_operators_of_its_own_move_has_no_fault() -> None:
    graph = start_of("image_masks").flip(horizontal=1)
    flip = Node("by_hand", "flip", {"horizontal": 1}, {"data": Port("reader", "masks")})
    outputs = {**graph.outputs, "masks": Port("by_hand", "output")}
    assert not check_graph(replace(graph, nodes=(*graph.nodes, flip), outputs=outputs))


@pytest.mark.parametrize(("op", "args"), [("cast", {"dtype": "FLOAT"}), ("math.mul", {"right": 2})])
def test_a_followed_mask_whose_values_change_has_no_fault(op: str, args: dict[str, Value]) -> None:
    graph = start_of("image_masks").flip(horizontal=1)
    followed = {"masks": Port("reader", "masks"), "image": graph.outputs["images"]}
    nodes = (
        Node("follow", "follow_masks", {}, followed),
        Node("changed", op, args, {"data": Port("follow", "masks")}),
    )
    outputs = {**graph.outputs, "masks": Port("changed", "output")}
    assert not check_graph(replace(graph, nodes=(*graph.nodes, *nodes), outputs=outputs))
    raw = replace(nodes[1], inputs={"data": Port("reader", "masks")})
    faults = check_graph(replace(graph, nodes=(*graph.nodes, raw), outputs=outputs))
    assert [fault.code for fault in faults] == ["unmoved"]


def test_boxes_as_read_beside_followed_ones_are_right_behind_any_operator() -> None:
    """``ssd`` crops by its boxes before they follow; here they are clipped before."""
    graph = load_recipe("ssd")
    clip = Node("clip", "math.clamp", {"lo": 0.0, "hi": 1.0}, {"data": Port("reader", "boxes")})
    graph = replace(graph, nodes=(graph.nodes[0], clip, *graph.nodes[1:]))
    assert check_graph(graph, CATALOG) == ()
    as_read = {"read": Port("reader", "boxes"), "clipped": Port("clip", "output")}
    assert check_graph(with_nodes(graph, **as_read), CATALOG) == ()
    alone = {name: port for name, port in graph.outputs.items() if port.node != "follow_boxes"}
    faults = check_graph(replace(graph, outputs={**alone, **as_read}), CATALOG)
    assert [fault.about for fault in faults] == ["read", "clipped"]
