"""Images whose pixel values encode their positions, through random geometric operators.

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
from numpy.typing import NDArray

from tests.helpers import with_args, with_node
from workbench.catalog import load_catalog
from workbench.catalog.spec import Value
from workbench.emit.targets import export
from workbench.graph.annotations.follower_edits import with_followers
from workbench.graph.checks.check import check_graph
from workbench.graph.edits.edit import insert_node, randomise_arg
from workbench.graph.model import Graph, Node, Port, Settings

BATCH = 4
WIDTH, HEIGHT = 250, 220
"""A value for each column and row."""
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
    """Up to five random operators; annotations of a source follow automatically.

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
        graph = with_node(graph, after, args={**own, **start, **args})
        for name in drawn:
            graph = randomise_arg(graph, catalog, after, name)
        graph = with_followers(before, graph, catalog)
        if at == last:
            graph, after = insert_node(graph, catalog, "cast", after)
            graph = with_node(graph, after, args={"dtype": "FLOAT"})
    return graph


def run_graph(graph: Graph, device: str = "cpu") -> list[list[NDArray[np.generic]]]:
    """The outputs of one batch of the exported script."""
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
    """The affine map (3, 2) of positions, from the visible ramps; None if there are too few.

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


def replace_visible(graph: Graph) -> Graph:
    """The graph with followers that keep everything that is at all visible."""
    for node in graph.nodes:
        if node.op == "follow_boxes":
            graph = with_args(graph, node.id, visible=0.0)
    return graph
