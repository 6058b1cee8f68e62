"""Check the bytes of encoded images before DALI decodes them.

For text, random bytes, GIF and AVIF, DALI's own message does not name the file, and one such sample
fails the whole batch. DALI's CPU decoder accepts truncated images without an error (2.4.0).
"""

from __future__ import annotations

import io
import struct
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFile, UnidentifiedImageError

from workbench.engine.reading.findings import KINDS, Finding
from workbench.sources import Sample, upright_size
from workbench.sources.headers import LAST_UPRIGHT, orientation

DECODER_LIMIT = 2**30
"""Maximum number of pixels that DALI's CPU decoders decode: the limit of OpenCV (DALI 2.4)."""
_PILLOW_LIMIT = 2 * 89_478_485
"""Maximum number of pixels that ``Image.open`` accepts by default."""
PREVIEW_LIMIT = 2**28
"""Maximum number of pixels of a file in the preview (0.8 GB decoded). Phone photos have up to 200
million.
"""

_SMALLER = "Make the image smaller, cut it into tiles, or remove it from the data"

DECODABLE = {"JPEG", "PNG", "BMP", "TIFF", "PPM", "WEBP", "JPEG2000", "MPO"}
"""Pillow's names of the image formats that nvImageCodec decodes."""

_SIGNATURES = (
    (b"<!DO", Finding("not an image", "a web page, not an image")),
    (b"<htm", Finding("not an image", "a web page, not an image")),
    (b"%PDF", Finding("not an image", "a PDF, not an image")),
    (b"PK\x03\x04", Finding("not an image", "a zip archive, not an image")),
    (b"\x1f\x8b", Finding("not an image", "a gzip archive, not an image")),
)
_CODESTREAM = b"\xff\x4f\xff\x51"
"""First bytes of a JPEG 2000 codestream: the markers SOC and SIZ."""
_TILE_SIZES = struct.Struct(">24xII")
_ZEROS = 64
_HEAD = 512
"""Number of bytes at the start of a file by which unknown formats are identified."""


def reject_reason(data: bytes, with_pillow: bool = False) -> str | None:
    """Return why DALI must not decode these bytes, or None. Only the header is read (about 0.1 ms).

    If ``with_pillow``, the check is for Pillow's decoder instead of DALI's. Files beyond
    ``PREVIEW_LIMIT`` are rejected too, although exported programs decode them.
    """
    opened = open_image(io.BytesIO(data), with_pillow)
    found = opened if isinstance(opened, Finding) else large_image(opened)
    return found.reason if found else None


def large_image(image: ImageFile.ImageFile) -> Finding | None:
    """Return a finding if an image is too large for the preview."""
    width, height = image.size
    if width * height <= PREVIEW_LIMIT:
        return None
    return Finding(
        "large",
        f"{width} x {height} pixels: the preview shows at most {PREVIEW_LIMIT:,}, but exported "
        "programs and measurements decode it",
    )


def open_image(file: BinaryIO, with_pillow: bool = False) -> ImageFile.ImageFile | Finding:
    """Return the opened image, or a finding if DALI must not decode the file.

    ``file`` must be at position 0. If ``with_pillow``, the check is for Pillow's decoder.
    """
    head = file.read(_HEAD)
    if not head:
        return Finding("empty", "the file is empty")
    if len(head) >= _ZEROS and not any(head):
        return Finding("zeros", "only zeros at the start of the image")
    if head[4:12] == b"ftypheic" or (head[4:12] == b"ftypavif" and not with_pillow):
        return _not_for_dali(head[8:12].decode().upper())
    for signature, finding in _SIGNATURES:
        if head.startswith(signature):
            return finding
    if head.startswith(b"GIF8") and not with_pillow:
        return _not_for_dali("GIF")
    try:
        image = _open(file, head)
    except Image.DecompressionBombError as error:
        return Finding("bomb", f"decompression bomb: {error} {_SMALLER}")
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, OverflowError) as error:
        if head[:2] == b"\xff\xd8":
            return Finding("cut short", "JPEG whose header is truncated or damaged")
        if _is_text(head):
            return Finding("not an image", "text, not an image")
        unknown = isinstance(error, UnidentifiedImageError)
        return Finding("not an image", "not an image" if unknown else str(error) or "no image")
    width, height = image.size
    limit, whose = (_PILLOW_LIMIT, "Pillow") if with_pillow else (DECODER_LIMIT, "DALI's decoders")
    if width * height > limit:
        words = (
            f"decompression bomb: its header claims {width} x {height} pixels; the limit of "
            f"{whose} is {limit:,}. {_SMALLER}"
        )
        return Finding("bomb", words)
    if image.format not in DECODABLE and not with_pillow:
        return _not_for_dali(str(image.format))
    if image.format == "JPEG2000" and not with_pillow and _has_empty_tiles(file):
        return Finding("undecodable", "a damaged JPEG 2000: its tiles have a width or height of 0")
    return image


def _has_empty_tiles(file: BinaryIO) -> bool:
    """Return True if a JPEG 2000 has empty tiles. DALI's decoder divides by their size (SIGFPE).

    The codestream is the whole file or its ``jp2c`` box (ISO/IEC 15444-1, I.4). The tile sizes are
    in the first segment of the codestream, SIZ (A.5.1).
    """
    at = file.seek(0)
    while len(box := file.read(16)) == 16 and box[:4] != _CODESTREAM:
        length, kind, extended = struct.unpack(">I4sQ", box)
        if kind == b"jp2c":
            at += 16 if length == 1 else 8
            file.seek(at)
            break
        length = extended if length == 1 else length
        if not 8 <= length < 2**62:
            return False
        at = file.seek(at + length)
    file.seek(at)
    head = file.read(_TILE_SIZES.size)
    return len(head) == _TILE_SIZES.size and 0 in _TILE_SIZES.unpack(head)


def _not_for_dali(name: str) -> Finding:
    """Return a finding for a format that DALI does not decode, with the alternative."""
    remedy = "" if name == "HEIC" else ": decoders.pillow does"
    return Finding("not for DALI", f"{name}, which DALI does not decode{remedy}")


def misread_reason(image: ImageFile.ImageFile) -> str:
    """Return why DALI (2.4.0) decodes an image to wrong pixels, or "" if it does not."""
    tags = getattr(image, "tag_v2", {})
    deep = max(tags.get(258, (1,))) > 8
    if deep and tags.get(284) == 2:
        return "a planar TIFF of more than 8 bits, whose channels DALI mixes up"
    if deep and tags.get(262) == 0:
        return "a TIFF of more than 8 bits in which 0 is white, which DALI does not invert"
    if tags.get(277) == 2:
        return "a TIFF of 2 channels, to which DALI adds a third of random values (not with GRAY)"
    return ""


def crash_reason(data: bytes) -> str:
    """Return why ``adjust_orientation=False`` makes DALI crash on an image, or "" if it does not.

    DALI 2.4.0 writes past the end of the image: a TIFF that its own decoder does not support is
    decoded by OpenCV, which always applies the orientation.
    """
    if data[:2] not in (b"II", b"MM"):
        return ""
    tags = getattr(_open(io.BytesIO(data), data[:16]), "tag_v2", {})
    fallback = tags.get(284) == 2 or tags.get(262) not in (1, 2, 3)
    if tags.get(274, 1) < 5 or not fallback:
        return ""
    return "a rotated TIFF, which crashes DALI with adjust_orientation=False: set it to True"


_FILTERING = threading.RLock()


@contextmanager
def pillow_warnings_ignored() -> Iterator[None]:
    """Within the context, suppress Pillow's warnings, such as the warning about large images.

    ``warnings.catch_warnings`` replaces the filters of the whole process, so a lock prevents two
    threads from restoring each other's filters.
    """
    with _FILTERING, warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")
        yield


def corruption_reason(data: bytes) -> str | None:
    """Return how an encoded image is damaged, or None. DALI may still decode damaged images.

    The image is decoded with Pillow (1.4 ms for a 500x375 JPEG). This detects truncation, which
    DALI's CPU decoder fills with grey without an error.
    """
    # Search everywhere: some phones append megabytes of video.
    if data[:2] == b"\xff\xd8" and data.rfind(b"\xff\xd9") < 0:
        return "ends early: the end of the JPEG is missing"
    try:
        with pillow_warnings_ignored(), _open(io.BytesIO(data), data[:16]) as image:
            image.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        kind = "ends early" if "truncated" in str(error) else "damaged"
        return f"{kind}: {error}"
    return None


def _open(file: BinaryIO, head: bytes) -> ImageFile.ImageFile:
    """Open an image like ``Image.open``, but with a higher pixel limit.

    Pillow's limit applies to the whole process, including the user's notebook. Therefore it is
    bypassed, not changed.
    """
    for name in _formats():
        factory, accepts = Image.OPEN[name]
        try:
            if accepts is None or accepts(head[:16]) is True:
                file.seek(0)
                return factory(file, "")
        except (SyntaxError, IndexError, TypeError, struct.error):
            continue  # as Image.open: another format may begin alike
    raise UnidentifiedImageError("cannot identify image file")


@cache
def _formats() -> tuple[str, ...]:
    """Return the names of Pillow's formats. Formats that DALI decodes are first."""
    Image.init()
    return tuple(sorted(Image.ID, key=lambda name: name not in DECODABLE))


def _is_text(head: bytes) -> bool:
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:
            return False
        text = head[: error.start].decode("utf-8")
    return all(character.isprintable() or character.isspace() for character in text)


def placeholder_jpeg() -> NDArray[np.uint8]:
    """Return a uniform grey 640x480 JPEG as an array of shape (bytes,).

    It replaces an unreadable file, so that other samples keep their batch indices and random
    values.
    """
    buffer = io.BytesIO()
    Image.new("RGB", (640, 480), (128, 128, 128)).save(buffer, "JPEG")
    return np.frombuffer(buffer.getvalue(), np.uint8)


# Whether an image's annotations match its width and height, and whether its mask is readable.


def targets_fit(file: Sample, image: Image.Image) -> Iterator[Finding]:
    """Yield a finding if an image and its annotations or mask differ in width or height."""
    sides = upright_size(image)
    shown = "×".join(map(str, sides))
    if file.sides and tuple(file.sides) != sides:
        wanted = "×".join(map(str, file.sides))
        turned = (orientation(image) or 0) > LAST_UPRIGHT and tuple(file.sides) == sides[::-1]
        how = " after EXIF rotates it: set adjust_orientation to False" if turned else ""
        yield Finding("annotated size", f"its annotations are for {wanted}, but it is {shown}{how}")
    if file.remark:
        yield Finding("box", file.remark)
    if file.mask:
        try:
            with file.open_mask() as opened, Image.open(opened) as mask:
                if (found := upright_size(mask)) != sides:
                    size = "×".join(map(str, found))
                    yield Finding("other size", f"its mask is {size}, but it is {shown}")
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            yield Finding("unreadable", "its mask cannot be opened")


def header_findings(file: Sample) -> Iterator[Finding]:
    """Yield the findings of ``targets_fit`` for a file, from the image's header (0.1 ms).

    Yields none for an image that Pillow cannot open.
    """
    try:
        with pillow_warnings_ignored(), file.open() as opened, Image.open(opened) as image:
            found = [*targets_fit(file, image)]
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return
    yield from found


def mask_fault(file: Sample) -> str:
    """Return why an image's mask has a wrong size or cannot be opened, or "" if it is valid."""
    bad = (finding for finding in header_findings(file) if KINDS[finding.kind] == "bad")
    return next((finding.reason for finding in bad), "")


def undecodable_mask(file: Sample) -> str:
    """Return why an image's mask cannot be decoded, or "" if it can or if there is no mask."""
    try:
        if file.mask:
            with file.open_mask() as opened, Image.open(opened) as mask:
                mask.load()
    except (OSError, SyntaxError, ValueError, OverflowError, Image.DecompressionBombError):
        return "its mask cannot be opened"
    return ""
