"""What a function's text does with a parameter, or with a setting of that name; nothing is run."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.catalog import load_catalog
from workbench.catalog.spec import ArgSpec
from workbench.emit.pipeline_import.calls.older_names import TODAY

_CALLED_ON_TEXT = frozenset({*dir(str), *dir(list), "exists", "is_file", "glob", "iterdir"})
"""What is asked of a path or of a list, which is no setting of a configuration."""
_PARTS = re.compile(r"fn|ops")


@dataclass(frozen=True, slots=True)
class ParameterUses:
    """What some code does with a value, wherever it has the name or what is set to it."""

    items: int = 0
    """As many as are taken of it, at least two where it is a sequence; 0 where it is a value."""
    is_settings: bool = False
    """Whether it is asked for values by their names."""
    is_truth: bool = False
    """Whether its truth is asked."""
    texts: tuple[str, ...] = ()
    """What it is compared with, and the keys of what it is looked up in."""
    handed_to: tuple[tuple[str, ArgSpec | None], ...] = ()
    """The arguments of calls that it is, and where the call is an operator's, which one."""
    within: tuple[str, ...] = ()
    """The arguments of calls of whose lists it is an item."""


def text_of(maker: Callable[..., Any], trees: Mapping[str, ast.Module]) -> ast.AST | None:
    """The definition of a function or class among the trees, which stand by their file."""
    made = getattr(maker, "owner", None) or inspect.unwrap(maker)
    code = getattr(made, "__code__", None) or getattr(
        getattr(made, "__init__", None), "__code__", None
    )
    tree = trees.get(getattr(code, "co_filename", ""))
    if code is None or tree is None:
        return None
    kinds = ast.ClassDef if isinstance(made, type) else ast.FunctionDef
    named = [
        node for node in ast.walk(tree) if isinstance(node, kinds) and node.name == made.__name__
    ]
    before = [node for node in named if _first_line(node) <= code.co_firstlineno]
    return before[-1] if before else None


def _first_line(node: ast.ClassDef | ast.FunctionDef) -> int:
    return min(each.lineno for each in (node, *node.decorator_list))


def uses_of(name: str, text: ast.AST) -> ParameterUses:
    """What the code does with each value of that name: ``name``, ``x.name``, ``x["name"]``."""
    names = {name, *_set_to(name, text)}
    found = _Uses(names)
    found.visit(text)
    return ParameterUses(
        max(found.items, 2) if found.items else 0,
        found.is_settings,
        found.is_truth,
        tuple(dict.fromkeys(found.texts)),
        tuple(found.handed_to),
        tuple(found.within),
    )


def _set_to(name: str, text: ast.AST) -> Iterator[str]:
    for node in ast.walk(text):
        if isinstance(node, ast.Assign) and _name_of(node.value) == name:
            yield from filter(None, map(_name_of, node.targets))


def _name_of(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return node.slice.value if isinstance(node.slice.value, str) else ""
    return ""


class _Uses(ast.NodeVisitor):
    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.items = 0
        self.is_settings = self.is_truth = False
        self.texts: list[str] = []
        self.handed_to: list[tuple[str, ArgSpec | None]] = []
        self.within: list[str] = []
        self.looked_up: dict[str, ast.Dict] = {}

    def _is_it(self, node: ast.AST | None) -> bool:
        return node is not None and _name_of(node) in self.names

    def visit_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.Dict):
            self.looked_up |= {_name_of(each): node.value for each in node.targets}
        if self._is_it(node.value) and isinstance(node.targets[0], ast.Tuple | ast.List):
            self.items = max(self.items, len(node.targets[0].elts))
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        key = node.slice
        if self._is_it(node.value):
            if isinstance(key, ast.UnaryOp | ast.Slice):  # [-1], [:2]
                self.items = max(self.items, 2)
            elif isinstance(key, ast.Constant) and isinstance(key.value, int):
                self.items = max(self.items, key.value + 1)
            elif isinstance(key, ast.Constant):
                self.is_settings = True
        if self._is_it(key):
            table = self.looked_up.get(_name_of(node.value), node.value)
            if isinstance(table, ast.Dict):
                self._note_texts(table.keys)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self._is_it(node.value) and node.attr not in _CALLED_ON_TEXT:
            self.is_settings = True
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        if any(map(self._is_it, sides)):
            self._note_texts(sides)
            for each in sides:
                self._note_texts(getattr(each, "elts", ()))
        self.generic_visit(node)

    def _note_texts(self, nodes: Iterable[ast.AST | None]) -> None:
        values = [each.value for each in nodes if isinstance(each, ast.Constant)]
        self.texts += [each for each in values if isinstance(each, str)]

    def visit_If(self, node: ast.If) -> None:
        self.is_truth |= self._is_it(node.test)
        if self._is_kind_asked(node.test):  # what is done with another kind says nothing of it
            node = ast.If(node.test, [], node.orelse)
        self.generic_visit(node)

    def _is_kind_asked(self, test: ast.expr) -> bool:
        return (
            isinstance(test, ast.Call)
            and getattr(test.func, "id", "") == "isinstance"
            and self._is_it(test.args[0])
        )

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.is_truth |= self._is_it(node.test)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self.is_truth |= isinstance(node.op, ast.Not) and self._is_it(node.operand)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.is_truth |= any(map(self._is_it, node.values))
        self.generic_visit(node)

    def visit_Starred(self, node: ast.Starred) -> None:
        self.items = max(self.items, 2 * self._is_it(node.value))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        asked = getattr(node.func, "id", "")
        if asked in ("len", "list", "tuple", "max", "min") and any(map(self._is_it, node.args)):
            self.items = max(self.items, 2)
        for keyword in node.keywords:
            if self._is_it(_converted(keyword.value)):
                self.handed_to.append((keyword.arg or "", _argument(node.func, keyword.arg)))
            elif any(map(self._is_it, getattr(keyword.value, "elts", ()))):
                self.within.append(keyword.arg or "")
        self.generic_visit(node)


def _converted(value: ast.expr) -> ast.expr:
    """What is handed on: ``x`` of ``list(x)``."""
    kinds = ("list", "tuple", "int", "float", "str")
    if isinstance(value, ast.Call) and getattr(value.func, "id", "") in kinds and value.args:
        return value.args[0]
    return value


def _argument(function: ast.AST, name: str | None) -> ArgSpec | None:
    """The argument of the operator that a call makes, where it is one of DALI's."""
    parts = ast.unparse(function).split(".")
    at = next((n for n, part in enumerate(parts) if _PARTS.fullmatch(part)), None)
    if at is None or name is None:
        return None
    catalog, called = load_catalog(), parts[at + 1 :]
    schema = "__".join(called)
    spec = catalog.find(".".join(called)) or catalog.by_schema.get(TODAY.get(schema, schema))
    return spec.args.get(name) if spec is not None else None


def identifiers(text: ast.AST) -> frozenset[str]:
    """The names of parameters, variables and attributes in it."""
    names = {_name_of(node) for node in ast.walk(text)}
    return frozenset(names | {node.arg for node in ast.walk(text) if isinstance(node, ast.arg)})
