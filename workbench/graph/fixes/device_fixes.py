"""Remedies for faults of devices: data that lie on the wrong side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from workbench.catalog.spec import Catalog
from workbench.graph.edits.edit import new_node, set_setting
from workbench.graph.fixes.fix_candidate import FixCandidate, node_of, removal, with_node_between
from workbench.graph.fixes.move import offer_move_up
from workbench.graph.model import Graph
from workbench.graph.model.faults import Fault
from workbench.graph.types.devices import infer_devices, is_decoder, port_device


def fix_device(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """Where its input is, or a side that it can run on."""
    node = node_of(graph, fault)
    yield "Let it follow its input", partial(graph.replace_node, replace(node, device=None))
    for side in catalog[node.op].devices:
        words = {"cpu": "on the CPU", "gpu": "on the GPU", "mixed": "mixed"}[side]
        yield f"Run it {words}", partial(graph.replace_node, replace(node, device=side))


def fix_cpu_after_gpu(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """A place before the GPU part, a transfer, or no GPU part."""
    node = node_of(graph, fault)
    devices = infer_devices(graph, catalog)
    for name, port in node.inputs.items():
        on_gpu = devices.get(port.node, "cpu") != "cpu"
        if on_gpu and port_device(catalog[node.op], name) != "any":
            yield from offer_move_up(
                graph, catalog, node, name, lambda p: devices.get(p.node, "cpu") == "cpu"
            )
    yield "Copy to the CPU first", partial(graph.replace_node, replace(node, device="cpu"))
    yield "Decode on the CPU", partial(_decoded_on, graph, catalog, "cpu")
    yield removal(graph, catalog, node.id)


def fix_gpu_only(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """A GPU part from the decoder on, a transfer, or no node."""
    node = node_of(graph, fault)
    yield "Decode on the GPU (mixed)", partial(_decoded_on, graph, catalog, "mixed")
    yield "Copy to the GPU first", partial(graph.replace_node, replace(node, device="gpu"))
    yield removal(graph, catalog, node.id)


def _decoded_on(graph: Graph, catalog: Catalog, side: str) -> Graph:
    """With the graph's setting for every decoder."""
    nodes = tuple(
        replace(node, device=None) if node.op in catalog and is_decoder(catalog[node.op]) else node
        for node in graph.nodes
    )
    return set_setting(replace(graph, nodes=nodes), device=side)


def fix_arg_on_gpu(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """A transfer on the edge, or the source on the CPU."""
    node = node_of(graph, fault)
    source = graph.node(node.inputs[fault.arg].node)
    spec = catalog.find(source.op)
    if spec is not None and "cpu" in spec.devices:
        run = partial(graph.replace_node, replace(source, device="cpu"))
        yield f"Run {source.id} on the CPU", run
    if "copy" in catalog:
        copy = replace(new_node(graph, catalog, "copy", f"{source.id}_cpu"), device="cpu")
        ends = catalog["copy"].inputs[0].name, catalog["copy"].outputs[0].name
        make = partial(with_node_between, graph, node, fault.arg, copy, *ends)
        yield f"Copy {source.id} to the CPU first", make
