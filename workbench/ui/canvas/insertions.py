"""Operators and templates that the canvas adds: where, and that none of them is a fault there."""

from __future__ import annotations

from collections import Counter

from workbench.catalog.spec import Catalog
from workbench.catalog.templates import load_templates
from workbench.errors import CatalogError, GraphEditError
from workbench.graph.checks.check import Fault, check_graph
from workbench.graph.edits import compose
from workbench.graph.edits.edit import insert_node
from workbench.graph.fixes.unfed_inputs import feed_node
from workbench.graph.model import Graph, Port
from workbench.graph.model.bounds import MOST_CANVAS_NODES
from workbench.graph.snippets.templates import (
    Part,
    branch_template,
    insert_template,
    insert_template_on_edge,
)
from workbench.graph.storage.layout import Document
from workbench.graph.types.typed_graph import TypedGraph
from workbench.ui.contract.actions import canvas
from workbench.ui.storage.saved_snippets import PREFIX, find_snippet

Edited = tuple[Document, list[str] | None]
"""The new document and the nodes to select, or None to leave the selection."""


def apply_insertion(document: Document, catalog: Catalog, action: canvas.Insertion) -> Edited:
    """Add what the action names. Raises GraphEditError where it cannot stand there.

    One that is to be ``sound`` is also fed what it needs, and refused where the graph would have a
    fault that it has not now.
    """
    graph, node = _inserted(document.graph, catalog, action)
    if action.sound:
        graph = feed_node(graph.whole, catalog, node).at_scope(graph.scope)
        fault = _first_new_fault(document.graph.whole, graph.whole, catalog)
        if fault is not None:
            raise GraphEditError(f"{name_of(action)} does not fit there: {fault}")
    return within_limit(document, graph), [node]


def fault_of_insertion(graph: Graph, catalog: Catalog, action: canvas.Insertion) -> str:
    """Why a sound insertion would be refused in the body at hand, or empty."""
    try:
        placed, node = _inserted(graph, catalog, action)
        placed = feed_node(placed.whole, catalog, node)
    except GraphEditError as error:
        return str(error)
    fault = _first_new_fault(graph.whole, placed, catalog)
    return "" if fault is None else str(fault)


def name_of(action: canvas.Insertion) -> str:
    """What is inserted."""
    return action.template if isinstance(action, canvas.AddTemplate) else action.op


def within_limit(document: Document, graph: Graph) -> Document:
    """The document with another graph. Raises GraphEditError for one too large to be shown."""
    count, before = (sum(1 for _ in each.whole.walk()) for each in (graph, document.graph))
    if count > max(MOST_CANVAS_NODES, before):
        raise GraphEditError(
            f"That would make {count} nodes; the canvas holds {MOST_CANVAS_NODES}. "
            "Compose such a graph in Python."
        )
    return document.with_graph(graph)


def _inserted(graph: Graph, catalog: Catalog, action: canvas.Insertion) -> tuple[Graph, str]:
    """The graph and the new node that is to be selected."""
    match action:
        case canvas.AddTemplate():
            return _with_template(graph, catalog, action)
        case canvas.AddOnEdge():
            return compose.insert_on_edge(graph, catalog, action.op, action.edge)
        case canvas.Branch():
            source = Port(action.node, action.output) if action.node else None
            return compose.place_node(graph, catalog, action.op, source)
        case canvas.AddFeeding():
            return compose.insert_before(graph, catalog, action.op, action.node, action.input)
        case canvas.Add():
            if not action.after or not compose.usable_spec(catalog, action.op).inputs:
                return compose.append_node(graph, catalog, action.op)
            placed, node = insert_node(graph, catalog, action.op, action.after)
            return compose.with_outputs(placed, catalog, node), node


def _with_template(graph: Graph, catalog: Catalog, action: canvas.AddTemplate) -> tuple[Graph, str]:
    template = _template(action.template)
    if action.edge:
        return insert_template_on_edge(graph, catalog, template, action.edge)
    if action.node:
        source = Port(action.node, action.output)
        return branch_template(graph, catalog, template, source)
    ends = TypedGraph(graph, catalog).images.values()
    after = action.after or next((port.node for port in ends), "")
    if not after:
        raise GraphEditError(f"{template.name} needs an image: begin with a source.")
    return insert_template(graph, catalog, template, after)


def _template(name: str) -> Part:
    if name.startswith(PREFIX):
        return find_snippet(name.removeprefix(PREFIX))
    templates = load_templates()
    if name not in templates:
        raise CatalogError(f"{name[:40]!r} is no template. There are: {', '.join(templates)}.")
    return templates[name]


def _first_new_fault(before: Graph, after: Graph, catalog: Catalog) -> Fault | None:
    """The first fault of a graph of a kind that a node of another graph does not have already."""
    known = Counter(map(_told_by, check_graph(before, catalog)))
    for fault in check_graph(after, catalog):
        if known[_told_by(fault)] <= 0:
            return fault
        known[_told_by(fault)] -= 1
    return None


def _told_by(fault: Fault) -> tuple[str, str, str]:
    return fault.node, fault.arg, fault.code
