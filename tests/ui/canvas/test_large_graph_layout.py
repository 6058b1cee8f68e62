"""Where the boxes of a large graph stand, whose chains are laid out as one box each."""

from __future__ import annotations

from itertools import pairwise

from tests.ui.frontend_module import run_module

_ANSWER = """
import { ranks } from "./src/canvas/layout/ranks";
function answer({ boxes, edges, last }) {
  const { places, lanes } = ranks(boxes, edges, last, "left");
  return { places: Object.fromEntries(places), lanes: Object.fromEntries(lanes) };
}
"""
Edge = tuple[str, str]


def ranked(
    edges: list[Edge], last: list[str]
) -> tuple[dict[str, int], dict[str, float], dict[str, float]]:
    """The row and the line of each box, and the lane of each edge that passes by others."""
    ids = dict.fromkeys(end for edge in edges for end in edge)
    found = run_module(
        _ANSWER,
        {
            "boxes": [{"id": each, "left": 60, "right": 100} for each in ids],
            "edges": [{"id": f"{a}>{b}", "source": a, "target": b, "weight": 8} for a, b in edges],
            "last": last,
        },
    )
    places = found["places"]
    rows = {each: place["rank"] for each, place in places.items()}
    lines = {each: place["x"] for each, place in places.items()}
    return rows, lines, found["lanes"]


def chain(name: str, count: int, first: str) -> list[Edge]:
    """As many boxes one under the other, below the first."""
    nodes = [first, *(f"{name}{number}" for number in range(count))]
    return list(pairwise(nodes))


def test_a_chain_runs_straight_down_past_a_lane() -> None:
    edges = [*chain("n", 100, "reader"), ("n99", ":images"), ("reader", ":labels")]
    rows, lines, lanes = ranked(edges, [":images", ":labels"])
    assert [rows[b] - rows[a] for a, b in edges[:100]] == [1] * 100
    assert rows[":images"] == rows[":labels"] == 101
    assert len({lines[f"n{number}"] for number in range(100)}) == 1
    lane = lanes["reader>:labels"]
    assert abs(lane - lines["n50"]) >= 100, "beside the cards"


def test_branches_and_draws_stand_beside_each_other() -> None:
    edges = [
        *chain("left", 40, "split"),
        *chain("right", 30, "split"),
        ("left39", "join"),
        ("right29", "join"),
        ("draw", "join"),
        ("join", ":images"),
    ]
    rows, lines, _ = ranked(edges, [":images"])
    assert rows["left0"] == rows["right0"] == rows["split"] + 1
    assert abs(lines["left0"] - lines["right0"]) >= 160, "no card lies over another"
    assert rows["join"] == rows["left39"] + 1
    assert rows["draw"] == rows["join"] - 1, "close above what it feeds"
    assert all(rows[b] > rows[a] for a, b in edges)


def test_a_circle_is_drawn_too() -> None:
    edges = [*chain("n", 70, "reader"), *chain("c", 3, "c9"), ("c2", "c9"), ("n69", ":images")]
    rows, _, _ = ranked(edges, [":images"])
    assert len({rows[each] for each in ("c9", "c0", "c1", "c2")}) == 4
