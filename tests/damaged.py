"""Files that are no images, or no longer: every kind that a folder of downloads may hold."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image, features


def _converted(data: bytes, kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.open(io.BytesIO(data)).save(buffer, kind)
    return buffer.getvalue()


def _bomb(_: bytes) -> bytes:
    """A PNG of 1 kB whose header claims 60,000 x 60,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0" * 1000)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", pixels), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _no_tiles(data: bytes) -> bytes:
    """A JPEG 2000 whose tiles are 0 pixels wide: DALI's decoder ends by SIGFPE (2.4.0)."""
    made = bytearray(_converted(data, "JPEG2000"))
    width = made.index(b"\xff\x4f\xff\x51") + 24
    made[width : width + 4] = bytes(4)
    return bytes(made)


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _middle(data: bytes) -> bytes:
    """Zeros over 400 bytes in the middle of the JPEG's data."""
    at = len(data) // 2
    return data[:at] + bytes(400) + data[at + 400 :]


REFUSED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "truncated_header.jpg": (lambda data: data[:100], "header is truncated"),
    "text.jpg": (lambda _: b"hello this is text\n" * 50, "text, not an image"),
    "random.jpg": (lambda _: np.random.RandomState(0).bytes(5000), "not an image"),
    "empty.jpg": (lambda _: b"", "the file is empty"),
    "gif.jpg": (lambda data: _converted(data, "GIF"), "GIF, which DALI does not decode"),
    "bomb.png": (_bomb, "decompression bomb"),
    "html.jpg": (lambda _: b"<!DOCTYPE html><html></html>", "a web page, not an image"),
    "pdf.jpg": (lambda _: b"%PDF-1.7\n" + b"x" * 500, "a PDF, not an image"),
    "zip.jpg": (lambda _: b"PK\x03\x04" + b"x" * 500, "a zip archive, not an image"),
}
"""Name -> how to make it from a JPEG, and what the reason says. They cannot be shown."""

if features.check("avif"):
    REFUSED["avif.jpg"] = (
        lambda data: _converted(data, "AVIF"),
        "AVIF, which DALI does not decode",
    )

if features.check("jpg_2000"):
    REFUSED["no_tiles.jp2"] = (_no_tiles, "its tiles have a width or height of 0")

DAMAGED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "half.jpg": (_half, "ends early"),
    "middle.jpg": (_middle, ""),
}
"""They are decoded, with some pixels lost; only for some can a warning be given."""


def make_folder(photos: Path, folder: Path, kinds: list[str]) -> tuple[Path, Path]:
    """Two folders of the same names, good photos between all others: one with files of these
    kinds, one with a good photo in the place of each."""
    bad, good = folder / "bad", folder / "good"
    sources = [path.read_bytes() for path in sorted(photos.glob("c*/*.jpg"))]
    makers = REFUSED | DAMAGED
    for number, name in enumerate(kinds):
        for root in (bad, good):
            (root / "class").mkdir(parents=True, exist_ok=True)
            (root / "class" / f"{number:02}_a.jpg").write_bytes(sources[2 * number])
        (good / "class" / f"{number:02}_{name}").write_bytes(sources[2 * number + 1])
        made = makers[name][0](sources[2 * number + 1])
        (bad / "class" / f"{number:02}_{name}").write_bytes(made)
    return bad, good
