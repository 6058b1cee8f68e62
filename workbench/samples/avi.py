"""Motion JPEG in AVI, which DALI decodes on the CPU: RIFF chunks around JPEG pictures."""

from __future__ import annotations

import struct
from collections.abc import Sequence

RATE = 10
"""Frames per second."""


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def _list(kind: bytes, content: bytes) -> bytes:
    return _chunk(b"LIST", kind + content)


def avi(frames: Sequence[bytes], width: int, height: int, codec: bytes = b"MJPG") -> bytes:
    """An AVI of one video stream of encoded frames, with an index."""
    count, most = len(frames), max(map(len, frames))
    sizes = (0, 0, 0x10, count, 0, 1, most, width, height, 0, 0, 0, 0)
    main = struct.pack("<14I", 10**6 // RATE, *sizes)
    times = (0, 0, 0, 0, 1, RATE, 0, count, most, 2**32 - 1, 0)
    stream = b"vids" + codec + struct.pack("<IHHIIIIIIII4H", *times, 0, 0, width, height)
    form = (40, width, height, 1, 24, codec, width * height * 3, 0, 0, 0, 0)
    picture = struct.pack("<IiiHH4sIiiII", *form)
    streams = _list(b"strl", _chunk(b"strh", stream) + _chunk(b"strf", picture))
    index, at = b"", 4
    for frame in frames:
        index += b"00dc" + struct.pack("<III", 0x10, at, len(frame))
        at += 8 + len(frame) + len(frame) % 2
    head = _list(b"hdrl", _chunk(b"avih", main) + streams)
    body = _list(b"movi", b"".join(_chunk(b"00dc", frame) for frame in frames))
    return _chunk(b"RIFF", b"AVI " + head + body + _chunk(b"idx1", index))
