"""Where each node runs, and what kind of thing flows through each port."""

from __future__ import annotations

from workbench.catalog.spec import Catalog, Device, OpSpec, PortKind
from workbench.graph.model import Graph, Node, Port, topological


def is_generator(spec: OpSpec) -> bool:
    """Whether an operator only draws numbers: it feeds arguments, not image ports."""
    return spec.name.startswith("random.")


def is_decoder(spec: OpSpec) -> bool:
    """Whether an operator turns encoded bytes into pixels on the device of the setting."""
    return "mixed" in spec.devices


def infer_devices(graph: Graph, catalog: Catalog) -> dict[str, Device]:
    """Device of every node by id; nodes of unknown operators count as CPU.

    A node's own ``device`` wins; a decoder follows the graph's setting; any other operator goes to
    the GPU as soon as one of its positional inputs comes from there, as DALI does.
    """
    devices: dict[str, Device] = {}
    ordered, cyclic = topological(graph)
    for node in ordered + cyclic:
        devices[node.id] = _device(node, graph, catalog, devices)
    return devices


def _device(node: Node, graph: Graph, catalog: Catalog, known: dict[str, Device]) -> Device:
    if node.device is not None:
        return node.device
    if node.op not in catalog:
        return "cpu"
    spec = catalog[node.op]
    if is_decoder(spec):
        return graph.settings.device
    fed = [known.get(p.node, "cpu") for name, p in node.inputs.items() if name not in spec.args]
    return "gpu" if any(device in ("gpu", "mixed") for device in fed) else "cpu"


def infer_channels(graph: Graph, catalog: Catalog) -> dict[str, int | None]:
    """Channels of every node's image by id; None where nothing in the graph tells."""
    channels: dict[str, int | None] = {}
    for node in topological(graph)[0]:
        fed = next((p for name, p in node.inputs.items() if _is_input(node, name, catalog)), None)
        if "output_type" in node.args:
            channels[node.id] = 1 if node.args["output_type"] == "GRAY" else 3
        elif node.op.startswith("reductions.") and node.args.get("axis_names") == "C":
            channels[node.id] = 1
        else:
            channels[node.id] = channels.get(fed.node) if fed is not None else None
    return channels


def _is_input(node: Node, name: str, catalog: Catalog) -> bool:
    return node.op not in catalog or name not in catalog[node.op].args


def port_kind(graph: Graph, catalog: Catalog, port: Port) -> PortKind:
    """What flows out of a port; ``any`` where the catalogue does not say."""
    if not graph.has(port.node):
        return "any"
    node = graph.node(port.node)
    if node.op not in catalog:
        return "any"
    for output in catalog[node.op].outputs:
        if output.name == port.output:
            return output.kind
    return "any"


def image_outputs(graph: Graph, catalog: Catalog) -> dict[str, Port]:
    """The graph's outputs that are pictures, by name."""
    return {
        name: port
        for name, port in graph.outputs.items()
        if port_kind(graph, catalog, port) == "image"
    }
