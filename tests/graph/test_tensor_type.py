from __future__ import annotations

import pytest

from workbench.graph.types.tensor_type import TensorType, short_dtype, type_text


@pytest.mark.parametrize(
    ("flow", "text"),
    [
        (TensorType("UINT8", "HWC", (224, 224, 3)), "224×224×3 u8 HWC"),
        (TensorType("UINT8", "HWC", (None, None, 3)), "?×?×3 u8 HWC"),
        (TensorType("UINT8", "", (None,), "encoded"), "jpeg"),
        (TensorType("INT32", "", (1,), "label"), "label"),
        (TensorType("FLOAT", "", (10,), "label"), "10 f32"),
        (TensorType("FLOAT", "", ()), "scalar f32"),
        (TensorType("FLOAT", "**", (2, 3)), "2×3 f32"),
        (TensorType("FLOAT", None, None), "? f32"),
        (TensorType(None, None, (None, 4)), "?×4 ?"),
        (TensorType(), "?"),
    ],
)
def test_text(flow: TensorType, text: str) -> None:
    assert type_text(flow) == text


def test_short_types() -> None:
    names = ("UINT8", "INT64", "FLOAT", "FLOAT16", "FLOAT64", "BOOL", None)
    assert [short_dtype(name) for name in names] == ["u8", "i64", "f32", "f16", "f64", "bool", "?"]


def test_axes_and_channels() -> None:
    assert TensorType(None, "CHW", (3, 224, 224)).channels == 3
    assert TensorType(None, "", (10, 10, 4)).channels == 4
    assert TensorType(None, "HW", (10, 10)).channels == 1
    assert TensorType(None, None, (10, 10, 4)).channels is None
    assert TensorType(None, "HWC", (1, 1)).axes is None


@pytest.mark.parametrize(
    ("flow", "picture"),
    [
        (TensorType(), True),
        (TensorType(None, "HWC", (1, 1, 3)), True),
        (TensorType(None, "", (1, 1)), True),
        (TensorType(None, None, (1, 1, 3)), True),
        (TensorType(None, "FHWC", (2, 1, 1, 3)), False),
        (TensorType(None, "", (2, 1, 1, 3)), False),
        (TensorType(None, "C", (3,)), False),
        (TensorType(None, "", ()), False),
    ],
)
def test_what_may_be_a_picture(flow: TensorType, picture: bool) -> None:
    assert flow.may_be_picture == picture
