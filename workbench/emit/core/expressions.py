"""Write the arithmetic of a graph with Python operators.

Conditions are written inline, without a variable: ``if images.shape()[0] > 500:``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from workbench.catalog.spec import Catalog, Device, OpSpec, Value
from workbench.emit.core.python import INDENT, LINE, fraction
from workbench.errors import GraphError
from workbench.graph.control_flow.block_kinds import kind_of
from workbench.graph.edits.edit import default_id
from workbench.graph.model import Body, Node, Port, Source, edges_of
from workbench.graph.model.node_order import running_order
from workbench.graph.types.devices import device_of

_CHAINED = frozenset({"math.bitor", "math.bitand"})
"""Operators that can be chained without parentheses."""
_COMPARES = frozenset({"<", "<=", ">", ">=", "==", "!="})
_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2}
"""Precedence of Python's arithmetic operators. All of them bind more tightly than comparisons."""
_MOST_NESTED = 4
"""Maximum number of nodes per expression. Conditions of blocks may have more."""


def written_in_place(
    body: Body,
    catalog: Catalog,
    devices: Mapping[str, Device],
    with_variable: Collection[Port] = (),
) -> Mapping[str, str]:
    """Map the id of each node that is written inline to the id of the node that contains it.

    A node is written inline as the condition of an ``if``. If it has its default id, it is also
    written inline in other arithmetic, or as an argument of a call. An inline node must run on the
    CPU and have no other consumers. Nodes inside blocks are included. ``devices`` are the devices
    for mixed decoding, because every script must also run with it. ``with_variable`` are ports that
    must have a variable, so they are inline only in conditions.
    """
    readers = Counter([*body.outputs.values(), *(edge.source for edge in edges_of(body.nodes))])
    ordered, _ = running_order(body.nodes)
    nodes = {node.id: node for node in ordered}
    found: dict[str, str] = {}
    for node in reversed(ordered):
        for inner in node.bodies.values():
            found |= written_in_place(inner, catalog, devices, with_variable)
        kind = kind_of(node)
        decides = kind.decides_in_place
        if node.id in found or (node.bodies and not decides):
            continue
        waiting = [node.inputs[kind.control]] if decides else _inlined_ports(node, catalog)
        nested = 1
        while waiting:
            port = waiting.pop(0)
            each = nodes.get(port.node)
            if each is None or readers[port] > 1 or not _is_arithmetic(each, catalog, devices):
                continue
            if decides or (
                _is_unnamed(each) and port not in with_variable and nested < _MOST_NESTED
            ):
                nested += 1
                found[each.id] = node.id
                waiting += each.inputs.values()
    return found


def _is_arithmetic(node: Node, catalog: Catalog, devices: Mapping[str, Device]) -> bool:
    """Return True if a node is written as a Python expression of values on the CPU."""
    if node.device is not None or not catalog[node.op].expression:
        return False
    ports = [p for p in node.inputs.values() if node.op != "shape"]
    ports += [Port(node.id, output.name) for output in catalog[node.op].outputs]
    return all(device_of(devices, port) == "cpu" for port in ports)


def _is_unnamed(node: Node) -> bool:
    """Return True if a node has its default id."""
    return re.sub(r"_\d+$", "", node.id) == default_id(node.op)


def _inlined_ports(node: Node, catalog: Catalog) -> list[Port]:
    """Return the inputs of a node that can be written as an expression inside its call."""
    spec = catalog[node.op]
    if spec.expression:
        return list(node.inputs.values())
    if spec.follows or isinstance(node, Source):
        return []
    return [port for name, port in node.inputs.items() if name in spec.args]


def parenthesized(spec: OpSpec, operands: Sequence[tuple[str, OpSpec | None]]) -> list[str]:
    """Return the operands of an expression, in parentheses where needed."""
    head, bracket, _ = spec.expression.partition("(")
    called = bool(bracket) and "{" not in head
    return [
        f"({text})"
        if inner and not called and not _needs_no_parentheses(spec, inner, place)
        else text
        for place, (text, inner) in enumerate(operands)
    ]


def _needs_no_parentheses(spec: OpSpec, inner: OpSpec, operand_index: int) -> bool:
    """Return True if the expression ``inner`` needs no parentheses as an operand of ``spec``."""
    if inner.expression.endswith((")", "]")):
        return True
    outer, own = _sign(spec), _sign(inner)
    if own not in _BINDS:
        return operand_index == 0 and spec.name == inner.name and spec.name in _CHAINED
    if outer not in _BINDS:
        return outer in _COMPARES
    return _BINDS[own] > _BINDS[outer] or (operand_index == 0 and _BINDS[own] == _BINDS[outer])


def _sign(spec: OpSpec) -> str:
    words = spec.expression.split(" ")
    return words[1] if len(words) == 3 else ""


def condition_lines(head: str, text: str, comment: str, indent: str) -> list[str]:
    """Return the lines of an ``if`` or ``elif`` (``head``). A long condition is split."""
    line = f"{indent}{head} {text}:{comment}"
    parts = text.split(" | ")
    if len(line) <= LINE or len(parts) == 1 or not _has_balanced_parentheses(parts):
        return [line]
    first, *rest = parts
    inner = [first, *(f"| {part}" for part in rest)]
    return [
        f"{indent}{head} (",
        *(indent + INDENT + part for part in inner),
        f"{indent}):{comment}",
    ]


def _has_balanced_parentheses(parts: Collection[str]) -> bool:
    return all(part.count("(") == part.count(")") for part in parts)


def expression_parts(expression: str, operands: Sequence[str]) -> list[str]:
    """Insert the operands into an expression, and split it where a line may break.

    A call becomes ``f(``, its arguments and ``)``. An operator is joined with its right operand.
    """
    head, bracket, inside = expression.partition("(")
    if bracket and "{" not in head and {*inside.removesuffix(")").split(", ")} == {"{}"}:
        return [f"{head}(", *operands, ")"]
    words = expression.split(" ")
    if len(words) == 3:
        return [operands[0], f"{words[1]} {operands[1]}"]
    return [expression.format(*operands)]


def on_one_line(parts: Sequence[str]) -> str:
    """Join the parts returned by ``expression_parts`` into one line."""
    called = parts[0].endswith("(") and parts[-1] == ")"
    return f"{parts[0]}{', '.join(parts[1:-1])})" if called else " ".join(parts)


def constant_type(node: Node, spec: OpSpec) -> str:
    """Return the element type of a node's constants, as the name of a ``DALIDataType`` member."""
    return str(node.args.get("constant_type", spec.args["constant_type"].default))


def number_of(value: Value, dtype: str) -> bool | int | float:
    """Convert a constant to a Python number. Raises GraphError if it is not a number."""
    if not isinstance(value, bool | int | float):
        raise GraphError(f"The constant {value!r} is not a number. Use a number.")
    if dtype == "BOOL":
        return bool(value)
    return float(value) if dtype.startswith("FLOAT") else int(value)


_PLAIN = ("BOOL", "INT32", "FLOAT")
"""Element types that DALI infers from Python literals."""


def plain_constant(value: Value, dtype: str) -> str | None:
    """Return a constant as code if DALI infers its type from the Python literal, else None."""
    if dtype not in _PLAIN:
        return None
    number = number_of(value, dtype)
    text = fraction(number) if isinstance(number, float) else repr(number)
    return f"({text})" if " " in text else text
