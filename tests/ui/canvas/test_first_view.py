"""What is seen of a graph before anybody pans or zooms."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.frontend_module import run_module

SOURCE = """
import { firstView } from "./src/canvas/layout/firstView";
const answer = ({ seen, size, all }) => firstView(seen, size, all);
"""
CARD = {"width": 228, "height": 62}
Box = dict[str, Any]


def columns(count: int, rows: int) -> list[Box]:
    """A head, and below it columns of cards."""
    cards = [
        {"id": f"card_{column}_{row}", "x": 272 * column, "y": 100 * (row + 1), **CARD}
        for column in range(count)
        for row in range(rows)
    ]
    return [{"id": "head", "x": 0, "y": 0, **CARD}, *cards]


def placed(boxes: list[Box], current: str, width: int, height: int, **more: Any) -> dict[str, Box]:
    """Each box with its edges on the screen, and under an empty id the view."""
    right = max(box["x"] + box["width"] for box in boxes)
    bottom = max(box["y"] + box["height"] for box in boxes)
    seen = {
        "bounds": {"x": 0, "y": 0, "width": right, "height": bottom},
        "boxes": boxes,
        "head": "head",
        "current": current,
        "buttons": more.get("buttons", False),
        "breadcrumb": False,
    }
    size = {"width": width, "height": height}
    view = run_module(SOURCE, {"seen": seen, "size": size, "all": more.get("all", False)})
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


def is_whole(box: Box, width: int, height: int) -> bool:
    return bool(
        box["left"] >= 0 and box["top"] >= 0 and box["right"] <= width and box["bottom"] <= height
    )


def is_cut(box: Box, width: int, height: int) -> bool:
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


def test_a_note_at_a_node_goes_with_it() -> None:
    source = """
    import { notesAt } from "./src/canvas/layout/firstView";
    const answer = ({ notes }) => notesAt(notes, new Map([["reader", { x: 300, y: 40 }]]));
    """
    notes = [{"id": each, "text": "", "x": 0, "y": -90, "node": each} for each in ("reader", "")]
    found = run_module(source, {"notes": notes})
    assert [(note["x"], note["y"]) for note in found] == [(300, -50), (0, -90)]
