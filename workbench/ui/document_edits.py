"""Actions that change the document, whichever component asks for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from workbench.catalog.spec import Catalog
from workbench.graph.layout import Document
from workbench.ui.actions import bar, canvas, inspector
from workbench.ui.canvas_actions import apply_canvas_edit
from workbench.ui.inspector_actions import apply_inspector_edit
from workbench.ui.open_actions import checked_name
from workbench.ui.state import State
from workbench.ui.suggestions import apply_fix

DocumentEdit = inspector.InspectorEdit | canvas.CanvasEdit | bar.ApplyFix | bar.SetTitle


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


def apply_document_edit(
    state: State, document: Document, catalog: Catalog, action: DocumentEdit
) -> Edited:
    """Carry out an action. Raises GraphEditError for one that does not suit the graph."""
    match action:
        case bar.SetTitle():
            titled = replace(document.graph, name=checked_name(action.name))
            return Edited(document.with_graph(titled))
        case bar.ApplyFix():
            graph, label = apply_fix(document, catalog, state.checked, action)
            return Edited(document.with_graph(graph), said=f"{label}.")
        case _ if isinstance(action, inspector.InspectorEdit):
            graph = apply_inspector_edit(document.graph, catalog, action)
            return Edited(document.with_graph(graph), group=getattr(action, "group", ""))
        case _ if isinstance(action, canvas.CanvasEdit):
            return Edited(*apply_canvas_edit(document, catalog, action, state.scope))
    assert_never(action)
