"""Change the selected nodes, and the block body that the canvas shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.catalog.spec import Catalog
from workbench.graph.control_flow.block_kinds import CONDITION
from workbench.graph.model import Graph, block_of
from workbench.graph.model.node_order import ancestors
from workbench.graph.storage.layout import Document
from workbench.ui.canvas.canvas_payloads import all_folded_generators
from workbench.ui.contract.action import Action
from workbench.ui.inspector.block_payloads import card_around, is_shown, nearest_existing_scope
from workbench.ui.state.undo_labels import changed_nodes
from workbench.ui.state.view_state import ViewState, initial_selection

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel


class SelectNode(Action, tag="select", frozen=True):
    """Select a node in all components, and open the block body that contains it."""

    node: str

    def apply(self, model: ViewModel) -> None:
        state, document = model.state, model.history.document
        if not is_shown(document.graph, document.layout, self.node, state.scope):
            state.scope = document.graph.scope_of(self.node)
        state.selected = [self.node]


class OpenScope(Action, tag="open_scope", frozen=True):
    """Show a body of a block on the canvas, and select the block that was open before."""

    scope: str
    """Body to show, such as ``branch.then``; empty for the whole graph."""

    def apply(self, model: ViewModel) -> None:
        state, graph = model.state, model.graph
        graph.body_at(self.scope)
        body = graph.at_scope(self.scope)
        left = card_around(body, block_of(state.scope)) if state.scope else ""
        state.scope = self.scope
        state.selected = [left] if left else initial_selection(body, model.catalog)


def follow_step(state: ViewState, before: Document, after: Document, catalog: Catalog) -> None:
    """Adapt the selection after an undo or redo.

    Restored nodes are selected. If no node was restored and the selected node no longer exists, a
    node that the edit changed is selected.
    """
    old, new = before.graph, after.graph
    if old is new:
        return
    folded = all_folded_generators(new, catalog, after.layout)
    touched = [node for node in changed_nodes(old, new) if node not in folded]
    back = [node for node in touched if not old.has(node)]
    if back and old.nodes and not _decide_in_selected(new, state.selected, back):
        scope = new.scope_of(back[-1])
        if not is_shown(new, after.layout, back[-1], state.scope):
            state.scope = scope
        state.selected = [n for n in back if new.scope_of(n) == scope][::-1]
    elif not any(map(new.has, state.selected)):
        inside = [n for n in touched if is_shown(new, after.layout, n, state.scope)]
        state.selected = inside[:1] or state.selected


def _decide_in_selected(graph: Graph, selected: Sequence[str], nodes: Sequence[str]) -> bool:
    """Return whether ``nodes`` all belong to the conditions of selected ``if`` blocks."""
    ports = [
        graph.node(each).inputs[CONDITION]
        for each in selected
        if graph.has(each) and graph.node(each).bodies and CONDITION in graph.node(each).inputs
    ]
    return set(nodes) <= ancestors(graph, ports)


def follow_graph(state: ViewState, graph: Graph, catalog: Catalog) -> None:
    """Adapt the visible body and the selection after an edit, which may have removed either."""
    state.scope = nearest_existing_scope(graph, state.checked.graph, state.scope)
    left = [
        node
        for node in state.selected
        if node == state.scope
        or (graph.has(node) and card_around(graph.at_scope(state.scope), node))
    ]
    if left != state.selected:
        state.selected = left or initial_selection(graph.at_scope(state.scope), catalog)
