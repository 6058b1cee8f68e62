"""Damaged image files by the thousand: 30 kinds of damage, each at places drawn by a seed."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from PIL import Image

Damage = Callable[[bytes, random.Random], bytes]
SIDE = 160
"""Pixels of the undamaged images' longer side."""


def encoded(photo: Path, kind: str, **options: object) -> bytes:
    return _encoded(photo, kind, tuple(options.items()))


@cache
def _encoded(photo: Path, kind: str, options: tuple[tuple[str, object], ...]) -> bytes:
    buffer = io.BytesIO()
    with Image.open(photo) as image:
        image.thumbnail((SIDE, SIDE))
        image.convert("RGB").save(buffer, kind, **dict(options))
    return buffer.getvalue()


def _scan(data: bytes) -> int:
    """Where the entropy-coded data of a JPEG begin."""
    at = data.index(b"\xff\xda")
    return at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")


def _cut(low: float, high: float) -> Damage:
    return lambda data, chance: data[: int(len(data) * chance.uniform(low, high))]


def _put(data: bytes, at: int, piece: bytes) -> bytes:
    return data[:at] + piece + data[at + len(piece) :]


def _flips(count: int, low: float, high: float = 1.0) -> Damage:
    """Bits turned over in a part of the file."""

    def damage(data: bytes, chance: random.Random) -> bytes:
        changed = bytearray(data)
        for _ in range(count):
            at = chance.randrange(int(low * len(data)), int(high * len(data)))
            changed[at] ^= 1 << chance.randrange(8)
        return bytes(changed)

    return damage


def _in_scan(change: Callable[[bytes, random.Random], bytes]) -> Damage:
    """Damage behind a JPEG's header and before its end marker."""

    def damage(data: bytes, chance: random.Random) -> bytes:
        start = _scan(data)
        return data[:start] + change(data[start:-2], chance) + data[-2:]

    return damage


def _block(fill: Callable[[random.Random, int], bytes]) -> Damage:
    def damage(data: bytes, chance: random.Random) -> bytes:
        size = chance.randrange(16, max(17, len(data) // 3))
        at = chance.randrange(0, len(data) - size)
        return _put(data, at, fill(chance, size))

    return damage


def _removed(data: bytes, chance: random.Random) -> bytes:
    size = chance.randrange(16, len(data) // 3)
    at = chance.randrange(0, len(data) - size)
    return data[:at] + data[at + size :]


def _repeated(data: bytes, chance: random.Random) -> bytes:
    size = chance.randrange(16, len(data) // 3)
    at = chance.randrange(0, len(data) - size)
    return data[: at + size] + data[at:]


def _swapped(data: bytes, chance: random.Random) -> bytes:
    size = len(data) // 4
    first, second = chance.randrange(0, size), chance.randrange(2 * size, 3 * size)
    swapped = _put(data, first, data[second : second + size])
    return _put(swapped, second, data[first : first + size])


def _tables(data: bytes, chance: random.Random) -> bytes:
    """A bit of the JPEG's quantisation or Huffman tables."""
    at = chance.randrange(data.index(b"\xff\xdb") + 4, data.index(b"\xff\xda"))
    return _put(data, at, bytes([data[at] ^ (1 << chance.randrange(8))]))


def _frame(data: bytes, chance: random.Random) -> bytes:
    """Another size in the JPEG's frame header."""
    at = data.index(b"\xff\xc0") + 5
    return _put(data, at, struct.pack(">HH", chance.randrange(1, 4000), chance.randrange(1, 4000)))


def _lossless(data: bytes, _: random.Random) -> bytes:
    """A frame of a process that hardly any decoder knows."""
    return _put(data, data.index(b"\xff\xc0"), b"\xff\xc3")


def _chunks(data: bytes) -> list[bytes]:
    """The chunks of a PNG, whole."""
    found, at = [], 8
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big") + 12
        found.append(data[at : at + size])
        at += size
    return found


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(chunks: list[bytes]) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _wrong_crc(kind: bytes) -> Damage:
    def damage(data: bytes, chance: random.Random) -> bytes:
        chunks = [*_chunks(data)[:1], _chunk(b"tEXt", b"Title\0words"), *_chunks(data)[1:]]
        for at, chunk in enumerate(chunks):
            if chunk[4:8] == kind:
                chunks[at] = chunk[:-4] + bytes(
                    byte ^ chance.randrange(1, 256) for byte in chunk[-4:]
                )
        return _png(chunks)

    return damage


def _pixels_of_png(data: bytes, chance: random.Random) -> bytes:
    """Compressed data that are damaged, with a right checksum of the chunk."""
    chunks = _chunks(data)
    packed = b"".join(chunk[8:-4] for chunk in chunks if chunk[4:8] == b"IDAT")
    damaged = _flips(3, 0.2)(packed, chance)
    return _png([chunks[0], _chunk(b"IDAT", damaged), chunks[-1]])


def _rows_missing(data: bytes, chance: random.Random) -> bytes:
    """A PNG whose compressed data end before the last row."""
    chunks = _chunks(data)
    packed = b"".join(chunk[8:-4] for chunk in chunks if chunk[4:8] == b"IDAT")
    rows = zlib.decompress(packed)
    short = zlib.compress(rows[: int(len(rows) * chance.uniform(0.1, 0.9))])
    return _png([chunks[0], _chunk(b"IDAT", short), chunks[-1]])


def _bomb(_: bytes, chance: random.Random) -> bytes:
    size = chance.choice([60_000, 2**31 - 1, 2**31, 2**32 - 1])
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(1000))
    return _png([_chunk(b"IHDR", header), _chunk(b"IDAT", pixels), _chunk(b"IEND", b"")])


KINDS: dict[str, tuple[str, Damage]] = {
    "empty.jpg": ("JPEG", lambda data, _: b""),
    "zeros.jpg": ("JPEG", lambda data, _: bytes(len(data))),
    "random.jpg": ("JPEG", lambda data, chance: chance.randbytes(len(data))),
    "text.jpg": ("JPEG", lambda data, chance: b"words and words\n" * chance.randrange(1, 500)),
    "header_cut.jpg": ("JPEG", lambda data, chance: data[: chance.randrange(3, _scan(data))]),
    "cut.jpg": ("JPEG", _cut(0.5, 0.99)),
    "no_end.jpg": ("JPEG", lambda data, _: data[:-2]),
    "zeros_behind.jpg": ("JPEG", lambda data, chance: _cut(0.5, 0.9)(data, chance) + bytes(2000)),
    "zeros_inside.jpg": ("JPEG", _in_scan(_block(lambda _, size: bytes(size)))),
    "noise_inside.jpg": ("JPEG", _in_scan(_block(lambda chance, size: chance.randbytes(size)))),
    "flips.jpg": ("JPEG", _in_scan(_flips(3, 0.0))),
    "removed.jpg": ("JPEG", _in_scan(_removed)),
    "repeated.jpg": ("JPEG", _in_scan(_repeated)),
    "swapped.jpg": ("JPEG", _in_scan(_swapped)),
    "tables.jpg": ("JPEG", _tables),
    "size.jpg": ("JPEG", _frame),
    "lossless.jpg": ("JPEG", _lossless),
    "progressive_cut.jpg": ("progressive", _cut(0.6, 0.99)),
    "progressive_flips.jpg": ("progressive", _in_scan(_flips(5, 0.1))),
    "cut.png": ("PNG", _cut(0.1, 0.99)),
    "flips.png": ("PNG", _flips(2, 0.1, 0.95)),
    "header_crc.png": ("PNG", _wrong_crc(b"IHDR")),
    "pixel_crc.png": ("PNG", _wrong_crc(b"IDAT")),
    "text_crc.png": ("PNG", _wrong_crc(b"tEXt")),
    "pixels.png": ("PNG", _pixels_of_png),
    "rows_missing.png": ("PNG", _rows_missing),
    "bomb.png": ("PNG", _bomb),
    "cut.tiff": ("TIFF", _cut(0.1, 0.95)),
    "flips.tiff": ("TIFF", _flips(5, 0.0)),
    "cut.webp": ("WEBP", _cut(0.1, 0.95)),
    "flips.webp": ("WEBP", _flips(5, 0.0)),
    "cut.bmp": ("BMP", _cut(0.1, 0.95)),
    "cut.jp2": ("JPEG2000", _cut(0.1, 0.95)),
    "flips.jp2": ("JPEG2000", _flips(5, 0.0)),
    "gif.jpg": ("GIF", lambda data, _: data),
}
"""Name -> what is damaged, and how."""


def write_fuzzed(photos: list[Path], folder: Path, each: int) -> list[str]:
    """Write this number of files of each kind into class folders; returns their names."""
    names = []
    for kind, (format_, damage) in KINDS.items():
        stem, _, suffix = kind.partition(".")
        (folder / stem).mkdir(parents=True, exist_ok=True)
        for number in range(each):
            photo = photos[number % len(photos)]
            whole = (
                encoded(photo, "JPEG", progressive=True)
                if format_ == "progressive"
                else encoded(photo, format_)
            )
            name = f"{stem}/{number:03}.{suffix}"
            (folder / name).write_bytes(damage(whole, random.Random(f"{kind} {number}")))
            names.append(name)
    return names
