"""Every target writes Python that parses, for every recipe, with a long list of odd file names."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.placed import CATALOG
from workbench.emit.targets import Export, export, target_names
from workbench.errors import GraphExportError
from workbench.graph import Graph, load_recipe, load_recipes
from workbench.graph.edits.edit import set_arg

FILES = tuple(f'/data/train set/it\'s a "photo"-{n:02} of-the-day.jpg' for n in range(50))


def with_files(graph: Graph) -> Graph:
    """The graph whose readers have the list, where the operator has such an argument."""
    for source in graph.sources:
        if "files" in CATALOG[source.op].args:
            graph = set_arg(graph, CATALOG, source.id, "files", FILES)
    return graph


def programs(exported: Export) -> Iterator[str]:
    for path, code in exported.files.items():
        if path.endswith(".py"):
            yield code.text
        elif path.endswith(".ipynb"):
            cells = json.loads(code.text)["cells"]
            yield "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")


def exported(recipe: str, target: str) -> tuple[Export, bool] | None:
    """The recipe with the list, else without, else nothing, as the target accepts it."""
    plain = load_recipe(recipe)
    for graph in (with_files(plain), plain):
        with suppress(GraphExportError):
            return export(graph, target, CATALOG), graph != plain
    return None


@pytest.mark.parametrize("target", target_names())
def test_every_program_parses_and_keeps_every_name(target: str) -> None:
    found = {recipe: exported(recipe, target) for recipe in load_recipes()}
    assert any(found.values())
    for recipe, one in found.items():
        trees = [ast.parse(text) for text in programs(one[0])] if one else []
        if one and one[1] and target != "triton":  # a client of Triton sends the photos
            nodes = [node for tree in trees for node in ast.walk(tree)]
            strings = {node.value for node in nodes if isinstance(node, ast.Constant)}
            assert set(FILES) <= strings, recipe
