"""Create overlays of boxes, points, masks and class names, and draw them on images."""

from __future__ import annotations

import colorsys
import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from workbench.catalog.extra_operators import FOLLOWERS
from workbench.catalog.spec import PortKind
from workbench.engine.run.worker import Worker
from workbench.errors import DataError, GraphError
from workbench.graph.annotations.followers import follows
from workbench.graph.annotations.formats import box_format, is_relative, labels_source
from workbench.graph.annotations.geometry import frame_of, geometry_path
from workbench.graph.model import Node, Port, Source
from workbench.graph.model.node_order import ancestors
from workbench.preview.pictures.tiles import picture_layout
from workbench.preview.request import GraphRun
from workbench.sources import Dataset, load_source

# Draw boxes, points, outlines and masks over images, with class names.

HUES = 12
_LETTERS = 11
"""Font size of class names in pixels."""


class PlacedName(NamedTuple):
    """A class name on a mask. ``x`` and ``y`` are its position relative to the image's size."""

    text: str
    colour: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class AnnotationOverlay:
    """A box, a point (if its corners coincide), an outline, or a mask.

    ``corners`` are left, top, right and bottom, relative to the image size. ``colour`` is equal for
    equal classes. ``mask`` is a PNG that is transparent outside the mask, with ``names`` on it.
    ``outline`` has the x and y of consecutive vertices. ``left`` is True for an annotation that
    moved outside the image at some step; its overlay is at the image's edge.
    """

    corners: tuple[float, float, float, float]
    text: str
    colour: int
    mask: bytes = b""
    outline: tuple[float, ...] = ()
    left: bool = False
    names: tuple[PlacedName, ...] = ()


Overlays = tuple[AnnotationOverlay, ...]


def draw_overlays(
    picture: NDArray[np.uint8], marks: Overlays, names: bool = False
) -> NDArray[np.uint8]:
    """Draw overlays on an image (h, w, 3), with class names where there is enough space."""
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
        colour = colour_of(mark.colour)
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
    for mark in marks if names else ():
        for name in mark.names:
            _write(pen, name, image.size, 0.5)
        if mark.text and not mark.mask:
            _write(pen, PlacedName(mark.text, mark.colour, *mark.corners[:2]), image.size)
    return np.asarray(image)


def _write(
    pen: ImageDraw.ImageDraw, name: PlacedName, sides: tuple[int, int], before: float = 0.0
) -> None:
    """Write dark text on a rectangle in the class colour, inside the image.

    ``before`` moves the text left and up, by a fraction of its width and height: 0.5 centres it.
    """
    font = ImageFont.load_default(_LETTERS)
    _, _, width, height = pen.textbbox((0, 0), name.text, font)
    left, top = (
        max(min(round(share * side - before * size), side - int(size) - 4), 0)
        for share, side, size in zip((name.x, name.y), sides, (width, height), strict=True)
    )
    pen.rectangle((left, top, left + width + 3, top + height + 3), fill=colour_of(name.colour))
    pen.text((left + 2, top + 1), name.text, (0, 0, 0), font)


def colour_of(number: int) -> tuple[int, ...]:
    """Return the colour of a class. Boxes have the same colours in ``preview/overlays.tsx``."""
    shade = colorsys.hls_to_rgb(number * 5 % HUES / HUES, 0.62, 0.95)
    return tuple(round(255 * each) for each in shade)


# Boxes, points and masks of the samples, as marks to be drawn over their images.

_MOST_MARKS = 100
"""Maximum number of overlays per image. More overlays could not be distinguished."""
_DRAWN = ("boxes", "points", "mask")
_LARGEST_FILE = 64 * 2**20
"""Maximum size in bytes of an annotation file from which class names are read."""


def overlays_of(
    worker: Worker, run: GraphRun, image: Port, only: int | None = None
) -> list[Overlays]:
    """Return the overlays to draw on an output's image, by sample.

    If ``only`` is set, the overlays of all other samples are empty.
    """
    count = len(run.result.samples)
    none: list[Overlays] = [()] * count
    chosen = range(count) if only is None else (only,)
    try:
        batch = run.result.batches[image]
        layout = picture_layout(batch)
    except (GraphError, KeyError):
        return none
    sides = [(shape[layout.index("W")], shape[layout.index("H")]) for shape in batch.shapes]
    found = list(none)
    for node, port, kind in _targets_on(run, image):
        arrays = run.result.batches[port].arrays()
        if kind == "mask":
            names, is_depth = _class_names(worker, run, node), _is_depth(run, port)
            for index in chosen:
                mask = fitting_mask(arrays[index], sides[index], names, is_depth)
                found[index] = (*mask, *found[index])
            continue
        labels = _point_labels(run, node)
        names = _class_names(worker, run, node)
        if _are_changed(run, Port(node.id, "labels")):
            names = []
        form = box_format(run.graph, node) or "absolute ltrb"
        is_points = kind == "points"
        relative = is_relative(run.graph, node) if is_points else form.startswith("relative")
        polygons, seen = (
            _related_output(run, node, "polygons"),
            _related_output(run, node, "visible"),
        )
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
                marks = [replace(mark, text="") for mark in marks]  # too large to read
            elif is_points and polygons is not None:
                marks = _outlines(corners[:, :2], polygons[index], numbers, names)
            else:
                marks = _marks(corners, numbers, names, visible)
            found[index] = (*found[index], *marks)
    return found


def with_overlays(
    worker: Worker, run: GraphRun, port: Port, index: int, picture: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Draw a sample's annotations on its thumbnail.

    Inside blocks the picture is unchanged, because annotations are not known there.
    """
    is_image = run.resolved.kind(port) == "image"
    if not is_image or not run.targets or run.graph.scope_of(port.node):
        return picture
    return draw_overlays(picture, overlays_of(worker, run, port, only=index)[index])


def _ltrb(boxes: NDArray[np.float64], form: str) -> NDArray[np.float64]:
    boxes = boxes.reshape(-1, 4).copy()
    if form.endswith("cxcywh"):
        boxes[:, :2] -= boxes[:, 2:] / 2
    if form.endswith("wh"):
        boxes[:, 2:] += boxes[:, :2]
    return boxes


def _outlines(
    vertices: NDArray[np.float64],
    polygons: NDArray[np.generic],
    labels: NDArray[np.generic],
    names: Sequence[str],
) -> list[AnnotationOverlay]:
    """Return the outlines of ``polygons`` (rows of instance, start and end in ``vertices``)."""
    numbers = [int(each) for each in np.ravel(labels)]
    made = []
    for instance, first, end in np.asarray(polygons).reshape(-1, 3)[:_MOST_MARKS].tolist():
        own = vertices[first:end]
        if len(own) and np.isfinite(own).all():
            number = numbers[instance] if 0 <= instance < len(numbers) else 0
            text = names[number - 1] if 0 < number <= len(names) else ""
            low, high = own.min(axis=0), own.max(axis=0)
            corners = (*low.tolist(), *high.tolist())
            made.append(
                AnnotationOverlay(corners, text, number, outline=tuple(own.ravel().round(5)))
            )
    return made


def _marks(
    corners: NDArray[np.float64],
    labels: NDArray[np.generic],
    names: Sequence[str],
    seen: NDArray[np.generic] | None,
) -> list[AnnotationOverlay]:
    numbers = [int(each) for each in np.ravel(labels)]
    made = []
    for at, (left, top, right, bottom) in enumerate(corners[:_MOST_MARKS].round(5).tolist()):
        number = numbers[at] if at < len(numbers) else 0
        known = at < len(numbers) and 0 < number <= len(names)
        text = names[number - 1] if known else str(number) if at < len(numbers) else ""
        if np.isfinite([left, top, right, bottom]).all():
            gone = seen is not None and at < len(seen) and not seen[at]
            places = (left, top, right, bottom)
            clipped = tuple(min(max(each, 0.0), 1.0) for each in places) if gone else places
            made.append(AnnotationOverlay(clipped, text, number, left=gone))
    return made


def _targets_on(run: GraphRun, image: Port) -> list[tuple[Node, Port, PortKind]]:
    """Return (node, port, kind) for the boxes, points and masks that belong to an image."""
    graph = run.graph
    read = {n for n in ancestors(graph, [image]) if isinstance(graph.node(n), Source)}
    takers = {
        port: node
        for node in graph.nodes
        if follows(node) and (port := node.inputs.get(FOLLOWERS[node.op].inputs[0].name))
    }
    found: list[tuple[Node, Port, PortKind]] = []
    for port in run.result.batches:
        if not port.output or not graph.has(port.node) or graph.scope_of(port.node):
            continue
        node = graph.node(port.node)
        kind = run.resolved.kind(port)
        if port in takers and kind not in _DRAWN:  # only its follower determines the kind
            kind = FOLLOWERS[takers[port].op].follows or kind
        if kind not in _DRAWN:
            continue
        taker = node if follows(node) else takers.get(port)
        first = taker.inputs.get("before") if taker else None
        path = geometry_path(run.resolved, image, first)
        if path.blocked:
            continue
        if follows(node):
            frame = frame_of(run.resolved, image, first)
            lies = frame_of(run.resolved, node.inputs["image"], first) == frame
        else:
            lies = not path.steps and (path.root == first or node.id in read or port in takers)
        if lies:
            found.append((node, port, kind))
    followed = {
        node.inputs.get(name)
        for node, *_ in found
        if follows(node)
        for name in ("boxes", "points", "masks")
    }
    return [each for each in found if each[1] not in followed]


def _is_depth(run: GraphRun, port: Port) -> bool:
    """Return whether a mask contains depths, which are interpolated linearly, or class numbers."""
    nodes = [node for node in run.graph.nodes if port in node.inputs.values()]
    given = [run.graph.node(port.node), *nodes]
    return any(follows(node) and node.args.get("interpolation") == "linear" for node in given)


def _are_changed(run: GraphRun, labels: Port) -> bool:
    """Return True if labels were computed, so that they are not the source's class numbers."""
    given = labels in run.result.batches
    return given and labels_source(run.graph, run.resolved.catalog, labels) is None


def _point_labels(run: GraphRun, node: Node) -> Sequence[NDArray[np.generic]] | None:
    """Return the labels of points from their source, or None if points were removed."""
    labels, places = _related_output(run, node, "labels"), node.inputs.get("places")
    if labels is None or places is None or node.op != "follow_points":
        return labels
    left = run.result.batches[places].arrays()  # of the boxes whose points remain
    return [each[np.ravel(at)] for each, at in zip(labels, left, strict=True)]


def _related_output(run: GraphRun, node: Node, name: str) -> Sequence[NDArray[np.generic]] | None:
    """Return the output ``name`` of a node or, if it has none, of the nearest node before it."""
    while Port(node.id, name) not in run.result.batches:
        port = node.inputs.get("points") if follows(node) else None
        if port is None or not run.graph.has(port.node):
            return None
        node = run.graph.node(port.node)
    return run.result.batches[Port(node.id, name)].arrays()


def _are_key_points(run: GraphRun, node: Node) -> bool:
    """Return True if a node's points are key points, and not the corners of outlines."""
    while follows(node) and run.graph.has(node.inputs["points"].node):
        node = run.graph.node(node.inputs["points"].node)
    return isinstance(node, Source) and load_source(node.kind or "coco").polygons != "outlines"


def _stored_class_names(worker: Worker, dataset: Dataset) -> list[str]:
    """Return the class names stored with annotations that are not in COCO format."""
    kind = load_source(dataset.kind)
    if not {"boxes", "masks"} & {*kind.outputs}:
        return []
    key = ("class names", dataset.kind, dataset.identity)
    if key not in worker.kept:
        try:
            worker.kept[key] = kind.class_names(dataset)[1:]
        except DataError:
            return []  # the reader reports the cause
    names: list[str] = worker.kept[key]
    return names


def _class_names(worker: Worker, run: GraphRun, node: Node) -> list[str]:
    """Return the names of the classes 1, 2, ..., or an empty list if the source has no names."""
    while not isinstance(node, Source):
        port = next(
            (node.inputs[n] for n in ("boxes", "points", "masks", "data") if n in node.inputs), None
        )
        if port is None or not run.graph.has(port.node):
            break
        node = run.graph.node(port.node)
    file = node.args.get("annotations_file")
    read = run.result.plan.dataset(node) if isinstance(node, Source) and file is None else None
    if read is not None and read.kind.startswith("coco"):
        file = read.location
    if not isinstance(file, str) and read is not None and isinstance(node, Source):
        return _stored_class_names(worker, replace(read, kind=node.kind))
    if not isinstance(file, str) or node.args.get("avoid_class_remapping"):
        return []
    try:
        stat = os.stat(file)
        key = ("coco classes", file, stat.st_mtime_ns)
        if key not in worker.kept:
            document = json.loads(Path(file).read_bytes()) if stat.st_size < _LARGEST_FILE else {}
            listed = document.get("categories", [])  # DALI numbers them in this order
            worker.kept[key] = [str(each.get("name") or each["id"]) for each in listed]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []  # the reader reports the cause
    names: list[str] = worker.kept[key]
    return names


# Masks as marks: classes, instances and panoptic ids by colour, depth and heat by one scale.

_MASK_SIDE = 512
"""Maximum side of a mask's overlay in pixels."""
_MOST_NAMES = 12
"""Maximum number of class names shown on one mask and listed in its text."""
_CLASSES = 255
"""Largest number that is displayed as a class. Larger numbers are instance ids, which get very
different colours even if they are consecutive.
"""
_LEVELS = 254
_SCALE = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
"""Colour scale from low to high: five colours of matplotlib's viridis."""
_WHOLE = (0.0, 0.0, 1.0, 1.0)


def fitting_mask(
    mask: NDArray[np.generic], sides: tuple[int, int], names: Sequence[str], is_depth: bool = False
) -> Overlays:
    """Return the overlay of a mask, or a frame with a note if mask and image differ in size."""
    height, width = mask.shape[:2]
    if (width, height) == sides:
        return (
            depth_overlay(mask) if is_depth or mask.dtype.kind == "f" else mask_overlay(mask, names)
        )
    sizes = f"mask {width}×{height} on {sides[0]}×{sides[1]}"
    return (AnnotationOverlay(_WHOLE, sizes, 0),)


def mask_overlay(mask: NDArray[np.generic], names: Sequence[str]) -> Overlays:
    """Return the overlay of a mask (h, w, 1) of class or instance numbers. 0 is background.

    The result is empty if all values are 0. A large mask is reduced by skipping pixels.
    """
    numbers = _subsampled_mask(mask).astype(np.int64)
    classes, counts = np.unique(numbers[numbers > 0], return_counts=True)
    if not len(classes):
        return ()
    hues = np.where(classes <= _CLASSES, classes, classes * 2654435761 >> 8)
    hues = (hues - 1) % HUES + 1
    places = np.zeros(numbers.shape, np.uint8)
    places[numbers > 0] = hues[np.searchsorted(classes, numbers[numbers > 0])]
    labels = [names[each - 1] if each <= len(names) else str(each) for each in classes.tolist()]
    largest = np.sort(np.argsort(-counts, kind="stable")[:_MOST_NAMES])
    placed = tuple(
        PlacedName(labels[at], int(hues[at]), *_middle(numbers == classes[at])) for at in largest
    )
    more = [f"{len(labels) - _MOST_NAMES} more"] if len(labels) > _MOST_NAMES else []
    text = ", ".join([*(labels[at] for at in largest), *more])
    return (
        AnnotationOverlay(_WHOLE, text, int(hues[0]), _png(places, _CLASS_COLOURS), names=placed),
    )


def depth_overlay(values: NDArray[np.generic]) -> Overlays:
    """Return the overlay of a depth or heat map (h, w, 1), scaled from its minimum to its maximum.

    Pixels that are 0 or not finite are transparent.
    """
    shown = _subsampled_mask(values).astype(np.float64)
    there = np.isfinite(shown) & (shown != 0)
    if not there.any():
        return ()
    low, high = float(shown[there].min()), float(shown[there].max())
    share = (np.where(there, shown, low) - low) / ((high - low) or 1.0)
    places = np.where(there, 1 + np.round(share * _LEVELS), 0).astype(np.uint8)
    most = PlacedName(f"{high:.4g}", 0, *_middle(there & (shown == high)))
    text = f"{low:.4g} … {high:.4g}"
    return (AnnotationOverlay(_WHOLE, text, 0, _png(places, _DEPTH_COLOURS), names=(most,)),)


def _subsampled_mask(mask: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return the first channel, reduced to at most ``_MASK_SIDE`` rows and columns."""
    whole = np.asarray(mask).reshape(*mask.shape[:2], -1)[..., 0]
    rows, columns = (_sampled_indices(side, max(whole.shape)) for side in whole.shape)
    return whole[np.ix_(rows, columns)]


def _sampled_indices(side: int, longest: int) -> NDArray[np.int64]:
    """Return evenly spaced indices of rows or columns, to reduce an image with side ``longest``."""
    count = max(1, round(side * min(1.0, _MASK_SIDE / longest)))
    return ((np.arange(count) + 0.5) * side / count).astype(np.int64)


def _middle(there: NDArray[np.bool_]) -> tuple[float, float]:
    ys, xs = np.nonzero(there)
    at = int(((ys - ys.mean()) ** 2 + (xs - xs.mean()) ** 2).argmin())
    height, width = there.shape
    return round((xs[at] + 0.5) / width, 4), round((ys[at] + 0.5) / height, 4)


def _png(indices: NDArray[np.uint8], palette: Sequence[int]) -> bytes:
    picture = Image.fromarray(indices)
    picture.putpalette(palette)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", compress_level=1, transparency=0)
    return buffer.getvalue()


def _scale(level: int) -> list[int]:
    at = level / _LEVELS * (len(_SCALE) - 1)
    channels = zip(*_SCALE, strict=True)
    return [round(float(np.interp(at, range(len(_SCALE)), channel))) for channel in channels]


_CLASS_COLOURS = [0, 0, 0, *(shade for n in range(1, HUES + 1) for shade in colour_of(n))]
_DEPTH_COLOURS = [0, 0, 0, *(shade for level in range(_LEVELS + 1) for shade in _scale(level))]
