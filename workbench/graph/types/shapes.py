"""Infer the element type, layout and shape at every port before running.

The rules are data: ``OutputRule`` in the catalogue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from workbench.catalog.spec import SHOWN_KINDS, Catalog, OutputRule, PortKind, PortSpec
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.node_order import running_order
from workbench.graph.model.ports import body_inputs, outputs_of
from workbench.graph.types.shape_rules import SHAPE_RULES
from workbench.graph.types.tensor_type import (
    TensorType,
    TypedCall,
    operand_types,
    result_type,
    type_text,
)

__all__ = ["TensorType", "infer_types", "type_text"]


def infer_types(graph: Graph, catalog: Catalog) -> Mapping[Port, TensorType]:
    """Return the type at every port of the graph.

    Accepts graphs with faults: unknown properties are None. Nodes of unknown operators have no
    entries. Types of nodes on a cycle, or downstream of a cycle, are unknown.
    """
    if graph.enclosing is not None:
        return infer_types(graph.whole, catalog)
    types: dict[Port, TensorType] = {}
    _infer(graph.nodes, catalog, types)
    return types


def infer_types_from(
    graph: Graph, catalog: Catalog, known: Mapping[Port, TensorType]
) -> Mapping[Port, TensorType]:
    """Return the type at every port, given the actual types of the ports in ``known``."""
    types = dict(known)
    _infer(graph.nodes, catalog, types)
    return types


_NOTHING = TensorType()


def _infer(nodes: tuple[Node, ...], catalog: Catalog, types: dict[Port, TensorType]) -> None:
    """Add the types at all ports of a body, including its nested bodies, to ``types``."""
    ordered, cyclic = running_order(nodes)
    for node in ordered:
        spec = catalog.find(node.op)
        if spec is None:
            continue
        if spec.bodies:
            _infer_block(node, catalog, types)
            continue
        fed = {name: types.get(port, _NOTHING) for name, port in node.inputs.items()}
        call = TypedCall(node, spec, fed)
        for output in outputs_of(node, spec):
            types.setdefault(Port(node.id, output.name), _type_of(call, output))
    for node in cyclic:
        spec = catalog.find(node.op)
        for output in outputs_of(node, spec) if spec else ():
            types[Port(node.id, output.name)] = TensorType(kind=output.kind)


def _infer_block(node: Node, catalog: Catalog, types: dict[Port, TensorType]) -> None:
    for inner, outer in body_inputs(node):
        types[inner] = types.get(outer, _NOTHING)
    before = set(types)
    for body in node.bodies.values():
        _infer(body.nodes, catalog, types)
    while catalog[node.op].consecutive and _widen_inputs(node, types):
        for port in set(types) - before:
            del types[port]
        for body in node.bodies.values():
            _infer(body.nodes, catalog, types)
    for output in outputs_of(node, catalog[node.op]):
        given = [body.outputs.get(output.name) for body in node.bodies.values()]
        known = [types.get(port, _NOTHING) if port else _NOTHING for port in given]
        types[Port(node.id, output.name)] = _common_type(known)


def _widen_inputs(node: Node, types: dict[Port, TensorType]) -> bool:
    """Remove the sizes of body inputs that a body changes, as its outputs feed the next body.

    Returns True if an input has changed.
    """
    changed = False
    for inner, _ in body_inputs(node):
        returned = [body.outputs.get(inner.output) for body in node.bodies.values()]
        known = [types.get(port, _NOTHING) for port in returned if port is not None]
        shape = _common_type([types[inner], *known]).shape
        if shape != types[inner].shape:
            types[inner] = replace(types[inner], shape=shape)
            changed = True
    return changed


def _common_type(known: Sequence[TensorType]) -> TensorType:
    """Return the type with all properties that the given types have in common."""
    first, *others = known
    for other in others:
        shape = None
        if first.shape and other.shape and len(first.shape) == len(other.shape):
            pairs = zip(first.shape, other.shape, strict=True)
            shape = tuple(one if one == two else None for one, two in pairs)
        elif first.shape == other.shape:
            shape = first.shape
        first = TensorType(
            first.dtype if first.dtype == other.dtype else None,
            first.layout if first.layout == other.layout else None,
            shape,
            first.kind if first.kind == other.kind else "any",
        )
    return first


def _type_of(call: TypedCall, output: PortSpec) -> TensorType:
    rule, first = output.gives, call.first
    kind = _followed_kind(call) if output.follows else output.kind
    flow = _shaped(call, rule, TensorType(None, first.layout, first.shape, kind))
    layout = flow.layout if rule.layout == "input" else rule.layout
    return TensorType(_dtype(call, rule), layout, flow.shape, flow.kind)


def _followed_kind(call: TypedCall) -> PortKind:
    """Return the kind of the first input. For arithmetic, image and sound take precedence."""
    kinds = [flow.kind for flow in call.positional] if call.spec.expression else []
    return next((kind for kind in SHOWN_KINDS if kind in kinds), call.first.kind)


def _shaped(call: TypedCall, rule: OutputRule, flow: TensorType) -> TensorType:
    if rule.shape is None:
        return flow.unknown()
    if rule.shape and isinstance(rule.shape[0], str):
        for word in rule.shape:
            flow = SHAPE_RULES[word](call, flow)
        return flow
    shape = cast(tuple[int | None, ...], rule.shape)
    return TensorType(flow.dtype, flow.layout, shape, flow.kind)


def _dtype(call: TypedCall, rule: OutputRule) -> str | None:
    older = "output_dtype"  # DALI's deprecated name for it, which has its own default
    requested = call.text(older if older in call.node.args else "dtype")
    if requested is not None or "dtype" in call.node.inputs:
        return requested
    if rule.dtype is None or rule.dtype.isupper():
        return rule.dtype
    if rule.dtype in ("promoted", "floating"):
        return result_type([flow.dtype for flow in operand_types(call)], rule.dtype == "floating")
    written = call.spec.written_numbers.values()
    if rule.dtype == "input" and any(name in call.node.args for name in written):
        return "INT32"  # the type of a Python integer
    if rule.dtype == "sum":
        return _SUMS.get(call.first.dtype or "")
    return (call.first if rule.dtype == "input" else call.fed.get(rule.dtype, _NOTHING)).dtype


_SUMS: Mapping[str, str] = {
    **dict.fromkeys(("BOOL", "UINT8", "UINT16", "UINT32", "UINT64"), "UINT64"),
    **dict.fromkeys(("INT8", "INT16", "INT32", "INT64"), "INT64"),
    "FLOAT": "FLOAT",
}
"""Element type of a sum, by the element type of its input, as in DALI."""
