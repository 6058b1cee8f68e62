"""Report that a graph needs a GPU that is missing, before DALI fails with its own message."""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog import load_catalog
from workbench.engine.resources.machine import Machine, describe_machine
from workbench.errors import GraphFaultsError
from workbench.graph.checks.check import Fault
from workbench.graph.edits.edit import set_setting
from workbench.graph.execution.active import active_graph
from workbench.graph.model import Graph
from workbench.graph.resolved import ResolvedGraph


def require_gpu_if_used(graph: Graph, machine: Machine | None = None) -> None:
    """Raise GraphFaultsError if a node uses the GPU and this machine has none."""
    machine, catalog = machine or describe_machine(), load_catalog()
    running = ResolvedGraph(active_graph(graph, catalog), catalog)
    if faults := gpu_faults(running, machine):
        raise GraphFaultsError(faults[:1])


def gpu_faults(resolved: ResolvedGraph, machine: Machine) -> list[Fault]:
    """Return one fault for each node whose device is explicitly set to a GPU that is missing.

    If there is no such node, return a fault for the first node that runs on the GPU by default.
    """
    if not machine.no_gpu:
        return []
    graph, devices = resolved.graph, resolved.devices
    there = [node for node, device in devices.items() if device != "cpu" and graph.has(node)]
    chosen = [node for node in there if graph.node(node).device in ("gpu", "mixed")]
    faults = []
    for node in chosen or there[:1]:
        where = "decodes on the GPU (mixed)" if devices[node] == "mixed" else "runs on the GPU"
        remedy = "Set it to the CPU, or run it on a machine with an NVIDIA GPU."
        faults.append(Fault(node, "device", f"it {where}, and {machine.no_gpu}", remedy))
    return faults


def on_cpu(resolved: ResolvedGraph) -> Graph | None:
    """Return the graph with all nodes on the CPU, or None if an operator has no CPU version."""
    moved = set_setting(resolved.graph, device="cpu")
    for node in resolved.graph.walk():
        if node.device in ("gpu", "mixed"):
            moved = moved.replace_node(replace(moved.node(node.id), device=None))
    left = resolved.for_graph(moved).devices.values()
    return None if any(device != "cpu" for device in left) else moved
