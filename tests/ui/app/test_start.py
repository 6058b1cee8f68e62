"""The start page for users without a graph: what it offers, and when it disappears."""

from __future__ import annotations

import pytest

from tests.ui.screen import Make, edit
from workbench.graph import dump_graph, load_recipe


def test_without_a_graph_an_example_is_shown_with_starting_points(make: Make) -> None:
    model, screen = make(graph=None)
    start = screen["inspector", "start"]
    assert start["picture"].startswith("data:image/")
    assert screen["bar", "title"] == "rotate-jitter"
    assert screen["canvas", "selected"] == []
    screen.wait_ready()
    assert screen.picture, "there are pictures at once"

    model.receive("canvas", "selected", ["rotate"])
    assert screen["inspector", "node"]["id"] == "rotate"
    edit(model, "set", node="rotate", arg="fill_value", value=9)
    assert screen["inspector", "start"] == {}, "the graph is one's own now"


@pytest.mark.parametrize(
    ("action", "title"),
    [
        ({"do": "recipe", "name": "imagenet-train"}, "imagenet-train"),
        ({"do": "new"}, "untitled"),
        ({"do": "open", "text": dump_graph(load_recipe("simclr"))}, "simclr"),
    ],
)
def test_each_starting_point_opens(make: Make, action: dict[str, str], title: str) -> None:
    model, screen = make(graph=None)
    start = screen["inspector", "start"]
    model.act("inspector", action)
    assert (screen["bar", "title"] or "untitled") == title
    assert screen["inspector", "start"] == (
        {**start, "example": False} if "new" in action.values() else {}
    )
    model.act("bar", {"do": "undo"})
    assert screen["bar", "title"] == "rotate-jitter"
    assert screen["inspector", "start"] == start


def test_an_empty_graph_has_starting_points_also_after_undo(make: Make) -> None:
    model, screen = make()
    assert screen["inspector", "start"] == {}
    model.act("bar", {"do": "new"})
    start = screen["inspector", "start"]
    assert (start["name"], start["example"]) == ("imagenet-train", False)
    model.act("canvas", {"do": "add", "op": "readers.file", "after": ""})
    assert screen["inspector", "start"] == {}
    model.act("bar", {"do": "undo"})
    assert screen["inspector", "start"] == start


def test_a_graph_that_is_given_is_shown_with_a_node_selected(make: Make) -> None:
    _, screen = make(graph="rotate-jitter")
    assert screen["inspector", "start"] == {}
    assert screen["inspector", "node"]["id"] == "rotate"


def test_an_empty_graph_is_no_fault_and_shows_no_other_pictures(make: Make) -> None:
    model, screen = make()
    screen.wait_ready()
    request, result = model._done, model.state.preview
    assert request
    assert result
    model.act("bar", {"do": "new"})
    model._on_done(request, result)  # a picture that was rendered meanwhile
    assert screen["bar", "status"] == {"state": "ready", "text": "empty graph"}
    assert screen["bar", "faults"] == screen["status", "faults"] == []
    assert screen.picture == b""
    assert "graph is empty" in screen["preview", "stale"]
    model.act("bar", {"do": "undo"})
    screen.wait_ready()
    assert screen.picture
