"""Nodes moved between CPU and GPU."""

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


def _on_the_cpu_now(graph: Graph, catalog: Catalog) -> Iterator[str]:
    devices = infer_devices(graph, catalog)
    for node in reversed(topological(graph)[0]):
        here = devices.get(node.id) == "cpu"
        wanted = node.device is None or any(
            devices.get(each, "cpu") != "cpu"
            for each in ancestors(graph, _worked_on(node, catalog))
        )
        if here and wanted and _may_move(graph, catalog, node):
            yield node.id


def _worked_on(node: Node, catalog: Catalog) -> list[Port]:
    """What it works on: its inputs but for numbers, which may lie on either side."""
    spec = catalog[node.op]
    return [port for name, port in node.inputs.items() if port_device(spec, name) != "any"]


def _may_move(graph: Graph, catalog: Catalog, node: Node) -> bool:
    """Whether it works on images, and can on either side."""
    spec = catalog.find(node.op)
    if spec is None or isinstance(node, Source) or node.bodies or node.muted or spec.expression:
        return False
    both = is_decoder(spec) or {"cpu", "gpu"} <= {*spec.devices}
    return both and port_kind(graph, catalog, output_of(node, catalog)) == "image"


@placement("On the GPU from here on", _on_the_cpu_now)
def on_the_gpu(graph: Graph, catalog: Catalog, name: str) -> Graph | None:
    """A node that runs on the CPU runs on the GPU, and with it what follows.

    Tried node by node, from the last to the decoder: a copy to the GPU costs, so where the pipeline
    is to cross over is measured. What a person put on the CPU stays there, unless a GPU worked on
    it before: then it goes there and back. Draws stay. Near: the GPU rounds and filters otherwise.
    What is given out behind it lies on the GPU, where training wants it.
    """
    node, devices = graph.node(name), infer_devices(graph, catalog)
    if node.device == "cpu" and all(
        device_of(devices, port) == "cpu" for port in _worked_on(node, catalog)
    ):
        return None  # what is before it has to be on the GPU first
    side: Device = "mixed" if is_decoder(catalog[node.op]) else "gpu"
    return graph.replace_node(replace(node, device=side))


def _on_the_gpu_now(graph: Graph, catalog: Catalog) -> Iterator[str]:
    devices = infer_devices(graph, catalog)
    for node in topological(graph)[0]:
        if devices.get(node.id, "cpu") != "cpu" and _may_move(graph, catalog, node):
            yield node.id


def _is_fed_from_cpu(graph: Graph, catalog: Catalog, node: Node) -> bool:
    devices = infer_devices(graph, catalog)
    return all(device_of(devices, port) == "cpu" for port in _worked_on(node, catalog))


@placement("On the CPU, what follows on the GPU", _on_the_gpu_now)
def on_the_cpu(graph: Graph, catalog: Catalog, name: str) -> Graph | None:
    """A node on the GPU, fed from the CPU, runs on the CPU; what follows stays on the GPU.

    Tried node by node, from the decoder on: what makes an image small is best done before it is
    copied, and cores that are idle help engines that are full. Draws stay. Near: the CPU rounds and
    filters otherwise.
    """
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
