"""Set fields to values from the browser, a notebook cell or a restored session.

Values from the browser are untrusted: an invalid value raises GraphError.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from workbench.engine.resources.machine import Machine
from workbench.errors import GraphEditError, WorkbenchError
from workbench.graph.edits.edit import set_setting
from workbench.preview.requests.effect import MOST_VARIANTS
from workbench.ui.contract.components import TABS
from workbench.ui.contract.speed_payloads import PARTS
from workbench.ui.export.exports import choose_target
from workbench.ui.preview.comparison_job import LONGEST_NAME
from workbench.ui.state.history import History
from workbench.ui.state.view_state import MOST_BATCH, MOST_TILE, MOST_TILES, ViewState

_SWITCHES = {
    ("bar", "history_in_view"): "history_in_view",
    ("preview", "show_original"): "show_original",
    ("preview", "lossless"): "lossless",
    ("preview", "pinned"): "pinned",
    ("preview", "show_statistics"): "show_statistics",
    ("preview", "show_targets"): "show_targets",
    ("canvas", "show_targets"): "show_targets",
    ("canvas", "in_view"): "canvas_in_view",
    ("code", "in_view"): "code_in_view",
    ("code", "skip_bad"): "skip_bad",
    ("inspector", "effect_open"): "effect_open",
}
"""Name of the ViewState attribute for each boolean field, by (component, field)."""
_ALLOWED = {"selected": "a list of nodes", "tab": " or ".join(TABS), "device": "cpu or mixed"} | (
    dict.fromkeys(("seed", "batch_size", "threads", "pipelines"), "an integer")
)
"""Allowed values of each graph field, as text for error messages."""
REPORTED = frozenset(
    {
        ("canvas", "in_view"),
        ("code", "in_view"),
        ("preview", "show_original"),
        ("inspector", "effect_open"),
        ("inspector", "policy_rows"),
    }
)
"""Fields that a page may set without a user action, so they do not clear the message."""


def set_view(state: ViewState, component: str, field: str, value: Any) -> bool:
    """Set a field of the view state. Return False if the view state has no such field."""
    if isinstance(value, bool):
        switch = _SWITCHES.get((component, field))
        if switch is not None:
            setattr(state, switch, value)
        return switch is not None
    if component == "preview" and field in ("seed", "batch") and state.pinned:
        raise GraphEditError(f"Seed and batch are pinned. Unpin them to set the {field}.")
    match component, field, value:
        case "preview", "mode", "original" | "augmented" | "both" | "difference" | "compare":
            state.mode = value
        case "preview", "against", str() if len(value) <= LONGEST_NAME:
            state.against = value
        case "preview", "baseline", str():
            state.baseline = value
        case "preview", "batch", int():
            if not 0 <= value <= MOST_BATCH:
                raise GraphEditError(f"Batch {value} cannot be shown. Use 0 to {MOST_BATCH}.")
            if value != state.batch:
                state.batch, state.marked = value, []
        case "preview", "marked", [*places] if all(type(place) is int for place in places):
            size = state.checked.graph.settings.batch_size
            beyond = next((place for place in places if not 0 <= place < size), None)
            if beyond is not None:
                raise GraphEditError(f"The batch has no sample {beyond}. Use 0 to {size - 1}.")
            state.marked = sorted(set(places))
        case "preview", "tiles", int():
            state.tiles = min(MOST_TILES, max(4, value))
        case "preview", "tile_size", int():
            state.tile_size = min(MOST_TILE, max(32, value)) if value else 0
        case "preview", "shown_classes", list():
            state.shown_classes = _names(value)
        case "preview", "shown_branches", list():
            state.shown_branches = _names(value)
        case "preview", "shown_augmentations", list():
            state.shown_augmentations = _names(value)
        case "preview", "repeat", int():
            size = state.checked.graph.settings.batch_size
            if value >= size:
                raise GraphEditError(
                    f"repeat cannot be {value}. Use 0 to {size - 1}, or -1 for none."
                )
            state.repeat = max(-1, value)
        case "canvas", "sample", int():
            state.sample = max(0, value)
        case "canvas", "detail_of", str():
            state.detail_of = value
        case "inspector", "effect_args", [*names] if all(isinstance(n, str) for n in names):
            state.effect_args = names[:2]
        case "inspector", "policy_rows", [*rows] if all(type(row) is int for row in rows):
            state.policy_rows = sorted(set(rows))[:MOST_VARIANTS]
        case "code", "target", str():
            choose_target(state, value)
        case _:
            return False
    return True


def _names(value: list[Any]) -> list[str]:
    return list(dict.fromkeys(name for name in value if isinstance(name, str)))


def set_graph_field(
    state: ViewState, history: History, machine: Machine, component: str, field: str, value: Any
) -> None:
    """Set a field of the graph. Raises GraphEditError for an invalid value."""
    match component, field, (None if isinstance(value, bool) else value):
        case "canvas", "selected", list():
            selected = [item for item in value if isinstance(item, str)]
            state.code_from_top &= selected == state.selected
            state.selected = selected
        case "tabs", "tab", str() if value in TABS:
            state.tab = value
        case "bar", "device", "mixed" if machine.no_gpu:
            raise GraphEditError(f"Mixed decoding needs a GPU: {machine.no_gpu}.")
        case "bar", "device", "cpu" | "mixed":
            history.push(set_setting(history.now, device=value))
        case ("preview", "seed", int()) | ("speed", "batch_size" | "threads" | "pipelines", int()):
            name = "num_threads" if field == "threads" else field
            history.push(set_setting(history.now, **{name: value}), history.burst(name))
        case _:
            allowed = f" Use {_ALLOWED[field]}." if field in _ALLOWED else ""
            raise GraphEditError(f"{component}.{field} cannot be {value!r}.{allowed}")


# View settings that are stored with the session.

_KEPT = {
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
"""View settings that are stored with the session, and the component of each setting.

``pinned`` is last: once it is set, seed and batch can no longer be changed.
"""


def view_settings(state: ViewState) -> dict[str, Any]:
    """Return the view settings to store with the session, by field name."""
    settings = {field: getattr(state, field) for field in _KEPT}
    part = {"speed_part": state.speed_part}
    return {"tab": state.tab, "repeat": state.repeat, **part, **settings}


def restore_view(state: ViewState, settings: Mapping[str, Any]) -> None:
    """Apply stored view settings, ignoring invalid values."""
    tab, repeat = settings.get("tab"), settings.get("repeat")
    if tab in TABS:
        state.tab = tab
    if (part := settings.get("speed_part")) in PARTS:
        state.speed_part = str(part)
    if isinstance(repeat, int) and not isinstance(repeat, bool):
        state.repeat = max(-1, repeat)  # a smaller batch may lack it: ``ViewState.repeated``
    for field, component in _KEPT.items():
        if field in settings:
            with suppress(WorkbenchError):
                set_view(state, component, field, settings[field])
