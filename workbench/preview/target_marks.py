"""Boxes, points and masks of the samples, as marks to be drawn over their pictures.

Runs inside the worker process only, but for its records.
"""

from __future__ import annotations

import colorsys
import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from workbench.catalog.followers import FOLLOWERS
from workbench.engine.worker import Worker
from workbench.errors import DataError, GraphError
from workbench.graph.devices import port_kind
from workbench.graph.followers import box_format, follows, is_relative
from workbench.graph.geometry import frame_of, geometry_path
from workbench.graph.model import Node, Port, Source, ancestors
from workbench.preview.request import GraphRun
from workbench.preview.tiles import picture_layout
from workbench.sources import Dataset, load_source

_MOST_MARKS = 100
"""Of one picture: more cannot be told apart."""
_LARGEST_FILE = 64 * 2**20
"""Bytes of an annotation file that is read for the names of its classes."""
_MASK_SIDE = 512
"""Pixels of the longer side of a mask that is drawn."""
HUES = 12


@dataclass(frozen=True, slots=True)
class TargetMark:
    """A box, or a point where its corners are one, or an outline, or a mask.

    ``corners`` are left, top, right and bottom as shares of the picture's sides; ``colour`` is the
    same number for the same class. ``mask`` is a PNG that is clear where there is nothing,
    ``outline`` has x and y of one vertex after another. What has ``left`` the picture, at any step,
    is drawn at its edge where it is outside.
    """

    corners: tuple[float, float, float, float]
    text: str
    colour: int
    mask: bytes = b""
    outline: tuple[float, ...] = ()
    left: bool = False


Marks = tuple[TargetMark, ...]


def marks_of(worker: Worker, run: GraphRun, image: Port, only: int | None = None) -> list[Marks]:
    """For each sample, or one ``only``, what is to be drawn over its picture of ``image``."""
    count = len(run.result.samples)
    none: list[Marks] = [()] * count
    chosen = range(count) if only is None else (only,)
    try:
        batch = run.result.batches[image]
        layout = picture_layout(batch)
    except (GraphError, KeyError):
        return none
    sides = [(shape[layout.index("W")], shape[layout.index("H")]) for shape in batch.shapes]
    found = list(none)
    for node, port in _targets_on(run, image):
        arrays = run.result.batches[port].arrays()
        if port_kind(run.graph, run.catalog, port) == "mask":
            names = _class_names(worker, run, node)
            for index in chosen:
                mask = _fitting(arrays[index], sides[index], names)
                found[index] = (*mask, *found[index])
            continue
        labels = _labels_beside(run, node)
        names = _class_names(worker, run, node)
        form = box_format(run.graph, node) or "absolute ltrb"
        is_points = port_kind(run.graph, run.catalog, port) == "points"
        relative = is_relative(run.graph, node) if is_points else form.startswith("relative")
        polygons, seen = _beside(run, node, "polygons"), _beside(run, node, "visible")
        for index in chosen:
            own = np.asarray(arrays[index], np.float64)
            corners = np.concatenate([own, own], 1) if is_points else _ltrb(own, form)
            if not relative:
                corners = corners / (*sides[index], *sides[index])
            numbers = labels[index] if labels is not None else np.zeros(0)
            visible = seen[index] if seen is not None else None
            if is_points and polygons is not None and _are_key_points(run, node):
                ends = np.asarray(polygons[index]).reshape(-1, 3)
                each = np.repeat(numbers, ends[:, 2] - ends[:, 1]) if len(numbers) else numbers
                marks = _marks(corners, each, names, visible)
                marks = [replace(mark, text="") for mark in marks]  # too many to be read
            elif is_points and polygons is not None:
                marks = _outlines(corners[:, :2], polygons[index], numbers, names)
            else:
                marks = _marks(corners, numbers, names, visible)
            found[index] = (*found[index], *marks)
    return found


def marked(
    worker: Worker, run: GraphRun, port: Port, index: int, picture: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """A sample's small picture with the targets that lie on it drawn into it.

    Not inside bodies: what lies on their images is not known before their end.
    """
    is_image = port_kind(run.graph, run.catalog, port) == "image"
    if not is_image or run.graph.scope_of(port.node):
        return picture
    return draw_marks(picture, marks_of(worker, run, port, only=index)[index])


def draw_marks(picture: NDArray[np.uint8], marks: Marks) -> NDArray[np.uint8]:
    """A small picture (h, w, 3) with what is marked drawn into it, without names."""
    if not marks:
        return picture
    image = Image.fromarray(picture)
    width, height = image.size
    pen = ImageDraw.Draw(image)
    for mark in marks:
        if mark.mask:
            with Image.open(io.BytesIO(mark.mask)) as mask:
                over = mask.convert("RGBA").resize(image.size, Image.Resampling.NEAREST)
            image.paste(over, mask=over.getchannel("A").point(lambda alpha: alpha * 3 // 5))
            continue
        colour = _colour(mark.colour)
        left, top, right, bottom = (
            share * side for share, side in zip(mark.corners, (width, height) * 2, strict=True)
        )
        if mark.outline:
            across, down = mark.outline[::2], mark.outline[1::2]
            corners = [(x * width, y * height) for x, y in zip(across, down, strict=True)]
            pen.polygon(corners, outline=colour)
        elif (left, top) == (right, bottom):
            pen.ellipse(
                (left - 2, top - 2, left + 2, top + 2), None if mark.left else colour, colour
            )
        else:
            pen.rectangle((left, top, max(left, right - 1), max(top, bottom - 1)), outline=colour)
    return np.asarray(image)


def _fitting(mask: NDArray[np.generic], sides: tuple[int, int], names: Sequence[str]) -> Marks:
    """A mask of the picture's size; of one that is not, a frame that says so."""
    height, width = mask.shape[:2]
    if (width, height) == sides:
        return mask_mark(mask, names)
    said = f"mask {width}×{height} on {sides[0]}×{sides[1]}"
    return (TargetMark((0.0, 0.0, 1.0, 1.0), said, 0),)


def _ltrb(boxes: NDArray[np.float64], form: str) -> NDArray[np.float64]:
    boxes = boxes.reshape(-1, 4).copy()
    if form.endswith("xywh"):
        boxes[:, 2:] += boxes[:, :2]
    if form.endswith("cxcywh"):
        boxes -= np.tile((boxes[:, 2:] - boxes[:, :2]) / 2, 2)
    return boxes


def _outlines(
    vertices: NDArray[np.float64],
    polygons: NDArray[np.generic],
    labels: NDArray[np.generic],
    names: Sequence[str],
) -> list[TargetMark]:
    """Those of rows (instance, first vertex, end), each in the colour of the class."""
    numbers = [int(each) for each in np.ravel(labels)]
    made = []
    for instance, first, end in np.asarray(polygons).reshape(-1, 3)[:_MOST_MARKS].tolist():
        own = vertices[first:end]
        if len(own) and np.isfinite(own).all():
            number = numbers[instance] if 0 <= instance < len(numbers) else 0
            text = names[number - 1] if 0 < number <= len(names) else ""
            low, high = own.min(axis=0), own.max(axis=0)
            corners = (*low.tolist(), *high.tolist())
            made.append(TargetMark(corners, text, number, outline=tuple(own.ravel().round(5))))
    return made


def _marks(
    corners: NDArray[np.float64],
    labels: NDArray[np.generic],
    names: Sequence[str],
    seen: NDArray[np.generic] | None,
) -> list[TargetMark]:
    numbers = [int(each) for each in np.ravel(labels)]
    made = []
    for at, (left, top, right, bottom) in enumerate(corners[:_MOST_MARKS].round(5).tolist()):
        number = numbers[at] if at < len(numbers) else 0
        known = at < len(numbers) and 0 < number <= len(names)
        text = names[number - 1] if known else str(number) if at < len(numbers) else ""
        if np.isfinite([left, top, right, bottom]).all():
            gone = seen is not None and at < len(seen) and not seen[at]
            places = (left, top, right, bottom)
            kept = tuple(min(max(each, 0.0), 1.0) for each in places) if gone else places
            made.append(TargetMark(kept, text, number, left=gone))
    return made


def mask_mark(mask: NDArray[np.generic], names: Sequence[str]) -> Marks:
    """A mask (h, w, 1) of class numbers, 0 where there is none; no mark where all of it is 0.

    Of the pixels some are left out where there are more than can be told apart, none are mixed.
    """
    numbers = np.asarray(mask).reshape(*mask.shape[:2], -1)[..., 0]
    rows, columns = (_some(side, max(numbers.shape)) for side in numbers.shape)
    numbers = numbers[np.ix_(rows, columns)].astype(np.int64)
    classes = [int(each) for each in np.unique(numbers) if each > 0]
    if not classes:
        return ()
    places = np.where(numbers > 0, (numbers - 1) % HUES + 1, 0).astype(np.uint8)
    picture = Image.fromarray(places)
    picture.putpalette(_PALETTE)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", compress_level=1, transparency=0)
    said = [names[each - 1] if each <= len(names) else str(each) for each in classes]
    return (TargetMark((0.0, 0.0, 1.0, 1.0), ", ".join(said), classes[0], buffer.getvalue()),)


def _some(side: int, longest: int) -> NDArray[np.int64]:
    """The places of the rows or columns that are kept, the middle one of as many as are not."""
    kept = max(1, round(side * min(1.0, _MASK_SIDE / longest)))
    return ((np.arange(kept) + 0.5) * side / kept).astype(np.int64)


def _colour(number: int) -> tuple[int, ...]:
    """The colour of a class: the same as that of its boxes (``preview/marks.tsx``)."""
    shade = colorsys.hls_to_rgb(number * 5 % HUES / HUES, 0.62, 0.95)
    return tuple(round(255 * each) for each in shade)


_PALETTE = [0, 0, 0, *(shade for number in range(1, HUES + 1) for shade in _colour(number))]


def _targets_on(run: GraphRun, image: Port) -> list[tuple[Node, Port]]:
    """The boxes and points that lie on an image, with the nodes that give them."""
    graph, catalog = run.graph, run.catalog
    read = {n for n in ancestors(graph, [image]) if isinstance(graph.node(n), Source)}
    starts = {
        node.inputs.get(FOLLOWERS[node.op].inputs[0].name): node.inputs.get("before")
        for node in graph.nodes
        if follows(node)
    }
    found = []
    for port in run.result.batches:
        if not port.output or not graph.has(port.node) or graph.scope_of(port.node):
            continue
        node = graph.node(port.node)
        if port_kind(graph, catalog, port) not in ("boxes", "points", "mask"):
            continue
        first = node.inputs.get("before") if follows(node) else starts.get(port)
        path = geometry_path(graph, catalog, image, first)
        if path.blocked:
            continue
        if follows(node):
            frame = frame_of(graph, catalog, image, first)
            lies = frame_of(graph, catalog, node.inputs["image"], first) == frame
        else:
            lies = not path.steps and (path.root == first or node.id in read)
        if lies:
            found.append((node, port))
    followed = {
        node.inputs.get(name)
        for node, _ in found
        if follows(node)
        for name in ("boxes", "points", "masks")
    }
    return [(node, port) for node, port in found if port not in followed]


def _labels_beside(run: GraphRun, node: Node) -> Sequence[NDArray[np.generic]] | None:
    """Of points those of the source, of which none is left out."""
    return _beside(run, node, "labels")


def _beside(run: GraphRun, node: Node, name: str) -> Sequence[NDArray[np.generic]] | None:
    """What a follower of boxes or points, or else their source, gives under a name."""
    while Port(node.id, name) not in run.result.batches:
        port = node.inputs.get("points") if follows(node) else None
        if port is None or not run.graph.has(port.node):
            return None
        node = run.graph.node(port.node)
    return run.result.batches[Port(node.id, name)].arrays()


def _are_key_points(run: GraphRun, node: Node) -> bool:
    """Whether the corners of outlines that a node gives or follows are key points."""
    while follows(node) and run.graph.has(node.inputs["points"].node):
        node = run.graph.node(node.inputs["points"].node)
    return isinstance(node, Source) and node.kind == "coco_keypoints"


def _told_names(worker: Worker, dataset: Dataset) -> list[str]:
    """Of boxes that stand in records, as their kind finds them."""
    kind = load_source(dataset.kind)
    if "boxes" not in kind.outputs:
        return []
    key = ("class names", dataset.kind, dataset.identity)
    if key not in worker.kept:
        try:
            worker.kept[key] = kind.class_names(dataset)[1:]
        except DataError:
            return []  # the reader itself says what is wrong
    names: list[str] = worker.kept[key]
    return names


def _class_names(worker: Worker, run: GraphRun, node: Node) -> list[str]:
    """The names of the classes, in the order of the labels 1, 2, ..., where their source tells."""
    while not isinstance(node, Source):
        port = next(
            (node.inputs[n] for n in ("boxes", "points", "masks") if n in node.inputs), None
        )
        if port is None or not run.graph.has(port.node):
            break
        node = run.graph.node(port.node)
    file = node.args.get("annotations_file")
    read = run.result.plan.dataset(node) if isinstance(node, Source) and file is None else None
    if read is not None and read.kind.startswith("coco"):
        file = read.location
    if not isinstance(file, str) and read is not None and isinstance(node, Source):
        return _told_names(worker, replace(read, kind=node.kind))
    if not isinstance(file, str) or node.args.get("avoid_class_remapping"):
        return []
    try:
        stat = os.stat(file)
        key = ("coco classes", file, stat.st_mtime_ns)
        if key not in worker.kept:
            document = json.loads(Path(file).read_bytes()) if stat.st_size < _LARGEST_FILE else {}
            listed = document.get("categories", [])  # DALI numbers them in this order
            worker.kept[key] = [str(each.get("name", each["id"])) for each in listed]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []  # the reader itself says what is wrong with the file
    names: list[str] = worker.kept[key]
    return names
