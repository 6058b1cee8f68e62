"""Copy helper functions for annotations, and the functions that they call, into a program."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from workbench.emit.core.user_functions import function_names
from workbench.errors import GraphError
from workbench.graph.annotations.formats import clip_function
from workbench.graph.model import Node


@cache
def _helpers() -> Mapping[str, Callable[..., Any]]:
    """Return the helper functions by name, in module order. Importing the module requires DALI."""
    from workbench.emit.annotations import helpers, object_helpers

    return {
        name: value
        for module in (helpers, object_helpers)
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    }


@cache
def parameters_of(helper: str) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a helper function by name."""
    return inspect.signature(_helpers()[helper]).parameters


def with_called(names: Iterable[str]) -> list[str]:
    """Return the names of these helpers and of the helpers that they call, in module order."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [each for each in _helpers()[name].__code__.co_names if each in _helpers()]
    return [name for name in _helpers() if name in found]


def helper_sources(names: Collection[str], nodes: Iterable[Node]) -> str:
    """Return the code of helpers and of the helpers they call, each followed by two empty lines.

    Raises GraphError if a user function called by a node has the same name.
    """
    needed = with_called(names) if names else []
    if used := set(needed) & set(function_names(nodes)):
        name = used.pop()
        raise GraphError(
            f"Exported programs already define a function {name!r}. Rename your function."
        )
    return "".join(_source(name) for name in needed)


def copied_helpers_in(program: str) -> list[str]:
    """Return the names of a program's functions that are copies of helpers, however formatted."""
    found = _functions(program)
    return [name for name, code in _functions_here().items() if found.get(name) == code]


@cache
def _functions_here() -> Mapping[str, str]:
    """Map the helper functions to their syntax trees, without importing DALI."""
    files = map(Path(__file__).with_name, ("helpers.py", "object_helpers.py"))
    return _functions("\n".join(file.read_text(encoding="utf-8") for file in files))


def _functions(program: str) -> dict[str, str]:
    """Return the syntax tree of each top-level function, or {} if the text is not Python."""
    try:
        body = ast.parse(program).body
        return {each.name: ast.dump(each) for each in body if isinstance(each, ast.FunctionDef)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}


@cache
def _source(name: str) -> str:
    return f"{inspect.getsource(_helpers()[name])}\n\n"


def clip_function_names(nodes: Iterable[Node]) -> list[str]:
    """Return the names of the helpers that clip boxes for these nodes (nested nodes excluded)."""
    found = (clip_function(node) for node in nodes)
    return list(dict.fromkeys(each[0] for each in found if each))


def clipped(node: Node, boxes: str) -> str:
    """Return the expression ``boxes``, wrapped in a clipping call if ``node`` requires one."""
    function, axes = clip_function(node) or ("", 0)
    if not function:
        return boxes
    return f"{function}({boxes}, axes={axes})" if axes > 2 else f"{function}({boxes})"
