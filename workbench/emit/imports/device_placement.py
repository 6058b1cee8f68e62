"""Where each node runs and each edge is read: as in the pipeline, said only where it must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.catalog.spec import Catalog, Device
from workbench.emit.imports.ids import Made
from workbench.emit.imports.traced import TracedInput
from workbench.graph.devices import infer_devices, transfers
from workbench.graph.edit import free_id
from workbench.graph.model import Graph, Node, Port, topological


def with_sides(
    graph: Graph,
    catalog: Catalog,
    made: Made,
    ids: Mapping[str, str],
    outputs: Sequence[TracedInput],
) -> Graph:
    """The graph with devices of nodes, and with copies where an edge alone changes sides."""
    devices = {ids[op.name]: op.device for op, _ in made}
    graph = _placed(graph, catalog, devices)
    copies = _Copies(graph)
    inferred = infer_devices(graph, catalog)
    lying = {edge: side for op, _ in made for edge, side in op.outputs}
    for op, call in made:
        spec = catalog.find(call.op)
        if call.opaque or spec is None:
            continue
        node = copies.graph.node(ids[op.name])
        moved = transfers(node, spec, inferred)
        for port, edge in call.inputs.items():
            side = moved.get(port, lying[edge.edge])
            if port not in spec.args and edge.device != side:
                source = copies.of(node.inputs[port], edge.device, before=node.id)
                node = replace(node, inputs={**node.inputs, port: source})
        copies.graph = copies.graph.replace_node(node)
    given = dict(copies.graph.outputs)
    for name, edge in zip(list(given), outputs, strict=True):
        if edge.device != lying[edge.edge]:
            given[name] = copies.of(given[name], edge.device)
    return replace(copies.graph, outputs=given)


def _placed(graph: Graph, catalog: Catalog, devices: Mapping[str, Device]) -> Graph:
    """The graph with a device for each node that would run elsewhere without one."""
    for node in topological(graph)[0]:
        if infer_devices(graph, catalog)[node.id] != devices[node.id]:
            graph = graph.replace_node(replace(node, device=devices[node.id]))
    return graph


class _Copies:
    """A graph to which copies to another side are added, one for each output and side."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._made: dict[tuple[Port, Device], Port] = {}

    def of(self, port: Port, side: Device, before: str | None = None) -> Port:
        """The output on that side, through a copy."""
        if (port, side) not in self._made:
            node = Node(
                free_id(self.graph, f"{port.node}_{side}"), "copy", {}, {"data": port}, side
            )
            at = len(self.graph.nodes)
            if before is not None:
                at = next(i for i, n in enumerate(self.graph.nodes) if n.id == before)
            nodes = self.graph.nodes
            self.graph = replace(self.graph, nodes=(*nodes[:at], node, *nodes[at:]))
            self._made[port, side] = Port(node.id, "output")
        return self._made[port, side]
