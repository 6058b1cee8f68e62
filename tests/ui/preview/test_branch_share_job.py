"""Branches in the preview: filtered and searched, and counted while the statistics are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.helpers import with_settings
from tests.region_graphs import CATALOG, branching_graph, decided_by_light
from tests.ui.screen import Make, Screen
from workbench.graph.control_flow.chance import set_probability
from workbench.ui.preview.branch_share_job import USUAL_BATCHES
from workbench.ui.state.view_state import FILTERED_TILE, MOST_COUNTED

GRAPH = with_settings(branching_graph(), batch_size=4, num_threads=2, seed=7)


def shares(screen: Screen) -> dict[str, Any]:
    found: dict[str, Any] = screen["preview", "branch_shares"]
    return found


def wait_counted(screen: Screen, batches: int) -> dict[str, Any]:
    screen.wait(
        lambda s: shares(s).get("batches") == batches and not shares(s)["counting"], "counts"
    )
    return shares(screen)


def test_only_tiles_of_a_branch_are_asked_for_and_the_next_batch_with_one(
    make: Make, photos: Path
) -> None:
    model, screen = make(photos, GRAPH)
    screen.wait_ready()
    texts = [branch["text"] for branch in screen.header["branches"]]
    assert texts == ["outer: then", "inner: then", "inner: else", "outer: else"]

    def has(branch: str) -> bool:
        return any(branch in tile["branches"] for tile in screen.header["tiles"])

    model.receive("preview", "shown_branches", ["inner.then", "gone.then"])
    assert screen["preview", "shown_branches"] == ["inner.then"], "what the graph has"
    screen.wait(lambda s: s.header["tile"] == FILTERED_TILE, "as many tiles as there are")
    model.act("preview", {"do": "find_batch", "back": False})
    screen.wait(lambda s: s["preview", "batch"] > 0, "a batch with one")
    batch = screen["preview", "batch"]
    assert screen["bar", "message"] == f"Batch {batch} has a sample of inner.then."
    screen.wait(lambda s: s.header["batch"] == batch, "its picture")
    assert has("inner.then")

    model.act("canvas", {"do": "unwrap", "node": "inner", "body": "else"})
    assert screen["preview", "shown_branches"] == []
    model.act("bar", {"do": "undo"})
    assert screen["preview", "shown_branches"] == ["inner.then"]


def test_the_inspector_tells_the_shares_of_its_region(make: Make, photos: Path) -> None:
    model, screen = make(photos, GRAPH)
    screen.wait_ready()
    model.receive("canvas", "selected", ["inner"])
    told = screen["inspector", "shares"]
    tiles = [tile["branches"] for tile in screen.header["tiles"]]
    assert told["shown_of"] == sum("outer.then" in branches for branches in tiles)
    assert told["shown"]["then"] == sum("inner.then" in branches for branches in tiles)
    assert sum(told["shown"].values()) == told["shown_of"]
    assert told["counted"] == []
    model.act("inspector", {"do": "count_branches", "batches": 50})
    wait_counted(screen, 50)
    then, _ = screen["inspector", "shares"]["counted"]
    assert then["body"] == "then"
    assert then["low"] < then["share"] < then["high"]
    model.receive("canvas", "selected", ["resize"])
    assert screen["inspector", "shares"]["shown"] == {}
    with model.lock:  # before the picture with it comes
        model.act("canvas", {"do": "wrap", "nodes": ["resize"], "op": "if"})
        (region,) = screen["canvas", "selected"]
        assert model.graph.node(region).bodies
        assert screen["inspector", "shares"]["shown"] == {}, "none ran yet, and not 0 of all"
    screen.wait(lambda s: s["inspector", "shares"]["shown"], "how often it ran")


def test_shares_are_counted_while_the_statistics_are_shown(make: Make, photos: Path) -> None:
    model, screen = make(photos, GRAPH)
    screen.wait_ready()
    assert shares(screen) == {}
    model.receive("preview", "show_statistics", True)
    found = wait_counted(screen, USUAL_BATCHES)
    assert [region["region"] for region in found["regions"]] == ["outer", "inner"]
    assert found["samples"] == 4 * USUAL_BATCHES == found["regions"][0]["samples"]
    for region in found["regions"]:
        for body in region["bodies"]:
            assert body["low"] < body["share"] < body["high"]
            assert (body["asked"], body["agrees"]) == (0.5, True)

    model.set_graph(set_probability(GRAPH, CATALOG, "outer", 0.2))
    screen.wait(lambda s: shares(s)["regions"][0]["bodies"][0]["asked"] == 0.2, "those of 0.2")
    (then, _) = wait_counted(screen, USUAL_BATCHES)["regions"][0]["bodies"]
    assert then["low"] < 0.2 < then["high"]

    model.act("preview", {"do": "count_branches", "batches": 1500})
    wait_counted(screen, 1500)
    model.act("preview", {"do": "count_branches", "batches": MOST_COUNTED + 1})
    assert f"Give 1 to {MOST_COUNTED}" in screen["bar", "message"]
    model.receive("preview", "show_statistics", False)
    assert shares(screen) == {}


def test_what_data_decide_is_counted_on_only_when_asked(make: Make, photos: Path) -> None:
    model, screen = make(photos, with_settings(decided_by_light(), batch_size=4, num_threads=2))
    screen.wait_ready()
    model.receive("preview", "show_statistics", True)
    screen.wait(lambda s: shares(s).get("reads") and not shares(s)["counting"], "the first counts")
    first = shares(screen)["batches"]
    assert shares(screen)["regions"][0]["bodies"][0]["asked"] is None
    model.act("preview", {"do": "count_branches", "batches": first + 1})
    wait_counted(screen, first + 1)
