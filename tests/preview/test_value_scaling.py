from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import chain_graph
from workbench.catalog import load_catalog
from workbench.engine.resources.batch_store import Batch
from workbench.graph import Port
from workbench.graph.resolved import ResolvedGraph
from workbench.preview.pictures.value_scaling import Scaling, per_channel, scale_on_host, scaling_of


@pytest.mark.parametrize("layout", ["HWC", "CHW", "HW", "WH", "WHC"])
def test_channels_come_last_and_rows_first(layout: str) -> None:
    axes = layout if "C" in layout else f"{layout}C"
    image = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)  # height, width, channels
    if "C" not in layout:
        image = image[..., :1]
    array = image.transpose(["HWC".index(axis) for axis in axes])
    if "C" not in layout:
        array = array[..., 0]
    assert np.array_equal(scale_on_host(array, layout, Scaling((2.0,), (1.0,))), image * 2 + 1)


def test_each_channel_has_its_own_scale() -> None:
    array = np.ones((2, 2, 4), np.float16)
    shown = scale_on_host(array, "HWC", Scaling((1.0, 2.0, 3.0), (0.0, 10.0, 20.0)))
    assert shown[0, 0].tolist() == [1, 12, 23, 23], "what padding added is like the last"


def test_what_is_no_number_or_too_large_is_shown_too() -> None:
    array = np.array([[np.nan, np.inf, -np.inf, 300.0, -5.0, 0.4, 0.6]], np.float32)
    shown = scale_on_host(array, "HW", Scaling((1.0,), (0.0,)))
    assert shown[0, :, 0].tolist() == [0, 255, 0, 255, 0, 0, 1]


@given(
    st.sampled_from(["uint8", "int16", "int32", "uint32", "int64", "float64", "bool"]),
    st.floats(-300, 300),
    st.floats(-300, 300),
)
def test_any_type_of_number(dtype: str, gain: float, offset: float) -> None:
    values = np.array([[0, 1, 2], [3, 100, 120]]).astype(dtype)
    shown = scale_on_host(values, "HW", Scaling((gain,), (offset,)))
    exact = np.clip(values.astype(float) * gain + offset, 0, 255)
    assert np.abs(shown[..., 0] - exact).max() <= 0.501


def test_as_many_values_as_channels() -> None:
    values = np.array([1, 2], np.float32)
    assert per_channel(values, 2).tolist() == [1, 2]
    assert per_channel(values, 4).tolist() == [1, 2, 2, 2]
    assert per_channel(values[:1], 4).tolist() == [1], "one for all"


@pytest.mark.parametrize(
    ("values", "dtype", "white"),
    [
        ([0.0, 0.01], "float32", 1),
        ([0.0, 1.0], "float32", 1),
        ([-0.4, 1.3], "float16", 1),
        ([0.0, 200.0], "float32", 255),
        ([-60.0, 1000.0], "float32", 255),
        ([0, 255], "int32", 255),
        ([0, 20], "int32", 0),
        ([0, 4095], "uint16", 0),
        ([-1.0, 1.0], "float32", 0),
        ([-2.1, 2.6], "float32", 0),
        ([0.0, 5000.0], "float32", 0),
    ],
)
def test_which_value_is_white(values: list[float], dtype: str, white: int) -> None:
    batch = Batch([np.full((2, 2, 3), value, dtype) for value in values])
    scaling = scaling_of(
        ResolvedGraph(chain_graph("cast"), load_catalog()), Port("cast", "output"), batch
    )
    assert scaling is not None
    assert scaling.stretched == (white == 0)
    if white:
        assert scaling.gain == (255 / white,)
        assert f"0 … {white} shown as black … white" in scaling.note
    else:
        ends = [values[k] * scaling.gain[0] + scaling.offset[0] for k in (0, 1)]
        assert ends == pytest.approx([0, 255], abs=0.1)


@pytest.mark.parametrize(
    ("values", "share"),
    [([0.5, np.nan, np.inf, 1.0], "50.0%"), ([np.nan, *[0.5] * 9_999], "less than 0.1%")],
)
def test_what_is_not_finite_is_counted(values: list[float], share: str) -> None:
    batch = Batch([np.array([values], np.float32)])
    scaling = scaling_of(
        ResolvedGraph(chain_graph("cast"), load_catalog()), Port("cast", "output"), batch
    )
    assert scaling is not None
    assert scaling.note.startswith(f"{share} of the values are not finite, ")
