"""An output led into a body, through the inputs of the blocks around it."""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.edits.compose import kind_name
from workbench.graph.model import Body, Graph, Port, block_of
from workbench.graph.model.node_order import ancestors
from workbench.graph.types.devices import port_kind
from workbench.names import free_name


def scope_of_port(graph: Graph, port: Port) -> str:
    """The scope in which a port can be read: of what a body takes in, that body's."""
    return graph.whole.scope_of(port.node) if graph.whole.has(port.node) else port.node


def origin_of(graph: Graph, catalog: Catalog, port: Port, *, through_changes: bool = False) -> Port:
    """Of what a body takes in, the port outside of which it comes; others as they are.

    Where bodies run one after another, what one takes in is what another has changed: that is not
    followed further, unless ``through_changes``.
    """
    graph = graph.whole
    seen: set[Port] = set()  # a faulty block may be fed from its own body
    while not graph.has(port.node) and port not in seen:
        seen.add(port)
        if not graph.has(block_of(port.node)):
            return port
        block = graph.node(block_of(port.node))
        spec = catalog.find(block.op)
        first: Body = next(iter(block.bodies.values()), Body())
        changed = spec is not None and spec.consecutive and port.output in first.outputs
        if (changed and not through_changes) or port.output not in block.inputs:
            return port
        port = block.inputs[port.output]
    return port


def lead_in(graph: Graph, catalog: Catalog, port: Port, scope: str) -> tuple[Graph, Port]:
    """The whole graph with a port taken into the body ``scope``, and the port there.

    What is taken in already is taken as it is. Raises GraphEditError for a port that stands in
    another body, and for one that waits for the block.
    """
    graph = graph.whole
    if scope_of_port(graph, port) == scope:
        return graph, port
    block = block_of(scope)
    if not block:
        raise GraphEditError(f"{port} stands in another body, which gives it to nothing outside.")
    graph, outer = lead_in(graph, catalog, port, graph.scope_of(block))
    if block in ancestors(graph, [outer]):
        raise GraphEditError(f"{port} is made behind {block}, and could not feed what is in it.")
    node, name = graph.node(block), scope.rpartition(".")[2]
    spec = catalog[node.op]
    reserved = {*(each.name for each in spec.inputs), *spec.args}
    taken = next(
        (key for key, fed in node.inputs.items() if fed == outer and key not in reserved), ""
    )
    if not taken or (spec.consecutive and taken in node.bodies[name].outputs):
        taken = free_name(kind_name(port_kind(graph, catalog, outer)), {*node.inputs, *reserved})
    body = node.bodies[name]
    if taken not in body.inputs:
        body = replace(body, inputs=(*body.inputs, taken))
    bodies = {**node.bodies, name: body}
    fed = replace(node, inputs={**node.inputs, taken: outer}, bodies=bodies)
    return graph.replace_node(fed), Port(scope, taken)
