"""Load the built-in graphs, called recipes. Each is one JSON file.

Recipes from papers cite the paper in ``about``; a note on the canvas names the source of each value
and the differences from the paper.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from workbench.arguments import TEXT, checked
from workbench.errors import GraphFormatError
from workbench.graph.model import Graph
from workbench.graph.storage.layout import Document, load_document
from workbench.names import did_you_mean
from workbench.sources import load_source


@cache
def _documents() -> dict[str, Document]:
    found = (
        load_document(entry.read_text(encoding="utf-8"))
        for entry in files(__name__).iterdir()
        if entry.name.endswith(".json")
    )
    return {each.graph.name: each for each in sorted(found, key=lambda each: each.graph.name)}


class _Recipes(dict[str, Graph]):
    """Graphs by name. The ``repr`` has one line per graph."""

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {graph.about}" for name, graph in self.items())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


def load_recipes() -> dict[str, Graph]:
    """Return all recipes by name, in alphabetical order.

    ::

        for name, recipe in wb.load_recipes().items():
            print(name, recipe.about)
    """
    return _Recipes({name: document.graph for name, document in _documents().items()})


def required_data_text(graph: Graph) -> str:
    """Return a sentence about the data that a recipe needs, or "" for a folder of photos."""
    kinds = (load_source(source.kind) for source in graph.sources if source.kind)
    kind = next((kind for kind in kinds if kind.sample), None)
    if kind is None:
        return ""
    return (
        f" Reads {kind.about}. Sample data: shapes/{kind.sample}, written by"
        " `workbench samples shapes --annotations`."
    )


@checked(name=TEXT)
def load_recipe(name: str) -> Graph:
    """Return a recipe. Raises GraphFormatError with the nearest name if ``name`` is unknown.

    ::

        graph = wb.load_recipe("imagenet-train")
    """
    return load_recipe_document(name).graph


def load_recipe_document(name: str) -> Document:
    """Return the recipe ``name`` as a document with frames and notes.

    Raises GraphFormatError like ``load_recipe``.
    """
    recipes = _documents()
    if name not in recipes:
        hint = did_you_mean(name, recipes, f"Recipes: {', '.join(recipes)}.")
        raise GraphFormatError(f"There is no recipe {name!r}. {hint}")
    return recipes[name]
