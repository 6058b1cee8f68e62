"""Which body the canvas shows, and which nodes of it are selected."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.catalog.spec import Catalog
from workbench.graph.control_flow.kinds import CONDITION
from workbench.graph.model import Graph, block_of
from workbench.graph.model.node_order import ancestors
from workbench.graph.storage.layout import Document
from workbench.ui.canvas.canvas_actions import all_folded_generators
from workbench.ui.inspector.block_views import drawn_around, is_drawn, nearest_existing_scope
from workbench.ui.state.step_labels import changed_nodes
from workbench.ui.state.view_state import ViewState, initial_selection


def select_node(state: ViewState, document: Document, node: str) -> None:
    """Select a node; where it is not drawn, show its body. Raises GraphEditError."""
    if not is_drawn(document.graph, document.layout, node, state.scope):
        state.scope = document.graph.scope_of(node)
    state.selected = [node]


def open_scope(state: ViewState, graph: Graph, catalog: Catalog, scope: str) -> None:
    """Show another body; out of a block, that is selected. Raises GraphEditError."""
    graph.body_at(scope)
    body = graph.at_scope(scope)
    left = drawn_around(body, block_of(state.scope)) if state.scope else ""
    state.scope = scope
    state.selected = [left] if left else initial_selection(body, catalog)


def follow_step(state: ViewState, before: Document, after: Document, catalog: Catalog) -> None:
    """After undo or redo: select what came back, else leave the selection.

    Where that is gone, what the step touched is selected.
    """
    old, new = before.graph, after.graph
    if old is new:
        return
    folded = all_folded_generators(new, catalog, after.layout)
    touched = [node for node in changed_nodes(old, new) if node not in folded]
    back = [node for node in touched if not old.has(node)]
    if back and old.nodes and not _decide_in_selected(new, state.selected, back):
        scope = new.scope_of(back[-1])
        if not is_drawn(new, after.layout, back[-1], state.scope):
            state.scope = scope
        state.selected = [n for n in back if new.scope_of(n) == scope][::-1]
    elif not any(map(new.has, state.selected)):
        inside = [n for n in touched if is_drawn(new, after.layout, n, state.scope)]
        state.selected = inside[:1] or state.selected


def _decide_in_selected(graph: Graph, selected: Sequence[str], nodes: Sequence[str]) -> bool:
    """Whether nodes are no more than what a selected ``if`` asks, in whose inspector they show."""
    ports = [
        graph.node(each).inputs[CONDITION]
        for each in selected
        if graph.has(each) and graph.node(each).bodies and CONDITION in graph.node(each).inputs
    ]
    return set(nodes) <= ancestors(graph, ports)


def follow_graph(state: ViewState, graph: Graph, catalog: Catalog) -> None:
    """After an edit: leave a body that is gone, and unselect what does not stand in it."""
    state.scope = nearest_existing_scope(graph, state.checked.graph, state.scope)
    left = [
        node
        for node in state.selected
        if node == state.scope
        or (graph.has(node) and drawn_around(graph.at_scope(state.scope), node))
    ]
    if left != state.selected:
        state.selected = left or initial_selection(graph.at_scope(state.scope), catalog)
