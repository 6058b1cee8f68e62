"""Functions copied into exported programs: outlines, covered objects, key points, left and right.

Units and shapes are those of ``helpers.py``.
"""

from typing import Any

from nvidia.dali import fn, math, types
from nvidia.dali.data_node import DataNode

from workbench.emit.annotations.helpers import (
    areas_of,
    box_numbers,
    boxes_around,
    joined,
    relative_slice_matrix,
    renumbered_polygons,
    replaced_corners,
    visible_boxes,
)

# Crops by an anchor, such as that of random_bbox_crop.


def anchor_slice_matrix(before: Any, anchor: Any, axis_names: str = "WH") -> DataNode:
    """The matrix of a slice by an anchor relative to the image size."""
    return relative_slice_matrix(before, anchor, axis_names)


# Boxes around outlines. Vertices (V, 2) pass through the operators as boxes without an area.


def with_vertices(boxes: DataNode, vertices: DataNode) -> DataNode:
    """Boxes, followed by one box for each vertex."""
    return fn.cat(boxes, joined(vertices, vertices))


def tight_boxes(around: DataNode, boxes: DataNode, polygons: DataNode) -> DataNode:
    """The boxes around the vertices of each box, from boxes ``around`` both (with_vertices).

    Boxes without vertices, and boxes that an operator removed, are unchanged.
    """
    count = boxes.shape()[0]
    own, vertices = around[:count], around[count:, 0:2]
    vertices = fn.cat(vertices, types.Constant([0.0, 0.0], shape=[1, 2]))
    numbers = types.Constant([*map(float, range(65536))], shape=[1, 65536])
    at = numbers[:, : vertices.shape()[0]]
    inside = (at >= polygons[:, 1:2]) & (at < polygons[:, 2:3])
    owners = 1.0 * inside * (polygons[:, 0:1] + 1)
    owners = fn.cat(owners, 0.0 * at)  # at least one row
    owner = fn.reductions.max(owners, axes=0, keep_dims=True) - 1.0
    places = fn.cast(fn.expand_dims(box_numbers(boxes), axes=1), dtype=types.FLOAT)
    other = fn.expand_dims(1.0 * (owner != places), axes=2)
    vertices = fn.expand_dims(vertices, axes=0) * (1.0 - other)
    low = fn.reductions.min(vertices + 1e9 * other, axes=1)
    high = fn.reductions.max(vertices - 1e9 * other, axes=1)
    found = 1.0 * ((low[:, 0:1] <= high[:, 0:1]) & (areas_of(own) > 0.0))
    return found * joined(low, high) + (1.0 - found) * own


# Covered boxes and points. Regions (R, 4) are in whole pixels: left, top, right, bottom.


def erased_regions(
    size: DataNode,
    anchor: DataNode,
    shape: DataNode,
    axis_names: str = "HW",
    normalized_anchor: bool = False,
    normalized_shape: bool = False,
    centered_anchor: bool = False,
) -> DataNode:
    """The regions that erase covers in images of a size."""
    starts = fn.reshape(1.0 * anchor, shape=[-1, len(axis_names)])
    extents = fn.reshape(1.0 * shape, shape=[-1, len(axis_names)])
    ends = {}
    for at, axis in enumerate(axis_names):
        side = size["WH".index(axis)]
        extent = extents[:, at] * side if normalized_shape else extents[:, at]
        start = starts[:, at] * side if normalized_anchor else starts[:, at]
        start = start - extent / 2 if centered_anchor else start
        ends[axis] = math.floor(start), math.floor(start + extent)
    none = 0.0 * starts[:, 0]
    left, right = ends.get("W", (none, none + size[0]))
    top, bottom = ends.get("H", (none, none + size[1]))
    return fn.stack(left, top, right, bottom, axis=1)


def outside_regions(points: DataNode, regions: DataNode) -> DataNode:
    """Which points (N, 2) are in none of the regions."""
    at, regions = fn.expand_dims(points, axes=1), fn.expand_dims(regions, axes=0)
    inside = 1.0 * ((at >= regions[:, :, 0:2]) & (at < regions[:, :, 2:4]))
    covered = fn.reductions.min(inside, axes=2)
    return fn.reductions.max(covered, axes=1) < 1.0


def outside_grid(
    points: DataNode,
    tile: DataNode,
    ratio: DataNode,
    angle: DataNode,
    shift_x: DataNode,
    shift_y: DataNode,
) -> DataNode:
    """Which points (N, 2) are in none of the squares of grid_mask."""
    x, y = math.floor(points[:, 0]), math.floor(points[:, 1])
    u = (x * math.cos(1.0 * angle) - y * math.sin(1.0 * angle) - shift_x) / tile
    v = (x * math.sin(1.0 * angle) + y * math.cos(1.0 * angle) - shift_y) / tile
    return (u - math.floor(u) >= ratio) | (v - math.floor(v) >= ratio)


def regions_area(boxes: DataNode, regions: DataNode) -> DataNode:
    """The area (N, 1) of each box that the regions cover, counted once where they overlap.

    All sides of the regions divide the plane into cells. A cell starts at one side and ends at the
    next larger one; equal sides share a cell.
    """
    lengths, covered = [], []
    for axis in (0, 1):
        low, high = regions[:, axis], regions[:, axis + 2]
        sides = fn.cat(low, high)
        row, column = fn.expand_dims(sides, axes=0), fn.expand_dims(sides, axes=1)
        ends = fn.reductions.min(row + 1e9 * (row <= column), axes=1)
        equal = fn.reductions.sum(1.0 * (row == column), axes=1)
        start = math.max(boxes[:, axis : axis + 1], row)
        end = math.min(boxes[:, axis + 2 : axis + 3], fn.expand_dims(ends, axes=0))
        lengths.append(math.max(end - start, 0.0) / fn.expand_dims(equal, axes=0))
        low, high = fn.expand_dims(low, axes=1), fn.expand_dims(high, axes=1)
        covered.append(1.0 * ((row >= low) & (row < high)))
    cells = fn.expand_dims(covered[0], axes=2) * fn.expand_dims(covered[1], axes=1)
    cells = fn.expand_dims(fn.reductions.max(cells, axes=0), axes=0)
    areas = fn.expand_dims(lengths[0], axes=2) * fn.expand_dims(lengths[1], axes=1) * cells
    return fn.expand_dims(fn.reductions.sum(areas, axes=[1, 2]), axes=1)


def grid_area(
    boxes: DataNode,
    tile: DataNode,
    ratio: DataNode,
    shift_x: DataNode,
    shift_y: DataNode,
) -> DataNode:
    """The area (N, 1) of each box that the squares of grid_mask, without an angle, cover."""
    lengths = []
    for axis, shift in ((0, shift_x), (1, shift_y)):
        first = math.ceil(1.0 * shift)
        side = math.ceil(shift + 1.0 * ratio * tile) - first
        ends = []
        for end in (boxes[:, axis], boxes[:, axis + 2]):
            tiles = math.floor((end - first) / tile)
            ends.append(tiles * side + math.min(end - first - tiles * tile, side))
        lengths.append(ends[1] - ends[0])
    return fn.expand_dims(lengths[0] * lengths[1], axes=1)


def uncovered_corners(
    corners: DataNode, boxes: DataNode, covered: DataNode, most: float
) -> DataNode:
    """The corners of boxes; no area if more than the fraction ``most`` of ``boxes`` is covered."""
    around = boxes_around(corners)
    low, high = around[:, 0:2], around[:, 2:4]
    kept = covered <= most * areas_of(boxes)
    return replaced_corners(corners, around, joined(low, low + kept * (high - low)))


# Points of boxes.


def points_of_boxes(
    points: DataNode, visible: DataNode, polygons: DataNode, places: DataNode
) -> Any:
    """Points (N, 2), their visibility and polygons, without those of removed boxes.

    Rows of ``polygons`` are (box, first point, end). ``places`` are the original indices of the
    remaining boxes.
    """
    rows = 1.0 * renumbered_polygons(polygons, places)
    kept = 1.0 * (rows[:, 0] >= 0.0)
    numbers = 1.0 * row_numbers(points)
    own = (numbers >= rows[:, 1:2]) & (numbers < rows[:, 2:3])
    own = fn.cat(fn.expand_dims(kept, axes=1) * own, 0.0 * fn.expand_dims(numbers, axes=0))
    found = fn.stack(points[:, 0], points[:, 1], fn.cast(visible, dtype=types.FLOAT), axis=1)
    found = rows_where(found, fn.reductions.max(own, axes=0))
    numbers = 1.0 * row_numbers(rows)
    counts = kept * (rows[:, 2] - rows[:, 1])
    ends = fn.reductions.sum(counts * (numbers <= fn.expand_dims(numbers, axes=1)), axes=1)
    rows = rows_where(fn.stack(rows[:, 0], ends - counts, ends, axis=1), kept)
    return found[:, 0:2], found[:, 2] > 0.0, fn.cast(rows, dtype=types.INT32)


def row_numbers(rows: DataNode) -> DataNode:
    """0, 1, 2, ... for each of at most 65536 rows."""
    return types.Constant([*range(65536)], shape=[65536])[: rows.shape()[0]]


def rows_where(rows: DataNode, kept: DataNode) -> DataNode:
    """The rows (N, 3) where ``kept`` (N) is 1."""
    whole = types.Constant([0.0, 0.0, 1.0, 1.0], shape=[1, 4])
    size = types.Constant([1.0, 1.0])
    _, order = visible_boxes(fn.expand_dims(kept, axes=1) * whole, size, row_numbers(rows))
    # fn.sequence_rearrange has no empty output: the first row is added, and removed at the end.
    rows = fn.cat(types.Constant([0.0, 0.0, 0.0], shape=[1, 3]), rows)
    order = fn.cat(types.Constant([0], shape=[1]), order + 1)
    return fn.sequence_rearrange(rows, new_order=order)[1:]


# Left and right.


def reflects(matrix: DataNode) -> DataNode:
    """Whether an affine map mirrors."""
    return matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0] < 0.0


def reflects_perspective(matrix: DataNode, size: DataNode) -> DataNode:
    """Whether a perspective (3, 3) of an image of a size mirrors what it maps to the foreground."""
    a, b, c = matrix[0, 0], matrix[0, 1], matrix[0, 2]
    d, e, f = matrix[1, 0], matrix[1, 1], matrix[1, 2]
    g, h, k = matrix[2, 0], matrix[2, 1], matrix[2, 2]
    depth = (g * size[0] + h * size[1]) / 2 + k
    return (a * (e * k - f * h) - b * (d * k - f * g) + c * (d * h - e * g)) * depth < 0.0


def swapped_points(points: DataNode, visible: DataNode, mirrored: Any, order: list[int]) -> Any:
    """Points (N, 2) and their visibility, with left and right swapped where the image is mirrored.

    ``order`` is the position of each point's mirror image among the points of one object.
    """
    rows = fn.stack(points[:, 0], points[:, 1], fn.cast(visible, dtype=types.FLOAT), axis=1)
    rows = fn.transpose(fn.reshape(rows, shape=[-1, len(order), 3]), perm=[1, 0, 2])
    change = types.Constant([to - at for at, to in enumerate(order)])
    chosen = types.Constant([*range(len(order))]) + mirrored * change
    rows = fn.sequence_rearrange(fn.reshape(rows, layout="FWC"), new_order=chosen)
    rows = fn.reshape(fn.transpose(rows, perm=[1, 0, 2]), shape=[-1, 3], layout="")
    return rows[:, 0:2], rows[:, 2] > 0.0


def swapped_classes(labels: DataNode, mirrored: Any, pairs: list[tuple[int, int]]) -> DataNode:
    """Labels, with the classes of each pair swapped where the image is mirrored."""
    change = 0 * labels
    for left, right in pairs:
        change += (right - left) * (1 * (labels == left) - 1 * (labels == right))
    return fn.cast_like(labels + mirrored * change, labels)


def swapped_masks(masks: DataNode, mirrored: Any, pairs: list[tuple[int, int]]) -> DataNode:
    """Masks, with the classes of each pair swapped where the image is mirrored."""
    classes = [number for pair in pairs for number in pair]
    change = [float(step) for left, right in pairs for step in (right - left, left - right)]
    numbers = fn.cast(masks, dtype=types.INT32)
    change = fn.lookup_table(numbers, keys=classes, values=change, dtype=types.INT32)
    return fn.cast_like(masks + mirrored * change, masks)
