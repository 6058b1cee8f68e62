"""Entries of an outbox become typed actions, or a sentence that says why not."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.errors import GraphEditError
from workbench.ui.contract.actions import canvas, panels, parse_action
from workbench.ui.contract.actions.base import tag_of
from workbench.ui.contract.components import ACTIONS


def test_an_entry_becomes_its_action() -> None:
    entry = {"n": 7, "view": "a", "do": "add", "op": "rotate", "after": ""}
    assert parse_action("canvas", ACTIONS["canvas"], entry) == canvas.Add("rotate", "")
    assert parse_action("canvas", ACTIONS["canvas"], {"do": "remove"}) == canvas.Remove([], [])


@pytest.mark.parametrize(
    ("component", "message", "words"),
    [
        (
            "canvas",
            {"do": "add", "op": 5, "after": ""},
            "canvas cannot add: op is 5. Expected `str`",
        ),
        ("canvas", {"do": "add", "op": "rotate"}, "missing required field `after`"),
        ("canvas", {"do": "move", "node": "a", "by": True}, "by is True. Expected `int`"),
        ("canvas", {"do": "place", "positions": {"a": ["x"]}}, r"positions is \{'a': \['x'\]\}."),
        ("canvas", {"do": "move", "node": "a", "by": "\ud800"}, "is no text"),
        ("preview", {"do": "choose_sample", "index": "2"}, "index is '2'. Expected `int`"),
        ("preview", {"do": "select", "node": "a"}, "preview has no action 'select'. There are: "),
        ("preview", {"do": ["undo"]}, "preview has no action"),
        ("preview", {}, "preview has no action None"),
        ("tabs", {"do": "undo"}, "tabs has no action 'undo'"),
    ],
)
def test_what_is_none_is_refused_with_a_sentence(
    component: str, message: dict[str, Any], words: str
) -> None:
    with pytest.raises(GraphEditError, match=words):
        parse_action(component, ACTIONS.get(component, ()), message)


def test_one_tag_means_one_action_of_a_component() -> None:
    for component, kinds in ACTIONS.items():
        tags = [tag_of(kind) for kind in kinds]
        assert len(set(tags)) == len(tags), component
    assert tag_of(panels.OpenCloseup) == "open_closeup"
