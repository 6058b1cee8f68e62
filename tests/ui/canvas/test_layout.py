"""Positions and visibility of cards and edges: modules of the front end, run by Node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.block_graphs import BLOCK_GRAPHS, CATALOG
from tests.thorough import examples
from tests.ui.frontend_module import run_module
from workbench.graph import Graph, Port, load_recipe
from workbench.graph.edits.connect import set_output
from workbench.graph.edits.edit import insert_node
from workbench.graph.storage.layout import Layout
from workbench.graph.types.devices import infer_devices
from workbench.graph.types.typed_graph import TypedGraph
from workbench.ui.canvas.canvas_payloads import edge_entries, node_entries
from workbench.ui.state.graph_argument import to_document

# Positions of aligned and distributed cards.

BOXES = [
    {"id": "a", "x": 0, "y": 0, "width": 100, "height": 40},
    {"id": "b", "x": 30, "y": 60, "width": 200, "height": 40},
    {"id": "c", "x": 200, "y": 260, "width": 100, "height": 60},
]
ALIGN = """
import { alignedBoxes } from "./src/canvas/state/alignment";
const answer = ({ boxes, hows }) =>
  hows.map((how) => [...alignedBoxes(how, boxes).values()].map(({ x, y }) => [x, y]));
"""


def test_boxes_are_put_in_line_and_apart() -> None:
    hows = ["left", "centre", "right", "bottom", "down"]
    left, centre, right, bottom, down = run_module(ALIGN, {"boxes": BOXES, "hows": hows})
    assert left == [[0, 0], [0, 60], [0, 260]]
    assert centre == [[100, 0], [50, 60], [100, 260]]
    assert right == [[200, 0], [100, 60], [200, 260]]
    assert bottom == [[0, 280], [30, 280], [200, 260]]
    assert down == [[0, 0], [30, 130], [200, 260]]


# Where edges run: on the canvas and inside the frames of blocks.

Box = Mapping[str, Any]
ROUTES = """
import { boxesOf, arrange } from "./src/canvas/layout/layout";
import { layOutFrames, scopesOf, sized, withInner } from "./src/canvas/layout/nestedLayout";
import { orderPorts } from "./src/canvas/layout/portOrder";
import { Routes } from "./src/canvas/layout/routes";

const context = { measureText: (text) => ({ width: 7 * text.length }) };
globalThis.document = { createElement: () => ({ getContext: () => context }) } as any;

const drawn = ({ nodes, edges }) => {
  const frames = layOutFrames(nodes, edges);
  const entries = sized(nodes, frames.places);
  const own = entries.filter(({ id }) => !frames.inner.has(id));
  const ids = new Set(own.map(({ id }) => id));
  const { spots, lanes } = arrange(own, edges.filter(({ source }) => ids.has(source)));
  for (const [edge, lane] of frames.lanes) lanes.set(edge, spots.get(lane.frame).x + lane.x);
  withInner(spots, frames.inner);
  const ordered = orderPorts(entries, edges, spots, lanes);
  const scopes = scopesOf(nodes, edges);
  const boxes = boxesOf(ordered, edges).map(({ id, width, height }) =>
    ({ id, width, height, scope: scopes.get(id), ...spots.get(id) }));
  const routes = new Routes().find(ordered, edges, spots, lanes);
  return { boxes, routes: [...routes].map(([id, { along }]) =>
    ({ id, along, scope: scopes.get(id) })) };
};
const answer = (graphs) => graphs.map(drawn);
"""


def views(graph: Graph, *, unfolds: bool) -> dict[str, Any]:
    """What the canvas is given; ``unfolds`` shows each draw as a node of its own."""
    draws = (node.id for node in graph.walk() if node.op.startswith("random."))
    collapsed = to_document(graph).layout.collapsed
    layout = Layout(unfolded=frozenset(draws if unfolds else ()), collapsed=collapsed)
    devices = infer_devices(graph, CATALOG)
    return {
        "nodes": node_entries(TypedGraph(graph, CATALOG), layout, devices, {}, {}, []),
        "edges": edge_entries(TypedGraph(graph, CATALOG), layout, devices),
    }


def blocks_around(scope: str, boxes: Mapping[str, Box]) -> Iterator[str]:
    """The blocks around a body, the innermost first."""
    while block := scope.rpartition(".")[0]:
        yield block
        scope = boxes[block]["scope"]


def holds(box: Box, x: float, y: float, rim: float = 0) -> bool:
    across = box["x"] - rim <= x <= box["x"] + box["width"] + rim
    return bool(across and box["y"] - rim <= y <= box["y"] + box["height"] + rim)


def overlap(a: Box, b: Box) -> bool:
    across = a["x"] < b["x"] + b["width"] and b["x"] < a["x"] + a["width"]
    return bool(across and a["y"] < b["y"] + b["height"] and b["y"] < a["y"] + a["height"])


@examples(quick=1, thorough=6)
@given(st.lists(st.tuples(BLOCK_GRAPHS, st.booleans()), min_size=4, max_size=12))
def test_boxes_and_edges_cover_nothing_also_in_frames(drawn: list[tuple[Graph, bool]]) -> None:
    for found in run_module(ROUTES, [views(graph, unfolds=each) for graph, each in drawn]):
        boxes: dict[str, Box] = {box["id"]: box for box in found["boxes"]}
        for a, b in combinations(boxes.values(), 2):
            if a["scope"] == b["scope"]:
                assert not overlap(a, b), f"{a['id']} lies upon {b['id']}"
        for box in boxes.values():
            for block in blocks_around(box["scope"], boxes):
                right, bottom = box["x"] + box["width"], box["y"] + box["height"]
                assert holds(boxes[block], box["x"], box["y"]), f"{box['id']} leaves {block}"
                assert holds(boxes[block], right, bottom), f"{box['id']} leaves {block}"
        for route in found["routes"]:
            blocks = list(blocks_around(route["scope"], boxes))
            others = [box for key, box in boxes.items() if key not in blocks]
            for point in route["along"]:
                at = point["x"], point["y"]
                through = [box["id"] for box in others if holds(box, *at, rim=-1)]
                assert not through, f"{route['id']} runs through {through[0]} at {at}"
                left = [block for block in blocks if not holds(boxes[block], *at)]
                assert not left, f"{route['id']} leaves {left[0]} at {at}"


# What is seen of a graph before anybody pans or zooms.

FIRST_VIEW = """
import { firstView } from "./src/canvas/layout/firstView";
const answer = ({ seen, size, all }) => firstView(seen, size, all);
"""
CARD = {"width": 228, "height": 62}
ScreenBox = dict[str, Any]


def columns(count: int, rows: int) -> list[ScreenBox]:
    """A head, and below it columns of cards."""
    cards = [
        {"id": f"card_{column}_{row}", "x": 272 * column, "y": 100 * (row + 1), **CARD}
        for column in range(count)
        for row in range(rows)
    ]
    return [{"id": "head", "x": 0, "y": 0, **CARD}, *cards]


def placed(
    boxes: list[ScreenBox], current: str, width: int, height: int, **more: Any
) -> dict[str, ScreenBox]:
    """Each box with its edges on the screen, and under an empty id the view."""
    right = max(box["x"] + box["width"] for box in boxes)
    bottom = max(box["y"] + box["height"] for box in boxes)
    bounds = {"x": 0, "y": 0, "width": right, "height": bottom}
    seen = {
        "bounds": {**bounds, "width": right + more.get("note", 0)},
        "cards": bounds,
        "boxes": boxes,
        "head": "head",
        "current": current,
        "buttons": more.get("buttons", False),
        "breadcrumb": False,
    }
    size = {"width": width, "height": height}
    view = run_module(FIRST_VIEW, {"seen": seen, "size": size, "all": more.get("all", False)})
    zoom = view["zoom"]
    at = {
        box["id"]: {
            "left": box["x"] * zoom + view["x"],
            "top": box["y"] * zoom + view["y"],
            "right": (box["x"] + box["width"]) * zoom + view["x"],
            "bottom": (box["y"] + box["height"]) * zoom + view["y"],
        }
        for box in boxes
    }
    return {"": view, **at}


def is_whole(box: ScreenBox, width: int, height: int) -> bool:
    return bool(
        box["left"] >= 0 and box["top"] >= 0 and box["right"] <= width and box["bottom"] <= height
    )


def is_cut(box: ScreenBox, width: int, height: int) -> bool:
    beside = box["right"] <= 0 or box["left"] >= width or box["bottom"] <= 0 or box["top"] >= height
    return not beside and not is_whole(box, width, height)


@pytest.mark.parametrize(("width", "height"), [(346, 648), (390, 798), (300, 560)])
def test_two_branches_are_seen_whole_beside_each_other(width: int, height: int) -> None:
    view, *boxes = placed(columns(2, 4), "card_0_1", width, height).values()
    assert view["zoom"] >= 0.5
    assert all(is_whole(box, width, height) for box in boxes)


def test_a_small_graph_is_as_large_as_life() -> None:
    assert placed(columns(1, 4), "head", 346, 648)[""]["zoom"] == 1


@pytest.mark.parametrize("current", ["head", "card_0_2", "card_4_0", "card_7_2"])
@pytest.mark.parametrize("rows", [3, 14])
def test_of_a_wide_graph_the_selected_card_is_seen_and_none_is_cut(rows: int, current: str) -> None:
    found = placed(columns(8, rows), current, 346, 648)
    view = found.pop("")
    assert view["zoom"] >= 0.5
    assert is_whole(found[current], 346, 648)
    assert [key for key, box in found.items() if is_cut(box, 346, 648)] == []
    if current in ("head", "card_0_2"):
        assert is_whole(found["head"], 346, 648)


@pytest.mark.parametrize("current", ["card_0_1", "card_1_0", "card_3_2"])
def test_nothing_is_empty_above_the_graph(current: str) -> None:
    """SimCLR opened with half a pane of nothing, for so no card at the lower edge was cut."""
    boxes = [
        {**box, "x": box["x"] - 40 * place, "y": box["y"] + 37 * (place % 5)}
        for place, box in enumerate(columns(4, 12))
    ]
    least = min(box["x"] for box in boxes)
    found = placed([{**box, "x": box["x"] - least} for box in boxes], current, 390, 620)
    assert is_whole(found[current], 390, 620)
    assert found["head"]["top"] <= 15


def test_buttons_on_cards_are_never_too_small() -> None:
    assert placed(columns(2, 4), "head", 346, 648, buttons=True)[""]["zoom"] >= 0.7


def test_a_note_is_left_out_of_view_before_a_card_is() -> None:
    beside = placed(columns(2, 4), "head", 400, 648, note=40)
    assert beside[""]["zoom"] * (500 + 40) <= 400
    found = placed(columns(2, 4), "head", 400, 648, note=400)
    assert found == placed(columns(2, 4), "head", 400, 648)
    wide = {"current": "head", "width": 800, "height": 648, "all": True}
    assert placed(columns(4, 4), note=300, **wide)[""]["zoom"] * (1044 + 300) <= 800
    assert placed(columns(4, 4), note=900, **wide) == placed(columns(4, 4), **wide)


def test_everything_is_seen_where_that_is_asked_for() -> None:
    found = placed(columns(8, 20), "card_0_1", 346, 648, all=True)
    found.pop("")
    assert all(is_whole(box, 346, 648) for box in found.values())


def test_notes_are_in_view_too() -> None:
    source = """
    import { withNotes } from "./src/canvas/layout/firstView";
    const answer = ({ bounds, notes }) => withNotes(bounds, notes);
    """
    bounds = {"x": 0, "y": 0, "width": 228, "height": 162}
    note = {"id": "note", "text": f"Imported partly.\n{'a' * 70}", "x": -20, "y": -90}
    assert run_module(source, {"bounds": bounds, "notes": []}) == bounds
    found = run_module(source, {"bounds": bounds, "notes": [note]})
    assert found == {"x": -20, "y": -90, "width": 248, "height": 252}
    below = run_module(source, {"bounds": bounds, "notes": [{**note, "y": 150}]})
    assert below == {"x": -20, "y": 0, "width": 248, "height": 150 + 8 + 4 * 18}
    long = {**note, "text": "a" * 2000, "y": 150}
    assert run_module(source, {"bounds": bounds, "notes": [long]}) == below, "the rest is cut"


def test_a_note_at_a_node_goes_with_it() -> None:
    source = """
    import { notesAt } from "./src/canvas/layout/firstView";
    const answer = ({ notes }) => notesAt(notes, new Map([["reader", { x: 300, y: 40 }]]));
    """
    notes = [{"id": each, "text": "", "x": 0, "y": -90, "node": each} for each in ("reader", "")]
    found = run_module(source, {"notes": notes})
    assert [(note["x"], note["y"]) for note in found] == [(300, -50), (0, -90)]


# Positions of the cards of a large graph, whose chains are laid out as one card each.

RANKS = """
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
        RANKS,
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


# Long chains of like operators, drawn as one card each.

GROUPS = """
import { findAllGroups, findGroups, withGroups } from "./src/canvas/layout/groups";
const answer = ({ nodes, edges, kept, longer, all }) => {
  const groups = (all ? findAllGroups : findGroups)(nodes, edges, kept, longer);
  return { groups, drawn: withGroups(nodes, edges, groups) };
};
"""


def grouped(graph: Graph, *kept: str, **more: int) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Title and members of each group by its id, and what is drawn."""
    given = {**views(graph, unfolds=False), "kept": list(kept), **more}
    found = run_module(GROUPS, given)
    groups = {each["id"]: [each["title"], *each["members"]] for each in found["groups"]}
    return groups, found["drawn"]


def long_graph() -> Graph:
    """After `resize` four colour operators, before `rotate` two; fourteen operators in all."""
    graph, after = load_recipe("rotate-jitter"), "resize"
    for op in ("brightness", "contrast", "hue", "saturation", "crop", "hsv", "gaussian_blur"):
        graph, after = insert_node(graph, CATALOG, op, after)
    return graph


def test_a_chain_of_like_operators_is_one_card() -> None:
    groups, drawn = grouped(long_graph())
    members = ["brightness_2", "contrast_2", "hue_2", "saturation_2"]
    assert groups == {"brightness_2+": ["4 colour operators", *members]}
    cards = {node["id"]: node for node in drawn["nodes"]}
    assert not cards.keys() & set(members)
    assert cards["brightness_2+"]["values"] == "brightness, contrast, hue, saturation"
    edges = {(edge["source"], edge["target"]): edge for edge in drawn["edges"]}
    assert edges["resize", "brightness_2+"]["id"] == "brightness_2:data"
    assert edges["brightness_2+", "crop"]["id"] == "crop:data"
    (into,), (out,) = cards["brightness_2+"]["inputs"], cards["brightness_2+"]["outputs"]
    assert edges["resize", "brightness_2+"]["input"] == into["name"]
    assert edges["brightness_2+", "crop"]["output"] == out["name"]


def test_no_chain_is_collapsed_that_is_short_selected_branched_or_at_fault() -> None:
    graph = long_graph()
    assert grouped(load_recipe("rotate-jitter"))[0] == {}
    assert grouped(graph, "hue_2")[0] == {}
    assert grouped(set_output(graph, "more", Port("contrast_2", "output")))[0] == {}
    wrong = graph.replace_node(graph.node("hue_2").with_args({"hue": "red"}))
    given = views(wrong, unfolds=False)
    for node in given["nodes"]:
        node["fault"] = "wrong" if node["id"] == "hue_2" else ""
    assert run_module(GROUPS, {**given, "kept": []})["groups"] == []


def test_every_chain_is_one_card_where_a_graph_is_too_wide() -> None:
    groups, drawn = grouped(load_recipe("simclr"), "flip_1", all=True)
    second = ["crop_2", "with_jitter_2", "with_gray_2", "with_blur_2"]
    second += ["flip_2", "jitter_2", "gray_2", "blur_2"]
    assert groups["crop_2+"] == ["5 operators", *second]
    assert groups["jitter_1+"][0] == "3 operators", "the selected node stays visible"
    ids = [node["id"] for node in drawn["nodes"]]
    assert ids == ["reader", "decode", "crop_1", "flip_1", "jitter_1+", "crop_2+"]


def test_what_was_opened_can_be_collapsed_in_a_short_graph_too() -> None:
    graph, after = load_recipe("rotate-jitter"), "resize"
    for op in ("brightness", "contrast", "hue"):
        graph, after = insert_node(graph, CATALOG, op, after)
    assert grouped(graph)[0] == {}
    assert list(grouped(graph, longer=0)[0]) == ["brightness_2+"]
