"""The batch that is found has a sample of the branches and classes, and none before it has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import chain_graph, with_settings
from tests.region_graphs import CATALOG, branching_graph
from workbench.engine import Engine
from workbench.graph.control_flow.chance import set_probability
from workbench.graph.control_flow.one_of import add_option
from workbench.graph.control_flow.regions import wrap_in_region
from workbench.graph.control_flow.repeat import repeat
from workbench.graph.control_flow.some_of import choose_some_of, set_count
from workbench.graph.storage.recipes import load_recipe
from workbench.preview import PreviewRequest, Tile, preview_batch
from workbench.preview.views.batch_search import SampleFilter, find_batch

RARE = set_probability(branching_graph(), CATALOG, "inner", 0.1)


def tiles(engine: Engine, request: PreviewRequest, batch: int) -> tuple[Tile, ...]:
    return preview_batch(engine, replace(request, batch=batch)).tiles


def test_a_nested_branch_is_found_in_both_directions(engine: Engine, photos: Path) -> None:
    request = PreviewRequest(with_settings(RARE, batch_size=4), str(photos), tiles=3, tile_size=32)
    wanted = SampleFilter(branches=("outer.then", "inner.then"))
    found = find_batch(engine, request, wanted, back=False, most=60)
    assert found is not None
    has = [
        any("inner.then" in tile.branches for tile in tiles(engine, request, batch))
        for batch in range(1, found + 1)
    ]
    assert has == [False] * (found - 1) + [True]
    after = replace(request, batch=found + 1)
    assert find_batch(engine, after, wanted, back=True, most=60) == found
    never = SampleFilter(branches=("outer.else", "inner.then"))
    assert find_batch(engine, request, never, back=False, most=60) is None


def test_branch_and_class_hold_for_the_same_sample(engine: Engine, photos: Path) -> None:
    request = PreviewRequest(with_settings(RARE, batch_size=4), str(photos), tile_size=32)
    wanted = SampleFilter(("rocket", "cat"), ("outer.else",))
    found = find_batch(engine, request, wanted, back=False, most=60)
    assert found is not None
    has = [
        any(
            tile.class_name in wanted.classes and "outer.else" in tile.branches
            for tile in tiles(engine, request, batch)
        )
        for batch in range(1, found + 1)
    ]
    assert has == [False] * (found - 1) + [True]


def test_a_body_that_runs_in_a_later_turn_is_found(engine: Engine, photos: Path) -> None:
    graph, region = choose_some_of(load_recipe("rotate-jitter"), CATALOG, ["rotate", "color"])
    graph = set_count(add_option(graph, CATALOG, region), CATALOG, region, 2, shuffled=True)
    request = PreviewRequest(with_settings(graph, batch_size=1), str(photos), tile_size=32)
    scope = f"{region}.option_2"
    found = find_batch(engine, request, SampleFilter(branches=(scope,)), back=False, most=60)
    has = [scope in tiles(engine, request, batch)[0].branches for batch in range(1, 7)]
    assert found == 1 + has.index(True)


@pytest.mark.parametrize("turns", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_an_augmentation_is_found_where_a_tile_tells_of_it(
    turns: int, engine: Engine, photos: Path
) -> None:
    chain = chain_graph(
        "resize", "trivial_augment_wide", "rand_augment", resize={"size": (32.0, 32.0)}
    )
    graph, region = wrap_in_region(chain, CATALOG, ["trivial_augment_wide"])
    if turns > 1:
        graph, _ = repeat(graph, CATALOG, [region])
    graph = set_probability(graph, CATALOG, region, 0.3)
    request = PreviewRequest(with_settings(graph, batch_size=4), str(photos), tiles=3, tile_size=32)
    first, second = ("rotate", "equalize", "color", "solarize"), ("color", "identity")
    wide = {f"trivial_augment_wide.{name}" for name in first}
    rand = {f"rand_augment.{name}" for name in second}
    keys = tuple(sorted(wide | rand))
    found = find_batch(engine, request, SampleFilter(augmentations=keys), back=False, most=200)
    assert found is not None
    got = [
        [set(tile.augmentations) for tile in tiles(engine, request, batch)]
        for batch in range(1, found + 1)
    ]
    passes = [any(wide & each and rand & each for each in samples) for samples in got]
    assert passes == [False] * (found - 1) + [True]
    after = replace(request, batch=found + 1)
    assert find_batch(engine, after, SampleFilter(augmentations=keys), True, 200) == found
    shown = preview_batch(engine, request)
    assert {each.node for each in shown.augmentations} == {"trivial_augment_wide", "rand_augment"}
    assert {key for tile in shown.tiles for key in tile.augmentations} <= {
        each.key for each in shown.augmentations
    }
    for tile in shown.tiles:
        nodes = dict.fromkeys(key.partition(".")[0] for key in tile.augmentations)
        said = [draw for draw in tile.draws if draw.partition(" ")[0] in nodes]
        assert said == [f"{node} {text}" for node, text in zip(nodes, tile.applied, strict=True)]
