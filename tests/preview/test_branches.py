"""Each tile tells which bodies ran for its sample, of a nested region only where it was come to."""

from __future__ import annotations

from pathlib import Path

from tests.damaged import make_folder
from tests.helpers import with_settings
from tests.region_graphs import CATALOG, branching_graph, several
from workbench.engine import Engine
from workbench.graph.control_flow.chance import set_probability
from workbench.graph.resolved import ResolvedGraph
from workbench.preview import PreviewRequest, preview_batch, preview_card_pictures
from workbench.preview.facts.branches import branches_of


def test_the_text_of_a_numbered_body_tells_what_stands_in_it() -> None:
    assert [branch.text for branch in branches_of(ResolvedGraph(several(CATALOG), CATALOG))] == [
        "one_of: option_0 (branch)",
        "branch: then",
        "branch: else",
        "one_of: option_1 (color)",
        "one_of: option_2 (as it is)",
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
    graph = set_probability(branching_graph(), CATALOG, "outer", 1.0)
    request = PreviewRequest(with_settings(graph, batch_size=4), bad, tile_size=32)
    tiles = preview_batch(engine, request).tiles
    assert {bool(tile.sample.error) for tile in tiles} == {True, False}
    assert all(bool(tile.branches) != bool(tile.sample.error) for tile in tiles)
