"""The effect of an argument: which values are shown, and that each is what the preview shows."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.helpers import chain_graph, with_settings
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.errors import GraphError
from workbench.graph.edits.edit import set_arg
from workbench.preview import PreviewRequest, preview_batch, preview_effect
from workbench.preview.views.effect import MOST_VARIANTS, effect_values
from workbench.sources import open_datasets

CATALOG = load_catalog()


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
    with pytest.raises(GraphError, match="16 at most"):
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
