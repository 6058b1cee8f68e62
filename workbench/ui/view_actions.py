"""What the preview and the steps may set and ask for, none of which changes what the graph does.

Values and messages come from the browser: what is wrong raises a GraphError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.emit.targets import load_target
from workbench.errors import GraphEditError
from workbench.graph.layout import Document
from workbench.ui.argument_actions import Message, text_of
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


def set_view(state: State, field: str, value: Any) -> bool:
    """Take the value of a field; returns whether it is one that only says what is to be seen."""
    if isinstance(value, bool):
        if field in _SWITCHES:
            setattr(state, field, value)
        return field in _SWITCHES
    if field in ("seed", "batch") and state.pinned:
        raise GraphEditError(f"The draws are pinned: unpin them to set the {field}.")
    match field, value:
        case "mode", "original" | "augmented" | "both" | "difference":
            state.mode = value
        case "baseline", str():
            state.baseline = value
        case "batch", int():
            if not 0 <= value <= MOST_BATCH:
                raise GraphEditError(f"batch {value}: 0 to {MOST_BATCH} can be shown.")
            state.batch = value
        case "tiles", int():
            state.tiles = min(MOST_TILES, max(4, value))
        case "tile_size", int():
            state.tile_size = min(MOST_TILE, max(32, value)) if value else 0
        case "repeat", int():
            size = state.checked.graph.settings.batch_size
            if value >= size:
                raise GraphEditError(f"repeat {value}: give a place of 0 to {size - 1}, or -1.")
            state.repeat = max(-1, value)
        case "sample", int():
            state.sample = max(0, value)
        case "target", str():
            load_target(value)
            state.target = value
        case _:
            return False
    return True


def _keep(state: State, document: Document, message: Message) -> Document:
    sample = _number(message, "sample")
    return save_draw(document, state, sample if sample >= 0 else None)


def _replay(state: State, document: Document, message: Message) -> Document:
    return replay_draw(document, state, _number(message, "draw"))


def _drop(state: State, document: Document, message: Message) -> Document:
    return delete_draw(document, _number(message, "draw"))


def _look(state: State, document: Document, message: Message) -> Document:
    index = _number(message, "index")
    of = text_of(message, "of")
    state.closeup = Closeup(index, of) if index >= 0 else None
    state.probe = None
    return document


def _probe(state: State, document: Document, message: Message) -> Document:
    state.probe = _number(message, "x"), _number(message, "y")
    return document


def _steps(state: State, document: Document, message: Message) -> Document:
    state.sample = max(0, _number(message, "index"))
    state.tab = "steps"
    return document


def _select(state: State, document: Document, message: Message) -> Document:
    node = text_of(message, "node")
    document.graph.node(node)
    state.selected = [node]
    return document


VIEW_ACTIONS: dict[tuple[str, str], Callable[[State, Document, Message], Document]] = {
    ("preview", "keep"): _keep,
    ("preview", "replay"): _replay,
    ("preview", "drop"): _drop,
    ("preview", "look"): _look,
    ("preview", "probe"): _probe,
    ("preview", "steps"): _steps,
    ("steps", "select"): _select,
    ("code", "select"): _select,
}
"""Each takes the state, which it may change, the document and the message, and gives the document
that results."""


def _number(message: Message, key: str) -> int:
    value = message.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise GraphEditError(f"{message.get('do')}: {key} is {value!r}, not a whole number.")
    return value
