"""Values of any type, range and number of channels, as pictures and as text."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from tests.helpers import chain_graph, script_batches, with_node, with_settings
from tests.preview.sheets import COUNT, augmented, originals, pictures, show, write_exact
from workbench.catalog import Value, load_catalog
from workbench.engine import Engine
from workbench.engine.resources.batch_store import Batch
from workbench.errors import GraphError
from workbench.graph import Graph, Port, load_recipe
from workbench.graph.resolved import ResolvedGraph
from workbench.preview import PreviewRequest, preview_picture, preview_pixels
from workbench.preview.pictures.value_scaling import Scaling, per_channel, scale_on_host, scaling_of
from workbench.preview.requests.texts import (
    describe_encoded,
    describe_shape,
    long_values,
    short_values,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_exact(tmp_path_factory.mktemp("exact"))


def normalised(args: dict[str, Value]) -> Graph:
    """``crop_mirror_normalize`` with these values alone: nothing is cropped."""
    graph = chain_graph("crop_mirror_normalize")
    return with_node(graph, "crop_mirror_normalize", args=args)


@pytest.mark.parametrize(
    ("args", "channels_last"),
    [
        ({"mean": (123.675, 116.28, 103.53), "std": (58.395, 57.12, 57.375)}, False),
        ({"mean": (0.0,), "std": (255.0,)}, False),
        ({"mean": (127.5,), "std": (127.5,), "scale": 2.0, "shift": 0.5}, True),
        ({"mean": (10.0, 20.0, 30.0), "std": (50.0,), "dtype": "FLOAT16"}, False),
        ({"mean": (128.0,), "std": (1.0,), "dtype": "INT8"}, True),
        ({"mean": (100.0,), "std": (50.0,), "pad_output": True}, False),
        ({"mean": (100.0, 90.0, 80.0), "std": (50.0,), "pad_output": True}, True),
    ],
)
def test_normalised_values_are_shown_de_normalised(
    args: dict[str, Value], channels_last: bool, engine: Engine, folder: Path
) -> None:
    layout = "HWC" if channels_last else "CHW"
    preview = show(engine, normalised({"dtype": "FLOAT", **args, "output_layout": layout}), folder)
    notes = preview.note.split(", ")
    assert "shown de-normalised" in notes
    assert ("channels first" in notes) == (not channels_last)
    assert ("4 channels: the first three are shown" in notes) == ("pad_output" in args)
    for mine, image in zip(augmented(preview), pictures(), strict=True):
        assert np.abs(mine.astype(int) - np.asarray(image)).max() <= 1


def test_a_normalisation_that_cannot_be_undone_still_shows(engine: Engine, folder: Path) -> None:
    args: dict[str, Value] = {"dtype": "FLOAT", "std": (1.0,), "scale": 0.0}
    preview = show(engine, normalised(args), folder)
    assert len(augmented(preview)) == COUNT
    assert "shown de-normalised" not in preview.note


@pytest.mark.parametrize("white", [1, 255])
@pytest.mark.parametrize("factor", [0.25, 0.5, 1.5, 2.1, 3.9])
def test_floats_of_pixels_keep_their_brightness(
    factor: float, white: int, engine: Engine, folder: Path
) -> None:
    brightness = {"brightness": factor * white / 255, "dtype": "FLOAT"}
    preview = show(engine, chain_graph("brightness", brightness=brightness), folder)
    assert f"0 … {white} shown as black … white" in preview.note
    for mine, image in zip(augmented(preview), pictures(), strict=True):
        expected = np.minimum(np.asarray(image) * factor, 255)
        assert np.abs(mine - expected).max() <= 1


@pytest.mark.parametrize("dtype", ["INT16", "UINT16", "INT32", "INT8"])
def test_other_types_are_stretched_and_say_so(dtype: str, engine: Engine, folder: Path) -> None:
    graph = chain_graph(
        "brightness", "cast", brightness={"brightness": 0.25}, cast={"dtype": dtype}
    )
    preview = show(engine, graph, folder)
    assert "shown as black … white" in preview.note
    seen = np.concatenate([pixels.reshape(-1) for pixels in augmented(preview)])
    assert (seen.min(), seen.max()) == (0, 255)
    expected = np.concatenate([np.asarray(image).reshape(-1) for image in pictures()])
    assert np.corrcoef(seen, expected)[0, 1] > 0.99


def test_one_value_everywhere_is_no_division_by_zero(engine: Engine, folder: Path) -> None:
    args: dict[str, dict[str, Value]] = {
        "brightness": {"brightness": 0.0},
        "cast": {"dtype": "FLOAT"},
    }
    preview = show(engine, chain_graph("brightness", "cast", **args), folder)
    assert not np.concatenate([pixels.reshape(-1) for pixels in augmented(preview)]).any()


def test_gray_pictures_are_shown_gray(engine: Engine, folder: Path) -> None:
    preview = show(engine, chain_graph(decode={"output_type": "GRAY"}), folder)
    for mine, image in zip(originals(preview), pictures(), strict=True):
        assert np.array_equal(mine[..., 0], mine[..., 1])
        assert np.array_equal(mine[..., 0], mine[..., 2])
        assert np.abs(mine[..., 0].astype(int) - np.asarray(image.convert("L"))).max() <= 2
    assert preview.facts["decode"].endswith("×1 u8")


def test_exif_rotation_is_applied(
    engine: Engine, photos_with_formats: Path, tmp_path: Path
) -> None:
    name = "temple_exif_rotated.jpg"
    (tmp_path / name).symlink_to(photos_with_formats / "formats" / name)
    preview = show(engine, chain_graph(), tmp_path)
    assert preview.tiles[0].original is not None
    width, height = preview.tiles[0].original[2:]
    assert width > height


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
    assert short_values(np.array([1, 0], np.int32), as_yes_no=True) == "yes, no"


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


SAMPLES = 3


@pytest.mark.parametrize("recipe", ["imagenet-train", "rotate-jitter"])
def test_values_are_the_scripts(recipe: str, engine: Engine, photos: Path, tmp_path: Path) -> None:
    graph = with_settings(load_recipe(recipe), batch_size=SAMPLES)
    request = PreviewRequest(graph, str(photos), batch=1)
    output = next(iter(graph.outputs))
    for index, its in enumerate(script_batches(graph, photos, 2, tmp_path)[1][0]):
        image = its.transpose(1, 2, 0) if its.shape[0] == 3 else its
        whole = preview_pixels(engine, request, index, output)
        assert whole.values.dtype == its.dtype
        assert np.array_equal(whole.values, image)
        assert whole.size == (image.shape[1], image.shape[0])
        part = preview_pixels(engine, request, index, output, 10, 20, 5, 3)
        assert (part.x, part.y) == (10, 20)
        assert np.array_equal(part.values, image[20:23, 10:15])


def test_a_region_over_the_border_is_cut(engine: Engine, photos: Path) -> None:
    graph = chain_graph("resize", resize={"size": (40, 60)})
    request = PreviewRequest(with_settings(graph, batch_size=SAMPLES), str(photos))
    assert preview_pixels(engine, request, 0, "images", -5, -5, 10, 10).values.shape == (5, 5, 3)
    assert preview_pixels(engine, request, 0, "images", 55, 35, 99, 99).values.shape == (5, 5, 3)
    assert preview_pixels(engine, request, 0, "images", 99, 99, 1, 1).values.size == 0


def test_every_step_can_be_asked_for(engine: Engine, photos: Path) -> None:
    graph = chain_graph("resize", "flip", resize={"size": (40, 60)}, flip={"horizontal": 1})
    request = PreviewRequest(with_settings(graph, batch_size=SAMPLES), str(photos))
    before = preview_pixels(engine, request, 1, "resize.output").values
    assert np.array_equal(preview_pixels(engine, request, 1, "images").values, before[:, ::-1])
    with Image.open(sorted(photos.glob("*/*.jpg"))[1]) as photo:
        assert preview_pixels(engine, request, 1, "original", 0, 0, 4, 4).size == photo.size


def test_what_is_no_image_is_refused(engine: Engine, photos: Path) -> None:
    request = PreviewRequest(with_settings(chain_graph(), batch_size=SAMPLES), str(photos))
    with pytest.raises(GraphError, match=r"step 'imgs'\. Use one of images, labels, original"):
        preview_pixels(engine, request, 0, "imgs")
    with pytest.raises(GraphError, match="cannot be shown as an image"):
        preview_pixels(engine, request, 0, "labels")
    with pytest.raises(GraphError, match="no sample 7"):
        preview_pixels(engine, request, 7, "images")


def test_a_region_of_too_many_values_is_refused(engine: Engine, photos: Path) -> None:
    graph = chain_graph("resize", resize={"size": (800, 800)})
    request = PreviewRequest(with_settings(graph, batch_size=1), str(photos))
    with pytest.raises(GraphError, match=r"800×800 pixels has 1920000 values\. Use a smaller one"):
        preview_pixels(engine, request, 0, "images")


def test_a_picture_has_its_own_size(engine: Engine, photos: Path) -> None:
    graph = with_settings(chain_graph("flip", flip={"horizontal": 0}), batch_size=SAMPLES)
    request = PreviewRequest(graph, str(photos))
    picture = preview_picture(engine, request, 0, "images")
    values = preview_pixels(engine, request, 0, "images").values
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(picture.image))), values)
    assert picture.size == picture.full == (values.shape[1], values.shape[0])
    assert picture.sample.file
