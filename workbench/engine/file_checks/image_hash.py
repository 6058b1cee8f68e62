"""A short hash of what a picture shows, near for pictures that look alike.

The difference hash of N. Krawetz, "Kind of Like That" (2013): whether each cell of an 8 x 8 grid is
brighter than its neighbour, once to the right and once below, so 128 bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

NEAR = 6
"""Bits in which two pictures that look alike may differ."""
_CELLS = 9
_EACH = 8
"""Pixels of a cell that are looked at, along each side."""
_PLAIN = 4.0
"""Standard deviation of the cells' brightness, of 255, below which there is nothing to compare."""
_BANDS = 8
"""Parts of a hash. One at least is equal where fewer bits than this differ: the others need not be
compared."""


def image_hash(image: NDArray[np.uint8]) -> bytes:
    """16 bytes for an image of shape (height, width, channels); empty for a plain one."""
    rows, columns = (np.linspace(0, n - 1, _CELLS * _EACH).astype(int) for n in image.shape[:2])
    seen = image[rows][:, columns].mean(axis=2)
    cells = seen.reshape(_CELLS, _EACH, _CELLS, _EACH).mean(axis=(1, 3))
    if cells.std() < _PLAIN:
        return b""
    right, below = cells[:-1, 1:] > cells[:-1, :-1], cells[1:, :-1] > cells[:-1, :-1]
    return np.packbits(np.stack([right, below])).tobytes()


def near_pairs(hashes: Sequence[bytes]) -> list[tuple[int, int]]:
    """For each hash that lies near an earlier one: its place, and that of the first such."""
    found: dict[int, int] = {}
    whole = [int.from_bytes(one) for one in hashes]
    size = 16 // _BANDS
    for band in range(_BANDS):
        alike: dict[bytes, list[int]] = defaultdict(list)
        for place, one in enumerate(hashes):
            if not one:
                continue
            part = alike[one[band * size : (band + 1) * size]]
            for other in part[:_MOST_COMPARED]:
                near = (whole[place] ^ whole[other]).bit_count() <= NEAR
                if near and other < found.get(place, place):
                    found[place] = other
            part.append(place)
    return sorted(found.items())


_MOST_COMPARED = 200
"""Of the hashes that share a band: a folder of a million alike ends in time, too."""
