"""A function of a script rewritten so that a line which fails does not end it."""

from __future__ import annotations

import ast
from copy import deepcopy

STAND_IN = "__stand_in__"
"""The name in the module of what makes stand-ins by name."""
SKIPPED = "__skipped__"
"""The name in the module of the function that is called with the line of a skipped statement and
its error."""
_ERROR = "__error__"


def skip_failing_statements(definition: ast.FunctionDef | ast.ClassDef) -> ast.Module:
    """The definition, each of whose statements passes over its own failure.

    What a statement would have bound is stood in for; ``raise`` is passed over.
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
