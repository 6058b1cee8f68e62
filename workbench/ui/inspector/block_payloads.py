"""Build the payloads of blocks for the canvas and the inspector: condition, bodies, breadcrumb."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from workbench.graph.checks.check import Fault
from workbench.graph.control_flow.block_kinds import kind_of
from workbench.graph.model import Body, Graph, Node, Port, block_of
from workbench.graph.storage.layout import Layout
from workbench.graph.types.typed_graph import TypedGraph
from workbench.ui.contract.payloads import BodyEntry, ScopeBody, ScopeEntry
from workbench.ui.inspector.condition_actions import condition_text
from workbench.ui.inspector.random_argument_payloads import distribution, random_view


def card_around(graph: Graph, node_id: str) -> str:
    """Return the id of the visible card of a node or of a block around the node, or ""."""
    whole = graph.whole
    while whole.has(node_id):
        scope = whole.scope_of(node_id)
        if scope == graph.scope:
            return node_id
        if not scope:
            break
        node_id = block_of(scope)
    return ""


def expanded_bodies(graph: Graph, node: Node, layout: Layout) -> list[Graph]:
    """Return the bodies of a block that is drawn as a frame; empty if it is drawn as a card."""
    if node.id in layout.collapsed:
        return []
    return [graph.whole.at_scope(node.scope(name)) for name in node.bodies]


def is_shown(graph: Graph, layout: Layout, node_id: str, visible_scope: str) -> bool:
    """Return whether a node is in body ``visible_scope``, or in an expanded block inside it."""
    scope = graph.scope_of(node_id)
    while scope and scope != visible_scope:
        if block_of(scope) in layout.collapsed:
            return False
        scope = graph.scope_of(block_of(scope))
    return scope == visible_scope


def body_entries(node: Node, faulty: Collection[str]) -> list[BodyEntry]:
    """Return payloads of a block's bodies.

    ``faulty`` are the bodies (``branch.then``) that contain faults.
    """
    return [
        {
            "name": name,
            "title": body.title,
            "scope": node.scope(name),
            "nodes": sum(1 for each in body.nodes if not each.op.startswith("random.")),
            "faulty": any(
                scope == node.scope(name) or _is_inside(body, scope) for scope in faulty if scope
            ),
        }
        for name, body in node.bodies.items()
    ]


def _is_inside(body: Body, scope: str) -> bool:
    """Return whether the body ``scope`` (``branch.then``) is inside ``body``, at any depth."""
    return any(
        node.id == block_of(scope) or any(_is_inside(b, scope) for b in node.bodies.values())
        for node in body.nodes
    )


def scope_entries(graph: Graph, scope: str) -> list[ScopeEntry]:
    """Return the breadcrumb of body ``scope``: its enclosing blocks, outermost first."""
    breadcrumb: list[ScopeEntry] = []
    while scope:
        block, _, shown = scope.rpartition(".")
        node = graph.node(block)
        names: list[ScopeBody] = [
            {
                "name": name,
                "title": body.title,
                "scope": node.scope(name),
                "shown": name == shown,
            }
            for name, body in node.bodies.items()
        ]
        breadcrumb.insert(0, {"block": block, "op": node.op, "bodies": names})
        scope = graph.scope_of(block)
    return breadcrumb


def condition_of(typed: TypedGraph, node: Node, classes: Sequence[str] = ()) -> str:
    """Return the text of a block's condition, such as its distribution or the id of its input node.

    ``classes`` are the class names of the data.
    """
    words = kind_of(node).summary(node) or condition_text(typed, node, classes)
    source = node.inputs.get(kind_of(node).control)
    if words or source is None:
        return words
    view = random_view(typed, source)
    return distribution(view["op"], view["args"]) if view else source.node


def condition_port(typed: TypedGraph, node: Node) -> Port | None:
    """Return the port connected to a block's condition; None if there is none."""
    spec = typed.catalog.find(node.op)
    return node.inputs.get(spec.inputs[0].name) if spec and spec.bodies and spec.inputs else None


def faulty_scopes(graph: Graph, faults: Sequence[Fault]) -> set[str]:
    """Return the bodies that contain faulty nodes or have a fault themselves."""
    whole = graph.whole
    found = [fault for fault in faults if whole.has(fault.node)]
    named = {fault.about for fault in found if block_of(fault.about) == fault.node}
    return named.union(whole.scope_of(fault.node) for fault in found)


def nearest_existing_scope(graph: Graph, before: Graph, scope: str) -> str:
    """Return the body ``scope`` (``branch.then``) if it exists, else the nearest one around it.

    ``before`` is a graph that contains the body.
    """
    while scope:
        block, _, body = scope.rpartition(".")
        if graph.has(block) and body in graph.node(block).bodies:
            return scope
        scope = before.scope_of(block) if before.has(block) else ""
    return ""
