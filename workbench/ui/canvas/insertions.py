"""Operators and templates that the canvas adds: where, and that none of them is a fault there."""

from __future__ import annotations

from collections import Counter

import msgspec

from workbench.catalog.spec import Catalog
from workbench.catalog.templates import load_templates
from workbench.errors import CatalogError, GraphEditError
from workbench.graph.checks.check import Fault, check_graph
from workbench.graph.edits import compose
from workbench.graph.edits.edit import insert_node
from workbench.graph.fixes.unfed_inputs import feed_node
from workbench.graph.model import Graph, Port
from workbench.graph.snippets.templates import (
    Part,
    branch_template,
    insert_template,
    insert_template_on_edge,
)
from workbench.graph.storage.layout import Document
from workbench.graph.types.typed_graph import TypedGraph
from workbench.ui.canvas.canvas_edit import CanvasEdit, with_free_nodes, within_limit
from workbench.ui.contract.action import Edited
from workbench.ui.storage.saved_snippets import PREFIX, find_snippet


class Insertion(CanvasEdit, frozen=True):
    """Add what the action names. Raises GraphEditError where it cannot stand there.

    Its field ``sound`` says whether to feed what it needs, and to refuse it where the graph would
    have a fault that it has not now.
    """

    def insert(self, graph: Graph, catalog: Catalog) -> tuple[Graph, str]:
        """The graph and the new node that is to be selected."""
        raise NotImplementedError

    def name(self) -> str:
        """What is inserted."""
        return str(getattr(self, "op", ""))

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        """Insert it, and with ``sound`` feed and check it."""
        graph, node = self.insert(document.graph, catalog)
        if getattr(self, "sound", False):
            graph = feed_node(graph.whole, catalog, node).at_scope(graph.scope)
            fault = _first_new_fault(document.graph.whole, graph.whole, catalog)
            if fault is not None:
                raise GraphEditError(f"{self.name()} does not fit there: {fault}")
        return within_limit(document, graph), [node]

    def fault_in(self, graph: Graph, catalog: Catalog) -> str:
        """Why a sound insertion would be refused in the body at hand, or empty."""
        try:
            placed, node = self.insert(graph, catalog)
            placed = feed_node(placed.whole, catalog, node)
        except GraphEditError as error:
            return str(error)
        fault = _first_new_fault(graph.whole, placed, catalog)
        return "" if fault is None else str(fault)


class Add(Insertion, tag="add", frozen=True):
    """Add an operator behind a node; what followed that follows the new node."""

    op: str
    after: str
    """Id of the node; empty: at the end."""
    sound: bool = False

    def insert(self, graph: Graph, catalog: Catalog) -> tuple[Graph, str]:
        if not self.after or not compose.usable_spec(catalog, self.op).inputs:
            return compose.append_node(graph, catalog, self.op)
        placed, node = insert_node(graph, catalog, self.op, self.after)
        return compose.with_outputs(placed, catalog, node), node


class AddOnEdge(Insertion, tag="add_on", frozen=True):
    """Add an operator on an edge; no other edge changes."""

    op: str
    edge: str
    sound: bool = False

    def insert(self, graph: Graph, catalog: Catalog) -> tuple[Graph, str]:
        return compose.insert_on_edge(graph, catalog, self.op, self.edge)


class Branch(Insertion, tag="branch", frozen=True):
    """Add an operator fed by an output, beside what that feeds already."""

    op: str
    node: str
    """Empty: fed by nothing yet."""
    output: str
    sound: bool = False
    at: list[float] = msgspec.field(default_factory=list)
    """[x, y] of what is fed by nothing, where things were put by hand; empty: where there is
    room."""

    def insert(self, graph: Graph, catalog: Catalog) -> tuple[Graph, str]:
        source = Port(self.node, self.output) if self.node else None
        return compose.place_node(graph, catalog, self.op, source)

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        branched, added = super().edit_body(document, catalog)
        if len(self.at) == 2:
            branched = with_free_nodes(branched, added or [], *self.at)
        return branched, added


class AddFeeding(Insertion, tag="add_into", frozen=True):
    """Add an operator that feeds an input; one that is fed already is led through it."""

    op: str
    node: str
    input: str
    sound: bool = False

    def insert(self, graph: Graph, catalog: Catalog) -> tuple[Graph, str]:
        return compose.insert_before(graph, catalog, self.op, self.node, self.input)


class AddTemplate(Insertion, tag="add_template", frozen=True):
    """Add the nodes of a template: on an edge, beside what an output feeds, or behind a node."""

    template: str
    edge: str = ""
    node: str = ""
    """With ``output``, what it branches off from."""
    output: str = ""
    after: str = ""
    """Id of the node; empty, with all the others: at the end."""
    sound: bool = False

    def name(self) -> str:
        return self.template

    def insert(self, graph: Graph, catalog: Catalog) -> tuple[Graph, str]:
        template = _template(self.template)
        if self.edge:
            return insert_template_on_edge(graph, catalog, template, self.edge)
        if self.node:
            source = Port(self.node, self.output)
            return branch_template(graph, catalog, template, source)
        ends = TypedGraph(graph, catalog).images.values()
        after = self.after or next((port.node for port in ends), "")
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
