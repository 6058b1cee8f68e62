"""Motion-JPEG clips with labels."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from workbench.samples.avi import avi


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


def write_clips(folder: Path, *, clips: int = 4, frames: int = 20) -> Path:
    """Clips in two class folders, a and b."""
    for clip in range(clips):
        place = folder / "ab"[clip * 2 // clips]
        place.mkdir(parents=True, exist_ok=True)
        pictures = [jpeg(frame_of(clip, number)) for number in range(frames)]
        (place / f"{clip}.avi").write_bytes(avi(pictures, 128, 96))
    return folder
