from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.helpers import chain_graph, script_batches, with_settings
from workbench.engine import Engine
from workbench.errors import GraphError
from workbench.graph import load_recipe
from workbench.preview import PreviewRequest, preview_picture, preview_pixels

COUNT = 3


@pytest.mark.parametrize("recipe", ["imagenet-train", "rotate-jitter"])
def test_values_are_the_scripts(recipe: str, engine: Engine, photos: Path, tmp_path: Path) -> None:
    graph = with_settings(load_recipe(recipe), batch_size=COUNT)
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
    request = PreviewRequest(with_settings(graph, batch_size=COUNT), str(photos))
    assert preview_pixels(engine, request, 0, "images", -5, -5, 10, 10).values.shape == (5, 5, 3)
    assert preview_pixels(engine, request, 0, "images", 55, 35, 99, 99).values.shape == (5, 5, 3)
    assert preview_pixels(engine, request, 0, "images", 99, 99, 1, 1).values.size == 0


def test_every_step_can_be_asked_for(engine: Engine, photos: Path) -> None:
    graph = chain_graph("resize", "flip", resize={"size": (40, 60)}, flip={"horizontal": 1})
    request = PreviewRequest(with_settings(graph, batch_size=COUNT), str(photos))
    before = preview_pixels(engine, request, 1, "resize.output").values
    assert np.array_equal(preview_pixels(engine, request, 1, "images").values, before[:, ::-1])
    with Image.open(sorted(photos.glob("*/*.jpg"))[1]) as photo:
        assert preview_pixels(engine, request, 1, "original", 0, 0, 4, 4).size == photo.size


def test_what_is_no_image_is_refused(engine: Engine, photos: Path) -> None:
    request = PreviewRequest(with_settings(chain_graph(), batch_size=COUNT), str(photos))
    with pytest.raises(
        GraphError, match=r"no 'imgs' to show\. Give one of images, labels, original"
    ):
        preview_pixels(engine, request, 0, "imgs")
    with pytest.raises(GraphError, match="no picture"):
        preview_pixels(engine, request, 0, "labels")
    with pytest.raises(GraphError, match="no sample 7"):
        preview_pixels(engine, request, 7, "images")


def test_a_region_of_too_many_values_is_refused(engine: Engine, photos: Path) -> None:
    graph = chain_graph("resize", resize={"size": (800, 800)})
    request = PreviewRequest(with_settings(graph, batch_size=1), str(photos))
    with pytest.raises(GraphError, match=r"800×800 pixels has 1920000 values\. Give a smaller one"):
        preview_pixels(engine, request, 0, "images")


def test_a_picture_has_its_own_size(engine: Engine, photos: Path) -> None:
    graph = with_settings(chain_graph("flip", flip={"horizontal": 0}), batch_size=COUNT)
    request = PreviewRequest(graph, str(photos))
    picture = preview_picture(engine, request, 0, "images")
    values = preview_pixels(engine, request, 0, "images").values
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(picture.image))), values)
    assert picture.size == picture.full == (values.shape[1], values.shape[0])
    assert picture.sample.file
