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
from numpy.typing import NDArray
from PIL import Image

from tests.damaged import REFUSED, make_folder
from tests.helpers import chain_graph, recipe_cases, script_batches, with_settings
from tests.thorough import one_in
from workbench.catalog import Value, load_catalog
from workbench.engine import Engine
from workbench.errors import DataError, GraphError, GraphFaultsError, PipelineError
from workbench.graph import Graph, Node, Port, load_recipe
from workbench.graph.edit import randomise_arg, set_arg
from workbench.preview import PreviewRequest, PreviewResult, preview_batch
from workbench.preview.contact_sheet import BAD, QUALITY, RAW, decode
from workbench.preview.request import MOST_PIXELS

CATALOG = load_catalog()
SIZE = 48
COUNT = 5
Pixels = NDArray[np.uint8]
Box = tuple[int, int, int, int]


def pictures(mode: str = "RGB") -> list[Image.Image]:
    """Pictures whose longer side is a tile, so that nothing is resized; all different."""
    chance = np.random.default_rng(3)
    sizes = [(SIZE, SIZE), (SIZE, 30), (20, SIZE), (SIZE, 47), (SIZE, 1)][:COUNT]
    shapes = [(h, w, len(mode)) if len(mode) > 1 else (h, w) for w, h in sizes]
    return [Image.fromarray(chance.integers(0, 256, shape, np.uint8), mode) for shape in shapes]


def write(folder: Path, images: list[Image.Image]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(images):
        image.save(folder / f"{number}.png")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes, PNG: decoded without loss by DALI and by Pillow alike."""
    root = tmp_path_factory.mktemp("exact")
    images = pictures()
    write(root / "a", images[:3])
    write(root / "b", images[3:])
    return root


def show(engine: Engine, graph: Graph, data: Path, **options: object) -> PreviewResult:
    graph = with_settings(graph, batch_size=COUNT)
    request = PreviewRequest(graph, str(data), tile_size=SIZE, lossless=True)
    return preview_batch(engine, replace(request, **options))  # type: ignore[arg-type]


def pixels_of(preview: PreviewResult) -> Pixels:
    image = Image.open(io.BytesIO(preview.image))
    assert image.mode == "RGB"
    assert image.size == preview.size
    assert Image.MIME[str(image.format)] == preview.mime
    return np.asarray(image)


def cut(sheet: Pixels, box: Box | None) -> Pixels:
    assert box is not None
    x, y, width, height = box
    return sheet[y : y + height, x : x + width]


def originals(preview: PreviewResult) -> list[Pixels]:
    return [cut(pixels_of(preview), tile.original) for tile in preview.tiles]


def augmented(preview: PreviewResult, output: int = 0) -> list[Pixels]:
    return [cut(pixels_of(preview), tile.augmented[output]) for tile in preview.tiles]


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


@pytest.mark.parametrize("args", [{"std": (0.0,)}, {"std": (1.0,), "scale": 0.0}])
def test_a_normalisation_that_cannot_be_undone_still_shows(
    args: dict[str, Value], engine: Engine, folder: Path
) -> None:
    preview = show(engine, normalised({"dtype": "FLOAT", **args}), folder)
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


def test_a_fourth_channel_is_left_out(engine: Engine, tmp_path: Path) -> None:
    images = pictures("RGBA")
    graph = chain_graph(decode={"output_type": "ANY_DATA"})
    preview = show(engine, graph, write(tmp_path / "images", images))
    for mine, image in zip(originals(preview), images, strict=True):
        assert np.array_equal(mine, np.asarray(image)[..., :3])


def test_pictures_of_different_channels_in_one_batch(engine: Engine, tmp_path: Path) -> None:
    images = [pictures(mode)[number] for number, mode in enumerate(["L", "RGB", "RGBA", "L", "L"])]
    graph = chain_graph(decode={"output_type": "ANY_DATA"})
    preview = show(engine, graph, write(tmp_path / "images", images))
    for mine, image in zip(originals(preview), images, strict=True):
        pixels = np.asarray(image)
        pixels = pixels.reshape(*pixels.shape[:2], -1)
        expected = pixels[..., :3] if pixels.shape[2] > 2 else pixels[..., [0, 0, 0]]
        assert np.array_equal(mine, expected)


def test_exif_rotation_is_applied(
    engine: Engine, photos_with_formats: Path, tmp_path: Path
) -> None:
    name = "temple_exif_rotated.jpg"
    (tmp_path / name).symlink_to(photos_with_formats / "formats" / name)
    preview = show(engine, chain_graph(), tmp_path)
    assert preview.tiles[0].original is not None
    width, height = preview.tiles[0].original[2:]
    assert width > height


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
"""Those left out have values that are no ImageNet normalisation, two sizes, or frames."""


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
    every = with_settings(replace(graph, outputs={**graph.outputs, **tapped}), batch_size=COUNT)
    for batch in (0, 1):
        *_, drawn, flipped = script_batches(every, folder, batch + 1, tmp_path)[batch]
        preview = show(engine, graph, folder, batch=batch)
        assert [tile.draws for tile in preview.tiles] == [
            (f"{angle} {float(value):.3g}", f"{coin} {'yes' if heads else 'no'}")
            for value, heads in zip(drawn, flipped, strict=True)
        ]


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
    for number, output in enumerate(graph.outputs):
        if output in preview.outputs:
            index = preview.outputs.index(output)
            for mine, its in zip(augmented(preview, index), outputs[number], strict=True):
                assert np.abs(mine.astype(float) - as_shown(graph, output, its)).max() <= 1
    size = max(outputs[0][0].shape)
    lossy = show(engine, graph, data, batch=1, tile_size=size, lossless=False)
    for mine, its in zip(augmented(lossy), augmented(preview), strict=True):
        usual, loss = (np.abs(each.astype(int) - its).mean() for each in (as_jpeg(its), mine))
        assert loss <= 1.1 * usual + 0.5  # tiles that stand beside each other share blocks


def test_nothing_is_said_twice(engine: Engine, photos: Path) -> None:
    preview = show(engine, load_recipe("medical-gray"), photos)
    assert preview.note == "channels first, shown de-normalised, one channel shown as grey"
