"""Every target that runs DALI has the operators of the script, statement by statement."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from itertools import chain

import pytest

from tests.emit.target_graphs import WITHOUT_DALI, files_of, held
from workbench.emit.targets import target_names

TARGETS = [name for name in target_names() if name not in ("script", *WITHOUT_DALI)]
OTHER_READERS = ("dynamic", "proxy", "triton")
"""Targets that read batches from a reader object, from a data set or from requests."""
WRITTEN_OTHERWISE = {
    ("dynamic", "histology-stain"): "constants are batches, and gains move to the device used",
    ("triton", "simclr"): "a function for both views is not shared: its statements are repeated",
}
SHARDS = ("shard_id", "num_shards", "pad_last_batch")
"""Arguments by which a reader reads one shard. Loaders have them and the script has not."""


class Normalized(ast.NodeTransformer):
    """The script's spelling: ``fn``, ``seed``, no shards, keywords in alphabetical order."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name({"ndd": "fn", "base_seed": "seed"}.get(node.id, node.id))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        found = {keyword.arg or "**": keyword for keyword in node.keywords}
        if "rng" in found:  # dynamic mode: rng=Draws(seed + 1, first)
            draws = found.pop("rng").value
            assert isinstance(draws, ast.Call)
            found["seed"] = ast.keyword("seed", draws.args[0])
        dropped = (*SHARDS, "batch_size")
        node.keywords = [found[name] for name in sorted(found) if name not in dropped]
        return node


def functions_of_operators(nodes: Iterable[ast.stmt]) -> list[ast.FunctionDef]:
    return [n for n in nodes if isinstance(n, ast.FunctionDef) and "fn." in ast.unparse(n)]


def statements(target: str, text: str) -> list[ast.stmt]:
    """The statements that call operators: of a notebook's cells, of a loop, or of functions."""
    if target == "notebook":
        cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")
        nodes = [node for cell in cells for node in ast.parse("".join(cell["source"])).body]
        bodies = (node.body for node in nodes if isinstance(node, ast.With))
        return [*functions_of_operators(nodes), *chain.from_iterable(bodies)]
    nodes = ast.parse(text).body
    if target == "dynamic":
        batches = next(n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == "batches")
        loop = next(node for node in ast.walk(batches) if isinstance(node, ast.For))
        counts = isinstance(loop.body[-1], ast.AugAssign)  # the samples, where something draws
        return loop.body[: len(loop.body) - counts]
    functions = functions_of_operators(nodes)
    first = next(
        index
        for index, function in enumerate(functions)
        if any("pipeline_def" in ast.unparse(each) for each in function.decorator_list)
    )
    body = functions[first].body
    return [*functions[:first], *body[bool(ast.get_docstring(functions[first])) :]]


def operators_and_outputs(target: str, text: str) -> tuple[list[str], list[str]]:
    """Statements that call operators, as text; and the names of the outputs."""
    *calls, last = statements(target, text)
    assert ast.unparse(last).startswith(("return ", "yield ", "pipe.set_outputs("))
    names = (node.id for node in ast.walk(last) if isinstance(node, ast.Name))
    found = [ast.unparse(Normalized().visit(statement)) for statement in calls]
    return found, [name for name in names if name != "pipe"]


def without_reader(operators: list[str]) -> list[str]:
    readers = ("fn.readers.", "fn.external_source(")
    return [each for each in operators if not any(reader in each for reader in readers)]


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_has_the_operators_of_the_script(target: str) -> None:
    assert held(target)
    for name, graph in held(target).items():
        ours, theirs = (
            operators_and_outputs(each, next(iter(files_of(graph, each).values())))
            for each in (target, "script")
        )
        if target in OTHER_READERS:
            assert len(without_reader(theirs[0])) == len(theirs[0]) - 1, name
            ours, theirs = ((without_reader(calls), found) for calls, found in (ours, theirs))
        if target in ("triton", "proxy"):  # a request has no labels, a data set has its own
            theirs[1].remove("labels")
        same = ours == theirs
        assert same != ((target, name) in WRITTEN_OTHERWISE), name
