"""Suggest possible connections, compatible operators, and fixes of faults.

Requests that do not match the graph raise GraphEditError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from workbench.catalog.spec import Catalog
from workbench.catalog.templates import load_templates
from workbench.errors import GraphEditError
from workbench.graph.edits.compatible_ops import incompatible_ops, incompatible_templates
from workbench.graph.edits.compose import edge_id
from workbench.graph.edits.connect import connect_targets, require_port
from workbench.graph.model import Graph, Port
from workbench.graph.storage.layout import Document
from workbench.graph.types.typed_graph import TypedGraph
from workbench.ui.canvas.canvas_actions import cut_edge
from workbench.ui.canvas.canvas_edit import split_by_body
from workbench.ui.canvas.canvas_payloads import on_visible_nodes
from workbench.ui.canvas.insertions import Add, AddOnEdge, AddTemplate, Branch, Insertion
from workbench.ui.contract.action import Action, DocumentEdit, Edited
from workbench.ui.contract.payloads import CompatibleOps, ConnectTargets
from workbench.ui.state.view_state import ViewState, faults_of, known_fixes, warnings_of

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel

MOST_TRIED = 12
"""Maximum number of operators and templates that are test-inserted per request, each in a few
milliseconds.
"""
MOST_FIXES = 2
"""Maximum number of suggested repairs per operator."""


class FindConnectTargets(Action, tag="connect_targets", frozen=True):
    """Find the inputs to which an output can be connected."""

    node: str
    output: str
    edge: str
    """Id of the edge whose end is dragged; empty for a new edge."""

    def apply(self, model: ViewModel) -> None:
        ((scope, action),) = split_by_body(model.graph, self, model.state.scope)
        model.state.connect_targets = action.find(model.graph.at_scope(scope), model.catalog)

    def find(self, graph: Graph, catalog: Catalog) -> ConnectTargets:
        """Return, for each input, the reason why it cannot be connected; "" if it can be."""
        source = Port(self.node, self.output)
        require_port(graph, source)
        typed = TypedGraph(cut_edge(graph, self.edge) if self.edge else graph, catalog)
        found = connect_targets(typed, source)
        reasons = {edge_id(target, into): reason for (target, into), reason in found.items()}
        return {"source": str(source), "reasons": reasons}


class FindCompatibleOps(Action, tag="compatible_ops", frozen=True):
    """Find the operators that can be added after an output or on an edge."""

    node: str
    output: str
    edge: str
    """Id of an edge, used instead of ``node`` and ``output``; empty for none."""
    how: str = "add"
    """Action that adds the operator: ``add``, ``add_on`` or ``branch``."""
    tried: list[str] = msgspec.field(default_factory=list)
    """Operators and templates to insert into a copy of the graph, to find faults and repairs. For
    all other names, only the kind of data and the device are compared.
    """
    other: str = ""
    """Id of the node with the second image, for a template that mixes two images."""

    def apply(self, model: ViewModel) -> None:
        state = model.state
        ((scope, action),) = split_by_body(model.graph, self, state.scope)
        graph = model.graph.at_scope(scope)
        found = action.find(graph, model.catalog)
        found["place"] = self.edge or found["place"]
        before = state.compatible_ops
        request = graph.whole, graph.scope, self.how, found["place"]
        if state.compatible_ops_of == request:  # results for this position are already known
            tried = {name: before["reasons"].get(name, "") for name in before["tried"]}
            fitting = {n: why for n, why in tried.items() if n not in found["tried"] and why}
            found["reasons"] = {**found["reasons"], **fitting}
            found["fixes"] = {**before["fixes"], **found["fixes"]}
            found["tried"] = [*dict.fromkeys((*tried, *found["tried"]))]
        state.compatible_ops, state.compatible_ops_of = found, request

    def find(self, graph: Graph, catalog: Catalog) -> CompatibleOps:
        """Return why operators and templates cannot be added, with possible repairs."""
        port = Port(self.node, self.output) if self.node else None
        place, typed = self.edge or port, TypedGraph(graph, catalog)
        if place is None and self.how == "add":  # at the end
            place = next(iter(typed.images.values()), None)
        templates = load_templates()
        kind, reasons = incompatible_ops(typed, place)
        reasons |= incompatible_templates(typed, templates.values(), place)
        tried = [name for name in self.tried[:MOST_TRIED] if name in catalog or name in templates]
        fixes: dict[str, list[str]] = {}
        for name in tried:
            insertion = self._insertion(name)
            why = reasons.get(name) or insertion.fault_in(graph, catalog)
            if why:
                reasons |= {name: why}
                labels = [label for label, _ in insertion.repairs(graph, catalog)]
                fixes |= {name: labels[:MOST_FIXES]} if labels else {}
        place_id = self.edge or str(port or "")
        return {
            "place": place_id, "kind": kind, "reasons": reasons, "tried": tried, "fixes": fixes,
        }  # fmt: skip

    def _insertion(self, name: str) -> Insertion:
        if name in load_templates():
            if self.how == "branch":
                return AddTemplate(name, node=self.node, output=self.output)
            after = "" if self.edge else self.node
            return AddTemplate(name, edge=self.edge, after=after, other=self.other)
        if self.edge:
            return AddOnEdge(name, self.edge)
        if self.how == "branch":
            return Branch(name, self.node, self.output)
        return Add(name, self.node)


class ApplyFix(DocumentEdit, tag="fix", frozen=True):
    """Apply a suggested fix of a fault."""

    node: str
    arg: str
    fix: str

    def edit(self, state: ViewState, document: Document, catalog: Catalog) -> Edited:
        checked, warnings = state.checked, warnings_of(state)
        found = [*faults_of(state), *checked.loose_faults, *warnings]
        shown = on_visible_nodes(checked.whole, document.layout, found)
        known = known_fixes(checked, state.unread, state.unread_fixes, state.failure, warnings)
        for fault, entry in zip(found, shown, strict=True):
            for remedy in known.get(fault, ()):
                if (entry.node, entry.arg, remedy.label) == (self.node, self.arg, self.fix):
                    return document.with_graph(remedy.graph), None
        raise GraphEditError(f"{self.fix[:80]!r} is no longer available: the graph has changed.")

    def said(self) -> str:
        return f"{self.fix}."
