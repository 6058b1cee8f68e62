"""Draw two results of the same image next to each other."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.results import ResultPicture

Array = NDArray[Any]
_SIDE, _GAP = 160, 4
"""Maximum width and height of each image in a picture, and the gap between them, in pixels."""


def pair_picture(name: str, a: Array, b: Array, mean: float | None) -> ResultPicture:
    """Return a WebP picture of both results and, if the sizes agree, four times their difference.

    The gaps between the images are transparent. ``mean`` is the mean difference in 8-bit levels,
    which the caption shows.
    """
    from PIL import Image

    parts = [_as_rgb_bytes(each, a, b) for each in (a, b)]
    if parts[0].shape == parts[1].shape:
        apart = np.abs(parts[0].astype(np.int16) - parts[1].astype(np.int16))
        parts.append(np.clip(apart * 4, 0, 255).astype(np.uint8))
    images = [Image.fromarray(part) for part in parts]
    for image in images:
        image.thumbnail((_SIDE, _SIDE))
    width = sum(each.width for each in images) + _GAP * (len(images) - 1)
    sheet = Image.new("RGBA", (width, max(each.height for each in images)))
    left = 0
    for image in images:
        sheet.paste(image, (left, 0))
        left += image.width + _GAP
    buffer = io.BytesIO()
    sheet.save(buffer, "WEBP", quality=80)
    words = "A, B and four times the difference" if len(images) == 3 else "A and B"
    amount = "" if mean is None else f"; {mean:.2f} of 255 on average"
    return ResultPicture(f"{name}: {words}{amount}", buffer.getvalue())


def _as_rgb_bytes(image: Array, a: Array, b: Array) -> NDArray[np.uint8]:
    """Scale an image to 8-bit RGB, with the same scale for both sides."""
    found = np.nan_to_num(image.astype(np.float32))
    if found.ndim == 3 and found.shape[0] in (1, 3, 4) and found.shape[2] not in (1, 3, 4):
        found = np.moveaxis(found, 0, -1)
    found = found[..., None] if found.ndim == 2 else found[..., :3]
    found = np.repeat(found[..., :1], 3, axis=2) if found.shape[2] != 3 else found
    if not a.dtype == b.dtype == np.uint8:
        low, high = np.nanpercentile(a.astype(np.float32), (0.5, 99.5))
        found = (found - low) * (255 / max(high - low, 1e-6))
    return np.clip(np.rint(found), 0, 255).astype(np.uint8)
