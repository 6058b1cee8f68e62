"""What can be told of an encoded image from its bytes, before DALI decodes it.

DALI's own messages name no file for text, random bytes, GIF and AVIF, and one such sample fails the
whole batch; an image that ends early passes silently on the CPU (measured with 2.4.0).
"""

from __future__ import annotations

import io
import struct
import warnings

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFile, UnidentifiedImageError

PIXEL_LIMIT = 2**28
"""Above this many pixels (0.8 GB decoded) a file counts as a decompression bomb: photographs
of phones reach 200 million. Pillow's own limit for an error is 179 million."""

DECODABLE = {"JPEG", "PNG", "BMP", "TIFF", "PPM", "WEBP", "JPEG2000", "MPO"}
"""Pillow's names of the formats that nvImageCodec decodes."""

_SIGNATURES = (
    (b"GIF8", "GIF, which DALI does not decode"),
    (b"<!DO", "a web page, not an image"),
    (b"<htm", "a web page, not an image"),
    (b"%PDF", "a PDF, not an image"),
    (b"PK\x03\x04", "a zip archive, not an image"),
    (b"\x1f\x8b", "a gzip archive, not an image"),
)


def reject_reason(data: bytes) -> str | None:
    """Why DALI must not be given these bytes, or None. Reads the header only (about 0.1 ms)."""
    if not data:
        return "the file is empty"
    if data[4:12] in (b"ftypavif", b"ftypheic"):
        return f"{data[8:12].decode().upper()}, which DALI does not decode"
    for signature, words in _SIGNATURES:
        if data.startswith(signature):
            return words
    try:
        with _open(data) as image:
            found, (width, height) = image.format or "unknown", image.size
    except Image.DecompressionBombError as error:
        return f"decompression bomb: {error}"
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        if data[:2] == b"\xff\xd8":
            return "JPEG whose header ends early or is damaged"
        if _is_text(data[:512]):
            return "text, not an image"
        return "not an image" if isinstance(error, UnidentifiedImageError) else str(error)
    if width * height > PIXEL_LIMIT:
        return f"decompression bomb: its header claims {width} x {height} pixels"
    if found not in DECODABLE:
        return f"{found}, which DALI does not decode"
    return None


def corruption_reason(data: bytes) -> str | None:
    """What is wrong with image data that DALI may still decode, or None.

    A full decode with Pillow (1.4 ms for a 500x375 JPEG), which notices an early end that DALI's
    CPU decoder fills with grey without a word.
    """
    # Anywhere: the photos of some phones carry a video of megabytes behind their end.
    if data[:2] == b"\xff\xd8" and data.rfind(b"\xff\xd9") < 0:
        return "ends early: the end of the JPEG is missing"
    try:
        with warnings.catch_warnings(), _open(data) as image:
            warnings.simplefilter("ignore")
            image.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        kind = "ends early" if "truncated" in str(error) else "damaged"
        return f"{kind}: {error}"
    return None


def _open(data: bytes) -> ImageFile.ImageFile:
    """As ``Image.open``, whose limit on pixels is lower than ours.

    That limit is one number for the whole process, the user's notebook included: it is passed by
    here, not changed.
    """
    Image.init()
    for name in sorted(Image.ID, key=lambda name: name not in DECODABLE):
        factory, accepts = Image.OPEN[name]
        try:
            if accepts is None or accepts(data[:16]) is True:
                return factory(io.BytesIO(data), "")
        except (SyntaxError, IndexError, TypeError, struct.error):
            continue  # as Image.open: another format may begin alike
    raise UnidentifiedImageError("cannot identify image file")


def _is_text(head: bytes) -> bool:
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:
            return False
        text = head[: error.start].decode("utf-8")
    return all(character.isprintable() or character.isspace() for character in text)


def placeholder_jpeg() -> NDArray[np.uint8]:
    """A plain grey 640x480 JPEG. Shape (bytes,).

    It takes the place of a file that cannot be read, so that every other sample keeps its place in
    the batch and with it its draws.
    """
    buffer = io.BytesIO()
    Image.new("RGB", (640, 480), (128, 128, 128)).save(buffer, "JPEG")
    return np.frombuffer(buffer.getvalue(), np.uint8)
