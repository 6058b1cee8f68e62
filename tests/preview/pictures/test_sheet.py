"""The contact sheet shows what it says: every rectangle holds the expected picture."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.damaged import REFUSED, make_folder
from tests.helpers import chain_graph, with_settings
from tests.preview.sheets import (
    COUNT,
    SIZE,
    augmented,
    originals,
    pictures,
    pixels_of,
    show,
    write_exact,
)
from workbench.catalog import Value, load_catalog
from workbench.engine import Engine
from workbench.errors import DataError, GraphError, GraphFaultsError, PipelineError
from workbench.graph import Node, Port, load_recipe
from workbench.graph.edits.edit import set_arg
from workbench.preview import PreviewRequest, PreviewResult, preview_batch
from workbench.preview.pictures.contact_sheet import BAD, RAW, decode
from workbench.preview.request import MOST_PIXELS

CATALOG = load_catalog()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_exact(tmp_path_factory.mktemp("exact"))


def test_original_and_augmented_are_the_pictures_exactly(engine: Engine, folder: Path) -> None:
    preview = show(engine, chain_graph("flip", flip={"horizontal": 1, "vertical": 0}), folder)
    assert preview.mime == "image/png"
    expected = [np.asarray(image) for image in pictures()]
    assert len(preview.tiles) == COUNT
    for mine, its in zip(originals(preview), expected, strict=True):
        assert np.array_equal(mine, its)
    for mine, its in zip(augmented(preview), expected, strict=True):
        assert np.array_equal(mine, its[:, ::-1])


def test_what_no_picture_covers_is_black_and_no_tile_covers_another(
    engine: Engine, folder: Path
) -> None:
    preview = show(engine, chain_graph(), folder)
    sheet = pixels_of(preview).copy()
    covered = np.zeros(sheet.shape[:2], int)
    for tile in preview.tiles:
        for x, y, width, height in (tile.original, *tile.augmented):  # type: ignore[misc]
            assert max(width, height) == SIZE
            assert x % SIZE == y % SIZE == 0
            covered[y : y + height, x : x + width] += 1
    assert covered.max() == 1
    assert not sheet[covered == 0].any()


@pytest.mark.parametrize("shown", ["original", "augmented", "both"])
def test_what_is_shown(shown: str, engine: Engine, folder: Path) -> None:
    preview = show(engine, load_recipe("simclr"), folder, shown=shown)
    for tile in preview.tiles:
        assert (tile.original is not None) == (shown != "augmented")
        assert len(tile.augmented) == (0 if shown == "original" else 2)
    assert preview.outputs == ("view_1", "view_2")
    per_sample = {"original": 1, "augmented": 2, "both": 3}[shown]
    area = preview.size[0] * preview.size[1] / SIZE**2
    assert COUNT * per_sample <= area <= 1.5 * COUNT * per_sample


def test_a_sheet_of_several_outputs_may_be_too_large(engine: Engine, photos: Path) -> None:
    graph = load_recipe("two-view")
    side = math.isqrt(MOST_PIXELS // (COUNT * 2))
    with pytest.raises(GraphError, match=f"{COUNT * 3} tiles of {side} pixels are too much"):
        show(engine, graph, photos, tile_size=side)


def test_jpeg_is_close(engine: Engine, photos: Path) -> None:
    graph = chain_graph("resize", resize={"size": (96, 96)})
    exact = show(engine, graph, photos, tile_size=96)
    lossy = show(engine, graph, photos, tile_size=96, lossless=False)
    assert lossy.mime == "image/jpeg"
    assert len(lossy.image) < len(exact.image)
    assert [tile.augmented for tile in lossy.tiles] == [tile.augmented for tile in exact.tiles]
    for mine, its in zip(augmented(lossy), augmented(exact), strict=True):
        assert np.abs(mine.astype(int) - its).mean() < 6


def test_bare_pixels_are_those_of_the_png(engine: Engine, photos: Path) -> None:
    graph = chain_graph("resize", resize={"size": (96, 96)})
    exact = show(engine, graph, photos, tile_size=96)
    bare = show(engine, graph, photos, tile_size=96, raw=True)
    assert bare.mime == RAW
    assert len(bare.image) == 4 * bare.size[0] * bare.size[1]
    found = np.asarray(decode(bare.image, bare.mime, bare.size))
    assert np.array_equal(found, pixels_of(exact))
    assert show(engine, graph, photos, tile_size=96, raw=True, lossless=False).mime == "image/jpeg"


def test_large_photos_are_fitted_into_their_tiles(engine: Engine, photos: Path) -> None:
    preview = show(engine, chain_graph(), photos, tile_size=128)
    for tile, mine in zip(preview.tiles, originals(preview), strict=True):
        photo = Image.open(photos / tile.sample.file).convert("RGB")
        assert tile.original is not None
        width, height = tile.original[2:]
        assert max(width, height) == 128
        assert abs(width / height - photo.width / photo.height) < 0.03
        its = np.asarray(photo.resize((width, height), Image.Resampling.BILINEAR), int)
        assert np.abs(mine.astype(int) - its).mean() < 3


def test_the_tile_tells_file_label_and_shape(engine: Engine, folder: Path) -> None:
    graph = load_recipe("imagenet-eval")
    preview = show(engine, graph, folder)
    assert [tile.sample.file for tile in preview.tiles] == [f"a/{n}.png" for n in range(3)] + [
        "b/0.png",
        "b/1.png",
    ]
    assert [tile.label for tile in preview.tiles] == ["0", "0", "0", "1", "1"]
    assert [tile.index for tile in preview.tiles] == list(range(COUNT))
    assert {tile.shape for tile in preview.tiles} == {"3×224×224 f32"}
    assert preview.facts["normalize"] == "3×224×224 f32"
    assert preview.facts["decode"] == "?×?×3 u8"
    assert preview.facts["reader"] == "jpeg, label"
    assert preview.batch == 0
    assert preview.milliseconds > 0


def test_fewer_tiles(engine: Engine, folder: Path) -> None:
    whole = show(engine, chain_graph(), folder)
    part = show(engine, chain_graph(), folder, tiles=2)
    assert len(part.tiles) == 2
    for mine, its in zip(originals(part), originals(whole), strict=False):
        assert np.array_equal(mine, its)


def test_only_what_changed_runs(engine: Engine, folder: Path) -> None:
    graph = chain_graph("rotate", "hue", rotate={"angle": 77.0})
    show(engine, graph, folder)
    preview = show(engine, set_arg(graph, CATALOG, "hue", "hue", 31.0), folder)
    assert preview.reran == ("hue",)


def test_bad_samples_say_so_and_the_others_show(
    engine: Engine, photos: Path, tmp_path: Path
) -> None:
    kinds = list(REFUSED)
    bad, good = make_folder(photos, tmp_path, kinds)
    graph = with_settings(chain_graph("random_resized_crop", "rotate"), batch_size=2 * len(kinds))
    graph = set_arg(graph, CATALOG, "random_resized_crop", "size", (SIZE, SIZE))

    def of(folder: Path) -> PreviewResult:
        request = PreviewRequest(graph, str(folder), tiles=99, tile_size=SIZE, lossless=True)
        return preview_batch(engine, request)

    with_bad, without = of(bad), of(good)
    assert len(with_bad.tiles) == len(without.tiles) == 2 * len(kinds)
    for index, tile in enumerate(with_bad.tiles):
        kind = next((k for k in kinds if tile.sample.file.endswith(k)), None)
        if kind is None:
            assert tile.sample.error == ""
            assert np.array_equal(augmented(with_bad)[index], augmented(without)[index])
            assert np.array_equal(originals(with_bad)[index], originals(without)[index])
        else:
            assert REFUSED[kind][1] in tile.sample.error
            for picture in (originals(with_bad)[index], augmented(with_bad)[index]):
                assert picture.shape == (SIZE, SIZE, 3)
                assert (picture[1:-1, 1:-1] == BAD).all(), "no other photo stands in for it"
    assert np.array_equal(pixels_of(of(good)), pixels_of(without)), "kept tiles stay whole"


def test_what_cannot_be_shown_is_refused(engine: Engine, folder: Path, tmp_path: Path) -> None:
    labels = replace(chain_graph(), outputs={"labels": Port("reader", "labels")})
    with pytest.raises(GraphError, match="No output of the graph is an image"):
        show(engine, labels, folder)
    with pytest.raises(GraphFaultsError, match=r"rotate\.angle: 'ten'"):
        show(engine, chain_graph("rotate", rotate={"angle": "ten"}), folder)
    with pytest.raises(DataError, match="no folder"):
        show(engine, chain_graph(), tmp_path / "missing")
    with pytest.raises(DataError, match="is empty"):
        show(engine, chain_graph(), tmp_path)
    too_large: dict[str, Value] = {"crop": (5000.0, 5000.0), "out_of_bounds_policy": "error"}
    with pytest.raises(PipelineError) as caught:
        show(engine, chain_graph("crop", crop=too_large), folder)
    assert caught.value.node == "crop"
    assert len(show(engine, chain_graph(), folder).tiles) == COUNT


def test_a_graph_without_a_decoder_shows_no_original(engine: Engine, folder: Path) -> None:
    graph = chain_graph("flip")
    unused = Node("unused", "hue", {"hue": 3.0}, {"data": Port("decode", "output")})
    preview = show(engine, replace(graph, nodes=(*graph.nodes, unused)), folder)
    assert "unused" not in preview.reran
    assert "unused" not in preview.facts


def test_nothing_is_said_twice(engine: Engine, photos: Path) -> None:
    preview = show(engine, load_recipe("medical-gray"), photos)
    assert preview.note == "channels first, shown de-normalised, one channel shown as grey"
