"""The recipes' pictures: one of each, small, and what the engine makes of the photos today."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.helpers import recipe_cases
from workbench.engine import Engine
from workbench.graph import Graph, load_recipes
from workbench.ui.preview.thumbnails import (
    FOLDER,
    SHOWN,
    TILE,
    draw_thumbnail,
    picture_url,
    samples_shown,
)


@pytest.fixture(scope="module")
def shown() -> Iterator[Callable[[Graph], Path]]:
    with samples_shown() as data_of:
        yield data_of


def picture_of(recipe: str) -> Image.Image:
    head, _, data = picture_url(recipe).partition(",")
    assert head == "data:image/webp;base64"
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")


def test_every_recipe_has_one_and_there_is_no_other() -> None:
    assert {path.stem for path in FOLDER.glob("*.webp")} == set(load_recipes())


@pytest.mark.thorough
@pytest.mark.parametrize("graph", recipe_cases(every=12))
def test_it_is_small_and_shows_what_the_recipe_does(
    graph: Graph, engine: Engine, shown: Callable[[Graph], Path]
) -> None:
    picture = picture_of(graph.name)
    assert picture.size == (len(SHOWN) * TILE, TILE)
    assert len(picture_url(graph.name)) < 16_000
    for place in range(len(SHOWN)):
        tile = np.asarray(picture)[:, place * TILE : (place + 1) * TILE]
        assert tile.std() > 15, "blank"
    now = draw_thumbnail(engine, graph, shown(graph))
    apart = np.abs(np.asarray(picture, float) - np.asarray(now, float)).mean()
    assert apart < 12, "not what the engine gives now: python -m workbench.ui.preview.thumbnails"


def test_recipes_can_be_told_apart_by_their_pictures() -> None:
    strips = [np.asarray(picture_of(name), float) for name in load_recipes()]
    for index, strip in enumerate(strips):
        for other in strips[index + 1 :]:
            assert np.abs(strip - other).mean() > 4


def test_a_recipe_without_a_picture_has_no_address() -> None:
    assert picture_url("no-such-recipe") == ""
