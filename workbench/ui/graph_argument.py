"""What a caller may give where a graph is wanted: ``to_graph`` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.errors import GraphFormatError
from workbench.graph.io import graph_from_json, read_graph
from workbench.graph.model import Graph, is_text
from workbench.graph.recipes import load_recipe
from workbench.preview.share import read_picture

START = "rotate-jitter"
"""The recipe that stands there when none is named."""

GraphLike = Graph | str | Path | Mapping[str, Any] | None


def to_graph(source: GraphLike) -> Graph:
    """A graph from itself, a recipe's name, a path to a file, or parsed JSON.

    A path ends in ``.json``, or in ``.png`` for a shared picture. None is the recipe
    ``rotate-jitter``. Raises GraphFormatError.
    """
    match source:
        case None:
            return load_recipe(START)
        case Graph():
            for text in (source.name, source.about, *(node.id for node in source.nodes)):
                if not is_text(text):
                    raise GraphFormatError(
                        f"{ascii(text)[:60]} holds half a character (a lone surrogate), which no "
                        "file can hold. Give the graph and its nodes other names."
                    )
            return source
        case Path():
            return _read(source)
        case str() if source.endswith((".json", ".png")):
            return _read(Path(source))
        case str():
            return load_recipe(source)
        case Mapping():
            return graph_from_json(source)
    raise GraphFormatError(
        f"{type(source).__name__} is no graph. Give a Graph, a recipe's name, a path to a "
        "graph file (.json, or .png for a shared picture) or its parsed JSON."
    )


def _read(path: Path) -> Graph:
    return read_picture(path) if path.suffix == ".png" else read_graph(path)
