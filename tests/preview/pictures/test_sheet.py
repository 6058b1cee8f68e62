"""The contact sheet shows what it says: every rectangle holds the expected picture."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from tests.damaged import REFUSED, make_folder
from tests.helpers import (
    CATALOG,
    chain_graph,
    recipe_cases,
    same,
    script_batches,
    with_nodes,
    with_settings,
)
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
from tests.thorough import one_in
from workbench.catalog import Value
from workbench.engine import Engine
from workbench.errors import ArgumentError, DataError, GraphError, GraphFaultsError, PipelineError
from workbench.graph import Graph, Node, Port, load_recipe
from workbench.graph.edits.edit import randomise_arg, set_arg
from workbench.preview import PreviewRequest, PreviewResult, preview_batch
from workbench.preview.pictures.contact_sheet import (
    BAD,
    BAD_FRAME,
    ENCODER_BIAS,
    QUALITY,
    RAW,
    build_bias_correction,
    build_layout,
    compose,
    decode,
    encode,
    grid_of,
)
from workbench.preview.pictures.tiles import Tiles
from workbench.preview.request import MOST_PIXELS


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
    with pytest.raises(ArgumentError, match=f"{COUNT * 3} tiles of {side} pixels exceed"):
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
    found = list(zip(originals(with_bad), augmented(with_bad), strict=True))
    wanted = list(zip(originals(without), augmented(without), strict=True))
    for index, tile in enumerate(with_bad.tiles):
        kind = next((k for k in kinds if tile.sample.file.endswith(k)), None)
        if kind is None:
            assert tile.sample.error == ""
            assert same(found[index], wanted[index])
        else:
            assert REFUSED[kind][1] in tile.sample.error
            for picture in found[index]:
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
    preview = show(engine, with_nodes(graph, unused), folder)
    assert "unused" not in preview.reran
    assert "unused" not in preview.facts


def test_nothing_is_said_twice(engine: Engine, photos: Path) -> None:
    preview = show(engine, load_recipe("medical-gray"), photos)
    assert preview.note == "channels first, shown de-normalised, one channel shown as grey"


# The contact sheet shows the outputs of the exported script.


def as_shown(graph: Graph, output: str, array: NDArray[Any]) -> NDArray[Any]:
    """What a sample of an output should look like: (h, w, channels), 0 to 255."""
    if array.dtype == np.uint8:
        return array
    args = graph.node(graph.outputs[output].node).args
    return np.asarray(array.transpose(1, 2, 0) * np.array(args["std"]) + np.array(args["mean"]))


def show_whole(
    engine: Engine, graph: Graph, data: Path, like: NDArray[Any], batch: int
) -> PreviewResult:
    """With tiles of the size of a sample, so that nothing is resized."""
    return show(engine, graph, data, batch=batch, tile_size=max(like.shape))


NORMALISED = recipe_cases(
    *("chest-xray", "ct-slice", "dino", "two-modalities", "video-clips"),
    slow=("retinanet",),
    every=3,
)
"""The others have values without ImageNet normalisation, two sizes, or frames."""


@pytest.mark.parametrize("batch", one_in(2, [0, 2], first=1))
@pytest.mark.parametrize("graph", NORMALISED)
def test_the_picture_is_the_exported_scripts(
    graph: Graph, batch: int, engine: Engine, data_of: Callable[[Graph], Path], tmp_path: Path
) -> None:
    data = data_of(graph)
    outputs = script_batches(with_settings(graph, batch_size=COUNT), data, batch + 1, tmp_path)
    compared = 0
    for side in {max(sample.shape) for sample in outputs[batch][0]}:
        preview = show(engine, graph, data, batch=batch, tile_size=side)
        assert preview.outputs
        for number, output in enumerate(graph.outputs):
            if output not in preview.outputs:
                continue
            index = preview.outputs.index(output)
            for mine, its in zip(augmented(preview, index), outputs[batch][number], strict=True):
                if max(its.shape) != side:
                    continue  # it is resized
                compared += number == 0
                if its.dtype == np.uint8:
                    assert np.array_equal(mine, its)
                else:
                    assert np.abs(mine - as_shown(graph, output, its)).max() <= 1
    assert compared == len(outputs[batch][0])


def test_draws_are_the_values_that_were_drawn(engine: Engine, folder: Path, tmp_path: Path) -> None:
    graph = randomise_arg(chain_graph("rotate", "flip"), CATALOG, "rotate", "angle")
    graph = randomise_arg(graph, CATALOG, "flip", "horizontal", "random.coin_flip")
    angle, coin = (
        graph.node(n).inputs[a].node for n, a in (("rotate", "angle"), ("flip", "horizontal"))
    )
    tapped = {"drawn": Port(angle, "output"), "flipped": Port(coin, "output")}
    every = with_settings(with_nodes(graph, **tapped), batch_size=COUNT)
    for batch in (0, 1):
        *_, drawn, flipped = script_batches(every, folder, batch + 1, tmp_path)[batch]
        preview = show(engine, graph, folder, batch=batch)
        assert [tile.draws for tile in preview.tiles] == [
            (f"{angle} {float(value):.3g}", f"{coin} {'yes' if heads else 'no'}")
            for value, heads in zip(drawn, flipped, strict=True)
        ]


def as_jpeg(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """What Pillow's JPEG of the preview's quality makes of a picture."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=QUALITY)
    with Image.open(buffer) as decoded:
        return np.asarray(decoded)


@pytest.mark.gpu
@pytest.mark.parametrize("graph", NORMALISED)
def test_mixed_decoding_shows_the_exported_scripts_pictures(
    graph: Graph, engine: Engine, data_of: Callable[[Graph], Path], tmp_path: Path
) -> None:
    data = data_of(graph)
    graph = with_settings(graph, device="mixed", batch_size=COUNT)
    outputs = script_batches(graph, data, 2, tmp_path)[1]
    preview = show_whole(engine, graph, data, outputs[0][0], 1)
    assert preview.outputs
    for index, output in enumerate(preview.outputs):
        samples = outputs[list(graph.outputs).index(output)]
        for mine, its in zip(augmented(preview, index), samples, strict=True):
            assert np.abs(mine.astype(float) - as_shown(graph, output, its)).max() <= 1
    size = max(outputs[0][0].shape)
    lossy = show(engine, graph, data, batch=1, tile_size=size, lossless=False)
    for mine, its in zip(augmented(lossy), augmented(preview), strict=True):
        usual, loss = (np.abs(each.astype(int) - its).mean() for each in (as_jpeg(its), mine))
        assert loss <= 1.1 * usual + 0.5  # tiles that stand beside each other share blocks


def held(pictures: NDArray[np.uint8]) -> Tiles:
    return Tiles(pictures, [], "")


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 16, 64])
def test_every_tile_is_where_it_is_said_to_be(count: int, groups: int) -> None:
    size = 4
    tiles = [
        np.arange(count * size * size * 3, dtype=np.uint8).reshape(count, size, size, 3) + 50 * k
        for k in range(groups)
    ]
    groups_of_tiles = [held(group) for group in tiles]
    sheet, places = compose(groups_of_tiles).pixels, grid_of(groups_of_tiles).places
    assert sheet.dtype == np.uint8
    assert len(set(places)) == len(places) == count * groups
    for index, (x, y) in enumerate(places):
        expected = tiles[index % groups][index // groups]
        assert np.array_equal(sheet[y : y + size, x : x + size], expected)
    rows_of_samples = {
        places[i * groups][1] == places[i * groups + groups - 1][1] for i in range(count)
    }
    assert rows_of_samples == {True}, "the tiles of a sample stand side by side"
    height, width = sheet.shape[:2]
    if count > 7:
        assert max(height, width) / min(height, width) <= 3
        assert sheet.size <= 1.5 * sum(t.size for t in tiles)


def test_encoding() -> None:
    sheet = np.random.default_rng(0).integers(0, 256, (8, 12, 3), np.uint8)
    png = Image.open(io.BytesIO(encode(sheet, "image/png")))
    assert np.array_equal(np.asarray(png), sheet)
    jpeg = Image.open(io.BytesIO(encode(sheet)))
    assert (jpeg.format, jpeg.size) == ("JPEG", (12, 8))
    assert encode(sheet, encoder=lambda _: b"gpu") == b"gpu"
    assert encode(sheet, "image/png", encoder=lambda _: b"gpu") != b"gpu"


def test_a_bad_tile_is_marked_and_no_other() -> None:
    groups = [held(np.zeros((4, 64, 64, 3), np.uint8))]
    sheet = compose(groups, bad=[2])
    x, y = grid_of(groups).places[2]
    tile = sheet.pixels[y : y + 64, x : x + 64].copy()
    assert (tile[1:-1, 1:-1] == BAD).all()
    assert (tile[0] == BAD_FRAME).all()
    assert (tile[:, -1] == BAD_FRAME).all()
    sheet.pixels[y : y + 64, x : x + 64] = 0
    assert not sheet.pixels.any()


KNOWN = [
    held(np.random.default_rng(k).integers(0, 256, (count, 8, 8, 3), np.uint8))
    for count in (3, 4)
    for k in range(3)
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([(a, b) for n in (0, 3) for a in range(n, n + 3) for b in (n, n + 1)]),
            st.booleans(),
            st.frozensets(st.integers(0, 2)),
        ),
        max_size=8,
    )
)
def test_in_the_memory_of_the_last_sheet_stands_what_a_new_one_would_have(
    sheets: list[tuple[tuple[int, int], bool, frozenset[int]]],
) -> None:
    last = None
    for chosen, both, bad in sheets:
        groups = [KNOWN[k] for k in chosen[: 1 + both]]
        before = last
        last = compose(groups, bad, last)
        fresh = compose(groups, bad)
        assert np.array_equal(last.pixels, fresh.pixels)
        if before is not None and [g.shape for g in before.groups] == [g.shape for g in groups]:
            assert last.pixels is before.pixels


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 5, 16])
def test_dali_lays_the_tiles_out_alike(count: int, groups: int) -> None:
    chance = np.random.default_rng(count)
    tiles = [held(chance.integers(0, 256, (count, 8, 8, 3), np.uint8)) for _ in range(groups)]
    pipe = build_layout(grid_of(tiles), "cpu")
    for number, group in enumerate(tiles):
        pipe.feed_input(f"group {number}", [group.pictures])
    (sheets,) = pipe.run()
    assert np.array_equal(np.asarray(sheets[0]), compose(tiles).pixels)


def test_the_bias_of_the_gpu_encoder_is_taken_off_and_nothing_runs_over() -> None:
    pipe = build_bias_correction("cpu")
    for height in (4, 6):
        sheet = np.random.default_rng(height).integers(0, 256, (height, 5, 3), dtype=np.uint8)
        sheet[0, 0] = 255
        pipe.feed_input("sheet", [sheet])
        (raised,) = pipe.run()
        assert np.array_equal(raised.at(0), np.minimum(sheet.astype(int) - ENCODER_BIAS, 255))
