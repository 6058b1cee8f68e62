"""How the user looks at a graph, as it is kept with the session and comes back with it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from workbench.errors import WorkbenchError
from workbench.ui.app.view_actions import set_view
from workbench.ui.contract.components import TABS
from workbench.ui.speed import PARTS
from workbench.ui.state.view_state import ViewState

_FIELDS = {
    "mode": "preview",
    "baseline": "preview",
    "against": "preview",
    "batch": "preview",
    "tiles": "preview",
    "tile_size": "preview",
    "lossless": "preview",
    "shown_classes": "preview",
    "shown_branches": "preview",
    "shown_augmentations": "preview",
    "show_statistics": "preview",
    "show_targets": "preview",
    "sample": "canvas",
    "target": "code",
    "effect_open": "inspector",
    "effect_args": "inspector",
    "pinned": "preview",
}
"""Field -> its component. ``pinned`` is the last: it holds the batch."""


def view_settings(state: ViewState) -> dict[str, Any]:
    """What is kept, by field."""
    kept = {field: getattr(state, field) for field in _FIELDS}
    part = {"speed_part": state.speed_part}
    return {"tab": state.tab, "repeat": state.repeat, **part, **kept}


def restore_view(state: ViewState, kept: Mapping[str, Any]) -> None:
    """Show it so again. What cannot be is passed over."""
    tab, repeat = kept.get("tab"), kept.get("repeat")
    if tab in TABS:
        state.tab = tab
    if (part := kept.get("speed_part")) in PARTS:
        state.speed_part = str(part)
    if isinstance(repeat, int) and not isinstance(repeat, bool):
        state.repeat = max(-1, repeat)  # a smaller batch may lack it: ``ViewState.repeated``
    for field, component in _FIELDS.items():
        if field in kept:
            with suppress(WorkbenchError):
                set_view(state, component, field, kept[field])
