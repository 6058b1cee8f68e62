"""Properties in the first bytes of a file: compression, float samples, image size."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from PIL import Image

    from workbench.sources import Sample


# Compressed files, which DALI's readers do not decompress.

_FORMATS = {
    "gzip": b"\x1f\x8b\x08",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ",
    "zstd": b"\x28\xb5\x2f\xfd",
    "lz4": b"\x04\x22\x4d\x18",
    "zip": b"PK\x03\x04",
}
"""The first bytes of compressed files."""
_ZLIB = (b"x\x01", b"x\x5e", b"x\x9c", b"x\xda")


def describe_compression(path: str) -> str:
    """That a file is compressed and what to do, by its first bytes; empty where it is not.

    To be asked of a file that cannot be read: records may begin with the same bytes.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(8)
    except OSError:
        return ""
    formats = [name for name, magic in _FORMATS.items() if head.startswith(magic)]
    if not formats and not head.startswith(_ZLIB):
        return ""
    return (
        f"{path} is compressed ({(formats or ['zlib'])[0]}), and DALI's readers do not decompress "
        "it. Decompress it, or write it without compression."
    )


# WAV files whose samples are floats, which DALI decodes to silence unless dtype is FLOAT.

SOUND_HEAD = 4096
"""Bytes in which a WAV describes its samples."""
_FLOAT, _EXTENSIBLE = 3, 0xFFFE
"""Format codes of WAV."""


def float_rate(head: bytes) -> int:
    """The sample rate of a WAV of floats by its beginning; 0 for other sounds."""
    at = head.find(b"fmt ") + 8
    if head[:4] not in (b"RIFF", b"RF64") or not 8 < at <= len(head) - 26:
        return 0
    code, _, rate = struct.unpack_from("<HHI", head, at)
    if code == _EXTENSIBLE:
        (code,) = struct.unpack_from("<H", head, at + 24)
    return int(rate) if code == _FLOAT else 0


def decodes_to_silence(rate: int, args: Mapping[str, object]) -> bool:
    """Whether ``decoders.audio`` with these arguments decodes a WAV of floats to silence.

    ``rate`` is its sample rate, 0 for other sounds.
    """
    resamples = args.get("sample_rate", rate) != rate
    return bool(rate) and args.get("dtype") in ("INT16", "INT32") and not resamples


# Width and height of an encoded image, from its header.

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
