"""Base class of canvas edits, the bodies they apply to, and positions.

The canvas also shows the bodies of blocks inside the visible body, so an edit can name nodes in
several bodies. It is then split into one edit for each body.
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
"""Distance in pixels between nodes placed below each other."""


class CanvasEdit(DocumentEdit, frozen=True):
    """Edit of the visible body, or of the body that contains the named nodes."""

    in_each_body: ClassVar[bool] = False
    """True if the nodes may be in several bodies; the edit is then applied to each body."""

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        """Return the edited document. ``document`` contains the body as its graph."""
        raise NotImplementedError

    def removed_blocks(self) -> Collection[str]:
        """Return the blocks that the edit removes. Nodes inside them are not edited separately."""
        return ()

    def edit(self, state: ViewState, document: Document, catalog: Catalog) -> Edited:
        """Edit all bodies that contain nodes of the action."""
        return self.edit_at(state.scope, document, catalog)

    def edit_at(self, scope: str, document: Document, catalog: Catalog) -> Edited:
        """Edit all bodies that contain nodes of the action; without nodes, the body ``scope``."""
        nodes: list[str] | None = None
        parts = split_by_body(document.graph, self, scope, self.in_each_body, self.removed_blocks())
        for inner, part in parts:
            shown = replace(document, graph=document.graph.at_scope(inner))
            edited, nodes = part.edit_body(shown, catalog)
            followed = with_followers(document.graph, edited.graph.whole, catalog)
            document = edited.with_graph(followed)
        return document, nodes


def within_limit(document: Document, graph: Graph) -> Document:
    """Return the document with another graph.

    Raises GraphEditError if the graph is too large to show.
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
    shown: str,
    in_each_body: bool = False,
    removed_blocks: Collection[str] = (),
) -> list[tuple[str, A]]:
    """Return the bodies that an action applies to, each with its part of the action.

    A part names nodes as they are named in its body. Inner bodies are first. ``shown`` is the body
    to use if the action names nothing. Raises GraphEditError if the action cannot be applied to
    several bodies.
    """
    scopes = {scope_of(graph, key, shown) for _, key in _named(action)} or {shown}
    if len(scopes) > 1 and not in_each_body:
        names = ", ".join(sorted(scope or "the graph" for scope in scopes))
        raise GraphEditError(
            f"The selected nodes are in several bodies ({names}). Select nodes of one body; "
            "connect bodies through the inputs of their block."
        )
    scopes = {scope for scope in scopes if not _stands_inside(graph, scope, removed_blocks)}
    inner_first = sorted(scopes, key=lambda scope: (-_depth(graph, scope), scope))
    return [(scope, _part(graph, action, scope, shown)) for scope in inner_first]


def scope_of(graph: Graph, key: str, shown: str) -> str:
    """Return the body (``branch.then``) of a node, a body, an edge or an output."""
    owner, _, _ = key.partition(":")
    if "." in owner:
        return owner
    return graph.scope_of(owner) if owner and graph.has(owner) else shown


def _named(action: Action) -> Iterator[tuple[str, str]]:
    """Yield each field of an action that names something, with the key in it."""
    for field in _ONE:
        if key := getattr(action, field, ""):
            yield field, key
    for field in _MANY:
        for key in getattr(action, field, ()):
            yield field, key


def _part(graph: Graph, action: A, scope: str, shown: str) -> A:
    """Return the part of an action for one body, in which outputs are named ``:name``."""
    changed: dict[str, Any] = {
        field: [] for field in _MANY if field in getattr(action, "__struct_fields__", ())
    }
    for field, key in _named(action):
        owner, colon, name = key.partition(":")
        own = f":{name}" if colon and owner == scope else key
        if field in _ONE:
            changed[field] = own
        elif scope_of(graph, key, shown) == scope:
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


def placed(document: Document, given: dict[str, list[float]]) -> Document:
    """Return the document with positions in pixels, in one or more bodies.

    Keys are as in ``SetPositions``. If there are none, the visible body is laid out automatically.
    Raises GraphEditError for a body that does not exist.
    """
    graph = document.graph
    bodies: dict[str, dict[str, Position]] = {} if given else {graph.scope: {}}
    for key, at in positions_from_json(given).items():
        scope = scope_of(graph.whole, key, graph.scope)
        _, colon, output = key.partition(":")
        bodies.setdefault(scope, {})[f":{output}" if colon else key] = at
    layout = document.layout
    for scope, positions in bodies.items():
        layout = layout.with_positions(graph.whole.at_scope(scope), positions)
    return replace(document, layout=layout.without_missing(graph))


def with_free_nodes(document: Document, cards: list[str], x: float, y: float) -> Document:
    """Place nodes without inputs below each other, starting at x, y.

    Does nothing with automatic layout, which places them itself.
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
