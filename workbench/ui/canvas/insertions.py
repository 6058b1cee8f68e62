"""Insert operators and templates, and check that this causes no new fault."""

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
SELECT_TWO = "select two nodes, the second with Shift-click"


class Insertion(CanvasEdit, frozen=True, kw_only=True):
    """Base class: insert an operator or template. Raises GraphEditError if this is not possible."""

    sound: bool = False
    """True to connect required inputs as well, and to refuse an insertion that causes a new fault.
    """
    fix: str = ""
    """Label of a repair (see ``repairs``) to apply instead of a plain insertion; empty for none."""

    def insert(self, graph: Graph, catalog: Catalog) -> tuple[Graph, str]:
        """Return the graph with the inserted nodes, and the id of the node to select."""
        raise NotImplementedError

    def name(self) -> str:
        """Return the name of the inserted operator or template."""
        return str(getattr(self, "op", ""))

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        """Insert the operator or template, or apply the repair ``fix``."""
        graph = document.graph
        if self.fix:
            repaired = dict(self.repairs(graph, catalog)).get(self.fix)
            if repaired is None:
                raise GraphEditError(
                    f"{self.fix[:80]!r} is no longer available: the graph has changed."
                )
            return within_limit(document, repaired[0]), [repaired[1]]
        made, node = self.insert(graph, catalog)
        if self.sound:
            made = feed_node(made.whole, catalog, node).at_scope(graph.scope)
            fault = _first_new_fault(graph.whole, made.whole, catalog)
            if fault is not None:
                raise GraphEditError(f"{self.name()} cannot be inserted here: {fault}")
        return within_limit(document, made), [node]

    def fault_in(self, graph: Graph, catalog: Catalog) -> str:
        """Return the reason why the insertion into this body would cause a new fault, or ""."""
        try:
            placed, node = self.insert(graph, catalog)
            placed = feed_node(placed.whole, catalog, node)
        except GraphEditError as error:
            return str(error)
        fault = _first_new_fault(graph.whole, placed, catalog)
        return "" if fault is None else str(fault)

    def repairs(self, graph: Graph, catalog: Catalog) -> Iterator[tuple[str, tuple[Graph, str]]]:
        """Yield repairs of a refused insertion as (label, (graph, node to select)).

        A repair inserts another node before or after the new node, inserts at another position, or
        inserts a decoder for encoded images.
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
        """Return a label such as ``Insert cast to UINT8, then clahe``; "" if no node is inserted.

        With ``leads``, the inserted operator comes first and the repair follows it.
        """
        name = self.name()
        if label.startswith("Insert a cast to INT"):  # that changes pixel values
            return ""
        if label.startswith("Insert a "):
            other = label.removeprefix("Insert a ")
            return f"Insert {name}, then {other}" if leads else f"Insert {other}, then {name}"
        if label.startswith(f"Move {name} before "):
            return label.replace("Move", "Insert", 1)
        return ""

    def _decoded(self, graph: Graph, catalog: Catalog) -> Iterator[tuple[str, tuple[Graph, str]]]:
        """Yield insertions after the decoder of encoded images; the decoder is added if missing."""
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
        label = f"Insert {self.name()} after {decoder}"
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
    """Insert an operator after a node. Consumers of the node then use the new operator."""

    op: str
    after: str
    """Id of the node to insert after; empty to insert at the end."""

    def insert(self, graph: Graph, catalog: Catalog) -> tuple[Graph, str]:
        if not self.after or not usable_spec(catalog, self.op).inputs:
            return compose.append_node(graph, catalog, self.op)
        placed, node = insert_node(graph, catalog, self.op, self.after)
        return compose.with_outputs(placed, catalog, node), node


class AddOnEdge(Insertion, tag="add_on", frozen=True):
    """Insert an operator on an edge, leaving other edges unchanged."""

    op: str
    edge: str

    def insert(self, graph: Graph, catalog: Catalog) -> tuple[Graph, str]:
        return compose.insert_on_edge(graph, catalog, self.op, self.edge)


class Branch(Insertion, tag="branch", frozen=True):
    """Add an operator that is connected to a node's output. Existing connections remain."""

    op: str
    node: str
    """Id of the node to connect to; empty to add the operator unconnected."""
    output: str
    at: list[float] = msgspec.field(default_factory=list)
    """Position [x, y] of an unconnected node in a manual layout; empty to choose a free position.
    """

    def insert(self, graph: Graph, catalog: Catalog) -> tuple[Graph, str]:
        source = Port(self.node, self.output) if self.node else None
        return compose.place_node(graph, catalog, self.op, source)

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        branched, added = super().edit_body(document, catalog)
        if len(self.at) == 2:
            branched = with_free_nodes(branched, added or [], *self.at)
        return branched, added


class AddFeeding(Insertion, tag="add_into", frozen=True):
    """Insert an operator before an input, on its existing connection if there is one."""

    op: str
    node: str
    input: str

    def insert(self, graph: Graph, catalog: Catalog) -> tuple[Graph, str]:
        return compose.insert_before(graph, catalog, self.op, self.node, self.input)


class AddTemplate(Insertion, tag="add_template", frozen=True):
    """Insert the nodes of a template: on an edge, on a new branch, or after a node."""

    template: str
    edge: str = ""
    node: str = ""
    """Id of the node whose ``output`` the new branch uses."""
    output: str = ""
    after: str = ""
    """Id of the node to insert after. If ``edge`` and ``node`` are empty too, insert at the end."""
    other: str = ""
    """Id of the node with the second image, for a template that mixes two images."""

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
            raise GraphEditError(f"{template.name} needs an image. Add a reader first.")
        if not getattr(template, "mixes", False):
            return insert_template(graph, catalog, template, after)
        other = self.other
        if other in ("", after):  # an image cannot be mixed with itself
            raise GraphEditError(f"{template.name} mixes two images. To use it, {SELECT_TWO}.")
        seen = ancestors(graph, list(graph.outputs.values()))
        # After the node that leads to an output; if both do, after the later one.
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
        raise CatalogError(f"{name[:40]!r} is not a template. Use one of: {', '.join(templates)}.")
    return templates[name]


def _first_new_fault(before: Graph, after: Graph, catalog: Catalog) -> Fault | None:
    known = Counter(map(_fault_key, check_graph(before, catalog)))
    for fault in check_graph(after, catalog):
        if known[_fault_key(fault)] <= 0:
            return fault
        known[_fault_key(fault)] -= 1
    return None


def _fault_key(fault: Fault) -> tuple[str, str, str]:
    return fault.node, fault.arg, fault.code
