from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from workbench.preview.pictures.contact_sheet import (
    BAD,
    BAD_FRAME,
    ENCODER_BIAS,
    build_bias_correction,
    build_layout,
    compose,
    encode,
    grid_of,
)
from workbench.preview.pictures.tiles import Tiles


def held(pictures: NDArray[np.uint8]) -> Tiles:
    return Tiles(pictures, [], "")


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 16, 64])
def test_every_tile_is_where_it_is_said_to_be(count: int, groups: int) -> None:
    size = 4
    tiles = [
        np.arange(count * size * size * 3, dtype=np.uint8).reshape(count, size, size, 3) + 50 * k
        for k in range(groups)
    ]
    groups_of_tiles = [held(group) for group in tiles]
    sheet, places = compose(groups_of_tiles).pixels, grid_of(groups_of_tiles).places
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
    groups = [held(np.zeros((4, 64, 64, 3), np.uint8))]
    sheet = compose(groups, bad=[2])
    x, y = grid_of(groups).places[2]
    tile = sheet.pixels[y : y + 64, x : x + 64].copy()
    assert (tile[1:-1, 1:-1] == BAD).all()
    assert (tile[0] == BAD_FRAME).all()
    assert (tile[:, -1] == BAD_FRAME).all()
    sheet.pixels[y : y + 64, x : x + 64] = 0
    assert not sheet.pixels.any()


KNOWN = [
    held(np.random.default_rng(k).integers(0, 256, (count, 8, 8, 3), np.uint8))
    for count in (3, 4)
    for k in range(3)
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([(a, b) for n in (0, 3) for a in range(n, n + 3) for b in (n, n + 1)]),
            st.booleans(),
            st.frozensets(st.integers(0, 2)),
        ),
        max_size=8,
    )
)
def test_in_the_memory_of_the_last_sheet_stands_what_a_new_one_would_have(
    sheets: list[tuple[tuple[int, int], bool, frozenset[int]]],
) -> None:
    last = None
    for chosen, both, bad in sheets:
        groups = [KNOWN[k] for k in chosen[: 1 + both]]
        before = last
        last = compose(groups, bad, last)
        fresh = compose(groups, bad)
        assert np.array_equal(last.pixels, fresh.pixels)
        if before is not None and [g.shape for g in before.groups] == [g.shape for g in groups]:
            assert last.pixels is before.pixels


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 5, 16])
def test_dali_lays_the_tiles_out_alike(count: int, groups: int) -> None:
    chance = np.random.default_rng(count)
    tiles = [held(chance.integers(0, 256, (count, 8, 8, 3), np.uint8)) for _ in range(groups)]
    pipe = build_layout(grid_of(tiles), "cpu")
    for number, group in enumerate(tiles):
        pipe.feed_input(f"group {number}", [group.pictures])
    (sheets,) = pipe.run()
    assert np.array_equal(np.asarray(sheets[0]), compose(tiles).pixels)


def test_the_bias_of_the_gpu_encoder_is_taken_off_and_nothing_runs_over() -> None:
    pipe = build_bias_correction("cpu")
    for height in (4, 6):
        sheet = np.random.default_rng(height).integers(0, 256, (height, 5, 3), dtype=np.uint8)
        sheet[0, 0] = 255
        pipe.feed_input("sheet", [sheet])
        (raised,) = pipe.run()
        assert np.array_equal(raised.at(0), np.minimum(sheet.astype(int) - ENCODER_BIAS, 255))
