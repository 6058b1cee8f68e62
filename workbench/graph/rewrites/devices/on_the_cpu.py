"""A node that runs on the GPU, fed from the CPU, runs on the CPU; what follows stays on the GPU.

Tried node by node, from the decoder on: what makes an image small is best done before it is copied,
and cores that are idle help engines that are full. Draws stay. Near: the CPU rounds and filters
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph, Node
from workbench.graph.model.node_order import topological
from workbench.graph.rewrites import placement
from workbench.graph.rewrites.devices.on_the_gpu import may_move, worked_on
from workbench.graph.types.devices import device_of, infer_devices


def _nodes(graph: Graph, catalog: Catalog) -> Iterator[str]:
    devices = infer_devices(graph, catalog)
    for node in topological(graph)[0]:
        if devices.get(node.id, "cpu") != "cpu" and may_move(graph, catalog, node):
            yield node.id


def _is_fed_from_cpu(graph: Graph, catalog: Catalog, node: Node) -> bool:
    devices = infer_devices(graph, catalog)
    return all(device_of(devices, port) == "cpu" for port in worked_on(node, catalog))


def _moved(graph: Graph, catalog: Catalog, name: str) -> Graph | None:
    if not _is_fed_from_cpu(graph, catalog, graph.node(name)):
        return None
    devices = infer_devices(graph, catalog)
    moved = {name: replace(graph.node(name), device="cpu")}
    for edge in graph.consumers(name):
        after = graph.node(edge.target)
        spec = catalog[after.op]
        stays = "gpu" in spec.devices and not after.bodies and not spec.expression
        if devices[after.id] == "gpu" and stays:
            moved[after.id] = replace(after, device="gpu")
    return replace(graph, nodes=tuple(moved.get(node.id, node) for node in graph.nodes))


REWRITE = placement("On the CPU, what follows on the GPU", _nodes, _moved)
