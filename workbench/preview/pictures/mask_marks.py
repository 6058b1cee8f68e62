"""Masks as marks: classes, instances and panoptic ids by colour, depth and heat by one scale."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from workbench.preview.pictures.marks import HUES, Marks, PlacedName, TargetMark, colour_of

_MASK_SIDE = 512
"""Pixels of the longer side of a mask that is drawn."""
_MOST_NAMES = 12
"""On one mask, and in its text."""
_CLASSES = 255
"""Larger numbers are ids, of which those side by side are far apart."""
_LEVELS = 254
_SCALE = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
"""From the least to the most: five colours of matplotlib's viridis."""
_WHOLE = (0.0, 0.0, 1.0, 1.0)


def fitting_mask(
    mask: NDArray[np.generic], sides: tuple[int, int], names: Sequence[str], is_depth: bool = False
) -> Marks:
    """A mask of the picture's size; of one that is not, a frame that says so."""
    height, width = mask.shape[:2]
    if (width, height) == sides:
        return depth_mark(mask) if is_depth or mask.dtype.kind == "f" else mask_mark(mask, names)
    said = f"mask {width}×{height} on {sides[0]}×{sides[1]}"
    return (TargetMark(_WHOLE, said, 0),)


def mask_mark(mask: NDArray[np.generic], names: Sequence[str]) -> Marks:
    """A mask (h, w, 1) of numbers, 0 where there is none; no mark where all of it is 0.

    Of the pixels some are left out where there are more than can be told apart, none are mixed.
    """
    numbers = _shown(mask).astype(np.int64)
    classes, counts = np.unique(numbers[numbers > 0], return_counts=True)
    if not len(classes):
        return ()
    hues = np.where(classes <= _CLASSES, classes, classes * 2654435761 >> 8)
    hues = (hues - 1) % HUES + 1
    places = np.zeros(numbers.shape, np.uint8)
    places[numbers > 0] = hues[np.searchsorted(classes, numbers[numbers > 0])]
    said = [names[each - 1] if each <= len(names) else str(each) for each in classes.tolist()]
    largest = np.sort(np.argsort(-counts, kind="stable")[:_MOST_NAMES])
    placed = tuple(
        PlacedName(said[at], int(hues[at]), *_middle(numbers == classes[at])) for at in largest
    )
    more = [f"{len(said) - _MOST_NAMES} more"] if len(said) > _MOST_NAMES else []
    text = ", ".join([*(said[at] for at in largest), *more])
    return (TargetMark(_WHOLE, text, int(hues[0]), _png(places, _CLASS_COLOURS), names=placed),)


def depth_mark(values: NDArray[np.generic]) -> Marks:
    """Depth or heat (h, w, 1), clear where it is 0 or no number, from its least to its most."""
    shown = _shown(values).astype(np.float64)
    there = np.isfinite(shown) & (shown != 0)
    if not there.any():
        return ()
    low, high = float(shown[there].min()), float(shown[there].max())
    share = (np.where(there, shown, low) - low) / ((high - low) or 1.0)
    places = np.where(there, 1 + np.round(share * _LEVELS), 0).astype(np.uint8)
    most = PlacedName(f"{high:.4g}", 0, *_middle(there & (shown == high)))
    text = f"{low:.4g} … {high:.4g}"
    return (TargetMark(_WHOLE, text, 0, _png(places, _DEPTH_COLOURS), names=(most,)),)


def _shown(mask: NDArray[np.generic]) -> NDArray[np.generic]:
    """Its first channel, of at most ``_MASK_SIDE`` rows and columns."""
    whole = np.asarray(mask).reshape(*mask.shape[:2], -1)[..., 0]
    rows, columns = (_some(side, max(whole.shape)) for side in whole.shape)
    return whole[np.ix_(rows, columns)]


def _some(side: int, longest: int) -> NDArray[np.int64]:
    """The places of the rows or columns that are kept, the middle one of as many as are not."""
    kept = max(1, round(side * min(1.0, _MASK_SIDE / longest)))
    return ((np.arange(kept) + 0.5) * side / kept).astype(np.int64)


def _middle(there: NDArray[np.bool_]) -> tuple[float, float]:
    """The pixel of a part that is nearest to its middle, x and y as shares of the sides."""
    ys, xs = np.nonzero(there)
    at = int(((ys - ys.mean()) ** 2 + (xs - xs.mean()) ** 2).argmin())
    height, width = there.shape
    return round((xs[at] + 0.5) / width, 4), round((ys[at] + 0.5) / height, 4)


def _png(places: NDArray[np.uint8], palette: Sequence[int]) -> bytes:
    picture = Image.fromarray(places)
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
