"""Build DALI nodes for the geometric transforms that several libraries have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.emit.interop.importing.images import Images, number, uniform
from workbench.graph.builder.data_node import DataNode
from workbench.graph.builder.read import fn

if TYPE_CHECKING:
    from workbench.graph.model.operators import InterpType, InterpType2

Drawn = DataNode | float


def fills(fill: Any) -> tuple[float, ...]:
    """Convert a fill argument to a tuple: one value per channel, or one for all."""
    if isinstance(fill, Sequence):
        return tuple(number(each) for each in fill)
    return (number(fill or 0),)


def pad_sides(images: Images, sides: tuple[int, int, int, int], fill: Any) -> None:
    """Pad the images by the number of pixels given for each side (left, top, right, bottom)."""
    left, top, right, bottom = sides
    shape = fn.stack(images.height + (top + bottom), images.width + (left + right))
    images.graph = images.graph.slice(
        start=(-top, -left),
        shape=shape.cast(dtype="INT32"),
        axis_names="HW",
        out_of_bounds_policy="pad",
        fill_values=fills(fill),
    )


def crop_at_random(
    images: Images, size: tuple[int, int], sides: tuple[int, int, int, int], fill: Any
) -> None:
    """Crop a window of this size at a random position.

    The image is first padded by ``sides`` (left, top, right, bottom), and to at least the window.
    """
    height, width = size
    if not any(sides):
        images.graph = images.graph.crop(
            crop=size,
            crop_pos_x=uniform(0.0, 1.0),
            crop_pos_y=uniform(0.0, 1.0),
            out_of_bounds_policy="pad",
            fill_values=fills(fill),
        )
        return
    left, top, right, bottom = sides
    y = uniform(0.0, 1.0) * (images.height + (top + bottom + 1 - height)) - top
    x = uniform(0.0, 1.0) * (images.width + (left + right + 1 - width)) - left
    start = fn.stack(fn.math.floor(y), fn.math.floor(x)).cast(dtype="INT32")
    images.graph = images.graph.slice(
        start=start,
        shape=size,
        axis_names="HW",
        out_of_bounds_policy="pad",
        fill_values=fills(fill),
    )


def pad_to(images: Images, height: float, width: float, fill: Any, *, corner: bool) -> None:
    """Pad smaller images to this size: at right and bottom if ``corner``, else on all sides."""
    tall = fn.math.max(images.height, right=int(height), constant_type="INT64")
    wide = fn.math.max(images.width, right=int(width), constant_type="INT64")
    place = 0.0 if corner else 0.5
    images.graph = images.graph.crop(
        crop_h=tall.cast(dtype="FLOAT"),
        crop_w=wide.cast(dtype="FLOAT"),
        crop_pos_x=place,
        crop_pos_y=place,
        rounding="truncate",
        out_of_bounds_policy="pad",
        fill_values=fills(fill),
    )


def scale_by(images: Images, low: float, high: float, interp: InterpType) -> None:
    """Resize by a random factor from ``low`` to ``high``."""
    factor = uniform(low, high)
    images.graph = images.graph.resize(
        resize_y=fn.math.floor(images.height.cast(dtype="FLOAT") * factor),
        resize_x=fn.math.floor(images.width.cast(dtype="FLOAT") * factor),
        interp_type=interp,
        antialias=False,
    )


def affine(
    images: Images,
    *,
    angle: Drawn,
    scale: Drawn | tuple[Drawn, Drawn],
    shear: tuple[Drawn, Drawn],
    shift: tuple[tuple[float, float], tuple[float, float]],
    interp: InterpType2,
    fill: float,
    sheared_last: bool = False,
    whole_shift: bool = False,
) -> None:
    """Scale, shear, rotate and translate about the centre. The image size does not change.

    ``angle`` and ``shear`` (first along x, then along y) are degrees, as in DALI's ``transforms``;
    ``shift`` are the ranges relative to width and height. If ``sheared_last``, both shears are
    applied at once, after the rotation. If ``whole_shift``, shifts are truncated to whole pixels.
    """
    middle = fn.stack(images.width, images.height).cast(dtype="FLOAT") * 0.5
    matrix = fn.transforms.translation(offset=-middle)
    scales = scale if isinstance(scale, tuple) else (scale, scale)
    if any(isinstance(each, DataNode) or each != 1 for each in scales):
        matrix = fn.transforms.scale(matrix, scale=_pair(scales))
    across, down = shear
    steps = [shear] if sheared_last else [(across, 0.0), (0.0, down)]
    sheared = [each for each in steps if any(_does_something(angle) for angle in each)]
    for each in () if sheared_last else sheared:
        matrix = fn.transforms.shear(matrix, angles=_pair(each))
    if _does_something(angle):
        matrix = fn.transforms.rotation(matrix, angle=angle)
    for each in sheared if sheared_last else ():
        matrix = fn.transforms.shear(matrix, angles=_pair(each))
    moved = middle
    if any(low != 0 or high != 0 for low, high in shift):
        shifts = _stacked((uniform(*shift[0]), uniform(*shift[1])))
        pixels = middle * 2.0 * shifts
        moved = middle + (_truncated(pixels) if whole_shift else pixels)
    matrix = fn.transforms.translation(matrix, offset=moved)
    images.graph = images.graph.warp_affine(
        matrix=matrix, inverse_map=False, interp_type=interp, fill_value=fill
    )


def _truncated(value: Any) -> Any:
    above = fn.math.max(value, right=0.0, constant_type="FLOAT")
    below = fn.math.min(value, right=0.0, constant_type="FLOAT")
    return fn.math.floor(above) + fn.math.ceil(below)


def _does_something(angle: Drawn) -> bool:
    return isinstance(angle, DataNode) or angle != 0


def opposite(span: tuple[float, float]) -> tuple[float, float]:
    """Return the range of the negated value."""
    return -span[1], -span[0]


def _pair(values: tuple[Drawn, Drawn]) -> Any:
    """Return two numbers as an argument for DALI: stacked if one is random, else as a tuple."""
    return _stacked(values) if any(isinstance(each, DataNode) for each in values) else values


def _stacked(values: tuple[Drawn, Drawn]) -> Any:
    return fn.stack(*map(as_node, values))


def as_node(sampled: Drawn) -> DataNode:
    """Convert a number to a constant of the graph. Random values are returned unchanged."""
    if isinstance(sampled, DataNode):
        return sampled
    fixed = fn.constant(fdata=(float(sampled),), shape=())
    assert isinstance(fixed, DataNode)
    return fixed


def erase_at_random(
    images: Images, scale: tuple[float, float], ratio: tuple[float, float], value: Any
) -> None:
    """Erase a window with a random relative area and a random ratio of height to width.

    The ratio is uniform on a logarithmic scale, as in torchvision. A window that does not fit is
    clipped, whereas torchvision samples again.
    """
    area = uniform(*scale)
    aspect = uniform(math.log(ratio[0]), math.log(ratio[1]))
    root = fn.math.exp(aspect * 0.5) if isinstance(aspect, DataNode) else math.exp(aspect / 2)
    side = fn.math.sqrt(area) if isinstance(area, DataNode) else math.sqrt(area)
    mean = fn.math.sqrt((images.height * images.width).cast(dtype="FLOAT")) * side
    height, width = mean * root, mean / root
    y = uniform(0.0, 1.0) * _positive(images.height - height)
    x = uniform(0.0, 1.0) * _positive(images.width - width)
    images.graph = images.graph.erase(
        anchor=fn.stack(y, x),
        shape=fn.stack(height, width),
        axis_names="HW",
        fill_value=erased_value(images, value),
    )


def _positive(value: DataNode) -> DataNode:
    found = fn.math.max(value, right=0.0, constant_type="FLOAT")
    assert isinstance(found, DataNode)
    return found


def erased_value(images: Images, value: Any) -> tuple[float, ...]:
    """Convert a fill value from the library's scale to values from 0 to 255."""
    values = fills(value)
    if images.normalised:
        spread = [*zip(_channels(images.mean), _channels(images.std), strict=True)]
        values = values * (3 // len(values))
        values = tuple(each * std + mean for each, (mean, std) in zip(values, spread, strict=True))
    return tuple(each * 255 for each in values) if images.zero_to_one else values


def _channels(values: Sequence[float]) -> Sequence[float]:
    return values if len(values) == 3 else [values[0]] * 3
