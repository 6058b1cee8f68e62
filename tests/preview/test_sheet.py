from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from workbench.preview.sheet import BAD, BAD_FRAME, compose, encode, mark_bad


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 16, 64])
def test_every_tile_is_where_it_is_said_to_be(count: int, groups: int) -> None:
    size = 4
    tiles = [
        np.arange(count * size * size * 3, dtype=np.uint8).reshape(count, size, size, 3) + 50 * k
        for k in range(groups)
    ]
    sheet, places = compose(tiles)
    assert sheet.dtype == np.uint8
    assert len(set(places)) == len(places) == count * groups
    for index, (x, y) in enumerate(places):
        expected = tiles[index % groups][index // groups]
        assert np.array_equal(sheet[y : y + size, x : x + size], expected)
    rows_of_samples = {
        places[i * groups][1] == places[i * groups + groups - 1][1] for i in range(count)
    }
    assert rows_of_samples == {True}, "the tiles of a sample stand side by side"
    height, width = sheet.shape[:2]
    if count > 7:
        assert max(height, width) / min(height, width) <= 3
        assert sheet.size <= 1.5 * sum(t.size for t in tiles)


def test_encoding() -> None:
    sheet = np.random.default_rng(0).integers(0, 256, (8, 12, 3), np.uint8)
    png = Image.open(io.BytesIO(encode(sheet, "image/png")))
    assert np.array_equal(np.asarray(png), sheet)
    jpeg = Image.open(io.BytesIO(encode(sheet)))
    assert (jpeg.format, jpeg.size) == ("JPEG", (12, 8))
    assert encode(sheet, encoder=lambda _: b"gpu") == b"gpu"
    assert encode(sheet, "image/png", encoder=lambda _: b"gpu") != b"gpu"


def test_a_bad_tile_is_marked_and_no_other() -> None:
    sheet, places = compose([np.zeros((4, 64, 64, 3), np.uint8)])
    mark_bad(sheet, places[2], 64)
    x, y = places[2]
    tile = sheet[y : y + 64, x : x + 64].copy()
    assert (tile[1:-1, 1:-1] == BAD).all()
    assert (tile[0] == BAD_FRAME).all()
    assert (tile[:, -1] == BAD_FRAME).all()
    sheet[y : y + 64, x : x + 64] = 0
    assert not sheet.any()
