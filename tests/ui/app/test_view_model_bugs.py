"""A bug in one part of the view-model: the page still answers, and no graph is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.ui.hosts import small
from tests.ui.screen import Make, edit
from workbench.graph import dump_graph
from workbench.graph.model import Graph
from workbench.ui.app import view_model
from workbench.ui.state.owner import new_owner
from workbench.ui.storage.autosave import sessions_folder

SMALL = small()
ODD = replace(SMALL, name="odd")


def failing_for_odd(real: Callable[..., Any]) -> Callable[..., Any]:
    def run(graph: Graph, *rest: Any) -> Any:
        if graph.name == ODD.name:
            raise ZeroDivisionError("a bug")
        return real(graph, *rest)

    return run


def test_a_document_that_cannot_be_shown_is_replaced_by_the_last_one(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = make(graph=SMALL)
    real = view_model.check_before_run
    monkeypatch.setattr(view_model, "check_before_run", failing_for_odd(real))
    model.act("bar", {"do": "open", "text": dump_graph(ODD)})
    assert model.graph == SMALL
    assert "This graph cannot be shown: ZeroDivisionError" in screen["bar", "message"]
    assert not screen["bar", "can_undo"]
    edit(model, "set", node="rotate", arg="angle", value=5, group="")
    assert model.graph.node("rotate").args["angle"] == 5
    model.take("bar", [{"n": 7, "do": "open", "text": dump_graph(ODD)}])
    assert screen["bar", "ack"] == 7
    assert model.graph.node("rotate").args["angle"] == 5


def test_a_kept_session_that_cannot_be_shown_is_set_aside(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = new_owner()
    first, screen = make(graph=SMALL)
    first.act("bar", {"do": "attach", "tab": owner})
    first.act("bar", {"do": "title", "name": ODD.name})
    first.close()
    real = view_model.check_before_run
    monkeypatch.setattr(view_model, "check_before_run", failing_for_odd(real))
    again, screen = make(graph=SMALL)
    again.act("bar", {"do": "attach", "tab": owner})
    assert again.graph == SMALL
    assert "cannot be shown" in screen["bar", "message"]
    assert ODD.name in (sessions_folder() / f"{owner}.damaged").read_text()


@pytest.mark.parametrize("part", ["speed", "comparison", "exports", "background_previews"])
def test_the_other_parts_stay_usable(
    part: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = make(graph=SMALL)

    def broken(*_: Any) -> Any:
        raise KeyError("difference")

    monkeypatch.setattr(getattr(model, part), "fields", broken)
    edit(model, "set", node="rotate", arg="angle", value=7, group="")
    assert "cannot be shown: KeyError" in screen["bar", "message"]
    monkeypatch.undo()
    edit(model, "set", node="rotate", arg="angle", value=8, group="")
    assert screen["bar", "message"] == ""


def test_an_action_that_fails_is_told(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    model, screen = make(graph=SMALL)

    def broken(*_: Any) -> Any:
        raise TypeError("a bug")

    monkeypatch.setattr(view_model, "carry_out", broken)
    model.act("bar", {"do": "undo"})
    assert screen["bar", "message"].startswith("The action failed: TypeError: a bug")
