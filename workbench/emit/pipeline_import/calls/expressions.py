"""Convert arithmetic and indexing of a traced pipeline to operators of the graph.

DALI represents arithmetic as ``mul(&0 $0:float32)``: ``&0`` is the first edge, and ``$0`` is the
first integer or float constant, depending on its type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.catalog.extra_operators.arithmetic import CALLED, CONSTANT_TYPES, arithmetic_specs
from workbench.catalog.spec import OpSpec, Value
from workbench.emit.pipeline_import.trace.traced import TracedOp
from workbench.graph.model.values import index_text

ARITHMETIC = "_ArithmeticGenericOp"
INDEXING = frozenset({"_TensorSubscript", "_SubscriptDimCheck"})
"""Hidden DALI operators for indexing that ``expression_node`` converts."""
SHAPE = "_Shape"
"""Hidden DALI operator for ``images.shape()``."""

_CALL = re.compile(r"(\w+)\(([^()]*)\)")
_EDGE = re.compile(r"&(\d+)")
_CONSTANT = re.compile(r"\$(\d+):(\w+)")
_TYPE_NAMES = {"float32": "FLOAT", "float64": "FLOAT64"}


@dataclass(frozen=True, slots=True)
class Expression:
    """A node without an id: operator, constant arguments and inputs."""

    op: str
    """Name of the operator, such as ``math.mul`` or ``subscript``."""
    args: Mapping[str, Value] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Names of the connected edges, by port or argument."""


@dataclass(frozen=True, slots=True)
class _Constant:
    value: int | float
    dtype: str


_Operand = str | _Constant
"""Operand of an expression: the name of an edge, or a constant."""


def expression_node(op: TracedOp, ops_by_edge: Mapping[str, TracedOp]) -> Expression | None:
    """Return the node for arithmetic or indexing, or None if a graph cannot represent it.

    ``ops_by_edge`` maps each edge to the call that produces it. Constants become arguments, and
    random numbers are connected to arguments. A constant array becomes a node ``constant``.
    """
    if op.schema == ARITHMETIC:
        return _arithmetic(op, ops_by_edge)
    if op.schema in INDEXING:
        return _subscript(op)
    if op.schema == SHAPE:
        return _shape(op)
    return None


def _arithmetic(op: TracedOp, ops_by_edge: Mapping[str, TracedOp]) -> Expression | None:
    call = _CALL.fullmatch(str(op.args.get("expression_desc", "")).strip())
    name = CALLED.get(call[1]) if call else None
    if call is None or name is None:
        return None
    operands = [_operand(word, op) for word in call[2].split()]
    found = [operand for operand in operands if operand is not None]
    spec = arithmetic_specs()[name]
    if len(found) != len(spec.operands) or len(found) != len(operands):
        return None
    places = _operand_ports(found, spec, ops_by_edge)
    if places is None:
        return None
    constants = [operand for operand in found if isinstance(operand, _Constant)]
    types = {constant.dtype for constant in constants}
    if len(types) > 1 or not types <= set(_types_of(spec)):
        return None
    args: dict[str, Value] = {
        place: operand.value
        for place, operand in zip(places, found, strict=True)
        if isinstance(operand, _Constant)
    }
    if types and types != {spec.args["constant_type"].default}:
        args["constant_type"] = types.pop()
    edges = {p: o for p, o in zip(places, found, strict=True) if isinstance(o, str)}
    order = [*(port.name for port in spec.inputs), *spec.args]
    return Expression(name, args, dict(sorted(edges.items(), key=lambda e: order.index(e[0]))))


def _types_of(spec: OpSpec) -> tuple[str, ...]:
    return spec.args["constant_type"].members if "constant_type" in spec.args else ()


def _operand(word: str, op: TracedOp) -> _Operand | None:
    if edge := _EDGE.fullmatch(word):
        fed = [one.edge for one in op.inputs if one.argument is None]
        return fed[int(edge[1])] if int(edge[1]) < len(fed) else None
    constant = _CONSTANT.fullmatch(word)
    if constant is None:
        return None
    dtype = _TYPE_NAMES.get(constant[2], constant[2].upper())
    if dtype not in CONSTANT_TYPES:
        return None
    fractions = dtype.startswith("FLOAT")
    values = _as_sequence(op.args.get("real_constants" if fractions else "integer_constants"))
    value = values[int(constant[1])] if int(constant[1]) < len(values) else None
    if not isinstance(value, bool | int | float):
        return None
    if fractions:
        # DALI stores float32: use the shortest decimal with the same value
        return _Constant(float(str(np.float32(value))), dtype)
    return _Constant(int(value), dtype)


def _as_sequence(value: Value | None) -> Sequence[Value]:
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def _operand_ports(
    given_operands: Sequence[_Operand], spec: OpSpec, ops_by_edge: Mapping[str, TracedOp]
) -> list[str] | None:
    """Return the port or argument for each operand, or None if an operand fits neither."""

    def stands_alone(operand: _Operand) -> bool:
        return isinstance(operand, _Constant) or _is_generated(operand, ops_by_edge)

    if len(spec.operands) == 3:
        if not isinstance(given_operands[0], str):
            return None
        ends = zip(("lo", "hi"), given_operands[1:], strict=True)
        return ["data", *(n if stands_alone(one) else f"{n}_input" for n, one in ends)]
    if len(spec.operands) == 1:
        return ["data"] if isinstance(given_operands[0], str) else None
    left, right = given_operands
    if isinstance(left, str) and stands_alone(right):
        return ["data", "right"]
    if isinstance(right, str) and stands_alone(left) and "left" in spec.args:
        return ["left", "data"]
    return ["data", "other"] if isinstance(left, str) and isinstance(right, str) else None


def _is_generated(edge: str, ops_by_edge: Mapping[str, TracedOp]) -> bool:
    """Return True if an edge is the output of a CPU generator without inputs."""
    maker = ops_by_edge.get(edge)
    return (
        maker is not None
        and maker.schema.startswith("random__")
        and maker.device == "cpu"
        and all(one.argument is not None for one in maker.inputs)
    )


def _subscript(op: TracedOp) -> Expression | None:
    """Return the node for indexing, or None if another node computes an index."""
    fed = [one.edge for one in op.inputs if one.argument is None]
    if len(fed) != 1 or len(fed) != len(op.inputs):
        return None
    count = op.args.get("num_subscripts", 0)
    if not isinstance(count, int) or not 0 < count <= 32:
        return None
    items: list[int | slice] = []
    for axis in range(count):
        at = _integer_argument(op, f"at_{axis}")
        ends = [_integer_argument(op, f"{end}_{axis}") for end in ("lo", "hi", "step")]
        items.append(slice(*ends) if at is None else at)
    return Expression("subscript", {"index": index_text(tuple(items))}, {"data": fed[0]})


def _shape(op: TracedOp) -> Expression | None:
    """Return the node for ``images.shape()``, or None if it is on the GPU or not INT64."""
    if len(op.inputs) != 1 or op.device != "cpu" or op.args.get("dtype") not in (None, "INT64"):
        return None
    return Expression("shape", {}, {"data": op.inputs[0].edge})


def _integer_argument(op: TracedOp, name: str) -> int | None:
    value = op.args.get(name)
    return value if isinstance(value, int) else None
