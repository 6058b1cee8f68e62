"""Differences, and many draws of one photo."""

from __future__ import annotations

import io
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.helpers import (
    chain_graph,
    photo_recipes,
    recipe_cases,
    same,
    script_batches,
    with_settings,
)
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.engine.run.runner import Runner
from workbench.errors import GraphError
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.edit import set_arg
from workbench.preview import PreviewRequest, PreviewResult, preview_batch
from workbench.preview.pictures.output_tiles import NO_DIFFERENCE

COUNT = 4
SIZE = 64
CATALOG = load_catalog()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PNGs as large as a tile, so that nothing is resized; one of another shape."""
    folder = tmp_path_factory.mktemp("difference")
    chance = np.random.default_rng(5)
    for number, (height, width) in enumerate([(SIZE, SIZE)] * 3 + [(SIZE, 40)]):
        pixels = chance.integers(0, 256, (height, width, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return folder


def show(engine: Engine, graph: Graph, data: Path, **options: object) -> PreviewResult:
    request = PreviewRequest(
        with_settings(graph, batch_size=COUNT), str(data), tile_size=SIZE, lossless=True
    )
    return preview_batch(engine, replace(request, **options))  # type: ignore[arg-type]


def cut(preview: PreviewResult, index: int, output: int = 0) -> NDArray[np.uint8]:
    x, y, width, height = preview.tiles[index].augmented[output]
    return np.asarray(Image.open(io.BytesIO(preview.image)))[y : y + height, x : x + width]


def photo(folder: Path, index: int) -> NDArray[np.int64]:
    return np.asarray(Image.open(folder / f"{index}.png"), np.int64)


def test_it_is_the_absolute_difference_to_the_original(engine: Engine, folder: Path) -> None:
    graph = chain_graph("flip", flip={"horizontal": 1})
    preview = show(engine, graph, folder, shown="difference")
    assert preview.baseline == ("decode.output",)
    for index in range(COUNT):
        original = photo(folder, index)
        expected = np.abs(original - original[:, ::-1])
        assert np.array_equal(cut(preview, index), expected)
        (note,) = preview.tiles[index].notes
        mean = f"{expected.mean():.3g}"
        assert note == f"difference {mean} of 255 on average, {expected.max()} at most"
        assert preview.tiles[index].original is None


def test_no_change_is_black(engine: Engine, folder: Path) -> None:
    preview = show(engine, chain_graph("copy"), folder, shown="difference")
    assert not any(cut(preview, index).any() for index in range(COUNT))


def test_where_the_size_changes_the_first_step_of_that_size_is_compared(
    engine: Engine, folder: Path
) -> None:
    graph = chain_graph("resize", "flip", "hue", resize={"size": (32, 48)}, hue={"hue": 20.0})
    assert show(engine, graph, folder, shown="difference").baseline == ("resize.output",)
    after_flip = show(engine, graph, folder, shown="difference", baseline="flip")
    assert after_flip.baseline == ("flip.output",)
    with pytest.raises(GraphError, match="not come from images of 'hues', but of decode, resize"):
        show(engine, graph, folder, shown="difference", baseline="hues")


def test_of_two_outputs_that_is_compared_which_comes_from_the_step(
    engine: Engine, photos: Path
) -> None:
    graph = load_recipe("two-view")
    preview = show(engine, graph, photos, shown="difference", baseline="crop_1")
    assert sorted(preview.baseline) == ["", "crop_1.output"]
    compared = preview.baseline.index("crop_1.output")
    for tile in preview.tiles:
        notes = tile.notes[compared], tile.notes[1 - compared]
        assert notes[0].startswith("difference ")
        assert notes[1].endswith("does not come from images of crop_1")
    assert (cut(preview, 0, 1 - compared) == NO_DIFFERENCE).all()


def test_what_is_stretched_says_that_brightness_does_not_count(
    engine: Engine, folder: Path
) -> None:
    graph = chain_graph(
        "brightness", "cast", brightness={"brightness": 0.2}, cast={"dtype": "INT16"}
    )
    preview = show(engine, graph, folder, shown="difference", baseline="decode")
    assert preview.tiles[0].notes[0].endswith("so that brightness does not count")


def test_where_sizes_differ_the_tile_says_so(engine: Engine, folder: Path) -> None:
    graph = chain_graph("resize", resize={"size": (SIZE, SIZE)})
    none = show(engine, graph, folder, shown="difference")
    assert none.baseline == ("",)
    assert {tile.notes for tile in none.tiles} == {
        ("no difference: no step before gives images of 64×64 pixels",)
    }
    asked = show(engine, graph, folder, shown="difference", baseline="decode")
    assert asked.tiles[0].notes[0].startswith("difference ")
    assert asked.tiles[3].notes == ("no difference: decode gives 40×64 pixels, not 64×64",)
    assert (cut(asked, 3) == NO_DIFFERENCE).all()


def test_normalised_floats_are_compared_as_they_are_shown(engine: Engine, folder: Path) -> None:
    graph = chain_graph("crop_mirror_normalize", crop_mirror_normalize={"output_layout": "CHW"})
    args = {"mean": (100.0,), "std": (50.0,), "dtype": "FLOAT", "output_layout": "CHW"}
    graph = graph.replace_node(replace(graph.node("crop_mirror_normalize"), args=args))
    preview = show(engine, graph, folder, shown="difference")
    assert max(int(cut(preview, index).max()) for index in range(COUNT)) <= 1


class TestManyDraws:
    """Exactly what the script gives where the same file stands at every place."""

    @pytest.mark.parametrize("graph", recipe_cases(only=photo_recipes(), every=16, first=2))
    def test_of_a_recipe(self, graph: Graph, photos: Path, tmp_path: Path) -> None:
        graph = with_settings(set_arg(graph, CATALOG, "reader", "random_shuffle", False),
                              batch_size=COUNT)  # fmt: skip
        chosen = sorted(photos.glob("*/*.jpg"))[COUNT + 2]  # place 2 of batch 1
        for number in range(3 * COUNT):
            path = tmp_path / "same" / f"{number:03}" / "photo.jpg"
            path.parent.mkdir(parents=True)
            shutil.copy(chosen, path)
        images = {k: p for k, p in graph.outputs.items() if p.node != "reader"}
        graph = replace(graph, outputs=images)
        script = script_batches(graph, tmp_path / "same", 2, tmp_path)[1]
        runner = Runner(CATALOG)
        ports = list(images.values())
        result = runner.run(graph, str(photos), 1, COUNT, ports, repeat=2)
        for port, its in zip(ports, script, strict=True):
            assert same(result.batches[port].arrays(), its)
        assert {sample.file for sample in result.samples} == {str(chosen.relative_to(photos))}
        usual = runner.run(graph, str(photos), 1, COUNT, ports)
        for port in ports:
            mine, its = result.batches[port].arrays(), usual.batches[port].arrays()
            assert same(mine[2:3], its[2:3]), "its own place is as ever"
        runner.forget()

    def test_each_tile_says_what_it_is(self, engine: Engine, photos: Path) -> None:
        preview = show(engine, load_recipe("rotate-jitter"), photos, repeat=1, batch=2)
        assert [tile.notes for tile in preview.tiles] == [
            (f"draw {index} of one photo, not in batch 2 of the export",) for index in range(COUNT)
        ]
        assert len({tile.sample.file for tile in preview.tiles}) == 1
        assert len({tile.draws for tile in preview.tiles}) == COUNT
        assert len({cut(preview, index).tobytes() for index in range(COUNT)}) == COUNT
        plain = show(engine, load_recipe("rotate-jitter"), photos, batch=2)
        assert [t.draws for t in plain.tiles] == [t.draws for t in preview.tiles]
        assert all(tile.notes == () for tile in plain.tiles)
