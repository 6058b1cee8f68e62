"""What a field that either side may set, undo and redo change of the graph and the view."""

from __future__ import annotations

from typing import Any

from workbench.catalog.spec import Catalog
from workbench.engine.resources.machine import Machine
from workbench.errors import GraphEditError
from workbench.graph.edits.edit import set_setting
from workbench.ui.app.selection import follow_step
from workbench.ui.contract.actions import GoToStep, Redo, Undo
from workbench.ui.contract.components import TABS
from workbench.ui.state.history import History
from workbench.ui.state.view_state import ViewState


def set_graph_field(
    state: ViewState, history: History, machine: Machine, component: str, field: str, value: Any
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
        case ("preview", "seed", int()) | ("speed", "batch_size" | "threads" | "pipelines", int()):
            name = "num_threads" if field == "threads" else field
            history.push(set_setting(history.now, **{name: value}), history.burst(name))
        case _:
            raise GraphEditError(f"{component}.{field} cannot be {value!r}.")


def take_steps(
    state: ViewState, history: History, catalog: Catalog, action: Undo | Redo | GoToStep
) -> str:
    """Undo, redo or go to a step of the history, and let the selection follow.

    Returns what to say. Raises GraphEditError for a step that is not there.
    """
    before = history.document
    if isinstance(action, GoToStep):
        said = _go_to(state, history, action.step)
    else:
        said = undo_or_redo(state, history, back=isinstance(action, Undo))
    follow_step(state, before, history.document, catalog)
    return said


def _go_to(state: ViewState, history: History, number: int) -> str:
    done = len(history.before)
    there = done + len(history.undone)
    if not 0 <= number <= there:
        raise GraphEditError(f"There is no step {number}. Give 0 to {there}.")
    for _ in range(abs(number - done)):
        said = undo_or_redo(state, history, back=number < done)
        if said:
            return said
    return ""


def undo_or_redo(state: ViewState, history: History, back: bool) -> str:
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
