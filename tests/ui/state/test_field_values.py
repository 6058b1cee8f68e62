"""What is computed for which change."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from tests.ui.screen import Screen
from workbench.ui.app import field_values
from workbench.ui.app.view_model import ViewModel
from workbench.ui.contract.components import COMPONENTS

COSTLY = (
    "dump_document", "infer_devices", "on_drawn_nodes", "node_entries", "edge_entries",
    "copied_text", "inspector_view", "saved_draw_entries",
    "scope_entries", "data_parameters", "shuffles_files",
)  # fmt: skip


def test_a_tick_of_progress_computes_nothing_anew(
    ready: tuple[ViewModel, Screen], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = ready
    computed: list[str] = []

    def counting(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(compute)
        def counted(*args: Any, **options: Any) -> Any:
            computed.append(name)
            return compute(*args, **options)

        return counted

    for name in COSTLY:
        monkeypatch.setattr(field_values, name, counting(name, getattr(field_values, name)))
    with model.lock:
        model._refresh()
        computed.clear()
        screen.published.clear()
        model._on_folder("Checked 100 of 120 files.")
        assert screen.published == [("bar", "message")]
        assert computed == []
    model.receive("canvas", "selected", ["color"])
    assert computed == ["copied_text", "inspector_view"]
    computed.clear()
    model.act("bar", {"do": "title", "name": "other"})
    assert set(computed) == set(COSTLY)


def test_two_components_may_have_a_field_of_one_name(ready: tuple[ViewModel, Screen]) -> None:
    model, screen = ready
    having = [of.name for of in COMPONENTS if any(f.name == "in_view" for f in of.fields)]
    assert having == ["canvas", "code"]
    assert model.receive("code", "in_view", True) == ""
    assert (screen["canvas", "in_view"], model.state.code_in_view) == (False, True)
    assert model.receive("canvas", "in_view", True) == ""
    assert model.receive("code", "in_view", False) == ""
    assert (model.state.canvas_in_view, model.state.code_in_view) == (True, False)
    assert "code.seed cannot be 7" in model.receive("code", "seed", 7)
    assert model.graph.settings.seed == 42
