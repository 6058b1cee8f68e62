"""Targets through random chains of geometric operators, against where the pixels went.

What is true of a point is found from the pixels: two ramps, of each pixel's x and y, go through the
same calls, and the pixel whose ramps are those of the point is where the point went.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from workbench.catalog import load_catalog
from workbench.catalog.spec import Value
from workbench.emit.targets import export
from workbench.graph.check import check_graph
from workbench.graph.edit import insert_node, randomise_arg
from workbench.graph.follower_edits import with_followers
from workbench.graph.model import Graph, Node, Port, Settings

BATCH = 4
WIDTH, HEIGHT = 250, 220
"""A value for each column and row."""
_BOXES = {"boxes": Port("reader", "boxes")}
_BEYOND: dict[str, Value] = {"out_of_bounds_policy": "pad"}
"""For crops of images that an operator before has made smaller than that."""
STEPS: tuple[tuple[str, dict[str, Value], tuple[str, ...]], ...] = (
    ("flip", {"horizontal": 1, "vertical": 0}, ("horizontal",)),
    ("flip", {"horizontal": 0, "vertical": 1}, ()),
    ("rotate", {"keep_size": True}, ("angle",)),
    ("rotate", {"keep_size": False}, ("angle",)),
    ("resize", {"size": (300, 260)}, ()),
    ("resize", {"resize_shorter": 270}, ()),
    ("resize", {"resize_longer": 333}, ()),
    ("crop", {"crop": (220, 220), "crop_pos_x": 0.3, "crop_pos_y": 0.8, **_BEYOND}, ()),
    ("crop", {"crop": (301, 299), **_BEYOND}, ("crop_pos_x",)),
    ("random_resized_crop", {"size": (256, 288), "random_area": (0.5, 1.0)}, ()),
    ("warp_affine", {"matrix": (1.0, 0.1, -10.0, -0.05, 1.1, 4.0)}, ()),
    ("warp_affine", {"matrix": (0.9, 0.0, 12.0, 0.1, 0.95, 0.0), "inverse_map": False}, ()),
    ("pad", {"align": (64, 32)}, ()),
    ("paste", {"ratio": 1.3, "paste_x": 0.2, "paste_y": 0.6, "n_channels": 3}, ()),
    ("slice", {"rel_start": (0.05, 0.1), "rel_shape": (0.8, 0.85)}, ()),
    ("transpose", {"perm": (1, 0, 2), "transpose_layout": False}, ()),
)


def _outline(x: int, y: int, width: int, height: int) -> list[int]:
    return [x, y, x + width, y, x + width, y + height, x, y + height]


def write_ramps(folder: Path) -> Path:
    """Pictures of ramps: red is x, green is y, blue is in sight. With exact boxes."""
    import json

    from PIL import Image

    (folder / "images").mkdir()
    x, y = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    ramps = np.stack([x, y, np.full_like(x, 255)], axis=2)
    pictures: list[dict[str, object]] = []
    notes: list[dict[str, object]] = []
    chance = random.Random(7)
    for index in range(BATCH):
        name = f"{index}.png"
        Image.fromarray(ramps.astype(np.uint8)).save(folder / "images" / name)
        pictures.append({"id": index, "file_name": name, "width": WIDTH, "height": HEIGHT})
        for _ in range(3):
            box = [chance.randrange(40, 170), chance.randrange(40, 150), 40, 30]
            notes.append(
                {
                    "id": len(notes) + 1,
                    "image_id": index,
                    "category_id": 1,
                    "bbox": box,
                    "segmentation": [_outline(*box)],
                    "area": 1200,
                    "iscrowd": 0,
                }
            )
    document = {
        "images": pictures,
        "annotations": notes,
        "categories": [{"id": 1, "name": "marker"}],
    }
    (folder / "boxes.json").write_text(json.dumps(document))
    return folder


def coco_start(folder: Path) -> Graph:
    args: dict[str, Value] = {
        "file_root": str(folder / "images"),
        "annotations_file": str(folder / "boxes.json"),
        "ltrb": True,
    }
    nodes = (
        Node("reader", "readers.coco", args, seed=0),
        Node("decode", "decoders.image", {}, {"data": Port("reader", "jpegs")}),
    )
    outputs = {
        "images": Port("decode", "output"),
        "boxes": Port("reader", "boxes"),
        "labels": Port("reader", "labels"),
    }
    return Graph("chain", nodes=nodes, outputs=outputs, settings=Settings(batch_size=BATCH))


def chain_of(folder: Path, seed: int) -> Graph:
    """Up to five random operators; what a source gives follows by itself.

    The ramps are numbers with fractions, but before the last ``paste``, which takes bytes only:
    rounded to bytes, two ramps one of which is hardly larger or turned look the same for many
    pixels, and the fit is off by half a pixel (by 0.005 where nothing is rounded).
    """
    catalog, chance = load_catalog(), random.Random(seed)
    graph, after = coco_start(folder), "decode"
    steps = chance.choices(STEPS, k=chance.randint(1, 5))
    if all(op != "paste" for op, *_ in steps):
        exact = Node("exact", "cast", {"dtype": "FLOAT"}, {"data": Port("decode", "output")})
        outputs = {**graph.outputs, "images": Port("exact", "output")}
        graph, after = replace(graph, nodes=(*graph.nodes, exact), outputs=outputs), "exact"
    last = max((at for at, (op, *_) in enumerate(steps) if op == "paste"), default=None)
    for at, (op, args, drawn) in enumerate(steps):
        before = graph
        graph, after = insert_node(graph, catalog, op, after)
        start: dict[str, Value] = (
            {"interp_type": "INTERP_LINEAR"} if "interp_type" in catalog[op].args else {}
        )
        own = {n: v for n, v in graph.node(after).args.items() if n in ("fill_value", "axis_names")}
        graph = graph.replace_node(replace(graph.node(after), args={**own, **start, **args}))
        for name in drawn:
            graph = randomise_arg(graph, catalog, after, name)
        graph = with_followers(before, graph, catalog)
        if at == last:
            graph, after = insert_node(graph, catalog, "cast", after)
            graph = graph.replace_node(replace(graph.node(after), args={"dtype": "FLOAT"}))
    return graph


def run_graph(graph: Graph, device: str = "cpu") -> list[list[NDArray[np.generic]]]:
    """Its outputs of one batch, as the exported script gives them."""
    catalog = load_catalog()
    graph = replace(graph, settings=replace(graph.settings, device=device))  # type: ignore[arg-type]
    assert [str(fault) for fault in check_graph(graph, catalog)] == []
    space: dict[str, object] = {"__name__": "chain"}
    place = 0 if device == "mixed" else None
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:  # DALI reads an ``if`` there
        file.write(export(graph, "script", catalog).main.text)
        file.flush()
        exec(compile(Path(file.name).read_text("utf-8"), file.name, "exec"), space)
        pipe = space["chain_pipeline"](  # type: ignore[operator]
            device, 42, batch_size=BATCH, num_threads=1, device_id=place, prefetch_queue_depth=1
        )
        pipe.build()
    outputs = [output.as_cpu() for output in pipe.run()]
    return [[np.asarray(output[i]) for i in range(BATCH)] for output in outputs]


def _iou(a: Sequence[float], b: Sequence[float]) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    inner = max(0.0, width) * max(0.0, height)
    both = sum((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b))
    return inner / (both - inner)


def fit_of(picture: NDArray[np.generic]) -> NDArray[np.float64] | None:
    """The affine map (3, 2) of places, by the ramps that are seen; None where too few are.

    Exact to a hundredth of a pixel or so, for it goes through thousands of them.
    """
    pixels = picture.astype(np.float64)
    seen = pixels[:, :, 2] > 254
    seen[1:] &= seen[:-1].copy()
    seen[:-1] &= seen[1:].copy()
    seen[:, 1:] &= seen[:, :-1].copy()
    seen[:, :-1] &= seen[:, 1:].copy()
    ys, xs = np.nonzero(seen)
    if len(xs) < 2000:
        return None
    x, y = pixels[ys, xs, 0] + 0.5, pixels[ys, xs, 1] + 0.5
    source = np.stack([x, y, np.ones(len(xs))], axis=1)
    target = np.stack([xs + 0.5, ys + 0.5], axis=1)
    fit, *_ = np.linalg.lstsq(source, target, rcond=None)
    return np.asarray(fit)


def box_errors(
    images: Sequence[NDArray[np.generic]],
    boxes: Sequence[NDArray[np.generic]],
    originals: Sequence[NDArray[np.generic]],
) -> tuple[float, float]:
    """Largest error of an uncut corner in pixels, and least IoU, of one chain."""
    off, least = 0.0, 1.0
    for picture, found, given in zip(images, boxes, originals, strict=True):
        fit = fit_of(picture)
        if fit is None or not len(found):
            continue
        height, width = picture.shape[:2]
        for left, top, right, bottom in given:
            around = [(left, top, 1), (right, top, 1), (right, bottom, 1), (left, bottom, 1)]
            corners = np.array(around, np.float64) @ fit
            low, high = corners.min(axis=0), corners.max(axis=0)
            if (low < 0).any() or (high > (width, height)).any():
                continue  # cut at the edge
            inner = corners + 0.015 * (corners.mean(axis=0) - corners)
            if not all(picture[int(y), int(x), 2] > 250 for x, y in inner):
                continue  # cut at the edge of an image on the way
            truth = [*low, *high]
            best = max(found, key=lambda each: _iou(each, truth))
            if _iou(best, truth) < 0.3:
                continue  # lost at an edge on the way, and in sight of no fit
            least = min(least, _iou(best, truth))
            off = max(off, float(np.abs(np.array(best) - truth).max()))
    return off, least


def _worst(folder: Path, graph: Graph) -> tuple[float, float]:
    images, boxes, _ = run_graph(replace_visible(graph))
    originals = run_graph(coco_start(folder))[1]
    return box_errors(images, boxes, originals)


def _followed(folder: Path, op: str, args: dict[str, Value]) -> Graph:
    """One operator, or a decoder that crops in the decoder's place."""
    catalog, start = load_catalog(), coco_start(folder)
    if op.startswith("decoders"):
        graph = start.replace_node(replace(start.node("decode"), op=op, args=args))
        if "random" in op:
            graph = graph.replace_node(replace(graph.node("decode"), seed=5))
    else:
        graph, after = insert_node(start, catalog, op, "decode")
        graph = graph.replace_node(replace(graph.node(after), args=args))
    return with_followers(start, graph, catalog)


def replace_visible(graph: Graph) -> Graph:
    """The graph with followers that leave nothing out of which anything can be seen."""
    for node in graph.nodes:
        if node.op == "follow_boxes":
            graph = graph.replace_node(replace(node, args={**node.args, "visible": 0.0}))
    return graph


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ramps(tmp_path_factory.mktemp("coco"))


def _check(folder: Path, seeds: range) -> None:
    worst = {seed: _worst(folder, chain_of(folder, seed)) for seed in seeds}
    far = {seed: found for seed, found in worst.items() if found[0] > 0.5 or found[1] < 0.98}
    assert far == {}, {seed: [node.op for node in chain_of(folder, seed).nodes] for seed in far}


def test_boxes_follow_twenty_chains_within_half_a_pixel(folder: Path) -> None:
    _check(folder, range(20))


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


@pytest.mark.thorough
def test_boxes_follow_hundreds_of_chains_within_half_a_pixel(folder: Path) -> None:
    _check(folder, range(100, 350))


@pytest.mark.parametrize("decodes", [True, False])
@pytest.mark.parametrize(
    "args",
    [
        {"rel_start": (0.1, 0.05), "rel_shape": (0.8, 0.9)},
        {"start": (20, 10), "shape": (180, 230)},
    ],
)
def test_targets_follow_a_slice_and_a_decoder_that_slices(
    folder: Path, args: dict[str, Value], decodes: bool
) -> None:
    start = coco_start(folder)
    sliced: dict[str, Value] = {**args, "axis_names": "HW"}
    decode = start.node("decode")
    nodes = (decode, Node("cut", "slice", sliced, {"data": Port("decode", "output")}))
    if decodes:
        nodes = (replace(decode, op="decoders.image_slice", args=sliced),)
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
    assert "no rule by which targets follow water" in fault.message
    assert "mute water" in fault.remedy


def test_the_follower_goes_with_the_last_geometric_operator(folder: Path) -> None:
    from workbench.graph.remove import remove_nodes

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


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("flip", {"horizontal": 1}),
        ("rotate", {"keep_size": True, "angle": 20.0, "interp_type": "INTERP_NN", "fill_value": 0}),
        ("crop", {"crop": (100, 120), "crop_pos_x": 0.2}),
        ("random_resized_crop", {"size": (90, 80), "interp_type": "INTERP_NN"}),
        ("resize", {"size": (90, 80), "interp_type": "INTERP_NN"}),
        ("warp_affine", {"interp_type": "INTERP_NN", "fill_value": 0}),
    ],
)
def test_a_mask_is_moved_as_its_image_to_the_pixel(
    folder: Path, op: str, args: dict[str, Value]
) -> None:
    catalog = load_catalog()
    graph, after = insert_node(coco_start(folder), catalog, op, "decode")
    node = graph.node(after)
    graph = graph.replace_node(replace(node, args={**node.args, **args}))
    mask = Node("mask", "decoders.image", {}, {"data": Port("reader", "jpegs")})
    inputs = {"masks": Port("mask", "output"), "image": Port(after, "output")}
    follower = Node("follow_masks", "follow_masks", {}, inputs)
    outputs = {"images": Port(after, "output"), "masks": Port("follow_masks", "masks")}
    images, masks = run_graph(replace(graph, nodes=(*graph.nodes, mask, follower), outputs=outputs))
    for image, moved in zip(images, masks, strict=True):
        np.testing.assert_array_equal(image, moved)


@pytest.mark.parametrize(("op", "args"), [row for row in CROPPED if "image_" in row[0]][:3])
def test_a_mask_is_cropped_as_its_image_was_in_the_decoder(
    folder: Path, op: str, args: dict[str, Value]
) -> None:
    graph = _followed(folder, op, args)
    mask = Node("mask", "decoders.image", {}, {"data": Port("reader", "jpegs")})
    inputs = {"masks": Port("mask", "output"), "image": Port("decode", "output")}
    follower = Node("follow_masks", "follow_masks", {}, inputs)
    outputs = {"images": Port("decode", "output"), "masks": Port("follow_masks", "masks")}
    images, masks = run_graph(replace(graph, nodes=(*graph.nodes, mask, follower), outputs=outputs))
    for image, moved in zip(images, masks, strict=True):
        np.testing.assert_array_equal(image, moved)


def test_points_follow_a_flip_and_say_which_are_seen(folder: Path) -> None:
    catalog = load_catalog()
    graph, flip = insert_node(coco_start(folder), catalog, "flip", "decode")
    graph, crop = insert_node(graph, catalog, "crop", flip)
    cropped = replace(graph.node(crop), args={"crop": (100, 100)})
    graph = graph.replace_node(cropped)
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
