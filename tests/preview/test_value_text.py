from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from workbench.preview.facts.value_text import (
    describe_encoded,
    describe_shape,
    long_values,
    short_values,
)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.float32(-7.2394), "-7.24"),
        (np.int32(1234), "1234"),
        (np.float32(44100), "44,100"),
        (np.float32(-12345.6), "-12,346"),
        (np.array([224, 180]), "224, 180"),
        (np.array(True), "yes"),
        (np.array([], np.float32), ""),
        (np.arange(9.0), "0, 1, 2, 3, 4, 5, …"),
    ],
)
def test_on_one_line(values: Any, text: str) -> None:
    assert short_values(np.asarray(values)) == text


def test_truth() -> None:
    assert short_values(np.array([1, 0], np.int32), truth=True) == "yes, no"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.array([[1, 0, -20], [0, 1, 5.5]]), "1, 0, -20\n0, 1, 5.5"),
        (np.zeros((0, 4)), "no values"),
        (np.zeros((10, 1), np.int8), "\n".join(["0"] * 8 + ["… 2 more rows"])),
        (np.array(3), "3"),
    ],
)
def test_on_several_lines(values: NDArray[Any], text: str) -> None:
    assert long_values(values) == text


def test_shapes() -> None:
    assert describe_shape((3, 224, 224), "float16") == "3×224×224 f16"
    assert describe_shape((), "uint8") == "scalar u8"


def test_encoded() -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30)).save(buffer, "PNG")
    data = np.frombuffer(buffer.getvalue(), np.uint8)
    assert describe_encoded(data) == f"PNG 40×30, {len(data) / 1000:.1f} kB"
    assert describe_encoded(np.zeros(1500, np.uint8)) == "1.5 kB"
