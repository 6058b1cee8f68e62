"""Restoring sessions, undoing it, and what is not stored."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.ui.hosts import small
from tests.ui.screen import Make, Ready, bar
from workbench.graph import dump_graph
from workbench.ui.state.owner import is_owner, new_owner

SMALL = small()


def attached(make: Make, tab: str = "", **options: Any) -> Ready:
    """A view-model and its screen, and a page that has said which tab it is."""
    model, screen = make(graph=SMALL, **options)
    bar(model, "attach", tab=tab)
    return model, screen


def test_a_reload_brings_everything_back(make: Make, photos: Path) -> None:
    first, screen = attached(make)
    tab = screen["bar", "tab"]
    assert is_owner(tab)
    assert first.owner == tab
    assert screen["bar", "restored"] == {}
    bar(first, "title", name="one")
    first.act("canvas", {"do": "place", "positions": {"rotate": [40.0, 80.0]}})
    bar(first, "title", name="two")
    bar(first, "undo")
    first.receive("canvas", "selected", ["flip"])
    seen = {"mode": "augmented", "tiles": 8, "batch": 2, "repeat": 1, "pinned": True}
    first.act("data", {"do": "open", "path": str(photos / "cat")})
    for field, value in seen.items():
        assert first.receive("preview", field, value) == ""
    first.receive("tabs", "tab", "code")
    first.receive("code", "target", "pytorch")
    first.receive("speed", "part", "stages")
    second, screen = attached(make, tab)  # before the first one has ended
    assert screen["bar", "tab"] == tab
    assert screen["bar", "title"] == "one"
    assert screen["canvas", "positions"] == {"rotate": [40.0, 80.0]}
    assert screen["canvas", "selected"] == ["flip"]
    assert {field: screen["preview", field] for field in seen} == seen
    assert (screen["tabs", "tab"], screen["code", "target"]) == ("code", "pytorch")
    assert screen["speed", "part"] == "stages"
    assert screen["data", "summary"]["root"] == str(photos / "cat")
    assert "with 2 edits to undo" in screen["bar", "restored"]["text"]
    bar(second, "redo")
    assert screen["bar", "title"] == "two"
    for _ in range(3):
        bar(second, "undo")
    assert second.graph == SMALL
    assert not screen["bar", "can_undo"]


def test_what_was_restored_is_undone_by_a_click_and_that_by_undo(make: Make, photos: Path) -> None:
    first, screen = attached(make)
    bar(first, "title", name="mine")
    first.act("data", {"do": "open", "path": str(photos / "cat")})
    first.close()
    second, screen = attached(make, first.owner)
    assert screen["bar", "title"] == "mine"
    bar(second, "start_afresh")
    assert second.graph == SMALL
    assert screen["data", "summary"]["root"] == str(photos)
    assert screen["bar", "restored"] == {}
    assert screen["bar", "undo_label"] == "start over"
    bar(second, "undo")
    assert screen["bar", "title"] == "mine"


@pytest.mark.parametrize("opens", ["graph", "data"])
def test_what_was_restored_is_not_told_of_another_graph_or_other_data(
    make: Make, photos: Path, opens: str
) -> None:
    first, _ = attached(make)
    bar(first, "title", name="mine")
    first.close()
    second, screen = attached(make, first.owner)
    second.act("canvas", {"do": "remove", "nodes": ["flip"]})
    assert screen["bar", "restored"]["text"]
    if opens == "graph":
        bar(second, "recipe", name="simclr")
    else:
        second.act("data", {"do": "open", "path": str(photos / "cat")})
    assert screen["bar", "restored"] == {}


def test_another_browser_begins_afresh_and_opens_recent_work(make: Make, photos: Path) -> None:
    first, screen = attached(make)
    first.receive("canvas", "selected", ["flip"])
    bar(first, "title", name="mine")
    screen.wait_ready()
    first.sessions.store_thumbnail(first.state.preview)
    first.close()
    looked, _ = attached(make)  # a session without an edit is no work
    looked.receive("canvas", "selected", ["flip"])
    looked.close()
    other, screen = attached(make)
    assert screen["bar", "title"] == SMALL.name
    assert screen["bar", "restored"] == {}
    bar(other, "list_recent")
    (entry,) = screen["bar", "recent"]
    assert (entry["name"], entry["data"], entry["open"]) == ("mine", photos.name, False)
    assert base64.b64decode(entry["picture"].partition(",")[2])[8:12] == b"WEBP"
    bar(other, "open_recent", owner=entry["owner"])
    assert screen["bar", "title"] == "mine"
    bar(other, "undo")
    assert screen["bar", "title"] == SMALL.name
    bar(other, "open_recent", owner=new_owner())
    assert "no longer exists" in screen["bar", "message"]


def test_what_a_page_had_still_to_send_is_carried_out(make: Make) -> None:
    first, screen = attached(make)
    first.act("canvas", {"do": "add", "op": "brightness", "after": "flip"})
    first.close()
    second, _ = make(graph=SMALL)
    value = {"node": "brightness_2", "arg": "brightness", "value": 2.5, "group": ""}
    kept = [
        {"component": "inspector", "do": "set", **value},
        {"component": "preview", "field": "batch", "value": 3},
        {"component": "nonsense", "do": "set"},
        {"component": "preview", "field": "batch", "value": "many"},
    ]
    bar(second, "attach", tab=screen["bar", "tab"], kept=kept)
    assert second.graph.node("brightness_2").args["brightness"] == 2.5
    assert second.state.batch == 3


def test_a_hostile_link_is_not_kept_before_it_was_shown(make: Make) -> None:
    model, screen = attached(make)
    bar(model, "title", name="mine")
    text = dump_graph(small("simclr"))
    bar(model, "open", text=text)
    opened = screen["bar", "opened"]
    assert opened == 1
    model.close()  # the page, or the server, ended before it was drawn
    again, screen = attached(make, screen["bar", "tab"])
    assert screen["bar", "title"] == "mine"
    bar(again, "open", text=text)
    bar(again, "shown", opened=screen["bar", "opened"])
    assert screen["bar", "opened"] == 0
    again.close()
    _, screen = attached(make, screen["bar", "tab"])
    assert screen["bar", "title"] == "simclr"


def test_a_notebook_finds_its_own(make: Make) -> None:
    owner = new_owner()
    first, screen = make(graph=SMALL, owner=owner, cell="the-cell")
    bar(first, "title", name="mine")
    first.close()
    _, screen = make(graph=SMALL, owner=owner, cell="the-cell")
    assert screen["bar", "title"] == "mine"
    _, screen = make(graph=SMALL, owner=new_owner(), cell="the-cell")
    assert screen["bar", "title"] == SMALL.name
    _, screen = make(graph=SMALL)  # no notebook
    assert screen["bar", "title"] == SMALL.name
    assert screen["bar", "cell"] == {}


def test_the_present_graph_is_described_as_a_cell(make: Make, photos: Path) -> None:
    model, screen = make(graph=SMALL, cell="the-cell")
    assert screen["bar", "cell"] == {"after": "the-cell"}
    bar(model, "title", name="mine")
    for asked in (1, 2):
        bar(model, "describe_cell")
        cell = screen["bar", "cell"]
        assert (cell["after"], cell["asked"]) == ("the-cell", asked)
    assert '.named("mine"' in cell["source"]
    assert repr(str(photos)) in cell["source"]


def test_nothing_is_restored_or_kept_where_that_is_not_wanted(make: Make, own_state: Path) -> None:
    model, screen = attached(make, restore=False)
    assert model.owner == ""
    bar(model, "title", name="mine")
    for do in ("start_afresh", "list_recent", "dismiss_restored"):
        bar(model, do)
    assert screen["bar", "message"] == f"Opened {SMALL.name}."
    model.close()
    assert list(own_state.iterdir()) == []


@pytest.mark.parametrize("tab", ["", "../../etc/passwd", "x" * 16, "A" * 16])
def test_a_tab_that_can_be_none_gets_one(make: Make, tab: str) -> None:
    _, screen = attached(make, tab)
    assert is_owner(screen["bar", "tab"])
    assert screen["bar", "tab"] != tab
