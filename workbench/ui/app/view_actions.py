"""What the preview and the canvas may set and ask for, none of which changes what the graph does.

Values come from the browser: what is wrong raises a GraphError.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, assert_never

from workbench.errors import GraphEditError
from workbench.graph.storage.layout import Document
from workbench.preview.views.effect import MOST_VARIANTS
from workbench.ui.contract.actions import panels
from workbench.ui.export.exports import require_entry
from workbench.ui.state.closeup import CloseupSample
from workbench.ui.state.compared_graph import LONGEST_NAME
from workbench.ui.state.view_state import MOST_BATCH, MOST_COUNTED, MOST_TILE, MOST_TILES, ViewState
from workbench.ui.storage.saved_draws import delete_draw, replay_draw, save_draw

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
"""Fields of two values -> where the state has them."""
REPORTED = frozenset(
    {
        ("canvas", "in_view"),
        ("code", "in_view"),
        ("preview", "show_original"),
        ("inspector", "policy_rows"),
    }
)
"""What a page says of itself, unasked: it takes nothing back that a person was told just now."""


def set_view(state: ViewState, component: str, field: str, value: Any) -> bool:
    """Take the value of a field; returns whether it is one that only says what is to be seen."""
    if isinstance(value, bool):
        switch = _SWITCHES.get((component, field))
        if switch is not None:
            setattr(state, switch, value)
        return switch is not None
    if component == "preview" and field in ("seed", "batch") and state.pinned:
        raise GraphEditError(f"The draws are pinned: unpin them to set the {field}.")
    match component, field, value:
        case "preview", "mode", "original" | "augmented" | "both" | "difference" | "compare":
            state.mode = value
        case "preview", "against", str() if len(value) <= LONGEST_NAME:
            state.against = value
        case "preview", "baseline", str():
            state.baseline = value
        case "preview", "batch", int():
            if not 0 <= value <= MOST_BATCH:
                raise GraphEditError(f"batch {value}: 0 to {MOST_BATCH} can be shown.")
            if value != state.batch:
                state.batch, state.marked = value, []
        case "preview", "marked", [*places] if all(type(place) is int for place in places):
            size = state.checked.graph.settings.batch_size
            beyond = next((place for place in places if not 0 <= place < size), None)
            if beyond is not None:
                raise GraphEditError(f"No sample {beyond} is in the batch: give 0 to {size - 1}.")
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
                raise GraphEditError(f"repeat {value}: give a place of 0 to {size - 1}, or -1.")
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
            require_entry(value)
            state.target = value
        case _:
            return False
    return True


def apply_view_action(state: ViewState, document: Document, action: panels.ViewAction) -> Document:
    """Carry out an action on the state; returns the document that results."""
    match action:
        case panels.SaveDraw():
            return save_draw(document, state, action.sample if action.sample >= 0 else None)
        case panels.ReplayDraw():
            return replay_draw(document, state, action.draw)
        case panels.DeleteDraw():
            return delete_draw(document, action.draw)
        case panels.OpenCloseup():
            frame = state.closeup.frame if state.closeup else None  # it stays from sample to sample
            look = CloseupSample(action.index, action.of, frame)
            state.closeup = look if action.index >= 0 else None
            state.probe = None
            state.sample = action.index if action.index >= 0 else state.sample
        case panels.ChooseFrame():
            if state.closeup is not None:
                frame = action.frame if action.frame >= 0 else None
                state.closeup = replace(state.closeup, frame=frame)
                state.probe = None
        case panels.ProbePixel():
            state.probe = action.x, action.y
        case panels.ChooseSample():
            state.sample = max(0, action.index)
        case panels.ShowClass():
            others = [name for name in state.shown_classes if name != action.name]
            added = action.name not in state.shown_classes
            state.shown_classes = [*others, action.name] if added else others
            state.tab = "preview"
        case panels.CountBranches():
            if not 1 <= action.batches <= MOST_COUNTED:
                raise GraphEditError(
                    f"{action.batches} batches cannot be counted. Give 1 to {MOST_COUNTED}."
                )
            state.branch_batches, state.show_statistics = action.batches, True
        case _:
            assert_never(action)
    return document


def _names(value: list[Any]) -> list[str]:
    return list(dict.fromkeys(name for name in value if isinstance(name, str)))
