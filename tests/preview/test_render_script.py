"""The contact sheet shows what the exported script gives."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.helpers import chain_graph, recipe_cases, script_batches, with_settings
from tests.preview.sheets import COUNT, augmented, show, write_exact
from tests.thorough import one_in
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.graph import Graph, Port
from workbench.graph.edits.edit import randomise_arg
from workbench.preview import PreviewResult
from workbench.preview.pictures.contact_sheet import QUALITY

CATALOG = load_catalog()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_exact(tmp_path_factory.mktemp("exact"))


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
