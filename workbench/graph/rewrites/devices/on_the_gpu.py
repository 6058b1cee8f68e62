"""A node that runs on the CPU runs on the GPU, and with it what follows.

Tried node by node, from the last to the decoder: a copy to the GPU costs, so where the pipeline is
to cross over is measured. What a person put on the CPU stays there, unless a GPU worked on it
before: then it goes there and back. Draws stay. Near: the GPU rounds and filters otherwise. What is
given out behind it lies on the GPU, where training wants it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.catalog.spec import Catalog, Device
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.node_order import ancestors, topological
from workbench.graph.rewrites import placement
from workbench.graph.rewrites._places import output_of
from workbench.graph.types.devices import (
    device_of,
    infer_devices,
    is_decoder,
    port_device,
    port_kind,
)


def _nodes(graph: Graph, catalog: Catalog) -> Iterator[str]:
    devices = infer_devices(graph, catalog)
    for node in reversed(topological(graph)[0]):
        here = devices.get(node.id) == "cpu"
        wanted = node.device is None or any(
            devices.get(each, "cpu") != "cpu" for each in ancestors(graph, worked_on(node, catalog))
        )
        if here and wanted and may_move(graph, catalog, node):
            yield node.id


def worked_on(node: Node, catalog: Catalog) -> list[Port]:
    """What it works on: its inputs but for numbers, which may lie on either side."""
    spec = catalog[node.op]
    return [port for name, port in node.inputs.items() if port_device(spec, name) != "any"]


def may_move(graph: Graph, catalog: Catalog, node: Node) -> bool:
    """Whether it works on images, and can on either side."""
    spec = catalog.find(node.op)
    if spec is None or isinstance(node, Source) or node.bodies or node.muted or spec.expression:
        return False
    both = is_decoder(spec) or {"cpu", "gpu"} <= {*spec.devices}
    return both and port_kind(graph, catalog, output_of(node, catalog)) == "image"


def _moved(graph: Graph, catalog: Catalog, name: str) -> Graph | None:
    node, devices = graph.node(name), infer_devices(graph, catalog)
    if node.device == "cpu" and all(
        device_of(devices, port) == "cpu" for port in worked_on(node, catalog)
    ):
        return None  # what is before it has to be on the GPU first
    side: Device = "mixed" if is_decoder(catalog[node.op]) else "gpu"
    return graph.replace_node(replace(node, device=side))


REWRITE = placement("On the GPU from here on", _nodes, _moved)
