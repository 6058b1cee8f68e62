"""Tiles -> one picture, encoded where the tiles are cheapest to encode.

Runs inside the worker process only.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

QUALITY = 88
"""JPEG quality of the sheet: no blocks to be seen, 7 ms for 32 tiles of 224 on one core."""


def compose(groups: Sequence[NDArray[np.uint8]]) -> tuple[NDArray[np.uint8], list[list[int]]]:
    """Lay tiles side by side: for each sample one tile of every group, then the next sample.

    ``groups`` are uint8 (n, size, size, 3). Returns the sheet, uint8 (h, w, 3), and the left top
    corner [x, y] of every tile in sample-major order.
    """
    count, size = groups[0].shape[:2]
    columns = len(groups) * max(1, math.ceil(math.sqrt(count / len(groups))))
    rows = math.ceil(count * len(groups) / columns)
    sheet = np.zeros((rows, size, columns, size, 3), np.uint8)
    places = []
    for index in range(count * len(groups)):
        row, column = divmod(index, columns)
        sheet[row, :, column] = groups[index % len(groups)][index // len(groups)]
        places.append([column * size, row * size])
    return sheet.reshape(rows * size, columns * size, 3), places


def encode(sheet: NDArray[np.uint8], mime: str = "image/jpeg") -> bytes:
    """The sheet as JPEG, or as PNG for ``image/png``."""
    buffer = io.BytesIO()
    if mime == "image/png":
        Image.fromarray(sheet).save(buffer, "PNG", compress_level=1)
    else:
        Image.fromarray(sheet).save(buffer, "JPEG", quality=QUALITY)
    return buffer.getvalue()
