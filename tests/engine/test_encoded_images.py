from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.damaged import DAMAGED, REFUSED
from workbench.engine.reading.encoded_images import (
    corruption_reason,
    placeholder_jpeg,
    reject_reason,
)


@pytest.fixture(scope="module")
def jpeg(photos: Path) -> bytes:
    return (photos / "cat" / "cat_01.jpg").read_bytes()


@pytest.mark.parametrize("name", REFUSED)
def test_every_kind_is_refused_with_its_reason(name: str, jpeg: bytes) -> None:
    make, words = REFUSED[name]
    reason = reject_reason(make(jpeg))
    assert reason is not None
    assert words in reason


@pytest.mark.parametrize("name", DAMAGED)
def test_what_dali_still_decodes_is_not_refused(name: str, jpeg: bytes) -> None:
    make, words = DAMAGED[name]
    assert reject_reason(make(jpeg)) is None
    assert words in (corruption_reason(make(jpeg)) or "")


def test_good_images_of_all_formats_pass(photos_with_formats: Path) -> None:
    files = sorted((photos_with_formats / "formats").iterdir())
    assert len(files) == 9
    for path in files:
        data = path.read_bytes()
        assert reject_reason(data) is None, path.name
        assert corruption_reason(data) is None, path.name


def test_gray_and_sixteen_bit_and_palette_images_pass() -> None:
    for mode in ("L", "P", "RGBA", "I;16", "1", "LA"):
        buffer = io.BytesIO()
        Image.new(mode, (5, 4)).save(buffer, "PNG")
        assert reject_reason(buffer.getvalue()) is None, mode


@pytest.mark.parametrize("count", [500, 3_000_000])
def test_a_jpeg_with_a_video_behind_its_end_is_whole(count: int, jpeg: bytes) -> None:
    assert corruption_reason(jpeg + b"\0\0\0\x18ftypmp42" + b"\0" * count) is None


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("progressive", [True, False])
def test_a_jpeg_that_is_cut_short_is_told(share: float, progressive: bool, jpeg: bytes) -> None:
    buffer = io.BytesIO()
    with Image.open(io.BytesIO(jpeg)) as image:
        thumbnail = io.BytesIO()
        image.resize((32, 32)).save(thumbnail, "JPEG")
        exif = b"Exif\0\0" + thumbnail.getvalue()  # has an end of its own in the header
        image.save(buffer, "JPEG", progressive=progressive, exif=exif)
    whole = buffer.getvalue()
    assert corruption_reason(whole) is None
    assert "ends early" in (corruption_reason(whole[: int(len(whole) * share)]) or "")


def test_a_photo_of_200_megapixels_passes_and_a_bomb_does_not(jpeg: bytes) -> None:
    limit = Image.MAX_IMAGE_PIXELS
    size = jpeg.index(b"\xff\xc0") + 5
    photo = jpeg[:size] + struct.pack(">HH", 12_240, 16_320) + jpeg[size + 4 :]
    assert reject_reason(photo) is None
    bomb = REFUSED["bomb.png"][0](jpeg)
    expected = "decompression bomb: its header claims 60000 x 60000 pixels, and 268,435,456 are"
    assert str(reject_reason(bomb)).startswith(expected)
    assert limit == Image.MAX_IMAGE_PIXELS, "Pillow stays as the user has it"


@given(st.binary(max_size=300), st.sampled_from(["", "jpeg", "png", "cut", "gif"]))
def test_any_bytes_give_a_reason_or_none(data: bytes, prefix: str) -> None:
    start = {
        "": b"",
        "jpeg": b"\xff\xd8\xff\xe0",
        "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "cut": placeholder_jpeg().tobytes()[:400],
        "gif": b"GIF89a",
    }[prefix]
    for answer in (reject_reason(start + data), corruption_reason(start + data)):
        assert answer is None or answer.strip()


def test_the_stand_in_is_an_image() -> None:
    data = placeholder_jpeg()
    assert (data.dtype, data.ndim) == (np.uint8, 1)
    assert reject_reason(data.tobytes()) is corruption_reason(data.tobytes()) is None
    assert Image.open(io.BytesIO(data.tobytes())).size == (640, 480)
