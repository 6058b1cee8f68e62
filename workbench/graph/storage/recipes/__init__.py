"""The graphs that the workbench brings: a JSON file for each.

Those of papers name them in ``about``; a note on the canvas says where each value comes from, and
what is otherwise than there.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

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


def load_recipes() -> dict[str, Graph]:
    """Every recipe by name, in alphabetical order.

    ::

        for name, recipe in wb.load_recipes().items():
            print(name, recipe.about)
    """
    return {name: document.graph for name, document in _documents().items()}


def sample_words(graph: Graph) -> str:
    """What a recipe reads where that is no folder of photos, for behind its line; else empty."""
    kinds = (load_source(source.kind) for source in graph.sources if source.kind)
    kind = next((kind for kind in kinds if kind.sample), None)
    if kind is None:
        return ""
    return f" Reads {kind.about}, as shapes/{kind.sample} (`workbench samples shapes --targets`)."


@checked(name=TEXT)
def load_recipe(name: str) -> Graph:
    """The recipe of that name. Raises GraphFormatError with the nearest known name.

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
