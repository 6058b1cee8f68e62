"""The class of a sample is that of its folder, as the exported script labels it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.helpers import with_settings
from workbench.engine import Engine
from workbench.graph import load_recipe
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.views.batch_search import SampleFilter, find_batch

GRAPH = with_settings(load_recipe("rotate-jitter"), batch_size=8)


def test_tiles_have_the_names_of_their_classes(engine: Engine, photos: Path) -> None:
    request = PreviewRequest(GRAPH, photos, tiles=8, tile_size=32)
    tiles = preview_batch(engine, request).tiles
    assert [tile.class_name for tile in tiles] == [
        Path(tile.sample.file).parent.name for tile in tiles
    ]


def test_the_labels_are_the_names_where_there_are_none(engine: Engine, photos: Path) -> None:
    flat = next(folder for folder in photos.iterdir() if folder.is_dir())
    request = PreviewRequest(GRAPH, flat, tiles=2, tile_size=32)
    assert [tile.class_name for tile in preview_batch(engine, request).tiles] == ["0", "0"]


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
