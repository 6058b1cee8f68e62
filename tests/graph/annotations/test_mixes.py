"""Targets where images of a batch are mixed, as MixUp and CutMix do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.emit.pipeline_import.test_roundtrip import there_and_back
from tests.graph.annotations.ramps import (
    HEIGHT,
    WIDTH,
    coco_start,
    replace_visible,
    run_graph,
)
from tests.helpers import CATALOG, with_args, with_node, with_nodes
from workbench.catalog.spec import Value
from workbench.catalog.templates import load_templates
from workbench.emit.targets import export
from workbench.engine.importing import from_file
from workbench.graph import load_recipe
from workbench.graph.annotations.follower_edits import with_followers
from workbench.graph.annotations.mixes import mix_of
from workbench.graph.checks.check import check_graph
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.edit import insert_node
from workbench.graph.fixes import fixes
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.snippets import insert_template
from workbench.graph.types.shapes import infer_types

Array = NDArray[np.generic]


def _mixed(folder: Path, name: str) -> Graph:
    start = coco_start(folder)
    graph, _ = insert_template(start, CATALOG, load_templates()[name], "decode")
    return with_followers(start, graph, CATALOG)


def _giving(graph: Graph, *names: str) -> Graph:
    more = {name: Port(name, "output") for name in names}
    return with_nodes(graph, **more)


def _resized(folder: Path) -> list[NDArray[np.float64]]:
    """The boxes on images of 224 x 224."""
    scale = np.tile((224 / WIDTH, 224 / HEIGHT), 2)
    return [np.asarray(each) * scale for each in run_graph(coco_start(folder))[1]]


def test_a_sum_of_one_image_and_itself_times_numbers_is_no_mix(folder: Path) -> None:
    start = coco_start(folder)
    brighter = start.images * 0.7 + start.images * 0.3
    graph = replace(brighter.graph, outputs={**start.outputs, "images": brighter.port})
    assert mix_of(graph, graph.node(brighter.port.node)) is None


def test_boxes_of_both_images_lie_on_a_blend(folder: Path) -> None:
    graph = _giving(_mixed(folder, "mixup"), "order")
    _, boxes, labels, order = run_graph(graph)
    own = _resized(folder)
    for at, found in enumerate(boxes):
        wanted = np.concatenate([own[at], own[int(order[at])]])
        np.testing.assert_allclose(found, wanted, atol=1e-2)
        assert np.asarray(labels[at]).tolist() == [1] * 6
        assert int(order[at]) != at


def _seen_around(box: Array, window: Array, visible: float) -> list[float] | None:
    """The hull of what a window leaves of a box, by counting a fine grid of places."""
    x = np.linspace(box[0], box[2], 801)[:, None]
    y = np.linspace(box[1], box[3], 801)[None]
    hidden = (x > window[0]) & (x < window[2]) & (y > window[1]) & (y < window[3])
    if hidden.all() or (~hidden).mean() < visible:
        return None
    xs, ys = x.ravel()[~hidden.all(axis=1)], y.ravel()[~hidden.all(axis=0)]
    return [xs[0], ys[0], xs[-1], ys[-1]]


def _seen_inside(box: Array, window: Array, visible: float) -> list[float] | None:
    low, high = np.maximum(box[:2], window[:2]), np.minimum(box[2:], window[2:])
    share = np.prod(np.maximum(high - low, 0)) / np.prod(box[2:] - box[:2])
    return [*low, *high] if share > 0 and share >= visible else None


@pytest.mark.parametrize("visible", [0.0, 0.25])
def test_boxes_around_a_window_and_in_it(folder: Path, visible: float) -> None:
    graph = _giving(replace_visible(_mixed(folder, "cutmix")), "order", "anchor", "extent")
    follower = replace(graph.node("follow_boxes"), args={"visible": visible})
    graph = graph.replace_node(follower)
    kept = cut = 0
    for seed in range(6):
        seeded = with_node(graph, "centre", seed=seed)
        seeded = seeded.replace_node(replace(graph.node("share"), seed=seed + 100))
        _, boxes, labels, order, anchors, extents = run_graph(seeded)
        own = _resized(folder)
        for at, found in enumerate(boxes):
            start, extent = np.asarray(anchors[at])[::-1], np.asarray(extents[at])[::-1]
            window = np.concatenate([start, start + extent]) * 224
            around = [_seen_around(box, window, visible) for box in own[at]]
            inside = [_seen_inside(box, window, visible) for box in own[int(order[at])]]
            wanted = [box for box in around + inside if box is not None]
            assert len(labels[at]) == len(found) == len(wanted)
            wanted_boxes = np.reshape(wanted, (-1, 4))
            np.testing.assert_allclose(np.reshape(found, (-1, 4)), wanted_boxes, atol=0.1)
            kept, cut = kept + len(wanted), cut + 6 - len(wanted)
    assert kept > 40
    assert cut > 10


def test_masks_come_from_the_same_image_as_the_pixels(folder: Path) -> None:
    graph = _mixed(folder, "cutmix")
    graph = with_node(graph, "sized", args={"size": (224, 224), "interp_type": "INTERP_NN"})
    mask = Node("own", "decoders.image", {}, {"data": Port("reader", "jpegs")})
    inputs = {"masks": Port("own", "output"), "image": Port("cutmix", "output")}
    follower = Node("moved", "follow_masks", {}, inputs)
    graph = with_nodes(graph, mask, follower)
    graph = replace(
        graph, outputs={"images": Port("cutmix", "output"), "masks": Port("moved", "masks")}
    )
    for image, moved in zip(*run_graph(graph), strict=True):
        np.testing.assert_array_equal(image, moved)


@pytest.mark.parametrize("name", ["mixup", "cutmix"])
def test_classes_are_shared_as_the_images_are(folder: Path, tmp_path: Path, name: str) -> None:
    for number in range(4):
        (tmp_path / str(number)).mkdir()
        picture = np.full((64, 64, 3), 10 * number, np.uint8)  # its class is its colour
        Image.fromarray(picture).save(tmp_path / str(number) / "photo.png")
    start = coco_start(folder)
    reader = Node("reader", "readers.file", {"file_root": str(tmp_path)}, seed=0)
    outputs = {"images": Port("decode", "output"), "labels": Port("reader", "labels")}
    decode = replace(start.node("decode"), inputs={"data": Port("reader", "jpegs")})
    start = replace(start, nodes=(reader, decode), outputs=outputs)
    graph, _ = insert_template(start, CATALOG, load_templates()[name], "decode")
    graph = with_followers(start, graph, CATALOG)
    follower = graph.node("follow_labels")
    graph = graph.replace_node(replace(follower, args={"num_classes": 4}))
    assert infer_types(graph, CATALOG)[graph.outputs["labels"]].shape == (4,)
    images, shares = run_graph(graph)
    for at, (image, found) in enumerate(zip(images, shares, strict=True)):
        assert np.asarray(found).sum() == pytest.approx(1, abs=1e-5)
        colour = float(np.asarray(image).mean())
        assert colour == pytest.approx(10 * np.arange(4) @ np.asarray(found), abs=0.6)
        assert found[at] > 0 or name == "cutmix"
    bare = with_followers(graph, replace(graph, nodes=start.nodes, outputs=outputs), CATALOG)
    assert not bare.has("follow_labels")


def _faults(graph: Graph) -> list[str]:
    return [str(fault) for fault in check_graph(graph, CATALOG)]


def _blocked(graph: Graph, target: str) -> str:
    op, source = {"points": ("follow_points", "boxes"), "masks": ("follow_masks", "masks")}[target]
    image = graph.outputs["images"]
    follower = Node("moved", op, {}, {target: Port("reader", source), "image": image})
    (fault,) = check_graph(with_nodes(graph, follower), CATALOG)
    assert fault.code == "unfollowed"
    return str(fault)


def test_what_is_not_well_defined_says_why(folder: Path) -> None:
    graph = _mixed(folder, "mixup")
    graph = with_args(graph, "reader", pixelwise_masks=True)
    assert "a pixel would belong to both classes" in _blocked(graph, "masks")
    follower = graph.node("follow_boxes")
    numbered = replace(follower, args={**follower.args, "places": True})
    (fault,) = _faults(graph.replace_node(numbered))
    assert "no common numbering" in fault


def test_a_block_before_the_mix_is_followed_and_one_behind_says_why(folder: Path) -> None:
    start = coco_start(folder)
    graph, turn = insert_node(start, CATALOG, "rotate", "decode")
    graph, block = wrap_in_block(graph, CATALOG, [turn])
    turned = with_followers(start, graph, CATALOG)
    graph, _ = insert_template(turned, CATALOG, load_templates()["mixup"], block)
    graph = with_followers(turned, graph, CATALOG)
    graph = with_node(
        graph,
        "follow_boxes",
        inputs={**graph.node("follow_boxes").inputs, "image": graph.outputs["images"]},
    )
    _, boxes, labels = run_graph(graph)
    assert [len(each) for each in boxes] == [len(each) for each in labels]
    graph, turn = insert_node(_mixed(folder, "mixup"), CATALOG, "rotate", "mixup")
    graph, _ = wrap_in_block(graph, CATALOG, [turn])
    follower = graph.node("follow_boxes")
    moved = {**follower.inputs, "image": graph.outputs["images"]}
    (fault,) = _faults(graph.replace_node(replace(follower, inputs=moved)))
    assert "Mix the images after it" in fault


def test_other_sums_of_two_images_are_faults(folder: Path) -> None:
    graph = _mixed(folder, "mixup")
    rest = replace(graph.node("rest"), args={"left": 2})
    (fault,) = _faults(graph.replace_node(rest))
    assert "it mixes images of sized and of other" in fault


@pytest.mark.parametrize("name", ["mixup", "cutmix"])
def test_a_script_opens_with_its_followers(folder: Path, tmp_path: Path, name: str) -> None:
    graph = _mixed(folder, name)
    path = tmp_path / "pipe.py"
    path.write_text(export(graph, "script", CATALOG).main.text)
    imported = from_file(path)
    assert imported.report.is_exact, str(imported.report)
    assert _faults(imported.graph) == []
    assert imported.graph.nodes == graph.nodes
    plain = there_and_back(graph, tmp_path)  # as any other script: the calls of its functions
    assert plain.report.is_exact, str(plain.report)
    assert _faults(plain.graph) == []
    assert {"permute_batch", "random_bbox_crop"} <= {node.op for node in plain.graph.nodes}


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
    assert first.label == "Make target follow the image"
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
