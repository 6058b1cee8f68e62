"""Determine the ports of a node from its operator or, for a block, from its bodies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.catalog.extra_operators.user_functions import MOST_OUTPUTS
from workbench.catalog.spec import (
    NOTHING_KNOWN,
    Catalog,
    OpSpec,
    OutputRule,
    PortKind,
    PortSpec,
    Value,
)
from workbench.graph.model import Node, Port
from workbench.sources.record_features import TYPES, Feature, features_in, output_names

KIND_WORDS: Mapping[PortKind, str] = {
    "encoded": "encoded data",
    "image": "images",
    "sound": "sound",
    "label": "labels",
    "boxes": "boxes",
    "mask": "masks",
    "points": "points",
    "number": "numbers",
    "any": "any data",
}
"""Plural noun in messages for each kind of port."""

_LABELS = "readers.mxnet_labels"
"""Reader of RecordIO whose argument ``label_width`` is the length of its last output."""


def outputs_of(node: Node, spec: OpSpec) -> tuple[PortSpec, ...]:
    """Return the outputs of a node. A block has the outputs of its first body."""
    if node.op in TYPES and (features := features_in(node.args.get("features"), TYPES[node.op])):
        return tuple(map(_feature_output, output_names(features), features))
    if node.op == _LABELS and isinstance(width := node.args.get("label_width"), int):
        sized = OutputRule("FLOAT", "", (width,))
        return (*spec.outputs[:-1], replace(spec.outputs[-1], gives=sized))
    if spec.counted_outputs:
        count = node.args.get(spec.counted_outputs, 1)
        if not isinstance(count, int) or not 1 < count <= MOST_OUTPUTS:
            return spec.outputs
        numbered = (f"output_{index}" for index in range(count))
        return tuple(replace(spec.outputs[0], name=name) for name in numbered)
    if spec.named_outputs:
        named = node.args.get(spec.named_outputs)
        if len(spec.outputs) > 1:
            fields = map(str, named if isinstance(named, tuple) else ())
            return (*spec.outputs, *(PortSpec(n, _kind(n), gives=NOTHING_KNOWN) for n in fields))
        chosen = named if isinstance(named, tuple) and named else (spec.outputs[0].name,)
        return tuple(_named_output(node, index, str(name)) for index, name in enumerate(chosen))
    if not spec.bodies:
        return spec.outputs_with(node.inputs, node.args)
    names = next((body.outputs for body in node.bodies.values()), {})
    return tuple(PortSpec(name, gives=NOTHING_KNOWN) for name in names)


_KINDS: Mapping[str, PortKind] = {
    **dict.fromkeys(("jpegs", "encoded"), "encoded"),
    **dict.fromkeys(("images", "image"), "image"),
    **dict.fromkeys(("labels", "label"), "label"),
    **dict.fromkeys(("masks", "mask"), "mask"),
    "boxes": "boxes",
    "points": "points",
}
"""Kind of data of an output, by the output's declared kind or name."""


def _kind(name: str) -> PortKind:
    return _KINDS.get(name.rstrip("_0123456789"), "any")


def _named_output(node: Node, index: int, name: str) -> PortSpec:
    """Return an output whose name and type the arguments of the node declare."""

    def declared(argument: str) -> Value | None:
        given = node.args.get(argument)
        return given[index] if isinstance(given, tuple) and index < len(given) else None

    layout, dtype = declared("layouts"), declared("dtypes")
    kind = _kind(str(declared("kinds") or name))
    if kind == "any" and layout and {"H", "W"} <= set(str(layout)):
        kind = "image"
    if kind == "encoded":
        return PortSpec(name, kind, gives=OutputRule("UINT8", "", (None,)))
    known = None if layout is None else str(layout)
    return PortSpec(name, kind, gives=OutputRule(str(dtype) if dtype else None, known, None))


def _feature_output(name: str, feature: Feature) -> PortSpec:
    kind: PortKind = "label" if feature.is_label else "number"
    match feature.type:
        case "image":
            return PortSpec(name, "encoded", gives=OutputRule("UINT8", "", (None,)))
        case "bytes":
            return PortSpec(name, kind, gives=OutputRule("UINT8", "", (None,)))
        case "npy":
            return PortSpec(name, gives=NOTHING_KNOWN)
        case "digits":
            return PortSpec(name, kind, gives=OutputRule("INT32", "", (1,)))
    dtype = "FLOAT" if feature.type == "float32" else feature.type.upper()
    return PortSpec(name, kind, gives=OutputRule(dtype, "", feature.shape))


def output_ports(node: Node, spec: OpSpec | None) -> list[Port]:
    """Return the outputs of a node as ports, or an empty list if the operator is unknown."""
    return [Port(node.id, output.name) for output in outputs_of(node, spec)] if spec else []


def positional_ports(node: Node, spec: OpSpec) -> dict[str, PortKind]:
    """Return the kind of each positional input by name: first declared ones, then others in use."""
    if spec.bodies:
        named: dict[str, PortKind] = {port.name: port.kind for port in spec.inputs}
        others = (name for name in node.inputs if name not in named and name not in spec.args)
        return named | dict.fromkeys(others, "any")
    if spec.follows:
        kinds: dict[str, PortKind] = {port.name: port.kind for port in spec.inputs}
        return kinds | {name: "any" for name in node.inputs if name not in (*kinds, *spec.args)}
    used = sum(name not in spec.args for name in node.inputs)
    count = min(spec.max_inputs, max(len(spec.inputs), used))
    return {port.name: port.kind for port in map(spec.input, range(count))}


def body_inputs(node: Node) -> list[tuple[Port, Port]]:
    """Return each input port of a block's bodies with the outer port that feeds it."""
    return [
        (Port(node.scope(name), taken), node.inputs[taken])
        for name, body in node.bodies.items()
        for taken in body.inputs
        if taken in node.inputs
    ]


def variables_read(node: Node, spec: OpSpec) -> list[tuple[Port, Port]]:
    """Return each input port of a body with the port whose variable the exported code reads.

    If the bodies run one after the other, this is the block's output, which each body reassigns.
    """
    given = {output.name for output in outputs_of(node, spec)} if spec.consecutive else set()
    return [
        (inner, Port(node.id, inner.output) if inner.output in given else outer)
        for inner, outer in body_inputs(node)
    ]


def used_inputs(node: Node, catalog: Catalog) -> list[Port]:
    """Return the ports connected to a node, excluding block inputs that no body uses."""
    if not node.bodies:
        return list(node.inputs.values())
    spec = catalog[node.op]
    used = {port.name for port in spec.inputs} | set(spec.args)
    for name, body in node.bodies.items():
        inside = [port for inner in body.nodes for port in used_inputs(inner, catalog)]
        scope = node.scope(name)
        used |= {p.output for p in (*inside, *body.outputs.values()) if p.node == scope}
        used |= set(body.outputs) if spec.consecutive else set()
    return [port for name, port in node.inputs.items() if name in used]
