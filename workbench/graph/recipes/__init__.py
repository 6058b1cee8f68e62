"""The graphs that the workbench brings: one JSON file each. Adding one is adding a file."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib.resources import files

from workbench.errors import GraphFormatError
from workbench.graph.io import load_graph
from workbench.graph.model import Graph


@cache
def load_recipes() -> dict[str, Graph]:
    """Every recipe by name, in alphabetical order."""
    found = (
        load_graph(entry.read_text(encoding="utf-8"))
        for entry in files(__name__).iterdir()
        if entry.name.endswith(".json")
    )
    return {graph.name: graph for graph in sorted(found, key=lambda graph: graph.name)}


def load_recipe(name: str) -> Graph:
    """The recipe of that name. Raises GraphFormatError with the nearest known names."""
    recipes = load_recipes()
    if name not in recipes:
        near = get_close_matches(name, recipes, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise GraphFormatError(f"There is no recipe {name!r}.{hint} Recipes: {', '.join(recipes)}.")
    return recipes[name]
