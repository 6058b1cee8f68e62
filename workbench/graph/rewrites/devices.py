"""Move nodes between the CPU and the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.catalog.spec import Device
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.node_order import ancestors, topological
from workbench.graph.rewrites import placement
from workbench.graph.rewrites._body_edits import output_of
from workbench.graph.types.devices import (
    device_of,
    is_decoder,
    port_device,
)
from workbench.graph.types.typed_graph import TypedGraph


def _cpu_nodes(typed: TypedGraph) -> Iterator[str]:
    devices = typed.devices
    for node in reversed(topological(typed.graph)[0]):
        here = devices.get(node.id) == "cpu"
        wanted = node.device is None or any(
            devices.get(each, "cpu") != "cpu"
            for each in ancestors(typed.graph, _data_sources(typed, node))
        )
        if here and wanted and _may_move(typed, node):
            yield node.id


def _data_sources(typed: TypedGraph, node: Node) -> list[Port]:
    """Return the sources of a node's data inputs, excluding inputs that accept either device."""
    spec = typed.spec(node)
    return [port for name, port in node.inputs.items() if port_device(spec, name) != "any"]


def _may_move(typed: TypedGraph, node: Node) -> bool:
    """Return whether a node processes images and supports both devices."""
    spec = typed.catalog.find(node.op)
    if spec is None or isinstance(node, Source) or node.bodies or node.muted or spec.expression:
        return False
    both = is_decoder(spec) or {"cpu", "gpu"} <= {*spec.devices}
    return both and typed.kind(output_of(typed, node)) == "image"


@placement("On the GPU from here on", _cpu_nodes)
def on_the_gpu(typed: TypedGraph, name: str) -> Graph | None:
    """A node on the CPU and its successors move to the GPU.

    Each node is tried, from the last to the decoder: a copy to the GPU costs time, so the best
    position is measured. Nodes that the user put on the CPU stay there, unless their input came
    from a GPU: then data are copied there and back. Random values are unchanged. Near: the GPU
    rounds and filters differently. Later outputs are on the GPU, where training needs them.
    """
    node, devices = typed.graph.node(name), typed.devices
    if node.device == "cpu" and all(
        device_of(devices, port) == "cpu" for port in _data_sources(typed, node)
    ):
        return None  # earlier nodes have to move to the GPU first
    side: Device = "mixed" if is_decoder(typed.spec(node)) else "gpu"
    return typed.graph.replace_node(replace(node, device=side))


def _gpu_nodes(typed: TypedGraph) -> Iterator[str]:
    devices = typed.devices
    for node in topological(typed.graph)[0]:
        if devices.get(node.id, "cpu") != "cpu" and _may_move(typed, node):
            yield node.id


def _is_fed_from_cpu(typed: TypedGraph, node: Node) -> bool:
    devices = typed.devices
    return all(device_of(devices, port) == "cpu" for port in _data_sources(typed, node))


@placement("On the CPU, later nodes on the GPU", _gpu_nodes)
def on_the_cpu(typed: TypedGraph, name: str) -> Graph | None:
    """A node on the GPU with CPU input moves to the CPU; later nodes stay on the GPU.

    Each node is tried, from the decoder on: reducing the size of an image before the copy is best,
    and idle cores then do work of the GPU. Random values are unchanged. Near: the CPU rounds and
    filters differently.
    """
    graph = typed.graph
    if not _is_fed_from_cpu(typed, graph.node(name)):
        return None
    devices = typed.devices
    moved = {name: replace(graph.node(name), device="cpu")}
    for edge in graph.consumers(name):
        after = graph.node(edge.target)
        spec = typed.spec(after)
        stays = "gpu" in spec.devices and not after.bodies and not spec.expression
        if devices[after.id] == "gpu" and stays:
            moved[after.id] = replace(after, device="gpu")
    return replace(graph, nodes=tuple(moved.get(node.id, node) for node in graph.nodes))
