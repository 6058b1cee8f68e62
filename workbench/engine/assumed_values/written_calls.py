"""With which values a script's own text calls one of its functions; nothing is run.

A loader that calls a pipeline's function, and what stands under ``__main__``, tell what its author
gives it.
"""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
_Around = tuple[ast.FunctionDef | ast.ClassDef, ...]
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def written_value(
    function: str,
    parameters: Sequence[str],
    wanted: str,
    trees: Iterable[ast.Module],
    known: Mapping[str, Any] = _NOTHING,
) -> Any:
    """The first value that a call passes as a literal for a parameter, else MISSING.

    ``parameters`` are the function's, in order, without ``self``; ``known`` are values of
    variables. Of literals there may be sums and products.
    """
    return next(iter(written_values(function, parameters, wanted, trees, known)), MISSING)


def written_values(
    function: str,
    parameters: Sequence[str],
    wanted: str,
    trees: Iterable[ast.Module],
    known: Mapping[str, Any] = _NOTHING,
) -> list[Any]:
    """The different values that calls pass for a parameter; see ``written_value``."""
    found: list[Any] = []
    for tree in trees:
        calls = _Calls(tree, known)
        for value in calls.given(_Callee(function, tuple(parameters)), wanted, _DEPTH):
            if value not in found:
                found.append(value)
    return found


def first_call_value(
    function: str,
    parameters: Sequence[str],
    wanted: str,
    trees: Iterable[ast.Module],
    known: Mapping[str, Any] = _NOTHING,
) -> Any:
    """What the first call passes for a parameter: the value, or its expression if it is unknown.

    MISSING if nothing calls the function, or if its first call does not pass the parameter.
    """
    for tree in trees:
        calls = _Calls(tree, known)
        callee = _Callee(function, tuple(parameters))
        for call, around in calls.calls:
            if callee.matches(call, _classes(around), calls.several):
                passed = callee.arguments(call).get(wanted)
                if passed is None:
                    return MISSING
                value = calls.value(passed, around, _DEPTH)
                return passed if value is MISSING else value
    return MISSING


@dataclass(frozen=True, slots=True)
class _Callee:
    """A function whose calls are looked for."""

    name: str
    parameters: tuple[str, ...]
    """Its parameters, without ``self``."""
    owner: str = ""
    """The class of a method; a constructor is called by this name."""

    def matches(
        self, call: ast.Call, classes: Sequence[ast.ClassDef], several: Collection[str]
    ) -> bool:
        """Whether a call that is inside ``classes``, innermost last, calls this function.

        ``several`` are names that the file defines more than once: of ``value.name()`` it is not
        known which of them is called.
        """
        match call.func:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
                bases = [ast.unparse(base) for base in classes[-1].bases] if classes else []
                above = {base.rpartition(".")[2] for base in bases}
                return name == self.name and self.owner in above
            case ast.Name(id=name):
                is_method = self.owner and self.name != "__init__"
                return not is_method and name == (self.owner or self.name)
            case ast.Attribute(attr="__init__"):
                return False  # of Base.__init__(self, ...) the first argument is self
            case ast.Attribute(attr=name):
                constructs = self.owner and self.name == "__init__"
                return name not in several and name == (self.owner if constructs else self.name)
        return False

    def arguments(self, call: ast.Call) -> dict[str, ast.expr]:
        """What a call passes, by parameter."""
        passed = dict(zip(self.parameters, call.args, strict=False))
        return passed | {each.arg: each.value for each in call.keywords if each.arg}


class _Calls:
    """The calls of a file, each with the definitions around it, innermost last."""

    def __init__(self, tree: ast.Module, known: Mapping[str, Any]) -> None:
        self.tree = tree
        self.known = known
        self.calls = list(_calls_in(tree, ()))
        defined = Counter(
            node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
        )
        self.several = {name for name, count in defined.items() if count > 1}

    def given(self, callee: _Callee, wanted: str, depth: int) -> Iterator[Any]:
        """The values of a parameter in each call that passes one."""
        for call, around in self.calls:
            if not callee.matches(call, _classes(around), self.several):
                continue
            given = callee.arguments(call)
            if wanted in given:
                value = self.value(given[wanted], around, depth)
                if value is not MISSING:
                    yield value

    def value(self, node: ast.expr, around: _Around, depth: int) -> Any:
        """The value of an argument of a call that is inside ``around``, else MISSING."""
        try:
            return ast.literal_eval(node)
        except ValueError:
            pass
        if isinstance(node, ast.BinOp) and (calculate := _OPERATORS.get(type(node.op))):
            pair = [self.value(each, around, depth) for each in (node.left, node.right)]
            numbers = all(isinstance(each, int | float) for each in pair)
            return calculate(*pair) if numbers else MISSING
        if isinstance(node, ast.Attribute):
            known = self.known.get(ast.unparse(node), MISSING)
            return self._own_attribute(node, around, depth) if known is MISSING else known
        if not isinstance(node, ast.Name):
            return MISSING
        if node.id in self.known:
            return self.known[node.id]
        functions = [
            (place, around[:at]) for at, place in enumerate(around) if not _is_class(place)
        ]
        for place, outside in (*reversed(functions), (self.tree, ())):
            if isinstance(place, ast.FunctionDef) and node.id in _parameters(place):
                return self._parameter(place, outside, node.id, depth)
            set_to = [
                each.value
                for each in ast.walk(place)
                if isinstance(each, ast.Assign)
                and any(isinstance(to, ast.Name) and to.id == node.id for to in each.targets)
            ]
            if set_to:
                return self.value(set_to[0], (), 0) if len(set_to) == 1 else MISSING
        return MISSING

    def _own_attribute(self, node: ast.Attribute, around: _Around, depth: int) -> Any:
        """The value of ``self.name`` if one statement of ``__init__`` sets it, and nothing else.

        A statement in an ``if``, ``self.name += 1``, or a store to this attribute of any object in
        the file leaves it unknown.
        """
        classes = _classes(around)
        if not classes or getattr(node.value, "id", "") != "self":
            return MISSING
        stores = [
            each
            for each in ast.walk(self.tree)
            if isinstance(each, ast.Attribute)
            and each.attr == node.attr
            and not isinstance(each.ctx, ast.Load)
        ]
        set_to = [
            (method, value)
            for method in classes[-1].body
            if isinstance(method, ast.FunctionDef) and method.name == "__init__"
            for target, value in _assignments(method)
            if target in stores
        ]
        if len(stores) != 1 or not set_to:
            return MISSING
        inside = around[: around.index(classes[-1]) + 1]
        return self.value(set_to[0][1], (*inside, set_to[0][0]), depth)

    def _parameter(
        self, function: ast.FunctionDef, outside: _Around, wanted: str, depth: int
    ) -> Any:
        """The value of a parameter of a function that is defined inside ``outside``."""
        names = _parameters(function)
        owner = outside[-1] if outside and _is_class(outside[-1]) else None
        static = any(ast.unparse(each) == "staticmethod" for each in function.decorator_list)
        called = names[1:] if owner is not None and not static else names
        if depth:
            callee = _Callee(function.name, tuple(called), owner.name if owner is not None else "")
            value = next(self.given(callee, wanted, depth - 1), MISSING)
            if value is not MISSING:
                return value
        args = function.args
        places = [*args.posonlyargs, *args.args][-len(args.defaults) :] if args.defaults else []
        defaults = dict(zip((each.arg for each in places), args.defaults, strict=True))
        default = defaults.get(wanted)
        return MISSING if default is None else self.value(default, (), 0)


def _assignments(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each target and value of a function's own statements, also of ``a, b = x, y``."""
    for node in function.body:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            yield node.target, node.value
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=False)
            else:
                yield target, node.value


def _parameters(function: ast.FunctionDef) -> list[str]:
    args = function.args
    return [each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)]


def _is_class(place: ast.AST) -> bool:
    return isinstance(place, ast.ClassDef)


def _classes(around: _Around) -> list[ast.ClassDef]:
    return [place for place in around if isinstance(place, ast.ClassDef)]


def _calls_in(node: ast.AST, around: _Around) -> Iterator[tuple[ast.Call, _Around]]:
    if isinstance(node, ast.Call):
        yield node, around
    inner = (*around, node) if isinstance(node, ast.FunctionDef | ast.ClassDef) else around
    for child in ast.iter_child_nodes(node):
        yield from _calls_in(child, inner)
