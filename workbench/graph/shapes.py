"""Element type, layout and shape at every port, told before anything has run.

The rules are data: ``OutputRule`` in the catalogue's rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from workbench.catalog.spec import Catalog, OutputRule, PortKind, PortSpec
from workbench.graph.arithmetic import operand_types, result_type
from workbench.graph.identity_cache import identity_cached
from workbench.graph.model import Graph, Port, topological
from workbench.graph.shape_inference import SHAPE_RULES
from workbench.graph.tensor_type import Call, TensorType, type_text

__all__ = ["TensorType", "infer_types", "type_text"]


@identity_cached
def infer_types(graph: Graph, catalog: Catalog) -> Mapping[Port, TensorType]:
    """What flows out of every port of the graph.

    Any graph will do, also one with faults: what cannot be told is None. Nodes of unknown
    operators have no ports here; those on a cycle, or behind one, have nothing known.
    """
    flows: dict[Port, TensorType] = {}
    ordered, cyclic = topological(graph)
    for node in ordered:
        spec = catalog.find(node.op)
        if spec is None:
            continue
        fed = {name: flows.get(port, _NOTHING) for name, port in node.inputs.items()}
        call = Call(node, spec, fed)
        for output in spec.outputs_with(node.inputs):
            flows[Port(node.id, output.name)] = _flow(call, output)
    for node in cyclic:
        spec = catalog.find(node.op)
        for output in spec.outputs_with(node.inputs) if spec else ():
            flows[Port(node.id, output.name)] = TensorType(kind=output.kind)
    return flows


_NOTHING = TensorType()


def _flow(call: Call, output: PortSpec) -> TensorType:
    rule, first = output.gives, call.first
    kind = _followed(call) if output.follows else output.kind
    flow = _shaped(call, rule, TensorType(None, first.layout, first.shape, kind))
    layout = flow.layout if rule.layout == "input" else rule.layout
    return replace(flow, dtype=_dtype(call, rule), layout=layout)


def _followed(call: Call) -> PortKind:
    """The kind of the first input; of arithmetic that of the first image, if there is one."""
    images = call.spec.expression and any(flow.kind == "image" for flow in call.positional)
    return "image" if images else call.first.kind


def _shaped(call: Call, rule: OutputRule, flow: TensorType) -> TensorType:
    if rule.shape is None:
        return flow.unknown()
    if rule.shape and isinstance(rule.shape[0], str):
        for word in rule.shape:
            flow = SHAPE_RULES[word](call, flow)
        return flow
    return replace(flow, shape=cast(tuple[int | None, ...], rule.shape))


def _dtype(call: Call, rule: OutputRule) -> str | None:
    asked = call.text("dtype")
    if asked is not None or "dtype" in call.node.inputs:
        return asked
    if rule.dtype is None or rule.dtype.isupper():
        return rule.dtype
    if rule.dtype in ("promoted", "floating"):
        return result_type([flow.dtype for flow in operand_types(call)], rule.dtype == "floating")
    if rule.dtype == "sum":
        return _SUMS.get(call.first.dtype or "")
    return (call.first if rule.dtype == "input" else call.fed.get(rule.dtype, _NOTHING)).dtype


_SUMS: Mapping[str, str] = {
    **dict.fromkeys(("BOOL", "UINT8", "UINT16", "UINT32", "UINT64"), "UINT64"),
    **dict.fromkeys(("INT8", "INT16", "INT32", "INT64"), "INT64"),
    "FLOAT": "FLOAT",
}
"""What DALI adds elements up in."""
