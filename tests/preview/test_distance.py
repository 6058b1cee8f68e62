"""How far the tiles of two graphs lie apart."""

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_arg, set_setting
from workbench.graph.variants.shared_seeds import with_seeds_of
from workbench.preview import PreviewRequest, preview_batch, preview_distances

CATALOG = load_catalog()
START = set_setting(load_recipe("rotate-jitter"), batch_size=4)


def test_the_same_draws_lie_nowhere_apart_and_an_edit_does(engine: Engine, photos: Path) -> None:
    request = PreviewRequest(START, photos, tiles=3, shown="augmented", tile_size=64)
    same = replace(request, graph=with_seeds_of(set_setting(START, seed=7), START))
    assert [tile.means for tile in preview_distances(engine, request, same)] == [(0.0,)] * 3
    filled = set_arg(START, CATALOG, "rotate", "fill_value", 255.0)
    filled = set_arg(filled, CATALOG, "color", "brightness", 3.0)
    found = preview_distances(engine, request, replace(request, graph=filled))
    assert all(tile.same_photo and tile.means[0] and tile.means[0] > 5 for tile in found)
    assert preview_batch(engine, request).reran == (), "neither graph drives the other out"


def test_outputs_of_other_names_and_sizes(engine: Engine, photos: Path) -> None:
    request = PreviewRequest(START, photos, tiles=2, shown="augmented", tile_size=64)
    views = with_seeds_of(load_recipe("two-view"), START)
    both = preview_distances(engine, replace(request, graph=views), request)
    assert [tile.means[1] for tile in both] == [None, None]
    wide = START.replace_node(
        replace(START.node("resize"), args={**START.node("resize").args, "size": (100, 200)})
    )
    (tile, _) = preview_distances(engine, request, replace(request, graph=wide))
    assert tile.means == (None,)
    assert tile.same_photo == pytest.approx(True)
