"""Width and height of an encoded image, from its header."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from PIL import Image

    from workbench.sources import Sample

_ORIENTATION = 274
LAST_UPRIGHT = 4
"""EXIF orientations beyond rotate by 90 degrees."""
_HEAD = 2**16
"""Bytes of an image that are read first: more hold the header in nearly all files."""


def orientation(image: Image.Image) -> Any:
    """EXIF orientation, from 1 to 8; None if there is none that can be read."""
    if image.format != "TIFF" and "exif" not in image.info:
        return None
    try:
        return image.getexif().get(_ORIENTATION)
    except (SyntaxError, ValueError, KeyError, TypeError, IndexError, OSError):
        return None  # EXIF that cannot be read turns nothing


def upright_size(image: Image.Image) -> tuple[int, int]:
    """Width and height as turned by EXIF; Pillow may have exchanged those of a TIFF already."""
    tags = getattr(image, "tag_v2", {})
    size = (tags[256], tags[257]) if image.format == "TIFF" else image.size
    return size[::-1] if (orientation(image) or 0) > LAST_UPRIGHT else size


class ImageHeader(NamedTuple):
    """Width and height of an encoded image, and its EXIF orientation."""

    upright: tuple[int, int]
    """As turned by EXIF."""
    orientation: int
    """From 1 to 8; 1 if there is none that can be read."""

    @property
    def stored(self) -> tuple[int, int]:
        """Width and height before EXIF turns the image."""
        return self.upright[::-1] if self.orientation > LAST_UPRIGHT else self.upright


def image_header(sample: Sample) -> ImageHeader | None:
    """The header of the image of a sample in a file or archive; None if it cannot be opened."""
    from PIL import Image

    for count in (_HEAD, sample.size):
        with open(sample.path, "rb") as holder:
            holder.seek(sample.offset)
            content = holder.read(min(count, sample.size))
        try:
            with Image.open(io.BytesIO(content)) as image:
                turn = orientation(image)
                return ImageHeader(upright_size(image), turn if turn in range(1, 9) else 1)
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            if len(content) < count:
                break
    return None
