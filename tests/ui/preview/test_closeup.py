"""One tile's picture and values, as the browser takes them."""

import json
from typing import Any

import numpy as np
import pytest

from workbench.catalog import load_catalog
from workbench.engine.reading.undecodable_samples import Sample
from workbench.errors import GraphError
from workbench.graph import load_recipe
from workbench.preview import Picture, Pixels
from workbench.ui.state.closeup import (
    CloseupSample,
    closeup_bytes,
    closeup_choices,
    no_values_bytes,
    region_around,
    values_bytes,
)

LOOK = CloseupSample(2, "images")


def read(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:4], "little")
    return json.loads(data[4 : 4 + length]), data[4 + length :]


@pytest.mark.parametrize(
    ("dtype", "store"),
    [
        ("uint8", "u1"),
        ("int16", "i2"),
        ("float16", "f4"),
        ("float32", "f4"),
        ("float64", "f8"),
        ("int64", "f8"),
        ("bool", "u1"),
        ("uint32", "u4"),
    ],
)
def test_values_keep_their_numbers(dtype: str, store: str) -> None:
    values = np.array([[[0, 1], [1, 0], [1, 1]]], dtype)
    header, data = read(values_bytes(LOOK, Pixels(values, 4, 5, (9, 9), dtype, "HWC")))
    assert (header["store"], header["dtype"], header["channels"]) == (store, dtype, 2)
    assert (header["x"], header["y"], header["region"]) == (4, 5, [3, 1])
    assert np.frombuffer(data, f"<{store}").tolist() == [0, 1, 1, 0, 1, 1]


def test_a_picture_or_why_there_is_none() -> None:
    picture = Picture(b"PNG", (2, 3), (20, 30), "shown de-normalised", Sample("a.jpg"))
    header, data = read(closeup_bytes(LOOK, ["images", "original"], picture))
    assert (header["full"], header["note"], data) == ([20, 30], "shown de-normalised", b"PNG")
    bad = Picture(b"PNG", (2, 3), (2, 3), "", Sample("a.jpg", "not an image"))
    header, data = read(closeup_bytes(LOOK, ["images"], bad))
    assert (header["error"], data) == ("not an image", b"")
    header, data = read(closeup_bytes(LOOK, ["images"], GraphError("no picture")))
    assert (header["error"], data) == ("no picture", b"")


def test_why_there_are_no_values() -> None:
    header, data = read(no_values_bytes(LOOK, (4, 5), "The worker was ended."))
    assert (header["error"], header["region"], data) == ("The worker was ended.", [0, 0], b"")
    assert (header["index"], header["of"], header["x"], header["y"]) == (2, "images", 4, 5)


def test_what_may_be_looked_at() -> None:
    catalog = load_catalog()
    assert closeup_choices(load_recipe("simclr"), catalog) == ["view_1", "view_2", "original"]


def test_a_region_lies_about_its_pixel() -> None:
    assert region_around(10, 300, 256) == (0, 172)
