"""Generate the method calls that build a graph, and parse them without executing Python."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from workbench.catalog import load_catalog
from workbench.errors import WorkbenchError
from workbench.graph.builder.data_node import DataNode, deferred_checks
from workbench.graph.builder.graph_methods import METHODS, Fn, outputs
from workbench.graph.builder.method_calls import (
    NotWritableError,
    Spelled,
    canonical_order,
    literal,
    write_calls,
)
from workbench.graph.builder.node_handle import NodeHandle
from workbench.graph.builder.read import fn, random, unchecked_reader_graph
from workbench.graph.checks.check import check_graph
from workbench.graph.model import Graph, Node
from workbench.graph.variants.difference import graph_differences
from workbench.sources import Datasets

_MOST_ROUNDS = 8


def code_of(graph: Graph, datasets: Datasets, data: Mapping[str, str]) -> str:
    """Generate statements that build this graph; the order of the nodes may differ.

    ``data`` maps each parameter in ``datasets`` to the argument of ``workbench.read`` as source
    text. Ids and seeds are included if they differ from the defaults. Raises NotWritableError, with
    the reason, if no calls build the graph, for example because it has faults.
    """
    catalog, spelled = load_catalog(), Spelled()
    muted = [node for node in graph.walk() if node.muted]
    wanted = graph
    for node in muted:
        wanted = wanted.replace_node(replace(node, muted=False))
    if faults := check_graph(wanted, catalog):
        raise NotWritableError(f"it has a fault: {faults[0]}")
    try:
        for round_ in range(_MOST_ROUNDS):
            text = write_calls(wanted, catalog, data, spelled)
            made = _rebuild(text, wanted, datasets)
            more = _differing_ids_and_seeds(wanted, made, every=round_ > _MOST_ROUNDS - 4)
            if more.names <= spelled.names and more.seeds <= spelled.seeds:
                break
            spelled = Spelled(spelled.names | more.names, spelled.seeds | more.seeds)
        fixes = [
            *_correcting_statements(wanted, made),
            *(f"[{literal(node.id)}].mute()" for node in muted),
        ]
        if fixes:
            text += "".join(f"graph = graph{fix}\n" for fix in fixes)
            made = _rebuild(text, graph, datasets)
    except (
        WorkbenchError,
        AttributeError,
        TypeError,
        ValueError,
        KeyError,
        RecursionError,
    ) as error:
        raise NotWritableError(str(error).partition("\n")[0] or "it is too deep") from None
    apart = graph_differences(ordered(graph), ordered(made))
    if apart or [*graph.outputs] != [*made.outputs]:
        one = apart[0] if apart else None
        where = f"{one.node} {one.what}".strip() if one else "the order of its outputs"
        raise NotWritableError(f"calls would build another graph: {where}")
    return text


def _rebuild(text: str, graph: Graph, datasets: Datasets) -> Graph:
    name = graph.sources[0].dataset

    def read(_: object, **options: object) -> Graph:
        return unchecked_reader_graph({name: datasets[name]}, options)

    with deferred_checks():
        return read_calls(text, read)


def _pairs(original: Graph, built: Graph) -> Iterator[tuple[Node, Node]]:
    """Yield pairs of corresponding nodes in both graphs, starting at the outputs."""
    seen: set[str] = set()
    waiting = [
        (port, built.outputs[name])
        for name, port in original.outputs.items()
        if name in built.outputs
    ]
    while waiting:
        port, other = waiting.pop()
        if not original.has(port.node) or not built.has(other.node):
            continue
        if port.node in seen:
            continue
        seen.add(port.node)
        one, two = original.node(port.node), built.node(other.node)
        yield one, two
        waiting += [(p, two.inputs[name]) for name, p in one.inputs.items() if name in two.inputs]
        for name, body in one.bodies.items():
            if name in two.bodies:
                theirs = two.bodies[name].outputs
                waiting += [(p, theirs[o]) for o, p in body.outputs.items() if o in theirs]


def _differing_ids_and_seeds(original: Graph, built: Graph, every: bool) -> Spelled:
    """Return the ids and seeds in which the graphs differ, and which the code must therefore set.

    Unless ``every`` is true, only the first one is returned.
    """
    pairs = list(_pairs(original, built))
    names = {one.id for one, two in pairs if one.id != two.id}
    place = {node.id: index for index, node in enumerate(built.walk())}
    apart = sorted(
        (place[two.id], one.id) for one, two in pairs if one.seed not in (two.seed, None)
    )
    return Spelled(
        frozenset(names), frozenset(node_id for _, node_id in apart[: None if every else 1])
    )


def _correcting_statements(original: Graph, built: Graph) -> Iterator[str]:
    """Yield ``rename`` and ``set`` calls for ids and seeds that differ in the built graph."""
    pairs = list(_pairs(original, built))
    taken = {node.id for node in built.walk()}
    waiting = {two.id: one.id for one, two in pairs if one.id != two.id}
    while free := [old for old, new in waiting.items() if new not in taken]:
        for old in free:
            new = waiting.pop(old)
            taken = taken - {old} | {new}
            yield f"[{literal(old)}].rename({literal(new)})"
    for one, two in pairs:
        if one.seed != two.seed and one.seed is not None:
            yield f"[{literal(one.id)}].set(seed={literal(one.seed)})"


def ordered(graph: Graph) -> Graph:
    """Return the graph with the nodes of each body sorted by id."""

    def sort(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(
            replace(
                node,
                bodies={
                    name: replace(body, nodes=sort(body.nodes))
                    for name, body in node.bodies.items()
                },
            )
            for node in canonical_order(nodes)
        )

    return replace(graph, nodes=sort(graph.nodes))


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
    """Raised if a text contains anything other than method calls of a graph."""


def read_calls(text: str, read: Callable[..., Graph]) -> Graph:
    """Return the graph that the text assigns to ``graph``; ``read`` replaces ``wb.read``.

    The syntax tree is interpreted, and no Python is executed. Only the syntax that ``method_calls``
    writes is supported: assignments, functions, lambdas, literals, arithmetic, indices, and calls
    of the builder's own methods and of DALI's operators.

    Raises UnknownSyntaxError for any other syntax, and the errors of the builder.
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
        """Interpret statements and return the value of the ``return`` statement, or None."""
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
        """Return a callable that interprets a function or lambda whose only argument is a graph."""
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
            raise UnknownSyntaxError(f"{name} is not a method of a graph")
        return getattr(owner, name)


def _unknown(node: ast.AST) -> UnknownSyntaxError:
    return UnknownSyntaxError(f"{type(node).__name__} is not supported in method calls")
