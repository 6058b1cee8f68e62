"""What is said before an edit, and the remedies of faults: what may be connected, added, fixed.

What does not suit the graph raises GraphEditError.
"""

from __future__ import annotations

from workbench.catalog.spec import Catalog
from workbench.catalog.templates import load_templates
from workbench.errors import GraphEditError
from workbench.graph.edits.compatible_ops import incompatible_ops, incompatible_templates
from workbench.graph.edits.compose import edge_id
from workbench.graph.edits.connect import connect_targets, require_given
from workbench.graph.fixes import fixes
from workbench.graph.model import Graph, Port
from workbench.graph.storage.layout import Document
from workbench.graph.types.typed_graph import TypedGraph
from workbench.ui.canvas.canvas_actions import cut_edge
from workbench.ui.canvas.canvas_views import on_drawn_nodes
from workbench.ui.canvas.edited_bodies import split_by_body
from workbench.ui.canvas.insertions import fault_of_insertion
from workbench.ui.contract.actions import ApplyFix, canvas
from workbench.ui.contract.views import CompatibleOps, ConnectTargets
from workbench.ui.state.view_state import ViewState, faults_of, fixes_of, warnings_of

MOST_TRIED = 12
"""Operators and templates that are tried out for one question: each takes some milliseconds."""


def find_suggestions(
    state: ViewState,
    graph: Graph,
    catalog: Catalog,
    action: canvas.FindConnectTargets | canvas.FindCompatibleOps,
) -> None:
    """Answer what the canvas asks of the body that it shows, or of one drawn in it."""
    asked_place = getattr(action, "edge", "")
    ((scope, action),) = split_by_body(graph, action, state.scope)
    graph = graph.at_scope(scope)
    if isinstance(action, canvas.FindConnectTargets):
        state.connect_targets = find_connect_targets(graph, catalog, action)
        return
    found = find_compatible_ops(graph, catalog, action)
    found["place"] = asked_place or found["place"]
    before = state.compatible_ops
    asked = graph.whole, graph.scope, action.how, found["place"]
    if state.compatible_ops_of == asked:  # what was tried there already holds
        tried = {name: before["reasons"].get(name, "") for name in before["tried"]}
        fitting = {name: why for name, why in tried.items() if name not in found["tried"] and why}
        found["reasons"] = {**found["reasons"], **fitting}
        found["tried"] = [*dict.fromkeys((*tried, *found["tried"]))]
    state.compatible_ops, state.compatible_ops_of = found, asked


def find_connect_targets(
    graph: Graph, catalog: Catalog, action: canvas.FindConnectTargets
) -> ConnectTargets:
    """What an output may feed; an edge whose end is dragged counts as cut."""
    source = Port(action.node, action.output)
    require_given(graph, source)
    dragged = action.edge
    typed = TypedGraph(cut_edge(graph, dragged) if dragged else graph, catalog)
    found = connect_targets(typed, source)
    reasons = {edge_id(target, into): reason for (target, into), reason in found.items()}
    return {"source": str(source), "reasons": reasons}


def find_compatible_ops(
    graph: Graph, catalog: Catalog, action: canvas.FindCompatibleOps
) -> CompatibleOps:
    """Which operators and templates may be added on an edge or behind an output."""
    edge, node = action.edge, action.node
    port = Port(node, action.output) if node else None
    place, typed = edge or port, TypedGraph(graph, catalog)
    if place is None and action.how == "add":  # at the end
        place = next(iter(typed.images.values()), None)
    templates = load_templates()
    kind, reasons = incompatible_ops(typed, place)
    reasons |= incompatible_templates(typed, templates.values(), place)
    tried = [name for name in action.tried[:MOST_TRIED] if name in catalog or name in templates]
    for name in tried:
        if name not in reasons:
            why = fault_of_insertion(graph, catalog, _insertion(action, name))
            reasons |= {name: why} if why else {}
    return {"place": edge or str(port or ""), "kind": kind, "reasons": reasons, "tried": tried}


def _insertion(action: canvas.FindCompatibleOps, name: str) -> canvas.Insertion:
    """The action that adds an operator or a template where ``action`` asks about."""
    edge, node, output = action.edge, action.node, action.output
    if name in load_templates():
        if action.how == "branch":
            return canvas.AddTemplate(name, node=node, output=output)
        return canvas.AddTemplate(name, edge=edge, after="" if edge else node)
    if edge:
        return canvas.AddOnEdge(name, edge)
    if action.how == "branch":
        return canvas.Branch(name, node, output)
    return canvas.Add(name, node)


def apply_fix(
    document: Document, catalog: Catalog, state: ViewState, action: ApplyFix
) -> tuple[Graph, str]:
    """The graph after a remedy that a fault offers, and the remedy's label."""
    node, arg, label = action.node, action.arg, action.fix
    warnings = warnings_of(state)
    found = [*faults_of(state), *state.checked.loose_faults, *warnings]
    shown = on_drawn_nodes(state.checked.whole, document.layout, found)
    of_warnings = [fixes(state.checked.whole, each) for each in warnings]
    for fault, remedies in zip(shown, (*fixes_of(state), *of_warnings), strict=True):
        for remedy in remedies:
            if (fault.node, fault.arg, remedy.label) == (node, arg, label):
                return remedy.graph, label
    raise GraphEditError(f"{label[:80]!r} is offered no more: the graph has changed.")
