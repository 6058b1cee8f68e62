"""Add nodes at the end, on an edge or unconnected, route ports into bodies, and remove nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from workbench.catalog.spec import Catalog, OpSpec, PortKind, kind_fits
from workbench.errors import GraphEditError
from workbench.graph.edits.connect import connect, connection_refusal, port_taken_reason, set_output
from workbench.graph.edits.edit import (
    free_id,
    insert_node,
    new_node,
    ordered_nodes,
    reset_arg,
    scoped,
    usable_spec,
    without_idle_generators,
)
from workbench.graph.model import Body, Edge, Graph, Node, Port, block_of
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import outputs_of, positional_ports
from workbench.graph.types.devices import port_kind
from workbench.graph.types.typed_graph import TypedGraph
from workbench.names import free_name


def edge_id(target: str, into: str) -> str:
    """Return the id of an edge: ``target:input``, with an empty target for a graph output."""
    return f"{target}:{into}"


def find_edge(graph: Graph, edge: str) -> Edge:
    """Return the edge with an id. Raises GraphEditError for an unknown id."""
    target, _, into = edge.partition(":")
    ports = graph.node(target).inputs if target else graph.outputs
    if into not in ports:
        raise GraphEditError(f"There is no edge {edge!r}. Use NODE:INPUT of a connected input.")
    return Edge(ports[into], target, into)


def place_node(
    graph: Graph, catalog: Catalog, op: str, source: Port | None = None
) -> tuple[Graph, str]:
    """Add a node. If ``source`` is given, connect it to the node's first suitable input.

    No other edge is changed. Returns the graph and the node's id. Raises GraphEditError if no input
    accepts ``source``.
    """
    spec = usable_spec(catalog, op)
    node = new_node(graph, catalog, op)
    placed = replace(graph, nodes=(*graph.nodes, node))
    if source is None:
        return with_outputs(placed, catalog, node.id), node.id
    return connect(
        placed, catalog, source, node.id, _port_for(placed, catalog, source, node, spec)
    ), node.id


def _port_for(graph: Graph, catalog: Catalog, source: Port, node: Node, spec: OpSpec) -> str:
    reasons, typed = [], TypedGraph(graph, catalog)
    for port in positional_ports(node, spec):
        reason = connection_refusal(typed, source, node.id, port)
        if reason is None:
            return port
        reasons.append(reason)
    raise GraphEditError(f"{spec.name}: {reasons[0] if reasons else 'it has no input'}.")


def append_node(graph: Graph, catalog: Catalog, op: str) -> tuple[Graph, str]:
    """Add a node at the end of the image path, or unconnected if it does not fit there.

    If the graph does not output images or labels, the node's are added to the graph's outputs.
    """
    spec = usable_spec(catalog, op)
    if spec.inputs:
        images = list(TypedGraph(graph, catalog).images.values())
        ends = [port.node for port in images] or [
            n.id for n in reversed(ordered_nodes(graph, catalog))
        ]
        for end in ends:
            try:
                graph, added = insert_node(graph, catalog, op, end)
            except GraphEditError:
                if images:
                    raise
            else:
                return with_outputs(graph, catalog, added), added
    return place_node(graph, catalog, op)


def with_outputs(graph: Graph, catalog: Catalog, added: str) -> Graph:
    """Add a node's image and labels to the outputs, except kinds that the graph already outputs."""
    given = {port_kind(graph, catalog, port) for port in graph.outputs.values()}
    node = graph.node(added)
    for output in outputs_of(node, catalog[node.op]):
        if output.kind in ("image", "label") and output.kind not in given:
            graph = add_output(graph, catalog, Port(added, output.name))
    return _images_first(graph)


def _images_first(graph: Graph) -> Graph:
    ordered = sorted(graph.outputs.items(), key=lambda item: item[0] != "images")
    return replace(graph, outputs=dict(ordered))


def insert_on_edge(graph: Graph, catalog: Catalog, op: str, edge: str) -> tuple[Graph, str]:
    """Insert a new node into an edge. Raises GraphEditError if the node does not fit there."""
    source, target, into = find_edge(graph, edge)
    spec = usable_spec(catalog, op)
    node = new_node(graph, catalog, op)
    placed = replace(graph, nodes=_inserted_after(graph, source.node, node))
    return _routed_through(placed, catalog, Edge(source, target, into), node, spec), node.id


def insert_before(
    graph: Graph, catalog: Catalog, op: str, target: str, into: str
) -> tuple[Graph, str]:
    """Add a node that feeds an input or argument; an existing edge is routed through the node.

    Returns the graph and the new node's id. Raises GraphEditError if no output of the node fits.
    """
    spec = usable_spec(catalog, op)
    node = new_node(graph, catalog, op)
    placed = graph.substitute(target, node, graph.node(target))
    typed, reason = TypedGraph(placed, catalog), "it has no output"
    for output in outputs_of(node, spec):
        source = Port(node.id, output.name)
        if port_taken_reason(placed, target, into, source):
            return insert_on_edge(graph, catalog, op, edge_id(target, into))
        refused = connection_refusal(typed, source, target, into)
        if refused is None:
            return connect(placed, catalog, source, target, into), node.id
        reason = refused
    raise GraphEditError(f"{op} cannot feed {target}.{into}: {reason}.")


@scoped("node_id")
def splice_node(graph: Graph, catalog: Catalog, node_id: str, edge: str) -> Graph:
    """Move a node into the edge ``edge``, and connect its former source and consumers.

    Raises GraphEditError if the node does not fit there or is a block.
    """
    node = graph.node(node_id)
    if node.bodies:
        raise GraphEditError(
            f"{node_id!r} is a block, which may have several inputs. Connect its ports one by one."
        )
    spec = usable_spec(catalog, node.op)
    source, target, _ = find_edge(graph, edge)
    if node_id in (source.node, target):
        raise GraphEditError(f"{node_id!r} is already at an end of this edge. Use another edge.")
    arguments = {name: port for name, port in node.inputs.items() if name in spec.args}
    healed = bypass_node(graph, catalog, node)
    freed = healed.replace_node(replace(node, inputs=arguments))
    edge_now = find_edge(freed, edge)
    return _routed_through(freed, catalog, edge_now, freed.node(node_id), spec)


def _routed_through(graph: Graph, catalog: Catalog, edge: Edge, node: Node, spec: OpSpec) -> Graph:
    if not spec.outputs:
        raise GraphEditError(f"{spec.name} has no output, so nothing can follow it.")
    into = _port_for(graph, catalog, edge.source, node, spec)
    graph = connect(graph, catalog, edge.source, node.id, into)
    out = Port(node.id, spec.outputs[0].name)
    if not edge.target:
        return set_output(graph, edge.input, out)
    return connect(graph, catalog, out, edge.target, edge.input)


def _inserted_after(graph: Graph, before: str, node: Node) -> tuple[Node, ...]:
    at = next((i for i, other in enumerate(graph.nodes, start=1) if other.id == before), 0)
    return (*graph.nodes[:at], node, *graph.nodes[at:])


def add_output(graph: Graph, catalog: Catalog, port: Port, name: str = "") -> Graph:
    """Add a port to the graph's outputs. The default name is that of the port's kind of data."""
    usual = kind_name(port_kind(graph, catalog, port))
    return set_output(graph, name or free_id(graph, usual), port)


def kind_name(kind: PortKind) -> str:
    """Return the default name of an output of this kind, such as ``images``."""
    plural = {"image": "images", "label": "labels", "mask": "masks", "number": "numbers"}
    return "values" if kind == "any" else plural.get(kind, kind)


# Route an outer output into a nested body by adding inputs to the enclosing blocks.


def scope_of_port(graph: Graph, port: Port) -> str:
    """Return the scope in which a port can be used. For a body's input, this is the body itself."""
    return graph.whole.scope_of(port.node) if graph.whole.has(port.node) else port.node


def origin_of(graph: Graph, catalog: Catalog, port: Port, *, through_changes: bool = False) -> Port:
    """Return the outer port that is connected to a body's input. Return other ports unchanged.

    If bodies run one after the other, an input may be the output of the previous body. Such an
    input is traced further only if ``through_changes`` is true.
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


def route_into_body(graph: Graph, catalog: Catalog, port: Port, scope: str) -> tuple[Graph, Port]:
    """Make a port available in the body ``scope``; return the whole graph and the inner port.

    Adds inputs to the enclosing blocks, or reuses existing ones. Raises GraphEditError for a port
    in another body, and for a port that depends on the block.
    """
    graph = graph.whole
    if scope_of_port(graph, port) == scope:
        return graph, port
    block = block_of(scope)
    if not block:
        raise GraphEditError(f"{port} is inside another body. Make it an output of that body.")
    graph, outer = route_into_body(graph, catalog, port, graph.scope_of(block))
    if block in ancestors(graph, [outer]):
        raise GraphEditError(
            f"{port} depends on {block!r}, so it cannot feed a node inside {block!r}. Use an "
            f"output from before {block!r}."
        )
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


# Remove nodes and reconnect their neighbours


def remove_nodes(graph: Graph, catalog: Catalog, ids: Collection[str]) -> Graph:
    """Remove nodes and connect their sources to their consumers, unless that adds a fault.

    Also removes generators that feed only these nodes, and outputs without a replacement. Raises
    GraphEditError for an unknown id.
    """
    nodes = [graph.node(node_id) for node_id in ids]
    for node_id in (node.id for node in nodes):
        if graph.whole.has(node_id):  # or a generator removed with its node
            graph = _removed(graph, catalog, node_id)
    return graph


@scoped("node_id")
def _removed(graph: Graph, catalog: Catalog, node_id: str) -> Graph:
    node = graph.node(node_id)
    graph = bypass_node(graph, catalog, node)
    rest = tuple(other for other in graph.nodes if other.id != node_id)
    return without_idle_generators(replace(graph, nodes=rest), catalog, node)


def bypass_node(graph: Graph, catalog: Catalog, node: Node) -> Graph:
    """Connect the consumers of a node to the node's own sources, and return the graph."""
    feeding = _data_inputs(graph, catalog, node)
    for edge in graph.consumers(node.id):
        graph = _rejoined_edge(
            graph, catalog, edge, _sources_in_body_order(node, edge.source.output, feeding)
        )
    outputs = {}
    for name, port in graph.outputs.items():
        source: Port | None = port
        if port.node == node.id:
            passing = _sources_in_body_order(node, port.output, feeding)
            source = _replacement(graph, catalog, port, passing)
        if source is not None:
            outputs[name] = source
    return replace(graph, outputs=outputs)


def _data_inputs(graph: Graph, catalog: Catalog, node: Node) -> dict[str, Port]:
    """Return a node's data inputs, excluding arguments and the controlling inputs of blocks."""
    spec = catalog.find(node.op)
    others = {*spec.args, *(port.name for port in spec.inputs if node.bodies)} if spec else set()
    return {
        name: port for name, port in node.inputs.items() if name not in others and graph.owns(port)
    }


def _sources_in_body_order(node: Node, output: str, feeding: Mapping[str, Port]) -> list[Port]:
    """Return the sources of a node without duplicates, in the order to try as replacements.

    For a block, inputs that a body returns unchanged as ``output`` come first.
    """
    passed = [
        port.output
        for name, body in node.bodies.items()
        if (port := body.outputs.get(output)) is not None and port.node == node.scope(name)
    ]
    names = [name for name in (*passed, output) if node.bodies and name in feeding]
    return list(dict.fromkeys(feeding[name] for name in (*names, *feeding)))


def _rejoined_edge(graph: Graph, catalog: Catalog, edge: Edge, feeding: Sequence[Port]) -> Graph:
    target = graph.node(edge.target)
    spec = catalog.find(target.op)
    argument = spec is not None and edge.input in spec.args
    given = port_kind(graph, catalog, edge.source)
    others = {name: port for name, port in target.inputs.items() if name != edge.input}
    cut = graph.replace_node(replace(target, inputs=others))
    typed = TypedGraph(cut, catalog)
    for port in feeding:
        # an edge that was invalid before stays so: another node does not fix its consumer
        same = not argument and port_kind(graph, catalog, port) == given
        if spec is None or same or connection_refusal(typed, port, target.id, edge.input) is None:
            return graph.replace_node(target.fed({edge.input: port}))
    return reset_arg(graph, catalog, target.id, edge.input) if argument else cut


def _replacement(
    graph: Graph, catalog: Catalog, removed: Port, feeding: Sequence[Port]
) -> Port | None:
    """Return a replacement for a removed port: a port of the same kind, else an image, or None."""
    wanted = port_kind(graph, catalog, removed)
    kinds = {port: port_kind(graph, catalog, port) for port in feeding}
    fitting = [port for port, kind in kinds.items() if kind_fits(wanted, kind)]
    images = [port for port, kind in kinds.items() if kind == "image"]
    return next(iter(fitting + images), None)
