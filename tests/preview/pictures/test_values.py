"""Values of any type, range and number of channels, as the contact sheet shows them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.helpers import chain_graph
from tests.preview.sheets import COUNT, augmented, originals, pictures, show, write_exact
from workbench.catalog import Value
from workbench.engine import Engine
from workbench.graph import Graph


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_exact(tmp_path_factory.mktemp("exact"))


def normalised(args: dict[str, Value]) -> Graph:
    """``crop_mirror_normalize`` with these values alone: nothing is cropped."""
    graph = chain_graph("crop_mirror_normalize")
    return graph.replace_node(replace(graph.node("crop_mirror_normalize"), args=args))


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
