"""What each action of the browser does to the view-model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import GraphEditError
from workbench.ui.app.field_edits import take_steps
from workbench.ui.app.selection import open_scope, select_node
from workbench.ui.app.view_actions import apply_view_action
from workbench.ui.canvas.suggestions import find_suggestions
from workbench.ui.contract.actions import (
    Action,
    GoToStep,
    OpenScope,
    Redo,
    Retry,
    SelectNode,
    Undo,
    bar,
    canvas,
    panels,
    speed,
)
from workbench.ui.export.exports import copy_code, save_as, save_file_list
from workbench.ui.preview.batch_search import search_batch
from workbench.ui.speed import RunAction
from workbench.ui.state.open_actions import open_document
from workbench.ui.state.view_state import blocking_faults, request_of
from workbench.ui.storage.saved_snippets import change_snippets

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel
from dataclasses import dataclass, replace
from math import nan
from typing import assert_never

import msgspec

from workbench.catalog.spec import Catalog
from workbench.graph.annotations.follower_edits import with_class_count
from workbench.graph.storage.io import load_graph
from workbench.graph.storage.layout import Document
from workbench.ui.canvas.canvas_actions import apply_canvas_edit
from workbench.ui.canvas.edited_bodies import scope_of
from workbench.ui.canvas.suggestions import apply_fix
from workbench.ui.contract.actions import ApplyFix, inspector
from workbench.ui.contract.data_views import DataView
from workbench.ui.inspector.inspector_actions import apply_inspector_edit
from workbench.ui.state.open_actions import checked_name
from workbench.ui.state.view_state import ViewState


def carry_out(model: ViewModel, component: str, action: Action) -> str:
    """Returns what to tell the user. Called with the model's lock held; raises WorkbenchError."""
    state, document, data = model.state, model.history.document, model.data_panel
    match action:
        case Undo() | Redo() | GoToStep():
            return take_steps(state, model.history, model.catalog, action)
        case SelectNode(node=node):
            select_node(state, document, node)
        case OpenScope(scope=scope):
            open_scope(state, model.graph, model.catalog, scope)
        case Retry() if data.error:
            return model.open_data(data.datasets)
        case Retry():
            model.ask_again()
        case _ if isinstance(action, DocumentEdit):
            model.sessions.release()
            edited = apply_document_edit(state, document, model.catalog, action, data.view)
            model.history.push_document(edited.document, edited.group, None, edited.label)
            state.selected = state.selected if edited.selected is None else edited.selected
            return edited.said
        case _ if isinstance(action, panels.ViewAction):
            before = state.batch, state.repeat
            shown = apply_view_action(state, document, action)
            after = state.batch, state.repeat
            model.history.push_document(shown, "", (before, after) if before != after else None)
        case _ if isinstance(action, bar.OpenAction):
            opened = open_document(action)
            if isinstance(action, bar.OpenText | bar.OpenPicture):
                model.sessions.hold()
            return model.replace(opened)
        case canvas.FindConnectTargets() | canvas.FindCompatibleOps():
            find_suggestions(state, model.graph, model.catalog, action)
        case canvas.CopyCode():
            return copy_code(state, action)
        case canvas.SaveSnippet() | canvas.RemoveSnippet():
            return change_snippets(state, model.catalog, action)
        case bar.Share():
            _share(model)
        case _ if isinstance(action, bar.SessionAction):
            return model.sessions.carry_out(action)
        case bar.SaveGraph() | bar.ExportScript() | bar.DownloadScript() | panels.SaveCode():
            return save_as(state, document, action, model.roots, data)
        case panels.Verify():
            if faults := blocking_faults(state):
                raise GraphEditError(f"Not compared: {faults[0]}")
            model.verification.start(state.checked.active, data.datasets)
        case panels.CompareWithFile():
            model.comparison.open_file(state, action)
        case panels.StopVerification():
            model.verification.cancel()
        case panels.FindBatch():
            return search_batch(state, data, model.background, action, model.changed)
        case panels.OpenFolder():
            return model.open_data(data.with_path(action.path))
        case panels.UseGoodFiles():
            path = data.write_good()
            return model.open_data(data.with_path(path)) or f"Opened {path}, without the bad files."
        case _ if isinstance(action, panels.FolderAction):
            data.do(action)
        case panels.SaveFileList():
            return save_file_list(state, data.found, action, model.roots)
        case speed.Adopt() | speed.TakeRewrites():
            model.history.push(model.speed.adopt(action, model.graph))
        case _ if isinstance(action, RunAction):
            model.speed.do(action, state.checked.active, data.datasets)
        case _:
            raise GraphEditError(f"{component} cannot do {type(action).__name__} yet.")
    return ""


def _share(model: ViewModel) -> None:
    document, faults = model.history.document, blocking_faults(model.state)
    reason = model.data_panel.error or (f"It cannot run here: {faults[0]}" if faults else "")
    request = None if reason else request_of(model.state, model.data_panel.datasets)
    model.share_image_job.start(document, request, reason)


# Actions that change the document, whichever component asks for them.

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
                label = f"condition of {action.block}"
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
    reader, which no block may hold.
    """
    scopes = {scope_of(document.graph, key, state.scope) for key in state.selected}
    if len(scopes) != 1 or load_graph(action.text).sources:
        return state.scope
    return scopes.pop()
