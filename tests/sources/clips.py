"""Motion-JPEG clips, written as AVI by hand: RIFF chunks around JPEG pictures."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

RATE = 10
"""Frames per second."""


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def _list(kind: bytes, content: bytes) -> bytes:
    return _chunk(b"LIST", kind + content)


def jpeg(picture: NDArray[np.uint8]) -> bytes:
    """An RGB picture (rows, columns, 3) as JPEG."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=95)
    return file.getvalue()


def avi(frames: list[bytes], width: int, height: int, codec: bytes = b"MJPG") -> bytes:
    """An AVI of one video stream, with an index."""
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


def frame_of(clip: int, number: int) -> NDArray[np.uint8]:
    """96 rows of 128 columns: one colour for a clip, brighter by 12 a frame, with a white bar."""
    picture = np.zeros((96, 128, 3), np.uint8)
    picture[:, :, clip % 3] = number * 12
    picture[10:30, number * 4 : number * 4 + 20] = 255
    return picture


def write_coded(path: Path, codec: str) -> Path:
    """A clip of 20 frames of 256 x 192, as large as a GPU's decoders want it; it takes PyAV."""
    import av

    with av.open(str(path), "w") as file:
        stream = file.add_stream(codec, rate=RATE)
        stream.width, stream.height, stream.pix_fmt = 256, 192, "yuv420p"
        for number in range(20):
            picture = frame_of(1, number).repeat(2, axis=0).repeat(2, axis=1)
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        file.mux(stream.encode())
    return path


def write_clips(folder: Path, *, clips: int = 4, frames: int = 20) -> Path:
    """Clips in two class folders, a and b."""
    for clip in range(clips):
        place = folder / "ab"[clip * 2 // clips]
        place.mkdir(parents=True, exist_ok=True)
        pictures = [jpeg(frame_of(clip, number)) for number in range(frames)]
        (place / f"{clip}.avi").write_bytes(avi(pictures, 128, 96))
    return folder
