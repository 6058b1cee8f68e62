from __future__ import annotations

import pytest

from workbench.graph.flow import Flow, flow_text, short_dtype


@pytest.mark.parametrize(
    ("flow", "text"),
    [
        (Flow("UINT8", "HWC", (224, 224, 3)), "224×224×3 u8 HWC"),
        (Flow("UINT8", "HWC", (None, None, 3)), "?×?×3 u8 HWC"),
        (Flow("UINT8", "", (None,), "encoded"), "jpeg"),
        (Flow("INT32", "", (1,), "label"), "label"),
        (Flow("FLOAT", "", (10,), "label"), "10 f32"),
        (Flow("FLOAT", "", ()), "scalar f32"),
        (Flow("FLOAT", "**", (2, 3)), "2×3 f32"),
        (Flow("FLOAT", None, None), "? f32"),
        (Flow(None, None, (None, 4)), "?×4 ?"),
        (Flow(), "?"),
    ],
)
def test_text(flow: Flow, text: str) -> None:
    assert flow_text(flow) == text


def test_short_types() -> None:
    names = ("UINT8", "INT64", "FLOAT", "FLOAT16", "FLOAT64", "BOOL", None)
    assert [short_dtype(name) for name in names] == ["u8", "i64", "f32", "f16", "f64", "bool", "?"]


def test_axes_and_channels() -> None:
    assert Flow(None, "CHW", (3, 224, 224)).channels == 3
    assert Flow(None, "", (10, 10, 4)).channels == 4
    assert Flow(None, "HW", (10, 10)).channels == 1
    assert Flow(None, None, (10, 10, 4)).channels is None
    assert Flow(None, "HWC", (1, 1)).axes is None


@pytest.mark.parametrize(
    ("flow", "picture"),
    [
        (Flow(), True),
        (Flow(None, "HWC", (1, 1, 3)), True),
        (Flow(None, "", (1, 1)), True),
        (Flow(None, None, (1, 1, 3)), True),
        (Flow(None, "FHWC", (2, 1, 1, 3)), False),
        (Flow(None, "", (2, 1, 1, 3)), False),
        (Flow(None, "C", (3,)), False),
        (Flow(None, "", ()), False),
    ],
)
def test_what_may_be_a_picture(flow: Flow, picture: bool) -> None:
    assert flow.may_be_picture == picture
