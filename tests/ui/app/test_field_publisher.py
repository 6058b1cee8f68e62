from __future__ import annotations

import threading
from typing import Any

from workbench.ui.app.field_publisher import FieldPublisher


def publisher(
    present: dict[str, dict[str, Any]],
) -> tuple[FieldPublisher, list[tuple[str, str, Any]]]:
    told: list[tuple[str, str, Any]] = []
    return FieldPublisher(lambda *what: told.append(what), threading.RLock(), lambda: present), told


def test_only_what_has_changed_is_published() -> None:
    present: dict[str, dict[str, Any]] = {"bar": {"title": "a", "can_undo": False}}
    fields, told = publisher(present)
    fields.refresh()
    assert told == [("bar", "title", "a"), ("bar", "can_undo", False)]
    present["bar"]["title"] = "b"
    fields.refresh()
    assert told[2:] == [("bar", "title", "b")]


def test_a_field_that_has_no_value_yet_is_published_also_as_none() -> None:
    fields, told = publisher({})
    fields.show("preview", "closeup", None)
    fields.show("preview", "closeup", None)
    assert told == [("preview", "closeup", None)]


def test_what_the_browser_has_set_itself_is_not_echoed_but_put_right() -> None:
    present: dict[str, dict[str, Any]] = {"preview": {"seed": 7}}
    fields, told = publisher(present)
    fields.hold("preview", "seed", 7)
    fields.refresh()
    assert told == []
    fields.hold("preview", "seed", "seven")
    assert fields.held("preview", "seed") == "seven"
    fields.refresh()
    assert told == [("preview", "seed", 7)]


def test_a_change_while_publishing_tells_nothing_that_is_out_of_date() -> None:
    present: dict[str, dict[str, Any]] = {"a": {"x": 1, "y": 1}}
    told: list[tuple[str, str, Any]] = []

    def publish(*what: Any) -> None:
        told.append(what)
        if what == ("a", "x", 1):
            present["a"] = {"x": 2, "y": 2}
            fields.refresh()

    fields = FieldPublisher(publish, threading.RLock(), lambda: present)
    fields.refresh()
    assert told == [("a", "x", 1), ("a", "x", 2), ("a", "y", 2)]
