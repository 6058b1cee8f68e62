"""Actions of the canvas that edit nodes and edges."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import nan
from typing import ClassVar

import msgspec

from workbench.catalog.extra_operators import BLOCKS
from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.control_flow.conditions import add_elif, set_condition
from workbench.graph.control_flow.wrapping import unwrap_block, wrap_as_options, wrap_in_block
from workbench.graph.edits import compose
from workbench.graph.edits.compose import remove_nodes
from workbench.graph.edits.connect import connect, disconnect, port_taken_reason, set_output
from workbench.graph.edits.edit import move_node, ordered_nodes, rename_node, rename_output
from workbench.graph.edits.fragment import duplicate, paste_fragment
from workbench.graph.execution.active import set_muted
from workbench.graph.model import Graph, Port
from workbench.graph.storage.io import load_graph
from workbench.graph.storage.layout import Document, Layout
from workbench.graph.types.devices import port_kind
from workbench.graph.variants.fused import fuse
from workbench.ui.canvas.canvas_annotations import with_pasted_remarks
from workbench.ui.canvas.canvas_edit import (
    CanvasEdit,
    placed,
    scope_of,
    with_free_nodes,
    within_limit,
)
from workbench.ui.canvas.canvas_payloads import folded_generators_in_scope
from workbench.ui.contract.action import Edited
from workbench.ui.inspector.condition_actions import usual_condition
from workbench.ui.state.view_state import ViewState

ALIGNMENTS = {
    "left": "align left",
    "centre": "align centre",
    "right": "align right",
    "top": "align top",
    "middle": "align middle",
    "bottom": "align bottom",
    "across": "distribute horizontally",
    "down": "distribute vertically",
}
"""Undo label for each kind of alignment."""


class Connect(CanvasEdit, tag="connect", frozen=True):
    """Connect a node's output to an input, or add the output to the graph's outputs."""

    source: str
    output: str
    target: str
    """Id of the target node; empty to make a graph output, whose name is ``input``."""
    input: str
    """Name of the target's input. For a graph output, empty means a new, unused name."""
    edge: str
    """Id of the edge whose end was dragged; empty if a new edge is added."""

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        graph, source = document.graph, Port(self.source, self.output)
        if not self.source:
            raise GraphEditError("connect: source is empty. Use an output, such as decode.output.")
        if self.edge:
            graph = cut_edge(graph, self.edge)
        if not self.target:
            _require_kind(graph, catalog, source, self.input)
            return document.with_graph(compose.add_output(graph, catalog, source, self.input)), None
        reason = port_taken_reason(graph, self.target, self.input, source)
        if reason:
            raise GraphEditError(f"{self.target}.{self.input} was not connected: {reason}.")
        return document.with_graph(connect(graph, catalog, source, self.target, self.input)), None


def _require_kind(graph: Graph, catalog: Catalog, source: Port, output: str) -> None:
    """Raise GraphEditError if ``source`` and the graph output ``output`` differ in kind of data."""
    before = graph.outputs.get(output)
    if before is None:
        return
    had, gives = (port_kind(graph, catalog, port) for port in (before, source))
    if had != gives and "any" not in (had, gives):
        raise GraphEditError(
            f"The kind of the output {output!r} is {had}, but that of {source} is {gives}. Use "
            "another output name, or remove the output first."
        )


class Disconnect(CanvasEdit, tag="disconnect", frozen=True):
    """Remove edges."""

    edges: list[str]
    in_each_body: ClassVar[bool] = True

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        graph = document.graph
        for edge in self.edges:
            graph = cut_edge(graph, edge)
        return document.with_graph(graph), None


def cut_edge(graph: Graph, edge: str) -> Graph:
    """Return the graph without an edge. An output of the graph is removed with its edge."""
    _, target, into = compose.find_edge(graph, edge)
    return disconnect(graph, target, into) if target else set_output(graph, into, None)


class Splice(CanvasEdit, tag="splice", frozen=True):
    """Move a node to another edge."""

    node: str
    edge: str
    positions: dict[str, list[float]] = msgspec.field(default_factory=dict)
    """Node positions as in ``SetPositions``; empty for automatic layout."""

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        graph = compose.splice_node(document.graph, catalog, self.node, self.edge)
        spliced = document.with_graph(graph)
        return placed(spliced, self.positions) if self.positions else spliced, [self.node]


class Move(CanvasEdit, tag="move", frozen=True):
    """Swap a node with the node before or after it."""

    node: str
    by: int
    """1 to swap with the next node, -1 to swap with the previous one."""

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        graph = move_node(document.graph, catalog, self.node, self.by)
        return document.with_graph(graph), [self.node]


class Remove(CanvasEdit, tag="remove", frozen=True):
    """Remove nodes and edges."""

    nodes: list[str] = msgspec.field(default_factory=list)
    edges: list[str] = msgspec.field(default_factory=list)
    in_each_body: ClassVar[bool] = True

    def removed_blocks(self) -> Collection[str]:
        return self.nodes

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        graph, nodes = document.graph, self.nodes
        ids = [node.id for node in ordered_nodes(graph, catalog)]
        first = min((ids.index(node) for node in nodes if node in ids), default=0)
        for edge in self.edges:
            target = edge.partition(":")[0]
            if target not in nodes:
                graph = cut_edge(graph, edge)
        outputs = {node.removeprefix(":") for node in nodes if node.startswith(":")}
        for name in outputs:
            graph = set_output(graph, name, None)
        chosen = [node for node in nodes if not node.startswith(":")]
        own = _own(graph, chosen)
        if chosen and not own:
            raise GraphEditError(f"{chosen[0]} is the input of the body and cannot be removed.")
        graph = remove_nodes(graph, catalog, own)
        near = (*reversed(ids[:first]), *ids[first:])
        left = next((node for node in near if graph.has(node)), None)
        selected = None if not nodes else [left] if left else []
        return document.with_graph(graph), selected


class Mute(CanvasEdit, tag="mute", frozen=True):
    """Mute nodes, so that they do not run, or unmute them."""

    nodes: list[str]
    muted: bool
    in_each_body: ClassVar[bool] = True

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        own = _own(document.graph, self.nodes)
        return document.with_graph(set_muted(document.graph, own, self.muted)), None


class Duplicate(CanvasEdit, tag="duplicate", frozen=True):
    """Add copies of nodes."""

    nodes: list[str]

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        own = _own(document.graph, self.nodes)
        graph, added = duplicate(document.graph.whole, catalog, own)
        graph = graph.at_scope(document.graph.scope)
        return within_limit(document, graph), _with_own_card(graph, catalog, added)


def _own(graph: Graph, nodes: Sequence[str]) -> list[str]:
    """Return ``nodes`` without the card that represents the body's inputs."""
    return [node for node in nodes if node != graph.scope]


def _with_own_card(graph: Graph, catalog: Catalog, ids: tuple[str, ...]) -> list[str]:
    folded = folded_generators_in_scope(graph, catalog, Layout())
    return [node_id for node_id in ids if node_id not in folded]


class Paste(CanvasEdit, tag="paste", frozen=True):
    """Add the nodes described by copied text."""

    text: str
    x: float
    """Horizontal canvas position in pixels of pasted nodes that have no inputs."""
    y: float

    def edit(self, state: ViewState, document: Document, catalog: Catalog) -> Edited:
        """Paste into the body that contains the selected nodes.

        If the selection spans several bodies, or if the text contains a reader (which a block
        cannot contain), paste into the visible body.
        """
        scopes = {scope_of(document.graph, key, state.scope) for key in state.selected}
        if scopes == {state.scope} or len(scopes) != 1 or load_graph(self.text).sources:
            return self.edit_at(state.scope, document, catalog)
        apart = msgspec.structs.replace(self, x=nan, y=nan)  # other body
        return apart.edit_at(scopes.pop(), document, catalog)

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        scope = document.graph.scope
        graph, added = paste_fragment(document.graph.whole, self.text, scope)
        graph = graph.at_scope(scope)
        pasted, shown = within_limit(document, graph), _with_own_card(graph, catalog, added)
        pasted = with_pasted_remarks(pasted, self.text, added)
        return with_free_nodes(pasted, shown, self.x, self.y), shown


class Rename(CanvasEdit, tag="rename", frozen=True):
    """Rename a node, or a graph output (written ``:name``)."""

    node: str
    to: str

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        old, new = self.node, self.to.strip()
        if old.startswith(":"):
            graph = rename_output(document.graph, old[1:], new)
            scope = graph.scope
            layout = document.layout.renamed(f"{scope}{old}", f"{scope}:{new}")
            return replace(document, graph=graph, layout=layout), None
        graph = rename_node(document.graph, old, new)
        return document.renamed(graph, old, new), [new]


class SetPositions(CanvasEdit, tag="place", frozen=True):
    """Set the positions of nodes in one or more bodies."""

    positions: dict[str, list[float]]
    """Position [x, y] by key. A key is a node id, ``:name`` for a graph output, or
    ``block.body:name`` for an output of a body that is drawn inside its block.
    """
    aligned: str = ""
    """Key of ``ALIGNMENTS`` if nodes were aligned; empty if they were moved."""

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        if self.aligned and self.aligned not in ALIGNMENTS:
            raise GraphEditError(
                f"{self.aligned[:40]!r} is not an alignment. Use one of: {', '.join(ALIGNMENTS)}."
            )
        return placed(document, self.positions), None

    def edit_label(self) -> str:
        return ALIGNMENTS.get(self.aligned, "")


class Wrap(CanvasEdit, tag="wrap", frozen=True):
    """Wrap nodes in a new block, such as an ``if``."""

    nodes: list[str]
    op: str
    """Kind of block, for example ``if``."""
    together: bool = False
    """True to make all nodes one option of the block, False to make each node an option."""
    condition: str = ""
    """Condition of an ``if``: ``label``, ``size`` or ``comparison``; empty for a random choice."""

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        graph = document.graph
        if self.op not in BLOCKS:
            raise GraphEditError(
                f"{self.op[:40]!r} is not a block. Use one of: {', '.join(BLOCKS)}."
            )
        nodes = _own(graph, self.nodes)
        side_by_side = BLOCKS[self.op].numbered_bodies and not self.together
        wrap = wrap_as_options if side_by_side else wrap_in_block
        whole, block = wrap(graph.whole, catalog, nodes, self.op)
        if self.condition:
            whole = set_condition(whole, catalog, block, usual_condition(self.condition))
        return within_limit(document, whole.at_scope(graph.scope)), [block]


class Unwrap(CanvasEdit, tag="unwrap", frozen=True):
    """Replace a block with the nodes of one of its bodies."""

    node: str
    body: str

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        graph, nodes = unwrap_block(document.graph, catalog, self.node, self.body)
        return document.with_graph(graph), _with_own_card(graph, catalog, nodes)


class AddElif(CanvasEdit, tag="add_elif", frozen=True):
    """Add a second condition to an ``if``, evaluated when the first condition is false."""

    node: str

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        whole, added = add_elif(document.graph, catalog, self.node)
        return within_limit(document, whole.at_scope(document.graph.scope)), [added]

    def edit_label(self) -> str:
        return f"elif of {self.node}"


class Fuse(CanvasEdit, tag="fuse", frozen=True):
    """Replace an ``if`` with the one operator in it, which then runs on every sample."""

    node: str

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        whole, fused = fuse(document.graph, catalog, self.node)
        return document.with_graph(whole.at_scope(document.graph.scope)), [fused]

    def edit_label(self) -> str:
        return f"fuse {self.node}"


class Arrange(CanvasEdit, tag="arrange", frozen=True):
    """Discard manual positions, so that the layout is automatic."""

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        return replace(document, layout=document.layout.cleared(document.graph)), None


class Collapse(CanvasEdit, tag="collapse", frozen=True):
    """Show a block as a card, or as a frame around its nodes."""

    node: str
    collapsed: bool

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        node, layout = document.graph.node(self.node), document.layout
        if not node.bodies:
            raise GraphEditError(
                f"{node.id} is not a block, so it cannot be collapsed or expanded."
            )
        chosen = {node.id}
        collapsed = layout.collapsed | chosen if self.collapsed else layout.collapsed - chosen
        return replace(document, layout=replace(layout, collapsed=collapsed)), [node.id]


class Unfold(CanvasEdit, tag="unfold", frozen=True):
    """Show the generator of an argument as a separate node."""

    node: str
    arg: str

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        port = document.graph.node(self.node).inputs.get(self.arg)
        if port is None:
            raise GraphEditError(f"{self.node}.{self.arg} is not connected. Connect it first.")
        unfolded = document.layout.unfolded | {port.node}
        return replace(document, layout=replace(document.layout, unfolded=unfolded)), [port.node]


class Fold(CanvasEdit, tag="fold", frozen=True):
    """Show a generator inside the node that it feeds."""

    node: str

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        node = self.node
        layout = replace(document.layout, unfolded=document.layout.unfolded - {node})
        if node not in folded_generators_in_scope(document.graph, catalog, layout):
            raise GraphEditError(
                f"{node} does not feed exactly one argument, so it stays a separate node."
            )
        fed = document.graph.consumers(node)[0].target
        return replace(document, layout=layout), [fed]
