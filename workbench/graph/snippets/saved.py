"""Snippets: some nodes of a graph under a name, to be put into others.

A snippet is fed by one image and gives one. It is kept as a graph file, so that blocks, draws and
settings of its nodes come along.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError, GraphFormatError
from workbench.graph.edits.fragment import add_nodes, common_scope, copy_fragment, with_generators
from workbench.graph.model import Graph, Port
from workbench.graph.storage.io import (
    dump_json,
    graph_from_json,
    graph_to_json,
    load_graph,
    parse_json,
)
from workbench.graph.types.devices import port_kind

FORMAT = "dali-workbench-block"  # the name that snippets had: saved files stay readable
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Snippet:
    """Nodes that were saved.

    ``fed`` are the inputs, node and name, that the one image goes into; ``gives`` is what comes
    out.
    """

    name: str
    part: Graph
    fed: tuple[tuple[str, str], ...]
    gives: Port


def make_snippet(graph: Graph, catalog: Catalog, nodes: Collection[str], name: str) -> Snippet:
    """The nodes, with what draws for them alone, as a snippet.

    Raises GraphEditError where they are fed by, or give, something else than one image, and for a
    name that is empty or longer than ``LONGEST_NAME``.
    """
    name = " ".join(name.split())
    if not 1 <= len(name) <= LONGEST_NAME:
        raise GraphEditError(
            f"A snippet's name has {len(name)} characters. Give 1 to {LONGEST_NAME}."
        )
    if not nodes:
        raise GraphEditError("No node is selected: there is nothing to save as a snippet.")
    graph = graph.at_scope(common_scope(graph, nodes))
    inside = with_generators(graph, nodes)
    edges = graph.edges
    crossing = [e for e in edges if (e.target in inside) != (e.source.node in inside)]
    into = [edge for edge in crossing if edge.target in inside]
    for edge in into:
        if port_kind(graph, catalog, edge.source) != "image":
            raise GraphEditError(
                f"{edge.target}.{edge.input} is fed by {edge.source}, which is no image. Select "
                f"{edge.source.node} too, or give {edge.input} a value."
            )
    sources = dict.fromkeys(edge.source for edge in into)
    if len(sources) != 1:
        found = f"by {', '.join(map(str, sources))}" if sources else "by nothing"
        raise GraphEditError(f"A snippet is fed by one image, and these nodes {found}.")
    given_out = [port for port in graph.outputs.values() if port.node in inside]
    leaving = [edge.source for edge in crossing if edge.target not in inside]
    out = dict.fromkeys(leaving + given_out)
    given = [port for port in out if port_kind(graph, catalog, port) == "image"]
    if len(given) != 1 or len(out) != 1:
        found = ", ".join(map(str, out)) or "nothing"
        raise GraphEditError(f"A snippet gives one image, and these nodes give {found}.")
    part = replace(load_graph(copy_fragment(graph, nodes)), name=name, outputs={})
    return Snippet(name, part, tuple((edge.target, edge.input) for edge in into), given[0])


def branch_snippet(
    graph: Graph, catalog: Catalog, snippet: Snippet, source: Port
) -> tuple[Graph, Port]:
    """Add a snippet that is fed by ``source``, under free ids and with draws of its own.

    Returns the graph and what the snippet gives. Raises GraphEditError where ``source`` is no
    image, and for operators that this DALI lacks.
    """
    kind = port_kind(graph, catalog, source)
    if kind != "image":
        raise GraphEditError(f"The snippet {snippet.name} takes image, and {source} gives {kind}.")
    unknown = next((node.op for node in snippet.part.walk() if catalog.find(node.op) is None), None)
    if unknown is not None:
        raise GraphEditError(
            f"The snippet {snippet.name} needs {unknown}, which this DALI has not got."
        )
    before = graph.nodes
    graph, renamed = add_nodes(graph, snippet.part)
    at = next((n for n, node in enumerate(before, start=1) if node.id == source.node), len(before))
    graph = replace(graph, nodes=(*before[:at], *graph.nodes[len(before) :], *before[at:]))
    for node, name in snippet.fed:
        fed = graph.node(renamed[node])
        graph = graph.replace_node(fed.fed({name: source}))
    return graph, Port(renamed[snippet.gives.node], snippet.gives.output)


def dump_snippet(snippet: Snippet) -> str:
    """A snippet as the text of a file."""
    return dump_json(
        {
            "format": FORMAT,
            "name": snippet.name,
            "fed": [f"{node}.{name}" for node, name in snippet.fed],
            "gives": str(snippet.gives),
            "graph": graph_to_json(snippet.part),
        }
    )


def load_snippet(text: str) -> Snippet:
    """The snippet of such a text. Raises GraphFormatError for any other."""
    data = parse_json(text)
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise GraphFormatError("The text holds no snippet.")
    part = graph_from_json(data.get("graph"))
    fed = tuple(_place(part, place) for place in _list(data.get("fed")))
    node, output = _place(part, data.get("gives"))
    name = data.get("name")
    if not fed or not isinstance(name, str) or not name:
        raise GraphFormatError("The snippet has no name, or nothing feeds it.")
    return Snippet(name[:LONGEST_NAME], part, fed, Port(node, output))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _place(part: Graph, text: Any) -> tuple[str, str]:
    node, _, name = str(text).rpartition(".")
    if not part.has(node) or not name:
        raise GraphFormatError(f"{str(text)[:60]!r} is no port of the snippet.")
    return node, name
