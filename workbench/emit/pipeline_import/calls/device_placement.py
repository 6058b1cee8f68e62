"""Apply the non-default devices of a pipeline to the nodes and edges of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from workbench.catalog.spec import Catalog, Device
from workbench.emit.pipeline_import.ids import NodeCalls
from workbench.emit.pipeline_import.trace.traced import TracedInput
from workbench.graph.edits.edit import free_id
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.node_order import running_order
from workbench.graph.types.devices import infer_devices, transfers


def with_devices(
    graph: Graph,
    catalog: Catalog,
    calls: NodeCalls,
    ids: Mapping[str, str],
    outputs: Sequence[TracedInput],
) -> Graph:
    """Set the devices of nodes, and add copies where an edge changes the device."""
    devices = {ids[op.name]: op.device for op, call in calls if not call.bodies}
    graph = _with_node_devices(graph, catalog, devices)
    copies = _Copies(graph)
    inferred = infer_devices(graph, catalog)
    lying = {edge: side for op, _ in calls for edge, side in op.outputs}
    for _, call in calls:
        for body in call.bodies.values():
            lying |= {edge: call.inputs[taken].device for taken, edge in body.takes.items()}
    for op, call in calls:
        spec = catalog.find(call.op)
        if call.opaque or spec is None:
            continue
        node = copies.graph.node(ids[op.name])
        moved = {} if call.bodies else transfers(node, spec, inferred)
        for port, edge in call.inputs.items():
            side = moved.get(port, lying[edge.edge])
            if port not in spec.args and edge.device != side:
                scope = graph.scope_of(node.id)
                source = copies.of(node.inputs[port], edge.device, scope, before=node.id)
                node = node.fed({port: source})
        copies.graph = copies.graph.replace_node(node)
    for op, call in calls:
        for name, made_in in call.bodies.items():
            scope = f"{ids[op.name]}.{name}"
            ends = dict(copies.graph.body_at(scope).outputs)
            for output, edge in made_in.gives.items():
                if edge.device != lying[edge.edge]:
                    ends[output] = copies.of(ends[output], edge.device, scope)
            ended = replace(copies.graph.body_at(scope), outputs=ends)
            copies.graph = copies.graph.replace_body(scope, ended)
    given = dict(copies.graph.outputs)
    for name, edge in zip(list(given), outputs, strict=True):
        if edge.device != lying[edge.edge]:
            given[name] = copies.of(given[name], edge.device)
    return replace(copies.graph, outputs=given)


def _with_node_devices(graph: Graph, catalog: Catalog, devices: Mapping[str, Device]) -> Graph:
    """Set the device of each node whose default device differs from its device in ``devices``."""
    for node in _nodes_in_order(graph.nodes):
        wanted = devices.get(node.id)
        if wanted is not None and infer_devices(graph, catalog)[node.id] != wanted:
            graph = graph.replace_node(replace(node, device=devices[node.id]))
    return graph


def _nodes_in_order(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Yield the nodes in topological order. The nodes inside a block follow the block."""
    for node in running_order(nodes)[0]:
        yield node
        for body in node.bodies.values():
            yield from _nodes_in_order(body.nodes)


class _Copies:
    """Adds nodes that copy to another device, one per output and device."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._made: dict[tuple[Port, Device], Port] = {}

    def of(self, port: Port, side: Device, scope: str = "", before: str | None = None) -> Port:
        """Return a port's copy on device ``side``, adding it to the body ``scope`` if needed."""
        if (port, side) not in self._made:
            word = port.node if self.graph.has(port.node) else port.output
            node = Node(free_id(self.graph, f"{word}_{side}"), "copy", {}, {"data": port}, side)
            body = self.graph.body_at(scope)
            at = len(body.nodes)
            if before is not None:
                at = next(i for i, n in enumerate(body.nodes) if n.id == before)
            body = replace(body, nodes=(*body.nodes[:at], node, *body.nodes[at:]))
            self.graph = self.graph.replace_body(scope, body)
            self._made[port, side] = Port(node.id, "output")
        return self._made[port, side]
