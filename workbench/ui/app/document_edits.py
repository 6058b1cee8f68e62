"""Actions that change the document, whichever component asks for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan
from typing import assert_never

import msgspec

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.annotations.follower_edits import with_class_count
from workbench.graph.storage.io import load_graph
from workbench.graph.storage.layout import Document
from workbench.ui.canvas.canvas_actions import apply_canvas_edit
from workbench.ui.canvas.edited_bodies import scope_of
from workbench.ui.canvas.suggestions import apply_fix
from workbench.ui.contract.actions import ApplyFix, bar, canvas, inspector
from workbench.ui.contract.data_views import DataView
from workbench.ui.inspector.inspector_actions import apply_inspector_edit
from workbench.ui.state.open_actions import checked_name
from workbench.ui.state.view_state import ViewState

DocumentEdit = inspector.InspectorEdit | canvas.CanvasEdit | ApplyFix | bar.SetTitle


@dataclass(frozen=True, slots=True)
class Edited:
    """What became of the document."""

    document: Document
    selected: list[str] | None = None
    """What to select; None leaves the selection."""
    group: str = ""
    """Shared by the edits that are one step of undo; empty: a step of its own."""
    said: str = ""
    """What to tell the user."""
    label: str = ""
    """What the history calls it; empty: what can be read off the documents."""


def apply_document_edit(
    state: ViewState,
    document: Document,
    catalog: Catalog,
    action: DocumentEdit,
    data: DataView | None = None,
) -> Edited:
    """Carry out an action on a graph that reads some data.

    Raises GraphEditError for one that does not suit the graph.
    """
    edited = _carried_out(state, document, catalog, action)
    classes = len(data["classes"]) if data else 0
    graph = with_class_count(document.graph, edited.document.graph, classes)
    if graph is edited.document.graph:
        return edited
    return replace(edited, document=edited.document.with_graph(graph))


def _carried_out(
    state: ViewState, document: Document, catalog: Catalog, action: DocumentEdit
) -> Edited:
    match action:
        case bar.SetTitle():
            titled = replace(document.graph, name=checked_name(action.name))
            return Edited(document.with_graph(titled))
        case ApplyFix():
            graph, label = apply_fix(document, catalog, state, action)
            return Edited(document.with_graph(graph), said=f"{label}.")
        case _ if isinstance(action, inspector.InspectorEdit):
            graph = apply_inspector_edit(document.graph, catalog, action)
            label = ""
            if isinstance(action, inspector.SetCondition):
                label = f"condition of {action.region}"
            edited = document.with_graph(graph)
            return Edited(edited, group=getattr(action, "group", ""), label=label)
        case canvas.AddElif() | canvas.Fuse():
            added = apply_canvas_edit(document, catalog, action, state.scope)
            word = "elif of" if isinstance(action, canvas.AddElif) else "fuse"
            return Edited(*added, label=f"{word} {action.node}")
        case canvas.SetPositions() if action.aligned:
            if action.aligned not in canvas.ALIGNMENTS:
                raise GraphEditError(
                    f"{action.aligned[:40]!r} is no alignment. There are: "
                    f"{', '.join(canvas.ALIGNMENTS)}."
                )
            placed, _ = apply_canvas_edit(document, catalog, action, state.scope)
            return Edited(placed, label=canvas.ALIGNMENTS[action.aligned])
        case canvas.Paste() if (body := _body_of_selection(document, state, action)) != state.scope:
            apart = msgspec.structs.replace(action, x=nan, y=nan)  # the place is of what is shown
            return Edited(*apply_canvas_edit(document, catalog, apart, body))
        case _ if isinstance(action, canvas.CanvasEdit):
            return Edited(*apply_canvas_edit(document, catalog, action, state.scope))
    assert_never(action)


def _body_of_selection(document: Document, state: ViewState, action: canvas.Paste) -> str:
    """The scope in which all that is selected stands, into which a text is pasted.

    That of the body that is shown where the selection stands in several, and for a text with a
    reader, which no region may hold.
    """
    scopes = {scope_of(document.graph, key, state.scope) for key in state.selected}
    if len(scopes) != 1 or load_graph(action.text).sources:
        return state.scope
    return scopes.pop()
