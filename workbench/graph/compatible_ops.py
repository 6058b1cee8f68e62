"""Which operators fit a place of the graph, and why the others do not."""

from __future__ import annotations

from workbench.catalog.spec import Catalog, Device, OpSpec, PortKind, kind_fits
from workbench.graph.compose import find_edge
from workbench.graph.connect import require_given
from workbench.graph.devices import device_of, infer_devices, port_kind
from workbench.graph.model import Graph, Port
from workbench.graph.ports import positional_ports

Place = Port | str | None
"""A port to follow, the id of an edge to go into, or None for a node on its own."""


def incompatible_ops(graph: Graph, catalog: Catalog, place: Place) -> tuple[str, dict[str, str]]:
    """What flows at a place, and why operators do not fit there; those that fit are left out.

    Raises GraphEditError for a place that the graph does not have.
    """
    kind, wanted, into, device = _facts(graph, catalog, place)
    reasons = {}
    for name, spec in catalog.items():
        reason = spec.unusable or _incompatibility(
            spec, kind, wanted, into, device, graph.settings.device
        )
        if reason:
            reasons[name] = reason
    return kind or "", reasons


def _facts(
    graph: Graph, catalog: Catalog, place: Place
) -> tuple[PortKind | None, PortKind | None, str, Device]:
    """Kind that arrives, kind that must come out and what wants it, and the device."""
    if place is None:
        return None, None, "", "cpu"
    wanted: PortKind | None = None
    into = ""
    if isinstance(place, Port):
        source = place
        require_given(graph, source)
    else:
        source, target, name = find_edge(graph, place)
        into = f"{target}.{name}" if target else "the output"
        wanted = _wanted(graph, catalog, target, name)
    device = device_of(infer_devices(graph, catalog), source)
    return port_kind(graph, catalog, source), wanted, into, device


def _wanted(graph: Graph, catalog: Catalog, target: str, into: str) -> PortKind | None:
    if not target:
        return None
    node = graph.node(target)
    spec = catalog.find(node.op)
    if spec is None:
        return None
    if into in spec.args:
        return "number"
    return positional_ports(node, spec).get(into)


def _incompatibility(
    spec: OpSpec,
    kind: PortKind | None,
    wanted: PortKind | None,
    into: str,
    device: Device,
    decode: Device,
) -> str | None:
    if "cpu" not in spec.devices and "mixed" not in spec.devices and device == decode == "cpu":
        return "it runs on the GPU only: decode on the GPU (mixed)"
    if kind is None:
        return None
    if not spec.inputs:
        return "it has no input: add it on its own"
    takes = [port.kind for port in spec.inputs]
    if not any(kind_fits(taken, kind) for taken in takes):
        return f"it takes {' and '.join(dict.fromkeys(takes))}, not {kind}"
    works_on = any(port.device in ("operator", "either") for port in spec.inputs[:1])
    if device != "cpu" and "gpu" not in spec.devices and works_on:
        return "it runs on the CPU only, and this place is on the GPU"
    gives = [kind if port.follows else port.kind for port in spec.outputs]
    if wanted and not any(kind_fits(wanted, given) for given in gives[:1]):
        return f"it gives {gives[0] if gives else 'nothing'}, and {into} takes {wanted}"
    return None
