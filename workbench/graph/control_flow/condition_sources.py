"""Of which ports of a graph an ``if`` may ask its condition."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import Catalog
from workbench.graph.control_flow.conditions import UNKNOWN, Kind, condition_nodes, maker_of
from workbench.graph.edits.lead_in import origin_of
from workbench.graph.model import Graph, Port, region_of
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import output_ports
from workbench.graph.types.devices import device_of, infer_devices, port_kind
from workbench.graph.types.shapes import TensorType, infer_types


def condition_sources(graph: Graph, catalog: Catalog, region: str) -> dict[Kind, list[Port]]:
    """For each kind of condition the ports of which an ``if`` may ask it, the usual one first.

    Those around the body in which it stands, too: from there they are led in. Of what a body takes
    in from outside, the port outside.
    """
    whole = graph.whole
    found: dict[Kind, list[Port]] = {"chance": [], "label": [], "size": [], "comparison": []}
    flows, devices = infer_types(whole, catalog), infer_devices(whole, catalog)
    own = condition_nodes(whole.at_scope(whole.scope_of(region)), catalog, whole.node(region))
    before = dict.fromkeys(
        origin_of(whole, catalog, port) for port in _ports_before(whole, catalog, region)
    )
    for port in before:
        kind, flow = port_kind(whole, catalog, port), flows.get(port, UNKNOWN)
        if port.node in own or flow.dtype == "BOOL":
            continue
        maker = maker_of(whole, port)
        if kind == "label" and not (maker is not None and catalog[maker.op].expression):
            found["label"].append(port)
        if kind == "image" and flow.layout in (None, "", "HWC", "HW"):
            if flow.shape is None or len(flow.shape) >= 2:
                found["size"].append(port)
        elif flow.shape in ((), (1,)) and device_of(devices, port) == "cpu":
            found["comparison"].append(port)
    # A size that is the same for all samples decides nothing.
    found["size"].sort(key=lambda port: _is_fixed(flows.get(port, UNKNOWN)))
    return found


def _is_fixed(flow: TensorType) -> bool:
    return flow.shape is not None and None not in flow.shape[:2]


def _ports_before(graph: Graph, catalog: Catalog, region: str) -> Iterator[Port]:
    """What does not wait for a region, from its own body outwards, what is nearest first."""
    scope = graph.scope_of(region)
    while True:
        body = graph.at_scope(scope)
        before = ancestors(graph, list(graph.node(region).inputs.values()))
        after = _behind(body, region)
        near = [node for node in body.nodes if node.id in before]
        others = [node for node in body.nodes if node.id not in before and node.id not in after]
        if scope:
            yield from (Port(scope, name) for name in graph.body_at(scope).inputs)
        for node in (*reversed(near), *others):
            spec = catalog.find(node.op)
            yield from output_ports(node, spec) if spec else ()
        if not scope:
            return
        region = region_of(scope)
        scope = graph.scope_of(region)


def _behind(body: Graph, region: str) -> set[str]:
    """The region, and the nodes that wait for it."""
    found, waiting = {region}, [region]
    while waiting:
        for edge in body.consumers(waiting.pop()):
            if edge.target not in found:
                found.add(edge.target)
                waiting.append(edge.target)
    return found
