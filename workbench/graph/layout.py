"""Where nodes stand on the canvas: kept beside the graph, never in it.

In a graph file it is one more entry, which says nothing about what runs::

    "layout": {"positions": {"resize": [320.0, 40.0], ":images": [900.0, 40.0]},
               "unfolded": ["angle"]}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.graph.io import dump_json, graph_from_json, graph_to_json, parse_json
from workbench.graph.kept import KeptDraw, draws_from_json, draws_to_json
from workbench.graph.model import Graph

Position = tuple[float, float]
_FARTHEST = 20_000.0
"""Pixels: further out, a graph could not be seen as a whole."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What a person arranged by hand."""

    positions: Mapping[str, Position] = field(default_factory=dict)
    """Node id, or ``:name`` for an output of the graph -> x to the right and y down, in pixels.
    Empty: all is laid out automatically."""
    unfolded: frozenset[str] = frozenset()
    """Generators drawn as nodes of their own though they feed one argument only."""

    def within(self, graph: Graph) -> Layout:
        """Without what the graph does not have."""
        known = {node.id for node in graph.nodes} | {f":{name}" for name in graph.outputs}
        if self.positions.keys() <= known and self.unfolded <= known:
            return self
        positions = {key: place for key, place in self.positions.items() if key in known}
        return Layout(positions, self.unfolded & known)

    def renamed(self, old: str, new: str) -> Layout:
        """With one id exchanged."""
        positions = {new if key == old else key: place for key, place in self.positions.items()}
        unfolded = {new if key == old else key for key in self.unfolded}
        return Layout(positions, frozenset(unfolded))


@dataclass(frozen=True, slots=True)
class Document:
    """What undo steps through and a file holds: a graph, its layout, the draws worth keeping."""

    graph: Graph
    layout: Layout = Layout()
    draws: tuple[KeptDraw, ...] = ()

    def with_graph(self, graph: Graph) -> Document:
        """The document of another graph; nodes that are still there stay in their places."""
        return replace(self, graph=graph, layout=self.layout.within(graph))


def dump_document(document: Document) -> str:
    """The text of a graph file with the layout and the kept draws."""
    data = graph_to_json(document.graph)
    layout = document.layout
    if layout.positions or layout.unfolded:
        data["layout"] = {
            "positions": {key: list(place) for key, place in layout.positions.items()},
            "unfolded": sorted(layout.unfolded),
        }
    if document.draws:
        data["draws"] = draws_to_json(document.draws)
    return dump_json(data)


def load_document(text: str) -> Document:
    """The graph, the layout and the kept draws that a text holds.

    Raises GraphFormatError as ``load_graph`` does. Of layout and draws, what cannot be read is
    passed over: it must not cost anyone the graph.
    """
    data = parse_json(text)
    graph = graph_from_json(data)
    layout = layout_from_json(data.get("layout")).within(graph)
    return Document(graph, layout, draws_from_json(data.get("draws")))


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
