"""Motion-JPEG clips with labels."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from workbench.samples.annotations import RATE, avi


def jpeg(picture: NDArray[np.uint8]) -> bytes:
    """An RGB picture (rows, columns, 3) as JPEG."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=95)
    return file.getvalue()


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
