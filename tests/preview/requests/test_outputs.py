"""Outputs as arrays and tiles, differences of two graphs, and the effect of an argument."""

from __future__ import annotations

import base64
import io
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import workbench as wb
from tests.helpers import (
    CATALOG,
    chain_graph,
    photo_recipes,
    recipe_cases,
    same,
    script_batches,
    with_node,
    with_settings,
)
from workbench.engine import Engine
from workbench.engine.build.in_process_loader import build_pipeline
from workbench.engine.run.runner import Runner
from workbench.errors import ArgumentError, GraphError
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.edit import set_arg
from workbench.graph.storage.layout import SavedSample
from workbench.preview import (
    PreviewRequest,
    PreviewResult,
    preview_batch,
    preview_effect,
    preview_outputs,
    replayed,
)
from workbench.preview.pictures.output_tiles import NO_DIFFERENCE
from workbench.preview.requests.effect import MOST_VARIANTS, effect_values
from workbench.sources import open_datasets

COUNT = 4
SIZE = 64


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
    with pytest.raises(GraphError, match="No output depends on 'hues'"):
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
    assert preview.tiles[0].notes[0].endswith("so brightness is ignored")


def test_where_sizes_differ_the_tile_says_so(engine: Engine, folder: Path) -> None:
    graph = chain_graph("resize", resize={"size": (SIZE, SIZE)})
    none = show(engine, graph, folder, shown="difference")
    assert none.baseline == ("",)
    assert {tile.notes for tile in none.tiles} == {
        ("no difference: no previous step outputs images of 64×64 pixels",)
    }
    asked = show(engine, graph, folder, shown="difference", baseline="decode")
    assert asked.tiles[0].notes[0].startswith("difference ")
    assert asked.tiles[3].notes == ("no difference: decode outputs 40×64 pixels, not 64×64",)
    assert (cut(asked, 3) == NO_DIFFERENCE).all()


def test_normalised_floats_are_compared_as_they_are_shown(engine: Engine, folder: Path) -> None:
    graph = chain_graph("crop_mirror_normalize", crop_mirror_normalize={"output_layout": "CHW"})
    args = {"mean": (100.0,), "std": (50.0,), "dtype": "FLOAT", "output_layout": "CHW"}
    graph = with_node(graph, "crop_mirror_normalize", args=args)
    preview = show(engine, graph, folder, shown="difference")
    assert max(int(cut(preview, index).max()) for index in range(COUNT)) <= 1


class TestManyDraws:
    """Exactly the script's outputs if the same file is at every position."""

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
            (f"random variant {index} of one photo, not part of batch 2 of the export",)
            for index in range(COUNT)
        ]
        assert len({tile.sample.file for tile in preview.tiles}) == 1
        assert len({tile.draws for tile in preview.tiles}) == COUNT
        assert len({cut(preview, index).tobytes() for index in range(COUNT)}) == COUNT
        plain = show(engine, load_recipe("rotate-jitter"), photos, batch=2)
        assert [t.draws for t in plain.tiles] == [t.draws for t in preview.tiles]
        assert all(tile.notes == () for tile in plain.tiles)


@pytest.fixture
def graph(photos: Path) -> Graph:
    drawn = wb.random.uniform(range=(-10, 10))
    made = wb.read(photos).decode().resize(size=(48, 48)).rotate(angle=drawn, keep_size=True)
    return made.with_p(0.5, lambda x: x.noise.gaussian(stddev=9.0)).with_settings(batch_size=6)


@pytest.mark.parametrize("number", [0, 1, 7])
def test_it_is_the_batch_of_the_exported_script(
    graph: Graph, number: int, engine: Engine, photos: Path
) -> None:
    found = preview_outputs(engine, PreviewRequest(graph, photos, number, 6, 8))
    pipe = build_pipeline(graph, open_datasets(photos))
    for _ in range(number + 1):
        images, labels = pipe.run()
    assert np.array_equal(found.images, np.stack([np.asarray(images[i]) for i in range(6)]))
    assert found.labels.tolist() == [np.asarray(labels[i]).item() for i in range(6)]
    assert found.images.dtype == np.uint8
    assert found.layouts["images"] == "HWC"
    assert len(found.files) == 6
    assert {*found.draws} == {"angle", "chance"}
    assert all(-10 <= angle <= 10 for angle in found.draws["angle"])


def test_draws_tell_what_automatic_augmentation_did(graph: Graph, engine: Engine) -> None:
    made = graph.with_p(0.5, lambda x: x.rand_augment(n=2, m=9))
    found = preview_outputs(engine, PreviewRequest(made, graph.datasets, 1, 6, 8))
    *_, came = (name for name in found.draws if name.startswith("chance"))
    for drawn, text in zip(found.draws[came], found.draws["rand_augment"], strict=True):
        assert len(text.split(", ")) == 2 if drawn else text == ""
    assert "rand_augment" in found.to_frame()


def test_a_batch_of_many_pictures_shows_itself_in_less_than_100_kb(
    photos: Path, engine: Engine
) -> None:
    graph = wb.read(photos).decode().resize(size=(96, 96)).with_settings(batch_size=16)
    both = wb.outputs(before=graph.images, after=graph.images.flip(), again=graph.images)
    found = preview_outputs(engine, PreviewRequest(both, photos, 0, 16, 8))
    assert len(base64.b64encode(found._repr_mimebundle_()[0]["image/jpeg"])) < 100_000


def test_images_of_several_sizes_are_a_tuple(photos: Path, engine: Engine) -> None:
    graph = wb.read(photos).decode().with_settings(batch_size=64)
    found = preview_outputs(engine, PreviewRequest(graph, photos, 0, 64, 8))
    assert isinstance(found.images, tuple)
    assert "arrays, the first" in repr(found)


def test_it_shows_itself_and_turns_into_others(graph: Graph, engine: Engine, photos: Path) -> None:
    found = preview_outputs(engine, PreviewRequest(graph, photos, 0, 4, 8))
    shown, _ = found._repr_mimebundle_()
    assert shown["image/jpeg"][:2] == b"\xff\xd8"
    assert len(shown["image/jpeg"]) < 100_000
    assert "images: 4×48×48×3 uint8 HWC" in shown["text/plain"]
    torch = pytest.importorskip("torch")
    assert found.to("torch").images.dtype == torch.uint8
    frame = found.to_frame()
    assert list(frame.columns) == ["file", "labels", "angle", "chance"]
    assert {*found} == {"images", "labels"}


def test_what_is_not_there_is_told(graph: Graph, engine: Engine, photos: Path) -> None:
    found = preview_outputs(engine, PreviewRequest(graph, photos, 0, 2, 8))
    with pytest.raises(AttributeError, match="It has images, labels"):
        found.masks  # noqa: B018
    with pytest.raises(ValueError, match="Use one of numpy, torch, jax, cupy"):
        found.to("mxnet")
    with pytest.raises(ArgumentError, match="batch is -1"):
        preview_outputs(engine, PreviewRequest(graph, photos, -1, 2, 8))


# The effect of an argument: which values are shown, and that each is what the preview shows.


@pytest.mark.parametrize("op", ["color_twist", "gaussian_blur", "flip", "resize"])
def test_values_are_of_the_arguments_range(op: str) -> None:
    for arg in CATALOG[op].args.values():
        values = effect_values(arg, 5)
        assert len(values) == len(set(values)) <= MOST_VARIANTS
        if arg.kind == "bool":
            assert values == (False, True)
        elif arg.kind == "float" and arg.low is not None and arg.high is not None:
            assert (values[0], values[-1]) == (arg.low, arg.high)


def test_each_picture_is_that_of_the_preview(engine: Engine, photos: Path) -> None:
    graph = with_settings(chain_graph("color_twist"), batch_size=4)
    node = next(each.id for each in graph.nodes if each.op == "color_twist")
    graphs = [set_arg(graph, CATALOG, node, "saturation", value) for value in (0.0, 1.5)]
    request = PreviewRequest(
        graph, open_datasets(photos), tile_size=96, shown="augmented", lossless=True
    )
    effect = preview_effect(engine, request, graphs, 2)
    sheet = np.asarray(Image.open(io.BytesIO(effect.image)))
    for variant, box in zip(graphs, effect.boxes, strict=True):
        assert box is not None
        x, y, width, height = box
        preview = preview_batch(
            engine,
            PreviewRequest(
                variant, open_datasets(photos), tile_size=96, shown="augmented", lossless=True
            ),
        )
        left, top, wide, tall = preview.tiles[2].augmented[0]
        whole = np.asarray(Image.open(io.BytesIO(preview.image)))
        assert np.array_equal(
            sheet[y : y + height, x : x + width], whole[top : top + tall, left : left + wide]
        )


def test_too_many_variants_are_refused(engine: Engine, photos: Path) -> None:
    graph = chain_graph("color_twist")
    request = PreviewRequest(graph, open_datasets(photos))
    with pytest.raises(GraphError, match="at most 16"):
        preview_effect(engine, request, [graph] * (MOST_VARIANTS + 1), 0)


def test_a_variant_that_dali_refuses_says_why_and_the_others_are_shown(
    engine: Engine, photos: Path
) -> None:
    graph = with_settings(chain_graph("crop"), batch_size=2)
    node = next(each.id for each in graph.nodes if each.op == "crop")
    graphs = [set_arg(graph, CATALOG, node, "crop", (side, side)) for side in (64.0, 1e5, 32.0)]
    effect = preview_effect(engine, PreviewRequest(graph, open_datasets(photos)), graphs, 0)
    assert [box is None for box in effect.boxes] == [False, True, False]
    assert [bool(error) for error in effect.errors] == [False, True, False]


def test_a_variant_without_pixels_says_so_and_the_others_are_shown(
    engine: Engine, photos: Path
) -> None:
    graph = with_settings(chain_graph("slice"), batch_size=2)
    node = next(each.id for each in graph.nodes if each.op == "slice")
    graphs = [set_arg(graph, CATALOG, node, "rel_start", (value, value)) for value in (0.2, 1.0)]
    effect = preview_effect(engine, PreviewRequest(graph, open_datasets(photos)), graphs, 0)
    assert effect.boxes[0] is not None
    assert effect.boxes[1] is None
    assert "no pixels" in effect.errors[1]


GRAPH = with_settings(chain_graph(), batch_size=16)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"shown": "nothing"}, "Use one of original, augmented, both, difference"),
        ({"batch": -1}, "batch is -1. Use 0 or more"),
        ({"tiles": 0}, "tiles is 0. Use 1 or more"),
        ({"tile_size": 2}, "tile_size is 2. Use 8 or more"),
        ({"tile_size": 4000}, "32 tiles of 4000 pixels exceed.*tile_size of at most 2048"),
        ({"repeat": 16}, "repeat is 16.*0 to 15"),
        ({"repeat": -1}, "repeat is -1"),
    ],
)
def test_what_cannot_be_shown_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        replace(PreviewRequest(GRAPH, "photos"), **wrong)


def test_a_kept_draw_is_replayed() -> None:
    request = PreviewRequest(GRAPH, "photos", batch=3, tiles=4)
    again = replayed(request, SavedSample(seed=7, batch=5, batch_size=32, sample=2, repeat=20))
    assert again.graph == with_settings(GRAPH, seed=7, batch_size=32)
    assert (again.batch, again.repeat, again.tiles) == (5, 20, 4)
