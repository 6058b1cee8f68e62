"""Operators and templates that the canvas adds: where, and that none of them is a fault there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from workbench.catalog.spec import Catalog
from workbench.catalog.templates import load_templates
from workbench.errors import CatalogError, GraphEditError
from workbench.graph.checks.check import Fault, check_graph
from workbench.graph.edits import compose
from workbench.graph.edits.edit import insert_node, ports_at, usable_spec
from workbench.graph.fixes import fixes
from workbench.graph.fixes.unfed_inputs import feed_node
from workbench.graph.model import Graph, Port
from workbench.graph.model.node_order import ancestors
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.snippets import (
    Part,
    branch_template,
    image_of,
    insert_template,
    insert_template_on_edge,
)
from workbench.graph.storage.layout import Document
from workbench.graph.types.devices import port_kind
from workbench.graph.types.typed_graph import TypedGraph
from workbench.ui.canvas.canvas_edit import CanvasEdit, with_free_nodes, within_limit
from workbench.ui.contract.action import Edited
from workbench.ui.storage.saved_snippets import PREFIX, find_snippet

_DECODER = "decoders.image"
SELECT_TWO = "select two nodes, the second one by Shift and a click"


class Insertion(CanvasEdit, frozen=True, kw_only=True):
    """Insert the item that the action names. Raises GraphEditError where it does not fit."""

    sound: bool = False
    """Whether to feed what it needs, and to refuse it where the graph would have a fault that it
    has not now."""
    fix: str = ""
    """A label of ``repairs``, which is applied as well; empty: none."""

    def insert(self, graph: Graph, catalog: Catalog) -> tuple[Graph, str]:
        """The graph and the new node that is to be selected."""
        raise NotImplementedError

    def name(self) -> str:
        """What is inserted."""
        return str(getattr(self, "op", ""))

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        """Insert it, with ``fix`` repaired, and with ``sound`` fed and checked."""
        graph = document.graph
        if self.fix:
            repaired = dict(self.repairs(graph, catalog)).get(self.fix)
            if repaired is None:
                raise GraphEditError(
                    f"{self.fix[:80]!r} is offered no more: the graph has changed."
                )
            return within_limit(document, repaired[0]), [repaired[1]]
        made, node = self.insert(graph, catalog)
        if self.sound:
            made = feed_node(made.whole, catalog, node).at_scope(graph.scope)
            fault = _first_new_fault(graph.whole, made.whole, catalog)
            if fault is not None:
                raise GraphEditError(f"{self.name()} does not fit there: {fault}")
        return within_limit(document, made), [node]

    def fault_in(self, graph: Graph, catalog: Catalog) -> str:
        """Why a sound insertion would be refused in the body at hand, or empty."""
        try:
            placed, node = self.insert(graph, catalog)
            placed = feed_node(placed.whole, catalog, node)
        except GraphEditError as error:
            return str(error)
        fault = _first_new_fault(graph.whole, placed, catalog)
        return "" if fault is None else str(fault)

    def repairs(self, graph: Graph, catalog: Catalog) -> Iterator[tuple[str, tuple[Graph, str]]]:
        """What makes a refused insertion sound: a label, the graph, and the node to select.

        It is a fix of the first fault that the graph would have: another node before or behind it,
        or another place; or a decoder, where encoded images arrive.
        """
        try:
            placed, node = self.insert(graph, catalog)
            placed = feed_node(placed.whole, catalog, node)
        except GraphEditError:
            yield from self._decoded(graph, catalog)
            return
        fault = _first_new_fault(graph.whole, placed, catalog)
        if fault is None:
            return
        for fix in fixes(ResolvedGraph(placed, catalog), fault):
            label = self._repair_label(fix.label, leads=fault.node != node)
            if label and not _first_new_fault(graph.whole, fix.graph, catalog):
                yield label, (fix.graph.at_scope(graph.scope), node)

    def _repair_label(self, label: str, *, leads: bool) -> str:
        """``Insert cast to UINT8, then clahe``; empty for a fix that is none of an insertion.

        What is inserted ``leads`` where the fault is of another node.
        """
        name = self.name()
        if label.startswith("Insert a cast to INT"):  # which pixels are not
            return ""
        if label.startswith("Insert a "):
            other = label.removeprefix("Insert a ")
            return f"Insert {name}, then {other}" if leads else f"Insert {other}, then {name}"
        if label.startswith(f"Move {name} before "):
            return label.replace("Move", "Insert", 1)
        return ""

    def _decoded(self, graph: Graph, catalog: Catalog) -> Iterator[tuple[str, tuple[Graph, str]]]:
        """The insertion behind a decoder of what arrives, of one that is there or of a new one."""
        after = getattr(self, "after", "")
        if not after or not graph.has(after):
            return
        ports = ports_at(graph, catalog, after)
        port = next((p for p in ports if port_kind(graph, catalog, p) == "encoded"), None)
        if port is None:
            return
        decoders = (edge.target for edge in graph.consumers(after) if edge.source == port)
        decoder = next(
            (each for each in decoders if graph.node(each).op.startswith("decoders.")), ""
        )
        label = f"Insert {self.name()} behind {decoder}"
        try:
            if not decoder:
                graph, decoder = compose.place_node(graph, catalog, _DECODER, port)
                label = f"Insert {_DECODER}, then {self.name()}"
            behind = msgspec.structs.replace(self, after=decoder)
            made, node = behind.insert(graph, catalog)
        except GraphEditError:
            return
        made = feed_node(made.whole, catalog, node)
        if not _first_new_fault(graph.whole, made, catalog):
            yield label, (made.at_scope(graph.scope), node)


class Add(Insertion, tag="add", frozen=True):
    """Add an operator behind a node; what followed that follows the new node."""

    op: str
    after: str
    """Id of the node; empty: at the end."""

    def insert(self, graph: Graph, catalog: Catalog) -> tuple[Graph, str]:
        if not self.after or not usable_spec(catalog, self.op).inputs:
            return compose.append_node(graph, catalog, self.op)
        placed, node = insert_node(graph, catalog, self.op, self.after)
        return compose.with_outputs(placed, catalog, node), node


class AddOnEdge(Insertion, tag="add_on", frozen=True):
    """Add an operator on an edge; no other edge changes."""

    op: str
    edge: str

    def insert(self, graph: Graph, catalog: Catalog) -> tuple[Graph, str]:
        return compose.insert_on_edge(graph, catalog, self.op, self.edge)


class Branch(Insertion, tag="branch", frozen=True):
    """Add an operator fed by an output, beside what that feeds already."""

    op: str
    node: str
    """Empty: fed by nothing yet."""
    output: str
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
    other: str = ""
    """Of a template that mixes two images: the node with the second one."""

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
            raise GraphEditError(f"{template.name} needs an image: start with a source.")
        if not getattr(template, "mixes", False):
            return insert_template(graph, catalog, template, after)
        other = self.other
        if other in ("", after):  # an image is not mixed with itself
            raise GraphEditError(f"{template.name} mixes two images: {SELECT_TWO}.")
        seen = ancestors(graph, list(graph.outputs.values()))
        # Behind the one that leads to an output; of two behind the later one.
        if (after in seen, other in seen) == (False, True) or (
            (after in seen) == (other in seen) and after in ancestors(graph, [Port(other, "")])
        ):
            after, other = other, after
        second = image_of(graph, catalog, template, other)
        return insert_template(graph, catalog, template, after, second)


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
