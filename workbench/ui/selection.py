"""Which body the canvas shows, and which nodes of it are selected."""

from __future__ import annotations

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph, region_of
from workbench.ui.region_views import drawn_around, living_scope
from workbench.ui.state import State, first_choice


def select_node(state: State, graph: Graph, node: str) -> None:
    """Select a node and show the body in which it stands. Raises GraphEditError."""
    state.scope = graph.scope_of(node)
    state.selected = [node]


def open_scope(state: State, graph: Graph, catalog: Catalog, scope: str) -> None:
    """Show another body; out of a region, that is selected. Raises GraphEditError."""
    graph.body_at(scope)
    body = graph.at_scope(scope)
    left = drawn_around(body, region_of(state.scope)) if state.scope else ""
    state.scope = scope
    state.selected = [left] if left else first_choice(body, catalog)


def follow_graph(state: State, graph: Graph, catalog: Catalog) -> None:
    """After an edit: leave a body that is gone, and unselect what does not stand in it."""
    state.scope = living_scope(graph, state.checked.graph, state.scope)
    left = [
        node
        for node in state.selected
        if node == state.scope or (graph.has(node) and graph.scope_of(node) == state.scope)
    ]
    if left != state.selected:
        state.selected = left or first_choice(graph.at_scope(state.scope), catalog)
