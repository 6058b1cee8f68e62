"""Imitate behaviour that DALI or a library has no argument for, with NumPy and Pillow."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

GREY = {
    "the mean of the channels": (1 / 3, 1 / 3, 1 / 3),
    "BT.709 weights": (0.2126, 0.7152, 0.0722),
    "the green channel": (0.0, 1.0, 0.0),
}

_LEAST_EXPLAINED = 0.1
"""Minimum fraction of the variance that a linear fit must explain to be used."""


def _bytes(values: Array) -> NDArray[np.uint8]:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def rotate_hue(image: Array, degrees: float) -> Array:
    """Rotate the hue in HSV (hexagonal model), as torchvision, OpenCV and colorsys do."""
    pixels = image.astype(np.float32) / 255
    high, low = pixels.max(axis=2), pixels.min(axis=2)
    span = np.where(high > low, high - low, 1)
    red, green, blue = (pixels[..., channel] for channel in range(3))
    hue = np.where(
        high == red,
        (green - blue) / span % 6,
        np.where(high == green, (blue - red) / span + 2, (red - green) / span + 4),
    )
    hue = (hue + degrees / 60) % 6
    chroma = high - low
    made = [
        high - chroma * np.clip(np.minimum((n + hue) % 6, 4 - (n + hue) % 6), 0, 1)
        for n in (5, 3, 1)
    ]
    return _bytes(np.stack(made, axis=2) * 255)


def grey(image: Array, weights: Sequence[float]) -> Array:
    """Convert to grey with three equal channels."""
    values = image.astype(np.float32) @ np.asarray(weights, np.float32)
    return np.repeat(_bytes(values)[..., None], 3, axis=2)


def crop_even(image: Array, size: tuple[int, int]) -> Array:
    """Crop the centre as torchvision does, with offsets rounded half to even. Adds no padding."""
    top, left = (round((have - want) / 2) for have, want in zip(image.shape, size, strict=False))
    top, left = max(0, top), max(0, left)
    return np.ascontiguousarray(image[top : top + size[0], left : left + size[1]])


def contrast(image: Array, factor: float) -> Array:
    """Scale the contrast around the image's mean grey, as torchvision and Pillow do."""
    middle = float(
        np.rint((image.astype(np.float32) @ np.asarray((0.299, 0.587, 0.114), np.float32)).mean())
    )
    return _bytes(middle + (image.astype(np.float32) - middle) * factor)


def reverse(image: Array) -> Array:
    """Reverse the order of the channels, in either layout."""
    axis = _channel_axis(image)
    return image if axis is None else np.ascontiguousarray(np.flip(image, axis))


def other_layout(image: Array) -> Array:
    """Convert channels first to channels last, and vice versa."""
    axis = _channel_axis(image)
    return image if axis is None else np.moveaxis(image, *((0, -1) if axis == 0 else (-1, 0)))


def mirror(image: Array) -> Array:
    """Flip horizontally."""
    return np.ascontiguousarray(np.flip(image, 2 if _channel_axis(image) == 0 else 1))


def times(image: Array, factor: float) -> Array:
    """Multiply all values."""
    found: Array = image * np.float32(factor)
    return found


def _channel_axis(image: Array) -> int | None:
    if image.ndim != 3:
        return None
    return 0 if image.shape[0] in (3, 4) and image.shape[2] not in (3, 4) else 2


def linear(image: Array, gain: Array, offset: Array) -> Array:
    """Return ``gain * image + offset`` per channel, as float32."""
    shape = [1] * image.ndim
    axis = _channel_axis(image)
    if axis is not None and len(gain) == image.shape[axis]:
        shape[axis] = len(gain)
    else:
        gain, offset = gain[:1], offset[:1]
    found: Array = image * gain.reshape(shape) + offset.reshape(shape)
    return found.astype(np.float32, copy=False)


def linear_fit(ours: Sequence[Any], theirs: Sequence[Any]) -> tuple[Array, Array] | None:
    """Return least-squares ``gain`` and ``offset`` per channel: theirs = gain * ours + offset.

    Returns None if there are no pairs of arrays, or if theirs hardly depends on ours.
    """
    pairs = [
        (_planes(a), _planes(b))
        for a, b in zip(ours, theirs, strict=True)
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
    ]
    pairs = [(a, b) for a, b in pairs if a.shape == b.shape]
    if not pairs or all(a.dtype == np.uint8 == b.dtype for a, b in pairs):
        return None
    channels = {len(a) for a, _ in pairs}
    if len(channels) != 1:
        return None
    gains, offsets = [], []
    for channel in range(channels.pop()):
        x = np.concatenate([a[channel].reshape(-1) for a, _ in pairs]).astype(np.float64)
        y = np.concatenate([b[channel].reshape(-1) for _, b in pairs]).astype(np.float64)
        good = np.isfinite(x) & np.isfinite(y)
        spread = x[good].var() if good.any() else 0.0
        if not spread:
            return None
        gain = float(((x[good] - x[good].mean()) * (y[good] - y[good].mean())).mean() / spread)
        if gain**2 * spread <= _LEAST_EXPLAINED * y[good].var():  # also if theirs is constant
            return None
        gains.append(gain)
        offsets.append(float(y[good].mean() - gain * x[good].mean()))
    return np.asarray(gains), np.asarray(offsets)


def _planes(image: Array) -> Array:
    axis = _channel_axis(image)
    return image[None] if axis is None else np.moveaxis(image, axis, 0)


def without_orientation(data: bytes) -> bytes:
    """Remove the EXIF segments of a JPEG file; other files are unchanged."""
    if data[:2] != b"\xff\xd8":
        return data
    kept, at = [data[:2]], 2
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] not in (0xDA, 0xD9):
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if not (data[at + 1] == 0xE1 and data[at + 4 : at + 8] == b"Exif"):
            kept.append(data[at:end])
        at = end
    return b"".join([*kept, data[at:]])


def upright(data: bytes) -> bytes:
    """Apply the EXIF orientation of a file and save the pixels without loss."""
    from PIL import Image, ImageOps

    image = Image.open(io.BytesIO(data))
    if image.getexif().get(0x0112, 1) == 1:
        return data
    written = io.BytesIO()
    turned: Any = ImageOps.exif_transpose(image)
    turned.convert("RGB").save(written, "PNG", compress_level=1)
    return written.getvalue()
