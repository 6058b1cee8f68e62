"""Where nodes stand on the canvas: kept beside the graph, never in it.

In a graph file it is one more entry, which says nothing about what runs::

    "layout": {"positions": {"resize": [320.0, 40.0], ":images": [900.0, 40.0]},
               "unfolded": ["angle"]}

So are the lines of the source that an imported graph came from::

    "origins": {"resize": "train.py:12"}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.graph.io import dump_json, graph_from_json, graph_to_json, parse_json
from workbench.graph.model import Graph
from workbench.graph.saved_draws import SavedDraw, draws_from_json, draws_to_json

Position = tuple[float, float]
_FARTHEST = 20_000.0
"""Pixels: further out, a graph could not be seen as a whole."""
_LONGEST_PLACE = 200


@dataclass(frozen=True, slots=True)
class Layout:
    """What a person arranged by hand."""

    positions: Mapping[str, Position] = field(default_factory=dict)
    """Key -> x to the right and y down, in pixels. A key is a node's id, ``:name`` for an output
    of the graph, ``branch.then:name`` for one of a body, and ``branch.then`` for what that takes
    in. A body of which nothing has a place is laid out automatically."""
    unfolded: frozenset[str] = frozenset()
    """Generators drawn as nodes of their own though they feed one argument only."""

    def within(self, graph: Graph) -> Layout:
        """Without what the graph does not have."""
        known: set[str] = set()
        for scope, body in graph.whole.bodies():
            known |= {node.id for node in body.nodes} | {scope}
            known |= {f"{scope}:{name}" for name in body.outputs}
        if self.positions.keys() <= known and self.unfolded <= known:
            return self
        positions = {key: place for key, place in self.positions.items() if key in known}
        return Layout(positions, self.unfolded & known)

    def renamed(self, old: str, new: str) -> Layout:
        """With one id, or the key of one output, exchanged."""

        def exchanged(key: str) -> str:
            if key == old:
                return new
            return new + key[len(old) :] if key.startswith(f"{old}.") else key

        positions = {exchanged(key): place for key, place in self.positions.items()}
        return Layout(positions, frozenset(map(exchanged, self.unfolded)))

    def shown(self, graph: Graph) -> dict[str, Position]:
        """The places in one body, or in the graph itself, of which outputs go by ``:name``."""
        return {
            key[len(graph.scope) :] if ":" in key else key: place
            for key, place in self.positions.items()
            if _scope_of(key, graph.whole) == graph.scope
        }

    def placed(self, graph: Graph, positions: Mapping[str, Position]) -> Layout:
        """With other places in one body, or in the graph itself: the reverse of ``shown``."""
        whole, scope = graph.whole, graph.scope
        kept = {key: at for key, at in self.positions.items() if _scope_of(key, whole) != scope}
        given = {f"{scope}{key}" if ":" in key else key: at for key, at in positions.items()}
        return replace(self, positions={**kept, **given})


def _scope_of(key: str, graph: Graph) -> str | None:
    """The scope in which a key is drawn; None where the graph does not have it."""
    scope, colon, _ = key.partition(":")
    if colon or "." in key:
        return scope
    return graph.scope_of(key) if graph.has(key) else None


@dataclass(frozen=True, slots=True)
class Document:
    """What undo steps through and a file holds: a graph, and what is kept beside it."""

    graph: Graph
    layout: Layout = Layout()
    draws: tuple[SavedDraw, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    """Node id -> the line of the source that it was imported from, such as ``train.py:12``."""

    def with_graph(self, graph: Graph) -> Document:
        """The document of another graph; nodes that are still there stay in their places."""
        origins = self.origins
        if not all(map(graph.whole.has, origins)):
            origins = {node: at for node, at in origins.items() if graph.whole.has(node)}
        return replace(self, graph=graph, layout=self.layout.within(graph), origins=origins)

    def renamed(self, graph: Graph, old: str, new: str) -> Document:
        """The document of a graph in which the node ``old`` is now ``new``."""
        origins = {new if node == old else node: place for node, place in self.origins.items()}
        return replace(self, graph=graph, layout=self.layout.renamed(old, new), origins=origins)


def dump_document(document: Document) -> str:
    """The text of a graph file with the layout, the kept draws and the source's lines."""
    data = graph_to_json(document.graph)
    layout = document.layout
    if layout.positions or layout.unfolded:
        data["layout"] = {
            "positions": {key: list(place) for key, place in layout.positions.items()},
            "unfolded": sorted(layout.unfolded),
        }
    if document.draws:
        data["draws"] = draws_to_json(document.draws)
    if document.origins:
        data["origins"] = dict(document.origins)
    return dump_json(data)


def load_document(text: str) -> Document:
    """The graph, the layout, the kept draws and the source's lines that a text holds.

    Raises GraphFormatError as ``load_graph`` does. Of all but the graph, what cannot be read is
    passed over: it must not cost anyone the graph.
    """
    data = parse_json(text)
    graph = graph_from_json(data)
    layout = layout_from_json(data.get("layout")).within(graph)
    origins = _origins(data.get("origins"), graph)
    return Document(graph, layout, draws_from_json(data.get("draws")), origins)


def _origins(data: Any, graph: Graph) -> dict[str, str]:
    """Those entries that are a text, not too long, for a node of the graph."""
    entries = data.items() if isinstance(data, dict) else ()
    return {
        node: place
        for node, place in entries
        if graph.has(node) and isinstance(place, str) and len(place) <= _LONGEST_PLACE
    }


def layout_from_json(data: Any) -> Layout:
    """The readable part of a layout's JSON."""
    if not isinstance(data, dict):
        return Layout()
    unfolded = data.get("unfolded")
    names = unfolded if isinstance(unfolded, list) else ()
    return Layout(
        positions_from_json(data.get("positions")),
        frozenset(name for name in names if isinstance(name, str)),
    )


def positions_from_json(data: Any) -> dict[str, Position]:
    """Those entries that are two numbers, not too large (NaN and infinity are)."""
    if not isinstance(data, dict):
        return {}
    return {str(key): (float(at[0]), float(at[1])) for key, at in data.items() if _is_place(at)}


def _is_place(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(
            isinstance(x, int | float) and not isinstance(x, bool) and abs(x) <= _FARTHEST
            for x in value
        )
    )  # fmt: skip
