"""Arithmetic of a graph as Python's own operators.

What only decides is written where it decides, in no variable: ``if images.shape()[0] > 500:``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from workbench.catalog.spec import Catalog, Device, OpSpec, Value
from workbench.emit.core.python import INDENT, LINE, fraction
from workbench.errors import GraphError
from workbench.graph.control_flow.kinds import kind_of
from workbench.graph.model import Body, Node, Port, edges_of
from workbench.graph.types.devices import device_of

_CHAINED = frozenset({"math.bitor", "math.bitand"})
"""Operators of which several in a row need no brackets."""

_COMPARES = frozenset({"<", "<=", ">", ">=", "==", "!="})
_CALCULATES = frozenset({"+", "-", "*", "/", "//"})


def written_in_place(
    body: Body, catalog: Catalog, devices: Mapping[str, Device]
) -> Mapping[str, str]:
    """Nodes whose expression stands in the condition of an ``if``, and the id of that ``if``.

    Those that nothing else reads, on the CPU, at any depth of blocks; ``devices`` are those of
    mixed decoding, with which every script must run.
    """
    readers: dict[Port, list[tuple[str, str]]] = {port: [] for port in body.outputs.values()}
    for port in body.outputs.values():
        readers[port].append(("", ""))
    for edge in edges_of(body.nodes):
        readers.setdefault(edge.source, []).append((edge.target, edge.input))
    nodes = {node.id: node for node in body.nodes}
    found: dict[str, str] = {}
    for block in body.nodes:
        for inner in block.bodies.values():
            found |= written_in_place(inner, catalog, devices)
        kind = kind_of(block)
        control = block.inputs.get(kind.control) if kind.decides_in_place else None
        waiting = [control] if control else []
        while waiting:
            port = waiting.pop()
            node = nodes.get(port.node)
            if node is None or len(readers[port]) > 1:
                continue
            if node.device is None and catalog[node.op].expression:
                sources = [p for p in node.inputs.values() if node.op != "shape"]
                if all(device_of(devices, each) == "cpu" for each in (port, *sources)):
                    found[node.id] = block.id
                    waiting += node.inputs.values()
    return found


def joined(spec: OpSpec, operands: Sequence[tuple[str, OpSpec | None]]) -> str:
    """An expression on one line; each operand with the operator that it is itself written with."""
    head, bracket, _ = spec.expression.partition("(")
    called = bool(bracket) and "{" not in head
    texts = [
        f"({text})" if inner and not called and not _stands_alone(spec, inner, place) else text
        for place, (text, inner) in enumerate(operands)
    ]
    if called:
        return f"{head}({', '.join(texts)})"
    return spec.expression.format(*texts)


def _stands_alone(spec: OpSpec, inner: OpSpec, place: int) -> bool:
    """Python binds arithmetic tighter than comparisons."""
    chained = place == 0 and spec.name == inner.name and spec.name in _CHAINED
    compared = _sign(spec) in _COMPARES and _sign(inner) in _CALCULATES
    return chained or compared or inner.expression.endswith((")", "]"))


def _sign(spec: OpSpec) -> str:
    words = spec.expression.split(" ")
    return words[1] if len(words) == 3 else ""


def condition_lines(head: str, text: str, comment: str, indent: str) -> list[str]:
    """``if text:``, on several lines where it is long."""
    line = f"{indent}{head} {text}:{comment}"
    parts = text.split(" | ")
    if len(line) <= LINE or len(parts) == 1 or not _balanced(parts):
        return [line]
    first, *rest = parts
    inner = [first, *(f"| {part}" for part in rest)]
    return [
        f"{indent}{head} (",
        *(indent + INDENT + part for part in inner),
        f"{indent}):{comment}",
    ]


def _balanced(parts: Collection[str]) -> bool:
    return all(part.count("(") == part.count(")") for part in parts)


def expression_parts(expression: str, operands: Sequence[str]) -> list[str]:
    """The text with its operands, cut where a line may break.

    A call gives its head ``f(``, its arguments and ``)``; an operator stands with what follows it.
    """
    head, bracket, inside = expression.partition("(")
    if bracket and "{" not in head and {*inside.removesuffix(")").split(", ")} == {"{}"}:
        return [f"{head}(", *operands, ")"]
    words = expression.split(" ")
    if len(words) == 3:
        return [operands[0], f"{words[1]} {operands[1]}"]
    return [expression.format(*operands)]


def constant_type(node: Node, spec: OpSpec) -> str:
    """The element type of a node's constants, a member of ``DALIDataType``."""
    return str(node.args.get("constant_type", spec.args["constant_type"].default))


def number_of(value: Value, dtype: str) -> bool | int | float:
    """A constant as Python has it. Raises GraphError for what is no number."""
    if not isinstance(value, bool | int | float):
        raise GraphError(f"{value!r} is no number.")
    if dtype == "BOOL":
        return bool(value)
    return float(value) if dtype.startswith("FLOAT") else int(value)


_PLAIN = ("BOOL", "INT32", "FLOAT")
"""Element types that DALI gives Python's own numbers."""


def plain_constant(value: Value, dtype: str) -> str | None:
    """The source of a constant whose type DALI tells from Python's, or None for the others."""
    if dtype not in _PLAIN:
        return None
    number = number_of(value, dtype)
    text = fraction(number) if isinstance(number, float) else repr(number)
    return f"({text})" if " " in text else text
