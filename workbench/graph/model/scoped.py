"""Edits inside blocks: done in the body in which a node stands, and put back into the graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar, cast

from workbench.graph.model import Graph

P = ParamSpec("P")
T = TypeVar("T")


def scoped(parameter: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """For an edit of a graph: ``parameter`` names the node around which it works.

    The edit gets the body that the node stands in as a graph of its own, and its graph, or the
    first of what it returns, is put back.
    """

    def decorate(edit: Callable[P, T]) -> Callable[P, T]:
        place = list(signature(edit).parameters).index(parameter)

        @wraps(edit)
        def edited(*args: P.args, **options: P.kwargs) -> T:
            graph = cast(Graph, args[0])
            node = options[parameter] if parameter in options else args[place]
            named = isinstance(node, str) and graph.enclosing is None and graph.has(node)
            scope = graph.scope_of(cast(str, node)) if named else ""
            if not scope:
                return edit(*args, **options)
            inside: Any = (graph.at_scope(scope), *args[1:])
            return cast(T, _put_back(edit(*inside, **options)))

        return edited

    return decorate


def _put_back(result: Any) -> Any:
    if isinstance(result, Graph):
        return result.whole
    first, *rest = result
    return (first.whole, *rest)
