"""With which values a script's own text calls one of its functions; nothing is run.

A loader that calls a pipeline's function, and what stands under ``__main__``, tell what its author
gives it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

MISSING: Any = type("Missing", (), {"__repr__": lambda _: "MISSING"})()
"""In the place of a value that is not known."""
_DEPTH = 3
"""Of functions that hand on a value of their own parameters."""
_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
}
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def written_value(
    function: str,
    parameters: Sequence[str],
    wanted: str,
    trees: Iterable[ast.Module],
    known: Mapping[str, Any] = _NOTHING,
) -> Any:
    """What the first call that says it as a literal gives for a parameter, else MISSING.

    ``parameters`` are the function's, in order, without ``self``; ``known`` are values of
    variables. Of literals there may be sums and products.
    """
    for tree in trees:
        value = _Calls(tree, known).given(function, parameters, wanted, _DEPTH)
        if value is not MISSING:
            return value
    return MISSING


class _Calls:
    """The calls of a file, each with the functions that it stands in, innermost last."""

    def __init__(self, tree: ast.Module, known: Mapping[str, Any]) -> None:
        self.tree = tree
        self.known = known
        self.calls = list(_calls_in(tree, ()))
        self.classes = {
            id(each): node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
            for each in node.body
            if isinstance(each, ast.FunctionDef)
        }
        """The class of each method."""

    def given(self, function: str, parameters: Sequence[str], wanted: str, depth: int) -> Any:
        for call, around in self.calls:
            if function != (getattr(call.func, "id", "") or getattr(call.func, "attr", "")):
                continue
            given = dict(zip(parameters, call.args, strict=False))
            given |= {each.arg: each.value for each in call.keywords if each.arg}
            if wanted in given:
                value = self._value(given[wanted], around, depth)
                if value is not MISSING:
                    return value
        return MISSING

    def _value(self, node: ast.expr, around: tuple[ast.FunctionDef, ...], depth: int) -> Any:
        try:
            return ast.literal_eval(node)
        except ValueError:
            pass
        if isinstance(node, ast.BinOp) and (calculate := _OPERATORS.get(type(node.op))):
            pair = [self._value(each, around, depth) for each in (node.left, node.right)]
            numbers = all(isinstance(each, int | float) for each in pair)
            return calculate(*pair) if numbers else MISSING
        if not isinstance(node, ast.Name):
            return MISSING
        if node.id in self.known:
            return self.known[node.id]
        for place in (*reversed(around), self.tree):
            names = _parameters(place)
            if node.id in names:
                return self._parameter(place, names, node.id, depth)  # type: ignore[arg-type]
            set_to = [
                each.value
                for each in ast.walk(place)
                if isinstance(each, ast.Assign)
                and any(isinstance(to, ast.Name) and to.id == node.id for to in each.targets)
            ]
            if set_to:
                return self._value(set_to[0], (), 0) if len(set_to) == 1 else MISSING
        return MISSING

    def _parameter(
        self, function: ast.FunctionDef, names: Sequence[str], wanted: str, depth: int
    ) -> Any:
        name, owner = function.name, self.classes.get(id(function))
        if owner is not None:
            is_static = any(ast.unparse(each) == "staticmethod" for each in function.decorator_list)
            names = names if is_static else names[1:]
            # a method of that name may be another class's: only a call of the class is certain
            name = owner if name == "__init__" else ""
        if depth and name:
            value = self.given(name, names, wanted, depth - 1)
            if value is not MISSING:
                return value
        args = function.args
        places = [*args.posonlyargs, *args.args][-len(args.defaults) :] if args.defaults else []
        defaults = dict(zip((each.arg for each in places), args.defaults, strict=True))
        default = defaults.get(wanted)
        return MISSING if default is None else self._value(default, (), 0)


def _parameters(node: ast.AST) -> list[str]:
    if not isinstance(node, ast.FunctionDef):
        return []
    args = node.args
    return [each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)]


def _calls_in(
    node: ast.AST, around: tuple[ast.FunctionDef, ...]
) -> Iterator[tuple[ast.Call, tuple[ast.FunctionDef, ...]]]:
    if isinstance(node, ast.Call):
        yield node, around
    inner = (*around, node) if isinstance(node, ast.FunctionDef) else around
    for child in ast.iter_child_nodes(node):
        yield from _calls_in(child, inner)
