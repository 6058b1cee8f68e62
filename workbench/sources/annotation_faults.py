"""Describe faults of an image's boxes and outlines, for all annotation formats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

_FAR = 1e6
"""Maximum coordinate of an outline in pixels. A larger mask would need too much memory."""
_NUMBERS = {int, float}
WITHOUT_AREA, OVER_EDGE = "has no", "beyond the edge"
"""Words that distinguish the two kinds of remarks that ``box_remark`` returns."""


def box_fault(box: Any, width: float | None, height: float | None, *, corners: bool = False) -> str:
    """Describe why a box is invalid for an image of this size, or return an empty string.

    A box is (left, top, width, height) or, if ``corners``, (left, top, right, bottom), in the units
    of ``width`` and ``height``. It may extend beyond the edge, which is common in COCO; then it is
    clipped for display.
    """
    if not isinstance(box, list | tuple) or len(box) != 4:
        return "is not four numbers"
    if not all(type(value) in _NUMBERS and math.isfinite(value) for value in box):
        return "has a NaN or infinite number"
    left, top, right, bottom = box
    if not corners:
        right, bottom = left + right, top + bottom
    if right < left or bottom < top:
        return "has a negative size"
    over = (width is not None and left >= width) or (height is not None and top >= height)
    return "is outside the image" if over or right < 0 or bottom < 0 else ""


def box_remark(
    box: Sequence[float],
    width: float | None,
    height: float | None,
    *,
    corners: bool = False,
    smallest: float = 0.0,
) -> str:
    """Describe a valid box that is beyond the edge or has no area, or return an empty string.

    A box beyond the edge must be clipped to the image, and a box without area is not an object.
    ``smallest`` is the width and height below which the reader drops a box.
    """
    left, top, right, bottom = box
    sides = (right - left, bottom - top) if corners else (right, bottom)
    if not corners:
        right, bottom = left + right, top + bottom
    for name, side in zip(("width", "height"), sides, strict=True):
        if side == 0:
            return f"{WITHOUT_AREA} {name}"
        if side < smallest:
            return f"{WITHOUT_AREA} {name} of {smallest:g} pixels or more"
    past = [-left, -top]
    past += [right - width] if width is not None else []
    past += [bottom - height] if height is not None else []
    return f"reaches {max(past):.4g} {OVER_EDGE}" if max(past) > 0 else ""


def outline_fault(segmentation: Any, sides: Sequence[int]) -> str:
    """Describe why a COCO ``segmentation`` is invalid, or return an empty string.

    DALI stops at an invalid polygon without an error and outputs no further boxes. ``sides`` are
    the width and height of the image: a run-length mask of a different size terminates the process.
    """
    if isinstance(segmentation, dict):
        return _runs_fault(segmentation, sides)
    if segmentation is None:
        return ""
    if not isinstance(segmentation, list):
        return f"is {str(segmentation)[:40]!r}, neither polygons nor run lengths"
    for number, polygon in enumerate(segmentation):
        if isinstance(polygon, dict):
            return "has run lengths among its polygons"
        if not isinstance(polygon, list):
            return "is not a list of polygons [x, y, x, y, ...]"
        if not polygon:
            continue
        if not set(map(type, polygon)) <= _NUMBERS:
            return f"has a value in polygon {number} that is not a number"
        if min(polygon) < -_FAR or max(polygon) > _FAR:
            return f"has a corner in polygon {number} that is beyond {_FAR:,.0f} pixels"
        if len(polygon) % 2:
            return f"has {len(polygon)} numbers in polygon {number}, which are not pairs x, y"
    return ""


def _runs_fault(mask: dict[str, Any], sides: Sequence[int]) -> str:
    """Describe why a run-length mask is invalid, or return an empty string.

    A run-length mask has alternating counts of pixels outside and inside it, column by column.
    """
    size, counts = mask.get("size"), mask.get("counts")
    if not isinstance(size, list) or len(size) != 2 or not set(map(type, size)) <= {int}:
        return "has run lengths without a size [height, width]"
    if sides and size != [sides[1], sides[0]]:
        height, width = size
        shown = "×".join(map(str, sides))
        return f"has run lengths for an image of {width}×{height}, but the image is {shown}"
    if isinstance(counts, str):
        counts = _runs_of(counts)
    if not isinstance(counts, list) or not set(map(type, counts)) <= {int}:
        return "has run lengths without counts (a string or a list of integers)"
    if any(count < 0 for count in counts) or sum(counts) > size[0] * size[1]:
        return (
            f"has run lengths for {sum(counts):,} pixels, but the image has {size[0] * size[1]:,}"
        )
    return ""


def _runs_of(text: str) -> list[int] | None:
    """Decode COCO's run-length string, or return None if it is invalid.

    Each character minus ``0`` has five bits of a number, lowest first, and a continuation bit; the
    highest of the five is the sign. From the fourth number on, the difference to the number two
    positions earlier is stored.
    """
    found: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - 48
        if not 0 <= bits < 64:
            return None
        value |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue
        if bits & 16:
            value -= 1 << shift
        found.append(value + (found[-2] if len(found) > 2 else 0))
        value = shift = 0
    return None if shift else found
