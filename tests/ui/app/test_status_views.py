"""The status line: faults, and whether edits are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.hosts import small
from tests.ui.screen import Make
from workbench.errors import SaveError


def test_it_follows_the_graph_and_says_what_is_kept(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = make(graph=small())
    assert screen["status", "faults"] == []
    assert screen["status", "speeds"] == []
    assert screen["status", "kept"]["state"] == "kept"
    model.act("canvas", {"do": "disconnect", "edges": ["flip:data"]})
    (fault,) = screen["status", "faults"]
    assert fault == screen["bar", "faults"][0]
    assert fault["node"] == "flip"
    model.act(
        "status", {"do": "fix", "node": "flip", "arg": fault["arg"], "fix": fault["fixes"][0]}
    )
    assert screen["status", "faults"] == []
    model.act("bar", {"do": "undo"})
    model.act("bar", {"do": "undo"})
    model.act("bar", {"do": "open", "text": screen["bar", "saved"]})
    assert screen["status", "kept"]["state"] == "waiting"
    model.act("bar", {"do": "shown", "opened": screen["bar", "opened"]})
    assert screen["status", "kept"]["text"] == "kept on this machine"

    def full(path: Path, text: str) -> Path:
        raise SaveError("The disk is full.")

    monkeypatch.setattr("workbench.ui.storage.autosave.write_text", full)
    model.act("bar", {"do": "title", "name": "one more"})
    screen.wait(lambda s: s["status", "kept"]["state"] == "not kept", "that it is told")
    assert screen["status", "kept"]["reason"] == "The disk is full."


def test_without_restore_nothing_is_kept(make: Make) -> None:
    _, screen = make(graph=small(), restore=False)
    assert screen["status", "kept"]["text"] == "not kept"
