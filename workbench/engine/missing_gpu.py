"""What a graph asks of a GPU, where there is none: told before DALI fails in words of its own."""

from __future__ import annotations

from workbench.catalog import load_catalog
from workbench.engine.machine import Machine, describe_machine
from workbench.errors import GraphFaultsError
from workbench.graph.active import active_graph
from workbench.graph.check import Fault
from workbench.graph.devices import infer_devices
from workbench.graph.model import Graph


def require_gpu_where_asked(graph: Graph, machine: Machine | None = None) -> None:
    """Raise GraphFaultsError where something runs on a GPU and this machine has none."""
    reason = (machine or describe_machine()).no_gpu
    if not reason:
        return
    catalog = load_catalog()
    devices = infer_devices(active_graph(graph, catalog), catalog)
    for node, device in devices.items():
        if device != "cpu" and graph.has(node):
            where = "decodes on the GPU (mixed)" if device == "mixed" else "runs on the GPU"
            remedy = "Set it to the CPU, or run it on a machine with an NVIDIA GPU."
            raise GraphFaultsError([Fault(node, "device", f"it {where}, and {reason}", remedy)])
