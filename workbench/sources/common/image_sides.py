"""Width and height of an encoded image, from its header."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import ImageFile

    from workbench.sources import Sample

_ORIENTATION = 274
_LAST_UPRIGHT = 4
"""EXIF orientations beyond rotate by 90 degrees."""
_HEAD = 2**16
"""Bytes of an image that are read first: more hold the header in nearly all files."""


def orientation(image: ImageFile.ImageFile) -> Any:
    """EXIF orientation, from 1 to 8; None if there is none that can be read."""
    if image.format != "TIFF" and "exif" not in image.info:
        return None
    try:
        return image.getexif().get(_ORIENTATION)
    except (SyntaxError, ValueError, KeyError, TypeError, IndexError, OSError):
        return None  # EXIF that cannot be read turns nothing


def upright_size(image: ImageFile.ImageFile) -> tuple[int, int]:
    """Width and height as turned by EXIF; Pillow may have exchanged those of a TIFF already."""
    tags = getattr(image, "tag_v2", {})
    size = (tags[256], tags[257]) if image.format == "TIFF" else image.size
    return size[::-1] if (orientation(image) or 0) > _LAST_UPRIGHT else size


def sides_in(sample: Sample) -> tuple[int, int] | None:
    """Width and height of the image of a sample in an archive; None if it cannot be opened."""
    from PIL import Image

    for count in (_HEAD, sample.size):
        with open(sample.path, "rb") as holder:
            holder.seek(sample.offset)
            content = holder.read(min(count, sample.size))
        try:
            with Image.open(io.BytesIO(content)) as image:
                return upright_size(image)
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            if len(content) < count:
                break
    return None
