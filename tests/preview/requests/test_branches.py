"""Which bodies ran for a sample, how often they run, and batches in which they do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.block_graphs import CATALOG, branching_graph, decided_by_light, set_count, several
from tests.damaged import make_folder
from tests.helpers import chain_graph, with_settings
from workbench.engine import Engine
from workbench.graph import Graph
from workbench.graph.control_flow.block_kinds import IF
from workbench.graph.control_flow.options import add_option, set_probability
from workbench.graph.control_flow.wrapping import wrap_as_options, wrap_in_block
from workbench.graph.edits.edit import set_arg
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.storage.recipes import load_recipe
from workbench.preview import (
    BranchShares,
    PreviewRequest,
    Tile,
    preview_batch,
    preview_branch_shares,
    preview_card_pictures,
)
from workbench.preview.requests.batch_search import SampleFilter, find_batch
from workbench.preview.requests.branches import branches_of, wilson_interval


def counted(engine: Engine, request: PreviewRequest, batches: int) -> BranchShares:
    found = preview_branch_shares(engine, request, batches)
    while found.batches < batches:
        before, found = found, preview_branch_shares(engine, request, batches)
        assert found.batches > before.batches, "it goes on where it stopped"
    return found


def request_of(graph: Graph, photos: Path, batch_size: int) -> PreviewRequest:
    return PreviewRequest(with_settings(graph, batch_size=batch_size), str(photos), tile_size=32)


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (0, 0, 0.0, 1.0),
        (10, 10, 0.7225, 1.0),
    ],
)
def test_the_interval_is_wilsons(count: int, total: int, low: float, high: float) -> None:
    """The first four are in R. G. Newcombe, "Two-sided confidence intervals for the single
    proportion", Statistics in Medicine 17 (1998), table I, method 3."""
    assert wilson_interval(count, total, 0.95) == pytest.approx((low, high), abs=6e-5)


def test_bodies_run_as_often_as_was_asked_for(engine: Engine, photos: Path) -> None:
    graph = several(CATALOG)
    found = counted(engine, request_of(graph, photos, 100), 100)
    assert not found.reads
    outer, inner = found.blocks
    assert (outer.samples, outer.scope) == (10_000, "")
    assert (inner.samples, inner.scope) == (outer.bodies[0].count, "one_of.option_0")
    assert [body.asked for body in outer.bodies] == [0.5, 0.3, 0.2]
    assert [body.asked for body in inner.bodies] == [0.8, 0.2]
    for block in found.blocks:
        assert sum(body.count for body in block.bodies) == block.samples
        for body in block.bodies:
            low, high = wilson_interval(body.count, block.samples)
            assert body.asked is not None
            assert low < body.asked < high, body


def test_they_are_those_of_the_tiles(engine: Engine, photos: Path) -> None:
    request = request_of(branching_graph(), photos, 6)
    tiles = [
        tile
        for batch in range(3)
        for tile in preview_batch(engine, replace(request, batch=batch)).tiles
    ]
    for block in counted(engine, request, 3).blocks:
        for body in block.bodies:
            scope = f"{block.block}.{body.name}"
            assert body.count == sum(scope in tile.branches for tile in tiles), scope
    assert counted(engine, request, 1).batches == 1, "fewer than are known"


@pytest.mark.parametrize("shuffled", [False, True])
def test_what_runs_in_any_turn_of_its_own_counts_once(
    engine: Engine, photos: Path, shuffled: bool
) -> None:
    graph, block = wrap_as_options(
        load_recipe("rotate-jitter"), CATALOG, ["rotate", "color"], "some_of"
    )
    graph = add_option(graph, CATALOG, block)
    graph = set_count(graph, CATALOG, block, 2, shuffled=shuffled)
    request = request_of(graph, photos, 6)
    tiles = [
        tile
        for batch in range(2)
        for tile in preview_batch(engine, replace(request, batch=batch)).tiles
    ]
    (found,) = counted(engine, request, 2).blocks
    assert (found.samples, found.in_turns) == (12, False)
    assert [body.asked for body in found.bodies] == pytest.approx([2 / 3] * 3)
    for body in found.bodies:
        scope = f"{block}.{body.name}"
        assert body.count == sum(scope in tile.branches for tile in tiles), scope
    assert all(sum(name.startswith(block) for name in tile.branches) == 2 for tile in tiles)


@pytest.mark.parametrize("shuffled", [False, True])
def test_what_draws_anew_in_each_turn_counts_in_each(
    engine: Engine, photos: Path, shuffled: bool
) -> None:
    """For two iterations with one half each it reported three quarters, with one half outside."""
    graph, block = wrap_as_options(
        load_recipe("rotate-jitter"), CATALOG, ["rotate", "color"], "some_of"
    )
    graph = set_count(graph, CATALOG, block, 2 if shuffled else 1, shuffled=shuffled)
    graph, inner = wrap_in_block(graph, CATALOG, ["rotate"])
    graph, around = wrap_in_block(graph, CATALOG, [block], "repeat")
    outer, some, chance = counted(engine, request_of(graph, photos, 100), 20).blocks
    assert (outer.block, outer.samples, outer.in_turns) == (around, 2000, False)
    assert [(body.count, body.asked) for body in outer.bodies] == [(2000, 1.0)]
    assert (some.block, some.samples, some.in_turns) == (block, 4000, True)
    assert (chance.block, chance.samples) == (inner, some.bodies[0].count)
    for found in (some, chance):
        for body in found.bodies:
            low, high = wilson_interval(body.count, found.samples)
            assert body.asked is not None
            assert low <= body.asked <= high, body


def test_a_graph_without_blocks_has_none(engine: Engine, photos: Path) -> None:
    plain = set_arg(branching_graph(), CATALOG, "resize", "size", (32.0, 32.0))
    without = replace(
        plain, nodes=plain.nodes[:3], outputs={"images": plain.nodes[2].inputs["data"]}
    )
    found = preview_branch_shares(engine, request_of(without, photos, 4), 10)
    assert found == BranchShares(0, (), False)


def test_of_what_data_decide_nothing_was_asked_for(engine: Engine, photos: Path) -> None:
    drawn, graph = branching_graph(), decided_by_light()
    assert IF.shares(drawn, drawn.node("outer")) == (0.5, 0.5)
    assert IF.shares(graph, graph.node("outer")) is None
    found = counted(engine, request_of(graph, photos, 4), 3)
    assert found.reads
    assert found.blocks[0].samples == 12


# The batch that is found has a sample of the branches and classes, and none before it has.

RARE = set_probability(branching_graph(), "inner", 0.1)


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
    graph, block = wrap_as_options(
        load_recipe("rotate-jitter"), CATALOG, ["rotate", "color"], "some_of"
    )
    graph = set_count(add_option(graph, CATALOG, block), CATALOG, block, 2, shuffled=True)
    request = PreviewRequest(with_settings(graph, batch_size=1), str(photos), tile_size=32)
    scope = f"{block}.option_2"
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
    graph, block = wrap_in_block(chain, CATALOG, ["trivial_augment_wide"])
    if turns > 1:
        graph, _ = wrap_in_block(graph, CATALOG, [block], "repeat")
    graph = set_probability(graph, block, 0.3)
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


# Each tile lists the bodies that ran for its sample; nested blocks only if reached.


def test_the_text_of_a_numbered_body_tells_what_stands_in_it() -> None:
    assert [branch.text for branch in branches_of(ResolvedGraph(several(CATALOG), CATALOG))] == [
        "one_of: option_0 (branch)",
        "branch: then",
        "branch: else",
        "one_of: option_1 (color)",
        "one_of: option_2 (unchanged)",
    ]
    scopes = [branch.scope for branch in branches_of(ResolvedGraph(branching_graph(), CATALOG))]
    assert scopes == ["outer.then", "inner.then", "inner.else", "outer.else"]


def test_a_tile_tells_what_the_canvas_lights(engine: Engine, photos: Path) -> None:
    request = PreviewRequest(
        with_settings(branching_graph(), batch_size=6), photos, 1, tiles=5, tile_size=32
    )
    tiles = preview_batch(engine, request).tiles
    fired = [tile.branches for tile in tiles]
    for index, branches in enumerate(fired):
        cards = preview_card_pictures(engine, request, index).cards
        lit = [f"{card.node}.{name}" for card in cards for name in card.branches]
        assert sorted(branches) == sorted(lit)
        drawn = {draw.split()[0] for draw in tiles[index].draws}
        turned = {"angle"} if "inner.then" in branches else set()
        assert drawn == {"disturb"} | ({"turn"} if "outer.then" in branches else set()) | turned
    assert {len(branches) for branches in fired} == {1, 2}


def test_what_could_not_be_read_went_nowhere(engine: Engine, photos: Path, tmp_path: Path) -> None:
    bad, _ = make_folder(photos, tmp_path, ["text.jpg"])
    graph = set_probability(branching_graph(), "outer", 1.0)
    request = PreviewRequest(with_settings(graph, batch_size=4), bad, tile_size=32)
    tiles = preview_batch(engine, request).tiles
    assert {bool(tile.sample.error) for tile in tiles} == {True, False}
    assert all(bool(tile.branches) != bool(tile.sample.error) for tile in tiles)
