"""Convert arguments that specify a graph: ``to_graph`` and ``to_document``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.arguments import format_value
from workbench.emit.pipeline_import.graph import ImportedGraph
from workbench.errors import GraphFormatError
from workbench.graph.model import Graph, is_text
from workbench.graph.storage.io import dump_json, graph_from_json, graph_to_json, read_graph
from workbench.graph.storage.layout import Document, Layout, load_document
from workbench.graph.storage.recipes import load_recipe, load_recipe_document, load_recipes
from workbench.preview.requests.share import read_picture, read_shared

BESIDE = {"layout", "draws", "origins", "import_report"}
"""Keys of a graph file that are stored next to the key ``graph``."""
START = "rotate-jitter"
"""Name of the recipe that opens by default."""

_MOST_EXPANDED = 20
"""Maximum number of nodes in a graph created in Python whose blocks are drawn expanded."""
_FILES = (".json", ".png")
"""File extensions of graph files."""

GraphLike = Graph | Document | ImportedGraph | str | Path | Mapping[str, Any] | None


def to_graph(source: GraphLike) -> Graph:
    """Convert a graph, an import, a recipe's name, a path, or parsed JSON to a graph.

    Parsed JSON may be the content of a graph file, ``{"graph": graph, "layout": ...}``. A path ends
    in ``.json``, or in ``.png`` for a shared picture. None opens the recipe ``rotate-jitter``.
    Raises GraphFormatError if ``source`` is not a valid graph.
    """
    match source:
        case None:
            return load_recipe(START)
        case Graph():
            for text in (source.name, source.about, *(node.id for node in source.nodes)):
                if not is_text(text):
                    raise GraphFormatError(
                        f"{ascii(text)[:60]} contains a lone surrogate, which cannot be saved. "
                        "Rename the graph or node."
                    )
            return source
        case Document() | ImportedGraph():
            return to_graph(source.graph)
        case Path():
            return _read(source)
        case str() if source.endswith(_FILES):
            return _read(Path(source))
        case str():
            return load_recipe(source)
        case {"graph": Graph() as graph}:
            return to_graph(graph)
        case Mapping():
            return graph_from_json(source)
    raise GraphFormatError(
        f"{format_value(source)} is not a graph. Pass a Graph, a recipe's name, a path to a "
        "graph file (.json, or .png for a shared picture) or its parsed JSON."
    )


def to_document(source: GraphLike) -> Document:
    """Convert the same arguments as ``to_graph`` to a document with positions, groups and notes."""
    graph = to_graph(source)
    if isinstance(source, ImportedGraph):
        return source.document
    if isinstance(source, Document):
        return source
    if isinstance(source, Path) or (isinstance(source, str) and source.endswith(_FILES)):
        return _beside(Path(source))
    if isinstance(source, str) and source in load_recipes():
        return load_recipe_document(source)
    if isinstance(source, Mapping) and source.keys() & BESIDE:
        beside = {key: source[key] for key in source if key != "graph"}
        whole = {**graph_to_json(graph), **beside} if "graph" in source else beside
        document = load_document(dump_json(whole))
        return replace(document, graph=graph)
    blocks = [node.id for node in graph.walk() if node.bodies]
    many = sum(1 for _ in graph.walk()) > _MOST_EXPANDED
    return Document(graph, Layout(collapsed=frozenset(blocks if many else ())))


def _beside(path: Path) -> Document:
    content = path.read_bytes()
    text = read_shared(content) if path.suffix == ".png" else content.decode("utf-8-sig")
    return load_document(text)


def _read(path: Path) -> Graph:
    return read_picture(path) if path.suffix == ".png" else read_graph(path)
