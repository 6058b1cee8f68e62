"""Built-in graphs: one JSON file each.

Recipes of papers cite them in ``about``; a note on the canvas gives the source of each value, and
the differences.
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
    """Graphs by name, printed as one line each."""

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {graph.about}" for name, graph in self.items())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


def load_recipes() -> dict[str, Graph]:
    """Every recipe by name, in alphabetical order.

    ::

        for name, recipe in wb.load_recipes().items():
            print(name, recipe.about)
    """
    return _Recipes({name: document.graph for name, document in _documents().items()})


def required_data_text(graph: Graph) -> str:
    """What a recipe reads if it is not a folder of photos, to append to its line; else empty."""
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
    """The recipe with a name. Raises GraphFormatError with the nearest known name.

    ::

        graph = wb.load_recipe("imagenet-train")
    """
    return load_recipe_document(name).graph


def load_recipe_document(name: str) -> Document:
    """The recipe with its frames and notes; otherwise as ``load_recipe``."""
    recipes = _documents()
    if name not in recipes:
        hint = f"{did_you_mean(name, recipes)} Recipes: {', '.join(recipes)}.".lstrip()
        raise GraphFormatError(f"There is no recipe {name!r}. {hint}")
    return recipes[name]
