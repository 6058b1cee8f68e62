"""In which bodies an action of the canvas works: those of what it names.

The canvas draws the bodies of blocks inside the one that it shows, and names what stands in them
without opening them first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from workbench.errors import GraphEditError
from workbench.graph.model import Graph, block_of
from workbench.ui.contract.actions import canvas
from workbench.ui.contract.actions.base import Action

A = TypeVar("A", bound=Action)
_ONE = ("node", "after", "source", "target", "edge")
_MANY = ("nodes", "edges")
_APART = (canvas.Remove, canvas.Mute, canvas.Disconnect)
"""What is done in each of several bodies by itself."""


def split_by_body(graph: Graph, action: A, shown: str) -> list[tuple[str, A]]:
    """The scopes in which an action works, each with its part as that body names things.

    Of several bodies the inner ones come first. ``shown`` is the scope of what names no other.
    Raises GraphEditError for things of several bodies that cannot be done in each by itself.
    """
    scopes = {scope_of(graph, key, shown) for _, key in _named(action)} or {shown}
    if len(scopes) > 1 and not isinstance(action, _APART):
        names = ", ".join(sorted(scope or "the graph" for scope in scopes))
        raise GraphEditError(
            f"These stand in several bodies ({names}). Choose what stands in one; a body is fed "
            "through the inputs of its block."
        )
    if isinstance(action, canvas.Remove):
        gone = set(action.nodes)
        scopes = {scope for scope in scopes if not _stands_inside(graph, scope, gone)}
    inner_first = sorted(scopes, key=lambda scope: (-_depth(graph, scope), scope))
    return [(scope, _part(graph, action, scope, shown)) for scope in inner_first]


def scope_of(graph: Graph, key: str, shown: str) -> str:
    """The scope of what a key names: a node, a body, an edge, an output."""
    owner, _, _ = key.partition(":")
    if "." in owner:
        return owner
    return graph.scope_of(owner) if owner and graph.has(owner) else shown


def _named(action: Action) -> Iterator[tuple[str, str]]:
    """Each key that an action names, with the field."""
    for field in _ONE:
        if key := getattr(action, field, ""):
            yield field, key
    for field in _MANY:
        for key in getattr(action, field, ()):
            yield field, key


def _part(graph: Graph, action: A, scope: str, shown: str) -> A:
    """What an action does in one body, whose outputs go by ``:name``."""
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


def _stands_inside(graph: Graph, scope: str, blocks: set[str]) -> bool:
    while scope and graph.has(block_of(scope)):
        if block_of(scope) in blocks:
            return True
        scope = graph.scope_of(block_of(scope))
    return False
