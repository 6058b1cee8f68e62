"""The graph that written method calls build, read from their syntax tree: no Python is executed.

Only the syntax that ``method_calls`` writes is known: assignments, functions, lambdas, literals,
arithmetic, indices, and calls of the builder's own methods and of DALI's operators.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from workbench.catalog import load_catalog
from workbench.graph.builder.data_node import DataNode
from workbench.graph.builder.graph_methods import METHODS, Fn, outputs
from workbench.graph.builder.node_handle import NodeHandle
from workbench.graph.builder.read import fn, random
from workbench.graph.model import Graph

_OPERATIONS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.USub: operator.neg,
}  # fmt: skip
_HANDLE_METHODS = frozenset(("rename", "set", "mute"))
_Scope = dict[str, Any]


class UnknownSyntaxError(ValueError):
    """Text that is no method call of a graph."""


def read_calls(text: str, read: Callable[..., Graph]) -> Graph:
    """The graph that is assigned to ``graph``; ``read`` is called for ``wb.read``.

    Raises UnknownSyntaxError for any other syntax, and as the builder does.
    """
    names: _Scope = {
        "wb": SimpleNamespace(read=read, fn=fn, random=random, outputs=outputs),
        "float": float,
    }
    _Reader().statements(ast.parse(text).body, names)
    made = names.get("graph")
    if not isinstance(made, Graph):
        raise UnknownSyntaxError("no graph is assigned")
    return made


class _Reader:
    def __init__(self) -> None:
        operators = {part for op in load_catalog() for part in op.split(".")}
        self.methods = frozenset((*METHODS, *operators))

    def statements(self, body: Sequence[ast.stmt], names: _Scope) -> Any:
        """Run statements; the value that is returned."""
        for statement in body:
            match statement:
                case ast.Assign(targets=[target], value=value):
                    self.assign(target, self.value(value, names), names)
                case ast.FunctionDef(decorator_list=[]):
                    names[statement.name] = self.function(statement, statement.body, names)
                case ast.Return(value=ast.expr() as value):
                    return self.value(value, names)
                case _:
                    raise _unknown(statement)
        return None

    def assign(self, target: ast.expr, value: Any, names: _Scope) -> None:
        match target:
            case ast.Name(id=name):
                names[name] = value
            case ast.Tuple(elts=targets) if isinstance(value, tuple):
                for each, part in zip(targets, value, strict=True):
                    self.assign(each, part, names)
            case _:
                raise _unknown(target)

    def function(
        self,
        definition: ast.FunctionDef | ast.Lambda,
        body: Sequence[ast.stmt] | ast.expr,
        names: _Scope,
    ) -> Callable[[Any], Any]:
        """A function of one graph."""
        match definition.args:
            case ast.arguments(
                posonlyargs=[], args=[argument], vararg=None, kwonlyargs=[], kwarg=None, defaults=[]
            ):
                called = argument.arg
            case _:
                raise _unknown(definition)

        def apply(given: Any) -> Any:
            inner = {**names, called: given}
            if isinstance(body, ast.expr):
                return self.value(body, inner)
            return self.statements(body, inner)

        return apply

    def value(self, node: ast.expr, names: _Scope) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.Tuple(elts=elements):
                return tuple(self.value(each, names) for each in elements)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand, names)
            case ast.BinOp(left=left, op=sign, right=right):
                return self.operation(sign, left, right, names)
            case ast.Compare(left=left, ops=[sign], comparators=[right]):
                return self.operation(sign, left, right, names)
            case ast.Subscript(value=owner, slice=index):
                return self.item(self.value(owner, names), self.index(index, names))
            case ast.Lambda(body=body):
                return self.function(node, body, names)
            case ast.Attribute(value=owner, attr=name):
                return self.attribute(self.value(owner, names), name)
            case ast.Call(func=func, args=arguments, keywords=keywords):
                called = self.value(func, names)
                named = {each.arg or "": self.value(each.value, names) for each in keywords}
                if "" in named or not callable(called):
                    raise _unknown(node)
                return called(*(self.value(each, names) for each in arguments), **named)
        raise _unknown(node)

    def operation(self, sign: ast.AST, left: ast.expr, right: ast.expr, names: _Scope) -> Any:
        values = self.value(left, names), self.value(right, names)
        if type(sign) not in _OPERATIONS or not any(isinstance(each, DataNode) for each in values):
            raise _unknown(sign)  # two plain numbers could take any time: 9 ** 9 ** 9
        return _OPERATIONS[type(sign)](*values)

    def index(self, node: ast.expr, names: _Scope) -> Any:
        match node:
            case ast.Tuple(elts=elements):
                return tuple(self.index(each, names) for each in elements)
            case ast.Slice(lower=lower, upper=upper, step=step):
                ends = (lower, upper, step)
                return slice(*(None if end is None else self.value(end, names) for end in ends))
        return self.value(node, names)

    def item(self, owner: Any, index: Any) -> Any:
        if not isinstance(owner, Graph | DataNode):
            raise UnknownSyntaxError(f"{type(owner).__name__} is indexed")
        return owner[index]

    def attribute(self, owner: Any, name: str) -> Any:
        match owner:
            case SimpleNamespace():
                known = name in vars(owner)
            case Graph():
                known = name in owner.outputs or name in self.methods
            case NodeHandle():
                known = name in _HANDLE_METHODS
            case _:
                known = name in self.methods and (
                    isinstance(owner, DataNode | Fn) or type(owner).__name__ == "OperatorGroup"
                )
        if not known or name.startswith("_"):
            raise UnknownSyntaxError(f"{name} is no method of a graph")
        return getattr(owner, name)


def _unknown(node: ast.AST) -> UnknownSyntaxError:
    return UnknownSyntaxError(f"{type(node).__name__} is no syntax of method calls")
