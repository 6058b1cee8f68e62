"""Statistics of a batch: its pixels, differences, classes of its samples."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.helpers import (
    CATALOG,
    chain_graph,
    recipe_cases,
    script_batches,
    with_node,
    with_settings,
)
from workbench.catalog import Value
from workbench.engine import Engine
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_arg, set_setting
from workbench.graph.variants.difference import with_seeds_of
from workbench.preview import PreviewRequest, preview_batch, preview_distances, preview_statistics
from workbench.preview.requests.batch_search import SampleFilter, find_batch
from workbench.preview.requests.difference import DifferenceSums, difference, psnr_of
from workbench.preview.requests.statistics import BINS, ENOUGH, axis_range

COUNT = 8


@pytest.mark.parametrize("graph", recipe_cases(every=8))
def test_figures_are_those_of_the_scripts_batch(  # type: ignore[no-untyped-def]
    graph, engine: Engine, data_of, tmp_path: Path
) -> None:
    graph, data = with_settings(graph, batch_size=COUNT), data_of(graph)
    found = preview_statistics(engine, PreviewRequest(graph, str(data), batch=1))
    script = dict(zip(graph.outputs, script_batches(graph, data, 2, tmp_path)[1], strict=True))
    assert found
    for one in found:
        arrays = script[one.output]
        axis = -3 if arrays[0].shape[-3] in (1, 2, 3) else -1
        assert one.samples == COUNT
        for number, channel in enumerate(one.channels):
            values = np.concatenate([a.take(number, axis).reshape(-1) for a in arrays])
            values = values.astype(np.float64)
            assert channel.mean == pytest.approx(values.mean(), rel=1e-6, abs=1e-9)
            assert channel.deviation == pytest.approx(values.std(), rel=1e-6)
            assert (channel.smallest, channel.largest) == (values.min(), values.max())
            counts, _ = np.histogram(values, BINS, (one.low, one.high))
            assert sum(channel.counts) == values.size
            assert np.abs(counts - np.array(channel.counts)).sum() <= values.size / 500


def test_a_wrong_mean_shows(engine: Engine, photos: Path) -> None:
    def hint(**args: Value) -> str:
        graph = chain_graph("resize", "crop_mirror_normalize", resize={"size": (64, 64)})
        node = graph.node("crop_mirror_normalize")
        from dataclasses import replace

        graph = graph.replace_node(replace(node, args={"dtype": "FLOAT", **args}))
        graph = with_settings(graph, batch_size=COUNT)
        (one,) = preview_statistics(engine, PreviewRequest(graph, str(photos)))
        return one.hint

    right: dict[str, Value] = {"mean": (123.675, 116.28, 103.53), "std": (58.4, 57.12, 57.375)}
    assert hint(**right) == ""
    for_0_to_1: dict[str, Value] = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
    assert "Check mean and std" in hint(**for_0_to_1)
    assert "deviation" in hint(mean=(123.0,), std=(1.0,))
    assert hint(**right, pad_output=True) == "", "a padded channel is no fault"


def test_the_hint_keeps_to_what_was_measured(engine: Engine, photos: Path) -> None:
    from dataclasses import replace

    def hint(std: float, **request: Any) -> str:
        graph = chain_graph("resize", "crop_mirror_normalize", resize={"size": (64, 64)})
        node = graph.node("crop_mirror_normalize")
        args: dict[str, Value] = {"dtype": "FLOAT", "mean": (120.0,), "std": (std,)}
        graph = with_settings(graph.replace_node(replace(node, args=args)), batch_size=ENOUGH)
        (one,) = preview_statistics(engine, PreviewRequest(graph, str(photos), **request))
        return one.hint

    assert hint(58.0) == ""
    assert "deviation" in hint(1000.0), "too even for sixteen photos"
    assert hint(1000.0, tiles=ENOUGH - 1) == "", "fewer may be so"
    assert hint(1000.0, repeat=3) == "", "one photo may be so"
    assert "deviation" in hint(0.3, tiles=4), "no photo is like this"
    assert "deviation" in hint(0.3, repeat=3)


def test_values_that_are_not_finite_are_counted_apart(engine: Engine, tmp_path: Path) -> None:
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "black.png")
    graph = chain_graph("normalize", normalize={"dtype": "FLOAT", "axis_names": "HW"})
    graph = with_settings(graph, batch_size=1)
    (one,) = preview_statistics(engine, PreviewRequest(graph, str(tmp_path)))
    for channel in one.channels:
        assert sum(channel.counts) + channel.not_finite == 64


@pytest.mark.parametrize(
    ("dtype", "low", "high", "expected"),
    [
        ("uint8", 3, 77, (0, 256)),
        ("int8", -3, 77, (-128, 128)),
        ("float32", 0.0, 1.0, (0, 1)),
        ("float32", -0.2, 0.4, (-1, 1)),
        ("float32", -2.1, 2.6, (-3, 3)),
        ("float32", 0.0, 254.0, (0, 256)),
        ("float32", -20.0, 14.0, (-32, 32)),
        ("float32", -40.0, 254.0, (-256, 256)),
        ("int16", -128, 127, (-128, 128)),
        ("int32", 0, 70_000, (0, 131_072)),
        ("int32", -(2**31), 5, (-(2**31), 2**31)),
        ("bool", 0, 1, (0, 1)),
    ],
)
def test_the_axis_stands_still(
    dtype: str, low: float, high: float, expected: tuple[float, float]
) -> None:
    assert axis_range(np.dtype(dtype), low, high) == expected


def test_they_come_from_what_is_kept(engine: Engine, photos: Path) -> None:
    request = PreviewRequest(with_settings(load_recipe("simclr"), batch_size=4), str(photos))
    first = preview_statistics(engine, request)
    assert [one.output for one in first] == ["view_1", "view_2"]
    assert preview_statistics(engine, request) == first


# The class of a sample is that of its folder, as the exported script labels it.

GRAPH = with_settings(load_recipe("rotate-jitter"), batch_size=8)


def test_tiles_have_the_names_of_their_classes(engine: Engine, photos: Path) -> None:
    request = PreviewRequest(GRAPH, photos, tiles=8, tile_size=32)
    tiles = preview_batch(engine, request).tiles
    assert [tile.class_name for tile in tiles] == [
        Path(tile.sample.file).parent.name for tile in tiles
    ]


def test_data_without_labels_have_no_class_names(engine: Engine, photos: Path) -> None:
    flat = next(folder for folder in photos.iterdir() if folder.is_dir())
    request = PreviewRequest(GRAPH, flat, tiles=2, tile_size=32)
    assert [tile.class_name for tile in preview_batch(engine, request).tiles] == ["", ""]


def test_a_batch_that_is_found_has_one_and_those_before_have_none(
    engine: Engine, photos: Path
) -> None:
    request = PreviewRequest(GRAPH, photos, tiles=8, tile_size=32)
    found = find_batch(engine, request, SampleFilter(("rocket",)), back=False, most=60)
    assert found is not None
    named = [
        [tile.class_name for tile in preview_batch(engine, replace(request, batch=batch)).tiles]
        for batch in range(1, found + 1)
    ]
    assert ["rocket" in names for names in named] == [False] * (found - 1) + [True]
    after = replace(request, batch=found + 1)
    back = find_batch(engine, after, SampleFilter(("rocket",)), back=True, most=60)
    assert back == found
    assert find_batch(engine, request, SampleFilter(("no such class",)), back=False, most=4) is None


# Differences of arrays.


def test_the_figures_are_over_all_values() -> None:
    black, grey = np.zeros((2, 2, 3), np.uint8), np.full((2, 2, 3), 10, np.uint8)
    found = difference([(black, black), (black, grey)])
    assert (found.mean, found.largest, found.equal) == (5.0, 10.0, 0.5)
    assert found.psnr == pytest.approx(10 * math.log10(255**2 / 50))
    assert found.psnr_text == "31.1 dB"


def test_equal_images_have_no_finite_psnr() -> None:
    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    assert difference([(image, image)]).psnr_text == "equal"


def test_other_sizes_are_told() -> None:
    found = difference([(np.zeros((2, 2, 3), np.uint8), np.zeros((2, 3, 3), np.uint8))])
    assert not found.measured
    assert found.sizes == "(2, 2, 3), (2, 3, 3)"


def test_floats_that_are_near_count_as_equal_where_that_is_wanted() -> None:
    one, other = np.zeros(4), np.array([0.0, 0.1, 0.4, 2.0])
    strict, loose = DifferenceSums(), DifferenceSums()
    assert strict.add(one, other) == loose.add(one, other, 0.5) == pytest.approx(1.0425)
    assert (strict.same, loose.same) == (1, 3)


def test_what_is_not_finite_has_no_measure() -> None:
    sums = DifferenceSums()
    sums.add(np.zeros(2), np.array([0.0, math.nan]))
    assert sums.largest == math.inf
    assert psnr_of(sums.squared, 255.0) == 0.0


# Differences of the tiles of two graphs.

START = set_setting(load_recipe("rotate-jitter"), batch_size=4)


def test_the_same_draws_lie_nowhere_apart_and_an_edit_does(engine: Engine, photos: Path) -> None:
    request = PreviewRequest(START, photos, tiles=3, shown="augmented", tile_size=64)
    same = replace(request, graph=with_seeds_of(set_setting(START, seed=7), START))
    assert [tile.means for tile in preview_distances(engine, request, same)] == [(0.0,)] * 3
    filled = set_arg(START, CATALOG, "rotate", "fill_value", 255.0)
    filled = set_arg(filled, CATALOG, "color", "brightness", 3.0)
    found = preview_distances(engine, request, replace(request, graph=filled))
    assert all(tile.same_photo and tile.means[0] and tile.means[0] > 5 for tile in found)
    assert preview_batch(engine, request).reran == (), "neither graph drives the other out"


def test_outputs_of_other_names_and_sizes(engine: Engine, photos: Path) -> None:
    request = PreviewRequest(START, photos, tiles=2, shown="augmented", tile_size=64)
    views = with_seeds_of(load_recipe("two-view"), START)
    both = preview_distances(engine, replace(request, graph=views), request)
    assert [tile.means[1] for tile in both] == [None, None]
    wide = with_node(START, "resize", args={**START.node("resize").args, "size": (100, 200)})
    (tile, _) = preview_distances(engine, request, replace(request, graph=wide))
    assert tile.means == (None,)
    assert tile.same_photo == pytest.approx(True)
