"""What the preview and the steps may set and ask for, none of which changes what the graph does.

Values come from the browser: what is wrong raises a GraphError.
"""

from __future__ import annotations

from typing import Any, assert_never

from workbench.emit.targets import load_target
from workbench.errors import GraphEditError
from workbench.graph.layout import Document
from workbench.ui.actions import panels
from workbench.ui.closeup import Closeup
from workbench.ui.saved_draws import delete_draw, replay_draw, save_draw
from workbench.ui.state import MOST_BATCH, MOST_TILE, MOST_TILES, State

_SWITCHES = {
    ("preview", "show_original"): "show_original",
    ("preview", "lossless"): "lossless",
    ("preview", "pinned"): "pinned",
    ("preview", "show_statistics"): "show_statistics",
    ("steps", "in_view"): "steps_in_view",
    ("code", "in_view"): "code_in_view",
}
"""Fields of two values -> where the state has them."""


def set_view(state: State, component: str, field: str, value: Any) -> bool:
    """Take the value of a field; returns whether it is one that only says what is to be seen."""
    if isinstance(value, bool):
        switch = _SWITCHES.get((component, field))
        if switch is not None:
            setattr(state, switch, value)
        return switch is not None
    if component == "preview" and field in ("seed", "batch") and state.pinned:
        raise GraphEditError(f"The draws are pinned: unpin them to set the {field}.")
    match component, field, value:
        case "preview", "mode", "original" | "augmented" | "both" | "difference":
            state.mode = value
        case "preview", "baseline", str():
            state.baseline = value
        case "preview", "batch", int():
            if not 0 <= value <= MOST_BATCH:
                raise GraphEditError(f"batch {value}: 0 to {MOST_BATCH} can be shown.")
            state.batch = value
        case "preview", "tiles", int():
            state.tiles = min(MOST_TILES, max(4, value))
        case "preview", "tile_size", int():
            state.tile_size = min(MOST_TILE, max(32, value)) if value else 0
        case "preview", "repeat", int():
            size = state.checked.graph.settings.batch_size
            if value >= size:
                raise GraphEditError(f"repeat {value}: give a place of 0 to {size - 1}, or -1.")
            state.repeat = max(-1, value)
        case "steps", "sample", int():
            state.sample = max(0, value)
        case "code", "target", str():
            load_target(value)
            state.target = value
        case _:
            return False
    return True


def apply_view_action(state: State, document: Document, action: panels.ViewAction) -> Document:
    """Carry out an action on the state; returns the document that results."""
    match action:
        case panels.SaveDraw():
            return save_draw(document, state, action.sample if action.sample >= 0 else None)
        case panels.ReplayDraw():
            return replay_draw(document, state, action.draw)
        case panels.DeleteDraw():
            return delete_draw(document, action.draw)
        case panels.OpenCloseup():
            state.closeup = Closeup(action.index, action.of) if action.index >= 0 else None
            state.probe = None
        case panels.ProbePixel():
            state.probe = action.x, action.y
        case panels.ShowSteps():
            state.sample = max(0, action.index)
            state.tab = "steps"
        case _:
            assert_never(action)
    return document
