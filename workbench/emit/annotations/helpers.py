"""Functions of DALI calls that are copied into exported programs: annotations follow an image.

A size is (width, height) as floats, a matrix an affine map (2, 3) of positions (x, y) in pixels.
Boxes (N, 4) are in pixels, left, top, right, bottom, and their corners (N, 4, 2), unless a name or
docstring says otherwise.

The functions ``*_matrix`` return the matrix from the image before an operator to the one after it.
Their parameters are named after the operator's arguments, with DALI's defaults; ``before`` and
``after`` are the sizes of the two images, ``window`` is the output of ``fn.random_crop_generator``.
Each was compared with markers in pixels (tests/graph/annotations/test_geometry.py).
"""

from typing import Any

from nvidia.dali import fn, math, types
from nvidia.dali.data_node import DataNode

# Sizes.


def size_of(images: DataNode, layout: str = "HWC") -> DataNode:
    """Width and height of images."""
    shape = fn.cast(images.shape(), dtype=types.FLOAT)
    return fn.stack(shape[layout.index("W")], shape[layout.index("H")])


def sides_of(images: DataNode, layout: str = "HWC") -> DataNode:
    """Width, height, width, height of images, to convert boxes between pixels and relative."""
    shape = fn.cast(images.shape(), dtype=types.FLOAT)
    return fn.stack(*(shape[layout.index(side)] for side in "WHWH"))


def encoded_size(encoded: DataNode) -> DataNode:
    """Width and height of encoded images."""
    shape = fn.cast(fn.peek_image_shape(encoded), dtype=types.FLOAT)
    return fn.stack(shape[1], shape[0])


# Matrices of operators.


def flip_matrix(before: Any, horizontal: Any = 1, vertical: Any = 0) -> DataNode:
    """The matrix of a flip."""
    signs = fn.stack(1.0 - 2.0 * horizontal, 1.0 - 2.0 * vertical)
    return fn.transforms.scale(scale=signs, center=before / 2)


def rotate_matrix(before: Any, after: Any, angle: Any) -> DataNode:
    """The matrix of a rotation about the centre of the image."""
    matrix = fn.transforms.rotation(angle=-1.0 * angle, center=before / 2)
    return fn.transforms.translation(matrix, offset=(after - before) / 2)


def resize_matrix(before: Any, after: Any) -> DataNode:
    """The matrix of a resize to a size."""
    return fn.transforms.scale(scale=after / before)


def shorter_resize_matrix(before: Any, after: Any, resize_shorter: Any) -> DataNode:
    """The matrix of a resize by the shorter side, about the centre."""
    factor = resize_shorter / math.min(before[0], before[1])
    matrix = fn.transforms.scale(scale=fn.stack(factor, factor), center=before / 2)
    return fn.transforms.translation(matrix, offset=(after - before) / 2)


def longer_resize_matrix(before: Any, after: Any, resize_longer: Any) -> DataNode:
    """The matrix of a resize by the longer side, about the centre."""
    factor = resize_longer / math.max(before[0], before[1])
    matrix = fn.transforms.scale(scale=fn.stack(factor, factor), center=before / 2)
    return fn.transforms.translation(matrix, offset=(after - before) / 2)


def crop_matrix(
    before: Any,
    after: Any,
    crop_pos_x: Any = 0.5,
    crop_pos_y: Any = 0.5,
) -> DataNode:
    """The matrix of a crop."""
    start = fn.stack(1.0 * crop_pos_x, 1.0 * crop_pos_y) * (before - after)
    start = fn.cast(start, dtype=types.INT32)
    return fn.transforms.translation(offset=-1.0 * start)


def mirrored_crop_matrix(
    before: Any,
    after: Any,
    crop_pos_x: Any = 0.5,
    crop_pos_y: Any = 0.5,
    mirror: Any = 0,
) -> DataNode:
    """The matrix of a crop, then a mirror."""
    cropped = crop_matrix(before, after, crop_pos_x, crop_pos_y)
    return fn.transforms.combine(cropped, flip_matrix(after, mirror))


def resized_crop_matrix(
    before: Any,
    after: Any,
    resize_shorter: Any,
    crop_pos_x: Any = 0.5,
    crop_pos_y: Any = 0.5,
    mirror: Any = 0,
) -> DataNode:
    """The matrix of a resize by the shorter side, then a crop, then a mirror."""
    factor = resize_shorter / math.min(before[0], before[1])
    resized = math.floor(before * factor + 0.5)
    cropped = mirrored_crop_matrix(resized, after, crop_pos_x, crop_pos_y, mirror)
    return fn.transforms.combine(resize_matrix(before, resized), cropped)


def window_matrix(window: Any, after: Any) -> DataNode:
    """The matrix of a crop to a window (start, shape), resized to a size."""
    start = fn.cast(window[0], dtype=types.FLOAT)[1::-1]
    shape = fn.cast(window[1], dtype=types.FLOAT)[1::-1]
    matrix = fn.transforms.translation(offset=-start)
    return fn.transforms.scale(matrix, scale=after / shape)


def relative_slice_matrix(
    before: Any,
    rel_start: Any,
    axis_names: str = "WH",
    axes: Any = (),
) -> DataNode:
    """The matrix of a slice whose start is relative to the image size."""
    x, y = (axes.index(1), axes.index(0)) if axes else map(axis_names.index, "WH")
    start = fn.stack(1.0 * rel_start[x], 1.0 * rel_start[y]) * before
    start = fn.cast(start, dtype=types.INT32)
    return fn.transforms.translation(offset=-1.0 * start)


def slice_matrix(
    before: Any,
    start: Any,
    axis_names: str = "WH",
    axes: Any = (),
) -> DataNode:
    """The matrix of a slice whose start is in pixels."""
    x, y = (axes.index(1), axes.index(0)) if axes else map(axis_names.index, "WH")
    first = math.floor(fn.stack(1.0 * start[x], 1.0 * start[y]) + 0.0 * before)
    return fn.transforms.translation(offset=-first)


def paste_matrix(
    before: Any,
    after: Any,
    paste_x: Any = 0.5,
    paste_y: Any = 0.5,
) -> DataNode:
    """The matrix of pasting an image on a larger canvas."""
    offset = fn.stack(1.0 * paste_x, 1.0 * paste_y) * (after - before)
    return fn.transforms.translation(offset=math.floor(offset))


def transpose_matrix() -> DataNode:
    """The matrix that swaps x and y."""
    return types.Constant([0.0, 1.0, 0.0, 1.0, 0.0, 0.0], shape=[2, 3])


def inverse_matrix(matrix: DataNode) -> DataNode:
    """The inverse of an affine map."""
    a, b, c = matrix[0, 0], matrix[0, 1], matrix[0, 2]
    d, e, f = matrix[1, 0], matrix[1, 1], matrix[1, 2]
    x = fn.stack(e, -b, b * f - e * c)
    y = fn.stack(-d, a, d * c - a * f)
    return fn.stack(x, y) / (a * e - b * d)


def inverse_perspective(matrix: DataNode) -> DataNode:
    """The inverse of a perspective (3, 3), up to a factor."""
    a, b, c = matrix[0, 0], matrix[0, 1], matrix[0, 2]
    d, e, f = matrix[1, 0], matrix[1, 1], matrix[1, 2]
    g, h, k = matrix[2, 0], matrix[2, 1], matrix[2, 2]
    x = fn.stack(e * k - f * h, c * h - b * k, b * f - c * e)
    y = fn.stack(f * g - d * k, a * k - c * g, c * d - a * f)
    z = fn.stack(d * h - e * g, b * g - a * h, a * e - b * d)
    return fn.stack(x, y, z)


# Boxes in other formats. If no image of a batch has a box, fn.cat(axis=1) and fn.coord_transform
# return no columns: a reshape restores them.


def clip_boxes(boxes: DataNode) -> DataNode:
    """Clip boxes (left, top, right, bottom) to the image: random_bbox_crop requires this.

    Boxes that do not overlap the image, or are in pixels, are moved out: DALI raises for them.
    """
    low = types.Constant([-1.0, -1.0, 0.0, 0.0])
    high = types.Constant([1.0, 1.0, 2.0, 2.0])
    outside = fn.cast(boxes != math.clamp(boxes, low, high), dtype=types.FLOAT)
    moved = 2.0 * fn.reductions.max(outside, axes=1, keep_dims=True)
    return math.clamp(boxes, 0.0, 1.0) + moved


def clip_volumes(boxes: DataNode) -> DataNode:
    """``clip_boxes`` in three dimensions."""
    low = types.Constant([-1.0] * 3 + [0.0] * 3)
    high = types.Constant([1.0] * 3 + [2.0] * 3)
    outside = fn.cast(boxes != math.clamp(boxes, low, high), dtype=types.FLOAT)
    moved = 2.0 * fn.reductions.max(outside, axes=1, keep_dims=True)
    return math.clamp(boxes, 0.0, 1.0) + moved


def clip_sized_boxes(boxes: DataNode, axes: int = 2) -> DataNode:
    """Clip boxes (starts, sizes) to the image: random_bbox_crop requires this.

    Boxes outside the image or in pixels are not clipped, so DALI raises for them.
    """
    starts, sizes = boxes[:, :axes], boxes[:, axes:]
    ends = starts + sizes
    before = math.min(math.min(starts + 1.0, ends), 0.0)
    after = math.max(math.max(ends - 1.0, starts) - 1.0, 0.0)
    low, high = math.max(starts, 0.0) + before, math.min(ends, 1.0) + after
    over = 1.0 * ((low != starts) | (high != ends))
    sizes = sizes * (1.0 - over) + (high - low) * over
    return fn.reshape(fn.stack(low, sizes, axis=1), shape=[-1, 2 * axes])


def joined(first: Any, second: Any) -> DataNode:
    """Concatenate rows of two numbers to rows of four."""
    return fn.reshape(fn.stack(first, second, axis=1), shape=[-1, 4])


def xywh_to_ltrb(boxes: DataNode) -> DataNode:
    """Boxes left, top, right, bottom, of boxes left, top, width, height."""
    low = boxes[:, 0:2]
    return joined(low, low + boxes[:, 2:4])


def ltrb_to_xywh(boxes: DataNode) -> DataNode:
    """Boxes left, top, width, height, of boxes left, top, right, bottom."""
    low = boxes[:, 0:2]
    return joined(low, boxes[:, 2:4] - low)


def cxcywh_to_ltrb(boxes: DataNode) -> DataNode:
    """Boxes left, top, right, bottom, of boxes centre x, centre y, width, height."""
    low = boxes[:, 0:2] - boxes[:, 2:4] / 2
    return joined(low, low + boxes[:, 2:4])


def ltrb_to_cxcywh(boxes: DataNode) -> DataNode:
    """Boxes centre x, centre y, width, height, of boxes left, top, right, bottom."""
    low, high = boxes[:, 0:2], boxes[:, 2:4]
    return joined((low + high) / 2, high - low)


# Transformed boxes.


def corners_of(boxes: DataNode) -> DataNode:
    """The corners of boxes, clockwise from left, top."""
    left, top, right, bottom = boxes[:, 0], boxes[:, 1], boxes[:, 2], boxes[:, 3]
    x, y = [left, right, right, left], [top, top, bottom, bottom]
    return fn.stack(fn.stack(*x, axis=1), fn.stack(*y, axis=1), axis=2)


def boxes_around(corners: DataNode) -> DataNode:
    """The bounding boxes of corners."""
    low, high = fn.reductions.min(corners, axes=1), fn.reductions.max(corners, axes=1)
    return joined(low, high)


def boxes_after_affine(boxes: DataNode, matrix: DataNode) -> DataNode:
    """The bounding boxes of boxes after an affine map."""
    return boxes_around(corners_after_affine(corners_of(boxes), matrix))


def corners_after_affine(corners: DataNode, matrix: DataNode) -> DataNode:
    """Apply an affine map to corners."""
    return fn.reshape(fn.coord_transform(corners, MT=matrix), shape=[-1, 4, 2])


def points_after_perspective(points: DataNode, matrix: DataNode) -> DataNode:
    """Apply a perspective (3, 3) to points (N, 2)."""
    moved = fn.coord_transform(points, M=matrix[:, 0:2], T=matrix[:, 2])
    moved = fn.reshape(moved, shape=[-1, 3])
    return moved[:, 0:2] / moved[:, 2:3]


def corners_after_perspective(corners: DataNode, matrix: DataNode) -> DataNode:
    """Apply a perspective (3, 3) to corners."""
    points = fn.reshape(corners, shape=[-1, 2])
    return fn.reshape(points_after_perspective(points, matrix), shape=[-1, 4, 2])


def clipped_to(boxes: DataNode, size: DataNode) -> DataNode:
    """Clip boxes to an image of a size."""
    return math.min(math.max(boxes, 0.0), fn.cat(size, size))


def clipped_corners(corners: DataNode, size: DataNode) -> DataNode:
    """The corners of boxes, clipped to the image if they are partly outside."""
    boxes = boxes_around(corners)
    inside = clipped_to(boxes, size)
    return replaced_corners(corners, boxes, inside)


def replaced_corners(corners: DataNode, boxes: DataNode, others: DataNode) -> DataNode:
    """Corners, replaced by those of ``others`` where these differ from ``boxes``."""
    same = fn.reductions.min(1.0 * (boxes == others), axes=1, keep_dims=True)
    same = fn.expand_dims(same, axes=2)
    return same * corners + (1.0 - same) * corners_of(others)


def areas_of(boxes: DataNode) -> DataNode:
    """The areas (N, 1) of boxes."""
    sides = boxes[:, 2:4] - boxes[:, 0:2]
    return sides[:, 0:1] * sides[:, 1:2]


def visible_boxes(
    boxes: DataNode,
    size: DataNode,
    labels: Any = None,
    visible: float = 0.25,
) -> Any:
    """Boxes clipped to the image, and their labels, without boxes that are hardly visible.

    A box is dropped if less than the fraction ``visible`` of it is in the image.
    """
    inside = clipped_to(boxes, size)
    seen = areas_of(inside)
    kept = 1.0 * ((seen >= visible * areas_of(boxes)) & (seen > 0.0))
    # random_bbox_crop drops boxes whose centre is outside, and their labels. Its window is the
    # whole image here. The last entry is the full-image box, because at least one has to be inside.
    sides = fn.cat(size, size)
    inside = kept * (inside / sides) + (1.0 - kept)
    given = [fn.cat(inside, types.Constant([0.0, 0.0, 1.0, 1.0], shape=[1, 4]))]
    if labels is not None:
        labels = fn.cast(labels, dtype=types.INT32)
        given.append(fn.cat(labels, types.Constant([0], shape=[1])))
    found: Any = fn.random_bbox_crop(
        *given,
        bbox_layout="xyXY",
        aspect_ratio=[1.0, 1.0],
        scaling=[1.0, 1.0],
        thresholds=[0.0],
        allow_no_crop=False,
        total_num_attempts=1,
        seed=0,
    )
    boxes = found[2][:-1] * sides
    return boxes if labels is None else (boxes, found[3][:-1])


# Indices of remaining boxes.


def box_numbers(boxes: DataNode) -> DataNode:
    """0, 1, 2, ... for each of at most 4096 boxes."""
    return types.Constant([*range(4096)], shape=[4096])[: boxes.shape()[0]]


def renumbered_polygons(polygons: DataNode, places: DataNode) -> DataNode:
    """Rows (box, first vertex, end) renumbered by the remaining boxes.

    ``places`` are the original indices of these. Rows of other boxes get -1.
    """
    left = fn.cat(types.Constant([-1], shape=[1]), places)
    left = fn.expand_dims(left, axes=0)
    count = types.Constant([*range(4097)], shape=[1, 4097])[:, : left.shape()[1]]
    number = (polygons[:, 0:1] == left) * count
    number = fn.reductions.max(number, axes=1, keep_dims=True)
    others = polygons * types.Constant([0, 1, 1], shape=[1, 3])
    return others + (number - 1) * types.Constant([1, 0, 0], shape=[1, 3])


# Mixed images.


def around_window(corners: DataNode, low: Any, high: Any, visible: float = 0.25) -> DataNode:
    """The corners of the visible part of boxes that a window partly covers.

    A box that the window covers from side to side is shortened, others are unchanged. A box gets no
    area if less than the fraction ``visible`` of it is visible.
    """
    boxes = boxes_around(corners)
    start, end, area = boxes[:, 0:2], boxes[:, 2:4], areas_of(boxes)
    hidden = math.max(math.min(end, high) - math.max(start, low), 0.0)
    seen = area - hidden[:, 0:1] * hidden[:, 1:2]
    across = 1.0 * ((low <= start) & (high >= end))
    across = fn.stack(across[:, 1], across[:, 0], axis=1)
    from_start = math.max(math.min(high, end) - start, 0.0)
    from_end = math.max(end - math.max(low, start), 0.0)
    first = start + across * (low <= start) * from_start
    last = end - across * (high >= end) * from_end
    last = first + (seen >= visible * area) * math.max(last - first, 0.0)
    return replaced_corners(corners, boxes, joined(first, last))


def inside_window(corners: DataNode, low: Any, high: Any, visible: float = 0.25) -> DataNode:
    """The corners of the part of boxes inside a window; no area as in around_window."""
    boxes = boxes_around(corners)
    area = areas_of(boxes)
    start = math.min(math.max(boxes[:, 0:2], low), high)
    end = math.min(math.max(boxes[:, 2:4], low), high)
    seen = areas_of(joined(start, end))
    end = start + (seen >= visible * area) * (end - start)
    return corners_of(joined(start, end))


def mixed_corners(
    corners: DataNode,
    order: DataNode,
    window: Any,
    size: DataNode,
    visible: float = 0.25,
) -> DataNode:
    """The corners of both images' boxes, with the other image inside a window (start, extent)."""
    start, extent = window
    low = fn.stack(start[1], start[0]) * size
    high = low + fn.stack(extent[1], extent[0]) * size
    other = fn.permute_batch(corners, indices=order)
    around = around_window(corners, low, high, visible)
    return fn.cat(around, inside_window(other, low, high, visible))


def with_others(values: DataNode, order: DataNode) -> DataNode:
    """The values of each image, followed by those of the image it is mixed with."""
    return fn.cat(values, fn.permute_batch(values, indices=order))


def mixed_labels(labels: DataNode, order: DataNode, share: Any) -> DataNode:
    """Classes as weights, with weight ``share`` for the image's own."""
    return labels * share + fn.permute_batch(labels, indices=order) * (1.0 - share)


# Points and masks.


def points_inside(points: DataNode, size: DataNode | float) -> DataNode:
    """Which points (N, 2) are inside an image of a size."""
    inside = fn.cast((points >= 0.0) & (points <= size), dtype=types.INT32)
    return fn.reductions.min(inside, axes=1) > 0


def mixed_masks(masks: DataNode, order: DataNode, start: Any, extent: Any) -> DataNode:
    """Masks with a window (start, extent) from the image that each is mixed with."""
    other = fn.permute_batch(masks, indices=order)
    window = {"anchor": start, "shape": extent, "normalized": True, "axis_names": "HW"}
    around = fn.erase(other, fill_value=0, **window)
    return fn.erase(masks, fill_value=0, **window) + (other - around)


def mask_of_ones(size: DataNode) -> DataNode:
    """A mask (height, width, 1) of ones."""
    shape = fn.cast(fn.stack(size[1], size[0], 1.0), dtype=types.INT32)
    return fn.reshape(fn.ones(shape=shape, dtype=types.UINT8), layout="HWC")
