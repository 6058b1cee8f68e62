"""Where things stand on the canvas once somebody has put them somewhere."""

from __future__ import annotations

from dataclasses import replace

from workbench.graph.storage.layout import Document, Position, positions_from_json
from workbench.ui.canvas.edited_bodies import scope_of

_APART = 96
"""Pixels between nodes that are put one under the other."""


def placed(document: Document, given: dict[str, list[float]]) -> Document:
    """With places, in pixels, of all that stands in one body or in several.

    Keys are those of ``canvas.SetPositions``. Of none, the body that is shown is laid out
    automatically. Raises GraphEditError for a body that the graph does not have.
    """
    graph = document.graph
    bodies: dict[str, dict[str, Position]] = {} if given else {graph.scope: {}}
    for key, at in positions_from_json(given).items():
        scope = scope_of(graph.whole, key, graph.scope)
        _, colon, output = key.partition(":")
        bodies.setdefault(scope, {})[f":{output}" if colon else key] = at
    layout = document.layout
    for scope, positions in bodies.items():
        layout = layout.placed(graph.whole.at_scope(scope), positions)
    return replace(document, layout=layout.within(graph))


def with_free_nodes(document: Document, drawn: list[str], x: float, y: float) -> Document:
    """With those that are fed by nothing at a place, one under the other.

    Not where all is laid out automatically: there it finds its place by itself.
    """
    shown = document.layout.shown(document.graph)
    if not shown:
        return document
    fed = {edge.target for edge in document.graph.edges if edge.source.node in drawn}
    free = [node for node in drawn if node not in fed]
    first = positions_from_json({node: [x, y] for node in free})
    spread = {node: (at[0], at[1] + row * _APART) for row, (node, at) in enumerate(first.items())}
    layout = document.layout.placed(document.graph, {**shown, **spread})
    return replace(document, layout=layout)
