"""What a field that either side may set, undo and redo change of the graph and the view."""

from __future__ import annotations

from typing import Any

from workbench.engine.machine import Machine
from workbench.errors import GraphEditError
from workbench.graph.edit import set_setting
from workbench.ui.components import TABS
from workbench.ui.history import History
from workbench.ui.state import State


def set_graph_field(
    state: State, history: History, machine: Machine, component: str, field: str, value: Any
) -> None:
    """Take what the browser or a cell set a field to. Raises GraphEditError for what cannot be."""
    if isinstance(value, bool):
        raise GraphEditError(f"{component}.{field} cannot be {value}.")
    match component, field, value:
        case "canvas", "selected", list():
            state.selected = [item for item in value if isinstance(item, str)]
        case "tabs", "tab", str() if value in TABS:
            state.tab = value
        case "bar", "device", "mixed" if machine.no_gpu:
            raise GraphEditError(f"Mixed decoding needs a GPU: {machine.no_gpu}.")
        case "bar", "device", "cpu" | "mixed":
            history.push(set_setting(history.now, device=value))
        case ("preview", "seed", int()) | ("speed", "batch_size" | "threads", int()):
            name = "num_threads" if field == "threads" else field
            history.push(set_setting(history.now, **{name: value}), history.burst(name))
        case _:
            raise GraphEditError(f"{component}.{field} cannot be {value!r}.")


def step(state: State, history: History, back: bool) -> str:
    """Undo or redo, and with a replayed draw its batch and photo too. Returns what to say."""
    word = "undo" if back else "redo"
    target = history.target(back)
    if target is None:
        return f"There is nothing to {word}."
    document, view = target
    held = history.now.settings.seed, state.batch
    if state.pinned and held != (document.graph.settings.seed, view[0] if view else held[1]):
        raise GraphEditError(
            f"The draws are pinned: unpin them to {word} the change of seed or batch."
        )
    (history.undo if back else history.redo)()
    if view is not None:
        (state.batch, state.repeat), state.closeup = view, None
    return ""
