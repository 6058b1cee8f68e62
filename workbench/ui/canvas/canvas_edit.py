"""Define the base class of canvas edits, assign edits to block bodies, and set node positions.

The canvas also shows the bodies of blocks inside the visible body, so an edit can name nodes in
several bodies. Such an edit is split into one edit for each body.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import msgspec

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.annotations.follower_edits import with_followers
from workbench.graph.model import Graph, block_of
from workbench.graph.model.bounds import MOST_CANVAS_NODES
from workbench.graph.storage.layout import Document, Position, positions_from_json
from workbench.ui.contract.action import Action, DocumentEdit, Edited
from workbench.ui.state.view_state import ViewState

A = TypeVar("A", bound=Action)
_ONE = ("node", "after", "source", "target", "edge", "other")
_MANY = ("nodes", "edges")
_APART = 96
"""Vertical distance in pixels between nodes that are placed in a column."""


class CanvasEdit(DocumentEdit, frozen=True):
    """Base class of edits to one body: the body of the named nodes, by default the visible body."""

    in_each_body: ClassVar[bool] = False
    """True if the action may name nodes in several bodies, and is then applied to each body."""

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        """Return the edited document. ``document.graph`` is set to the body being edited."""
        raise NotImplementedError

    def removed_blocks(self) -> Collection[str]:
        """Return the blocks that the edit removes. Nodes inside them are not edited separately."""
        return ()

    def edit(self, state: ViewState, document: Document, catalog: Catalog) -> Edited:
        """Edit all bodies that contain nodes named by the action."""
        return self.edit_at(state.scope, document, catalog)

    def edit_at(self, scope: str, document: Document, catalog: Catalog) -> Edited:
        """Edit the bodies that contain the named nodes, or ``scope`` if no nodes are named."""
        nodes: list[str] | None = None
        parts = split_by_body(document.graph, self, scope, self.in_each_body, self.removed_blocks())
        for inner, part in parts:
            shown = replace(document, graph=document.graph.at_scope(inner))
            edited, nodes = part.edit_body(shown, catalog)
            followed = with_followers(document.graph, edited.graph.whole, catalog)
            document = edited.with_graph(followed)
        return document, nodes


def within_limit(document: Document, graph: Graph) -> Document:
    """Return the document with ``graph`` as its graph.

    Raises GraphEditError if the graph has more nodes than the canvas can show.
    """
    count, before = (sum(1 for _ in each.whole.walk()) for each in (graph, document.graph))
    if count > max(MOST_CANVAS_NODES, before):
        raise GraphEditError(
            f"The graph would have {count} nodes; the canvas shows at most {MOST_CANVAS_NODES}. "
            "Compose it in Python."
        )
    return document.with_graph(graph)


# Bodies that an action applies to


def split_by_body(
    graph: Graph,
    action: A,
    visible_scope: str,
    in_each_body: bool = False,
    removed_blocks: Collection[str] = (),
) -> list[tuple[str, A]]:
    """Split an action by body. Return each body with its action, inner bodies first.

    ``visible_scope`` is used if the action names no node. Raises GraphEditError if the action names
    nodes in several bodies but ``in_each_body`` is False.
    """
    scopes = {scope_of(graph, key, visible_scope) for _, key in _named(action)} or {visible_scope}
    if len(scopes) > 1 and not in_each_body:
        names = ", ".join(sorted(scope or "the graph" for scope in scopes))
        raise GraphEditError(
            f"The selected nodes are in several bodies ({names}). Select nodes of one body; "
            "connect bodies through the inputs of their block."
        )
    scopes = {scope for scope in scopes if not _stands_inside(graph, scope, removed_blocks)}
    inner_first = sorted(scopes, key=lambda scope: (-_depth(graph, scope), scope))
    return [(scope, _part(graph, action, scope, visible_scope)) for scope in inner_first]


def scope_of(graph: Graph, key: str, visible_scope: str) -> str:
    """Return the body (``branch.then``) that contains the node, edge or output ``key``.

    If ``key`` is a body, return ``key``.
    """
    owner, _, _ = key.partition(":")
    if "." in owner:
        return owner
    return graph.scope_of(owner) if owner and graph.has(owner) else visible_scope


def _named(action: Action) -> Iterator[tuple[str, str]]:
    """Yield (field, key) for each node, edge or output that the action names."""
    for field in _ONE:
        if key := getattr(action, field, ""):
            yield field, key
    for field in _MANY:
        for key in getattr(action, field, ()):
            yield field, key


def _part(graph: Graph, action: A, scope: str, visible_scope: str) -> A:
    """Return the action limited to the nodes of one body. Outputs of the body become ``:name``."""
    changed: dict[str, Any] = {
        field: [] for field in _MANY if field in getattr(action, "__struct_fields__", ())
    }
    for field, key in _named(action):
        owner, colon, name = key.partition(":")
        own = f":{name}" if colon and owner == scope else key
        if field in _ONE:
            changed[field] = own
        elif scope_of(graph, key, visible_scope) == scope:
            changed[field].append(own)
    return msgspec.structs.replace(action, **changed) if changed else action


def _depth(graph: Graph, scope: str) -> int:
    depth = 0
    while scope:
        scope, depth = graph.scope_of(block_of(scope)), depth + 1
    return depth


def _stands_inside(graph: Graph, scope: str, blocks: Collection[str]) -> bool:
    while blocks and scope and graph.has(block_of(scope)):
        if block_of(scope) in blocks:
            return True
        scope = graph.scope_of(block_of(scope))
    return False


# Positions of nodes


def placed(document: Document, positions_by_key: dict[str, list[float]]) -> Document:
    """Return the document with new node positions, in pixels, in one or more bodies.

    Keys are as in ``SetPositions``. Without positions, the visible body gets an automatic layout.
    Raises GraphEditError for a body that does not exist.
    """
    graph = document.graph
    bodies: dict[str, dict[str, Position]] = {} if positions_by_key else {graph.scope: {}}
    for key, at in positions_from_json(positions_by_key).items():
        scope = scope_of(graph.whole, key, graph.scope)
        _, colon, output = key.partition(":")
        bodies.setdefault(scope, {})[f":{output}" if colon else key] = at
    layout = document.layout
    for scope, positions in bodies.items():
        layout = layout.with_positions(graph.whole.at_scope(scope), positions)
    return replace(document, layout=layout.without_missing(graph))


def with_free_nodes(document: Document, cards: list[str], x: float, y: float) -> Document:
    """Place the nodes of ``cards`` that have no inputs in a column that starts at (x, y).

    With automatic layout, the document is returned unchanged.
    """
    shown = document.layout.positions_in_body(document.graph)
    if not shown:
        return document
    fed = {edge.target for edge in document.graph.edges if edge.source.node in cards}
    free = [node for node in cards if node not in fed]
    first = positions_from_json({node: [x, y] for node in free})
    spread = {node: (at[0], at[1] + row * _APART) for row, (node, at) in enumerate(first.items())}
    layout = document.layout.with_positions(document.graph, {**shown, **spread})
    return replace(document, layout=layout)
