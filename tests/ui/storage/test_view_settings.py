"""How a graph was looked at comes back; what cannot be is passed over."""

from __future__ import annotations

from tests.ui.hosts import small
from workbench.catalog import load_catalog
from workbench.engine.resources.machine import describe_machine
from workbench.ui.app.view_settings import restore_view, view_settings
from workbench.ui.state.view_state import ViewState, check_before_run


def fresh() -> ViewState:
    return ViewState(check_before_run(small(), load_catalog(), describe_machine()))


def test_it_comes_back() -> None:
    state, other = fresh(), fresh()
    state.tab, state.mode, state.batch, state.pinned, state.repeat = "data", "both", 7, True, 0
    restore_view(other, view_settings(state))
    assert view_settings(other) == view_settings(state)


def test_what_cannot_be_is_passed_over() -> None:
    state = fresh()
    before = view_settings(state)
    wrong = {"tab": [], "mode": "upside down", "batch": -1, "repeat": True, "target": "none",
             "tiles": "many", "pinned": 3, "lossless": None, "other": 1}  # fmt: skip
    restore_view(state, wrong)
    assert view_settings(state) == before
