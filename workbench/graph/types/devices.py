"""Determine the device of each node and the kind of data at each port."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from workbench.catalog.extra_operators.user_functions import PYTHON_SOURCE
from workbench.catalog.spec import SHOWN_KINDS, Catalog, Device, OpSpec, PortDevice, PortKind
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.node_order import running_order
from workbench.graph.model.ports import body_inputs, outputs_of
from workbench.sources import load_source


def is_generator(spec: OpSpec) -> bool:
    """Return whether an operator generates values and needs no input."""
    return spec.name.startswith("random.") and all(port.optional for port in spec.inputs)


def is_decoder(spec: OpSpec) -> bool:
    """Return whether an operator decodes bytes to pixels on the device chosen in the settings."""
    return "mixed" in spec.devices


def decodes(spec: OpSpec) -> bool:
    """Return whether an operator decodes bytes to an image or sound, on any device."""
    kinds = [port.kind for port in (*spec.inputs[:1], *spec.outputs[:1])]
    return len(kinds) == 2 and kinds[0] == "encoded" and kinds[1] in SHOWN_KINDS


def first_outputs_pixels(node: Node, catalog: Catalog) -> bool:
    """Return whether a node outputs the first pixels: a decoder, or a source without a decoder."""
    spec = catalog[node.op]
    kinds = {output.kind for output in outputs_of(node, spec)} if isinstance(node, Source) else ()
    fed = node.op == PYTHON_SOURCE.name and "encoded" not in kinds
    return fed or "image" in kinds or decodes(spec)


def infer_devices(graph: Graph, catalog: Catalog) -> Mapping[str, Device]:
    """Return the device of every node by id. Nodes of unknown operators get ``cpu``.

    Inputs of bodies and outputs of blocks also have entries, with ``str(port)`` as the key:
    ``device_of`` looks them up. A node's own ``device`` takes precedence; a decoder follows the
    graph's setting; any other operator runs on the GPU if one of its data inputs is on the GPU, as
    in DALI. Inputs that only supply a shape or type are ignored.
    """
    if graph.enclosing is not None:
        return infer_devices(graph.whole, catalog)
    devices: dict[str, Device] = {}
    _infer(graph.nodes, graph.settings.device, catalog, devices)
    return devices


def device_of(devices: Mapping[str, Device], port: Port) -> Device:
    """Return the device of the data at a port, given the result of ``infer_devices``."""
    own = devices.get(str(port))
    return own if own is not None else devices.get(port.node, "cpu")


def _infer(
    nodes: tuple[Node, ...], decoding: Device, catalog: Catalog, devices: dict[str, Device]
) -> None:
    ordered, cyclic = running_order(nodes)
    for node in ordered + cyclic:
        if not node.bodies:
            devices[node.id] = _device(node, decoding, catalog, devices)
            if isinstance(node, Source) and node.decodes:
                kind = load_source(node.kind)
                added = [o.name for o in catalog[node.op].outputs] if node.op in catalog else []
                others = {*kind.outputs, *added} - {kind.pixels}
                devices |= {str(Port(node.id, name)): "cpu" for name in others}
            continue
        for inner, outer in body_inputs(node):
            devices[str(inner)] = device_of(devices, outer)
        sides: list[Device] = []
        for body in node.bodies.values():
            _infer(body.nodes, decoding, catalog, devices)
            for name, port in body.outputs.items():
                side: Device = "cpu" if device_of(devices, port) == "cpu" else "gpu"
                sides.append(side)
                if side == "gpu":
                    devices[str(Port(node.id, name))] = side
                devices.setdefault(str(Port(node.id, name)), side)
        devices[node.id] = "gpu" if "gpu" in sides else "cpu"


def _device(node: Node, decoding: Device, catalog: Catalog, known: Mapping[str, Device]) -> Device:
    if node.device is not None:
        return node.device
    if node.op not in catalog:
        return "cpu"
    spec = catalog[node.op]
    if is_decoder(spec) or (isinstance(node, Source) and node.decodes):
        return decoding
    for name, source in node.inputs.items() if not spec.stays else ():
        works_on = port_device(spec, name) in ("operator", "either")
        if works_on and device_of(known, source) != "cpu":
            return "gpu"
    return "cpu"


def port_device(spec: OpSpec, name: str) -> PortDevice:
    """Return the device that an operator requires for an input or argument."""
    if name in spec.args:
        return "any"  # always the CPU: a GPU source is a fault, and does not move the node
    if spec.follows and name not in {port.name for port in spec.inputs}:
        return "any"  # images of the path: only their shape is read
    return next((port.device for port in spec.inputs if port.name == name), "operator")


def transfers(
    node: Node, spec: OpSpec, devices: Mapping[str, Device]
) -> dict[str, Literal["cpu", "gpu"]]:
    """Return the device that each positional input is copied to, by name. Other inputs are omitted.

    Arguments are excluded: a GPU source of an argument is a fault.
    """
    own: Literal["cpu", "gpu"] = "gpu" if devices[node.id] == "gpu" else "cpu"
    found: dict[str, Literal["cpu", "gpu"]] = {}
    for name, source in node.inputs.items():
        there = "cpu" if device_of(devices, source) == "cpu" else "gpu"
        match port_device(spec, name):
            case "any":
                continue
            case "cpu":
                wanted: Literal["cpu", "gpu"] = "cpu"
            case "either":
                wanted = own if there == "gpu" else "cpu"
            case _:
                wanted = own
        if wanted != there:
            found[name] = wanted
    return found


def port_kind(graph: Graph, catalog: Catalog, port: Port) -> PortKind:
    """Return the kind of data at a port, or ``any`` if the catalogue does not specify it.

    An output that has the kind of its input (``copy``) is traced to its source. An output of
    arithmetic is traced to all operands; images take precedence over sound.
    """
    graph = graph.whole
    waiting, seen = [port], set()
    kinds: list[PortKind] = []
    while waiting:
        port = waiting.pop(0)
        if port in seen:
            continue
        seen.add(port)
        if not graph.has(port.node):
            if (fed := graph.feeding(port)) is not None:
                waiting.append(fed)
            continue
        node = graph.node(port.node)
        if node.bodies:
            given = (body.outputs.get(port.output) for body in node.bodies.values())
            waiting += [source for source in given if source is not None]
            continue
        spec = catalog.find(node.op)
        output = None
        if spec is not None:
            output = next((o for o in outputs_of(node, spec) if o.name == port.output), None)
        if spec is None or output is None:
            kinds.append("any")
            continue
        ports = spec.inputs if spec.expression else spec.inputs[:1]
        followed = [node.inputs[p.name] for p in ports if p.name in node.inputs]
        if output.follows and followed:
            waiting += followed
        elif spec.name == "array_request" and {*"HW"} <= {*str(node.args.get("layout", ""))}:
            kinds.append("image")
        else:
            kinds.append(output.kind)
    return next((kind for kind in SHOWN_KINDS if kind in kinds), kinds[0] if kinds else "any")
