"""Measure how much two lists of images differ. All functions are pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_SIZE, _LAYOUT, _CHANNELS = 1.0, 1.0, 0.5
"""Penalties for a different size, layout or number of channels, in standard deviations."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Result for an image that a side could not process, with the reason."""

    why: str


Item = Array | bytes | Failed
"""Value between two steps: encoded bytes, an array, or the reason why an image failed."""


@dataclass(frozen=True, slots=True)
class ImageDifference:
    """Difference of one image, in units of ``Distance.scale``.

    ``shapes`` describes different shapes; it is empty if they are equal.
    """

    mean: float
    largest: float
    penalty: float = 0.0
    shapes: str = ""

    @property
    def cost(self) -> float:
        return self.mean + self.penalty


@dataclass(frozen=True, slots=True)
class Distance:
    """Differences of a list of images; an entry is None if a side failed.

    ``scale`` is the standard deviation of the output values (the larger of both sides). Differences
    are in this unit, so they do not depend on the range of the values.
    """

    images: tuple[ImageDifference | None, ...]
    scale: float

    @property
    def cost(self) -> float:
        """Mean cost per image in standard deviations; the search minimises this number."""
        found = [each.cost for each in self.images if each is not None]
        return float(np.mean(found)) if found else 0.0

    @property
    def mean(self) -> float:
        """Mean difference per image in standard deviations, without penalties."""
        found = [each.mean for each in self.images if each is not None]
        return float(np.mean(found)) if found else 0.0


def distance(ours: Sequence[Item], theirs: Sequence[Item]) -> Distance:
    """Compare two lists of results image by image."""
    pairs = [
        None if isinstance(a, Failed) or isinstance(b, Failed) else (as_array(a), as_array(b))
        for a, b in zip(ours, theirs, strict=True)
    ]
    scale = max(_spread([pair[side] for pair in pairs if pair]) for side in (0, 1))
    scale = scale if np.isfinite(scale) and scale > 0 else 1.0
    return Distance(tuple(pair and image_difference(*pair, scale) for pair in pairs), scale)


def as_array(item: Item) -> Array:
    """Return the item, which must be an array."""
    assert isinstance(item, np.ndarray)
    return item


def image_difference(ours: Array, theirs: Array, scale: float) -> ImageDifference:
    """Compare two arrays. Different layouts and sizes are aligned first and add a penalty."""
    if ours.shape == theirs.shape and ours.dtype == theirs.dtype and np.array_equal(ours, theirs):
        return ImageDifference(0.0, 0.0)
    a, b = _floats(ours), _floats(theirs)
    penalty, shapes = 0.0, ""
    if a.shape != b.shape:
        shapes = f"{ours.shape} and {theirs.shape}"
        a, b = channels_last(a), channels_last(b)
        if _has_channels_first(ours) != _has_channels_first(theirs):
            penalty += _LAYOUT
        if a.shape[2] != b.shape[2]:
            penalty += _CHANNELS
            a, b = a.mean(axis=2, keepdims=True), b.mean(axis=2, keepdims=True)
        if a.shape != b.shape:
            away = abs(a.shape[0] - b.shape[0]) + abs(a.shape[1] - b.shape[1])
            penalty += _SIZE * (0.5 + away / (a.shape[0] + a.shape[1] + b.shape[0] + b.shape[1]))
            b = _resampled(b, a.shape[0], a.shape[1])
    gaps = np.abs(a - b)
    if not gaps.size:
        return ImageDifference(0.0, 0.0, penalty, shapes)
    gaps = np.where(np.isfinite(gaps), gaps, 0 if same_finite(a, b) else 1e3 * scale)
    return ImageDifference(float(gaps.mean()) / scale, float(gaps.max()) / scale, penalty, shapes)


def same_finite(a: Array, b: Array) -> bool:
    """Return whether both arrays are finite at the same positions.

    If their shapes differ, all values must be finite.
    """
    finite = np.isfinite(a), np.isfinite(b)
    if a.shape != b.shape:
        return bool(finite[0].all() and finite[1].all())
    return bool((finite[0] == finite[1]).all())


def _floats(image: Array) -> Array:
    return image.astype(np.float32) if image.dtype != np.float64 else image


def _has_channels_first(image: Array) -> bool:
    return image.ndim == 3 and image.shape[0] in (1, 3, 4) and image.shape[2] not in (1, 3, 4)


def channels_last(image: Array) -> Array:
    """Return an image with the axes height, width, channels."""
    if image.ndim == 3:
        return np.moveaxis(image, 0, -1) if _has_channels_first(image) else image
    return image[..., None] if image.ndim == 2 else image.reshape(image.shape[0], -1, 1)


def _resampled(image: Array, height: int, width: int) -> Array:
    """Resample to another size with nearest neighbours, so that sizes do not hide other causes."""
    rows = ((np.arange(height) + 0.5) * image.shape[0] / height).astype(int)
    columns = ((np.arange(width) + 0.5) * image.shape[1] / width).astype(int)
    found: Array = image[rows][:, columns]
    return found


def _spread(images: Sequence[Array]) -> float:
    """Return the standard deviation of all finite values."""
    count, total, squares = 0, 0.0, 0.0
    for image in images:
        values = image.astype(np.float64).reshape(-1)
        values = values[np.isfinite(values)]
        count, total = count + values.size, total + float(values.sum())
        squares += float(np.square(values).sum())
    return float(np.sqrt(max(0.0, squares / count - (total / count) ** 2))) if count else 0.0


def levels_per_unit(
    results: Sequence[Sequence[Item]], gains: Sequence[float | None], pixels: Sequence[Item]
) -> float:
    """Return the number of 8-bit levels in one standard deviation of the outputs.

    ``results`` are the outputs of both sides. ``gains`` contains the number of levels in one unit
    of each side's output, or None if no step of the side defines it. An unknown gain is inferred
    from values of 0 to 1 or 0 to 255. If no gain is known, the standard deviation of the decoded
    ``pixels`` is used, because normalisation changes the scale but hardly the contrast.
    """
    found = []
    for items, known in zip(results, gains, strict=True):
        arrays = [each[np.isfinite(each)] for each in items if isinstance(each, np.ndarray)]
        gain = known or _usual_gain(arrays)
        if gain:
            found.append(_spread(arrays) * gain)
    if not found:
        found.append(_spread([each for each in pixels if isinstance(each, np.ndarray)]))
    return float(np.mean(found)) or 64.0


def _usual_gain(arrays: Sequence[Array]) -> float | None:
    low = min((float(each.min(initial=0)) for each in arrays), default=-1.0)
    high = max((float(each.max(initial=0)) for each in arrays), default=0.0)
    if low < 0 or high > 255:
        return None
    return 255.0 if high <= 1 and arrays[0].dtype.kind == "f" else 1.0
