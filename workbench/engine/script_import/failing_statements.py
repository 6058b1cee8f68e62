"""Rewrite a script so that failing statements do not end it, and record tests of stand-ins."""

from __future__ import annotations

import ast
from copy import deepcopy
from typing import Any

STAND_IN = "__stand_in__"
"""Name in each module's namespace for the function that creates placeholder objects."""
SKIPPED = "__skipped__"
"""Name in each module's namespace for the function that records a skipped statement and error."""
NOTED = "__noted__"
"""Name in each module's namespace for the function that records a test of its argument, and returns
the argument.
"""
_ERROR = "__error__"


def skip_failing_statements(definition: ast.FunctionDef | ast.ClassDef) -> ast.Module:
    """Wrap each statement of a definition, so that the statement is skipped if it fails.

    Names that it would have assigned get placeholders. ``raise`` statements are skipped.
    """
    made = _Skipping().visit(deepcopy(definition))
    made.decorator_list = []
    return ast.fix_missing_locations(ast.Module([made], []))


class _Skipping(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = self._passed_over(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.body = [self.visit(each) for each in node.body]
        return node

    def _passed_over(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [self._one(each) for each in body]

    def _one(self, statement: ast.stmt) -> ast.stmt:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Global | ast.Nonlocal):
            return statement
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(statement, field, None)
            if isinstance(inner, list) and inner:
                setattr(statement, field, self._passed_over(inner))
        bound = [
            part.id
            for part in ast.walk(statement)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        ]
        names = dict.fromkeys(bound if isinstance(statement, ast.Assign | ast.AnnAssign) else ())
        handler = [ast.parse(f"{name} = {STAND_IN}({name!r})").body[0] for name in names]
        caught = ast.Name("Exception", ast.Load())
        report = ast.parse(f"{SKIPPED}({statement.lineno}, {_ERROR})").body[0]
        passed = ast.ExceptHandler(type=caught, name=_ERROR, body=[report, *handler])
        tried = ast.Try(body=[statement], handlers=[passed], orelse=[], finalbody=[])
        for part in ast.walk(tried):
            ast.copy_location(part, statement) if not hasattr(part, "lineno") else None
        return tried


def changed_names(statement: ast.stmt) -> set[str]:
    """Return the names of objects that a statement changes: ``X[0] = 1``, ``X.append(1)``.

    Changes inside function bodies are excluded.
    """
    found: set[str] = set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        waiting += ast.iter_child_nodes(node)
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=base))):
                pass
            case ast.Attribute(value=base, ctx=ast.Store()):
                pass
            case ast.Subscript(value=base, ctx=ast.Store()):
                pass
            case _:
                continue
        while isinstance(base, ast.Attribute | ast.Subscript):
            base = base.value
        if isinstance(base, ast.Name):
            found.add(base.id)
    return found


def with_noted_tests(tree: ast.Module) -> ast.Module:
    """Rewrite ``x is None`` as ``__noted__(x) is None``, and ``hasattr(x, ...)`` in the same way.

    Python calls no method of ``x`` in these tests, so a stand-in cannot record them.
    """
    if not any(_is_test(node) for node in ast.walk(tree)):
        return tree
    noting: ast.Module = _Noting().visit(deepcopy(tree))
    return ast.fix_missing_locations(noting)


def _is_test(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return True
        case ast.Call(func=ast.Name(id="hasattr" | "callable" | "type"), args=[_, *_]):
            return True
    return False


class _Noting(ast.NodeTransformer):
    def visit(self, node: ast.AST) -> Any:
        self.generic_visit(node)
        if isinstance(node, ast.Compare) and _is_test(node):
            node.left = _recorded_test(node.left)
        elif isinstance(node, ast.Call) and _is_test(node):
            node.args[0] = _recorded_test(node.args[0])
        return node


def _recorded_test(value: ast.expr) -> ast.expr:
    call = ast.Call(ast.Name(NOTED, ast.Load()), [value], [])
    return ast.copy_location(call, value)
