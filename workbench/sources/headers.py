"""Detect properties of a file by its first bytes: compression, float sound samples, image size."""

from __future__ import annotations

import io
import os
import shlex
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
"""First bytes of compressed files, by format."""
_UNPACK = {
    **{"gzip": "gzip -dc", "bzip2": "bzip2 -dc", "xz": "xz -dc", "zstd": "zstd -dc"},
    "lz4": "lz4 -dc",
    "zlib": "python -c 'import sys, zlib; "
    "sys.stdout.buffer.write(zlib.decompress(sys.stdin.buffer.read()))'",
}
"""Command that decompresses standard input, by format."""
_ZLIB = (b"x\x01", b"x\x5e", b"x\x9c", b"x\xda")


def describe_compression(path: str) -> str:
    """Return a message that a file is compressed, with a fix, or an empty string if it is not.

    Call it only for files that cannot be read, because valid records may start with the same bytes.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(8)
    except OSError:
        return ""
    formats = [name for name, magic in _FORMATS.items() if head.startswith(magic)]
    if not formats and not head.startswith(_ZLIB):
        return ""
    form = (formats or ["zlib"])[0]
    stem, suffix = os.path.splitext(path)
    packed = suffix.lower() in (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zz", ".z")
    plain = (
        stem if packed else f"{stem}.tar" if suffix.lower() == ".tgz" else f"{stem}-plain{suffix}"
    )
    command = f"{_UNPACK.get(form, '')} < {shlex.quote(path)} > {shlex.quote(plain)}"
    if form == "zip":
        command = f"unzip {shlex.quote(path)}"
    return (
        f"{path} is compressed ({form}), and DALI's readers do not decompress it. Decompress it: "
        f"{command}"
    )


# Float WAV files, which DALI decodes to silence unless dtype is FLOAT.

SOUND_HEAD = 4096
"""Number of bytes to read for the format of a WAV file."""
_FLOAT, _EXTENSIBLE = 3, 0xFFFE
"""WAV format codes: float samples, and a format that is given later in the header."""


def float_rate(head: bytes) -> int:
    """Return the sample rate of a WAV file with float samples, or 0 for other sounds."""
    at = head.find(b"fmt ") + 8
    if head[:4] not in (b"RIFF", b"RF64") or not 8 < at <= len(head) - 26:
        return 0
    code, _, rate = struct.unpack_from("<HHI", head, at)
    if code == _EXTENSIBLE:
        (code,) = struct.unpack_from("<H", head, at + 24)
    return int(rate) if code == _FLOAT else 0


def decodes_to_silence(rate: int, args: Mapping[str, object]) -> bool:
    """Return whether ``decoders.audio`` with these arguments decodes a float WAV file to silence.

    ``rate`` is the sample rate of the file, or 0 for other sounds.
    """
    resamples = args.get("sample_rate", rate) != rate
    return bool(rate) and args.get("dtype") in ("INT16", "INT32") and not resamples


# Width and height of an encoded image, from its header.

_ORIENTATION = 274
LAST_UPRIGHT = 4
"""The last EXIF orientation that preserves width and height; higher values swap them."""
_HEAD = 2**16
"""Number of bytes that are read first. They contain the header of nearly all image files."""


def orientation(image: Image.Image) -> Any:
    """Return the EXIF orientation of an image, 1 to 8, or None if it is missing or unreadable."""
    if image.format != "TIFF" and "exif" not in image.info:
        return None
    try:
        return image.getexif().get(_ORIENTATION)
    except (SyntaxError, ValueError, KeyError, TypeError, IndexError, OSError):
        return None  # unreadable EXIF data rotate nothing


def upright_size(image: Image.Image) -> tuple[int, int]:
    """Return the width and height of an image after EXIF rotation.

    Pillow may have swapped the width and height of a TIFF file already.
    """
    tags = getattr(image, "tag_v2", {})
    size = (tags[256], tags[257]) if image.format == "TIFF" else image.size
    return size[::-1] if (orientation(image) or 0) > LAST_UPRIGHT else size


class ImageHeader(NamedTuple):
    """Size, EXIF orientation and format of an encoded image; the format is Pillow's name."""

    upright: tuple[int, int]
    """Width and height after EXIF rotation."""
    orientation: int
    """EXIF orientation from 1 to 8, or 1 if it is missing or unreadable."""
    format: str = ""

    @property
    def stored(self) -> tuple[int, int]:
        """Width and height before EXIF rotation."""
        return self.upright[::-1] if self.orientation > LAST_UPRIGHT else self.upright


def image_header(sample: Sample) -> ImageHeader | None:
    """Parse the image header of a sample in a file or archive, or return None if Pillow cannot."""
    from PIL import Image

    for count in (_HEAD, sample.size):
        with open(sample.path, "rb") as holder:
            holder.seek(sample.offset)
            content = holder.read(min(count, sample.size))
        try:
            with Image.open(io.BytesIO(content)) as image:
                turn = orientation(image)
                turn = turn if turn in range(1, 9) else 1
                return ImageHeader(upright_size(image), turn, image.format or "")
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            if len(content) < count:
                break
    return None
