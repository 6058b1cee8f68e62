"""Nodes placed on the canvas, at the end, on an edge or on their own."""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog.spec import Catalog, OpSpec, PortKind
from workbench.errors import GraphEditError
from workbench.graph.edits.connect import connect, connection_refusal, port_taken_reason, set_output
from workbench.graph.edits.edit import chain, free_id, insert_node, new_node
from workbench.graph.edits.remove import bypass_node
from workbench.graph.model import Edge, Graph, Node, Port
from workbench.graph.model.ports import outputs_of, positional_ports
from workbench.graph.model.scoped import scoped
from workbench.graph.types.devices import port_kind
from workbench.graph.types.typed_graph import TypedGraph


def edge_id(target: str, into: str) -> str:
    """``target:input``; an edge to an output of the graph has an empty target."""
    return f"{target}:{into}"


def find_edge(graph: Graph, edge: str) -> Edge:
    """The edge of that id, or GraphEditError."""
    target, _, into = edge.partition(":")
    ports = graph.node(target).inputs if target else graph.outputs
    if into not in ports:
        raise GraphEditError(f"There is no edge {edge!r}.")
    return Edge(ports[into], target, into)


def usable_spec(catalog: Catalog, op: str) -> OpSpec:
    """The operator, or GraphEditError with why it cannot be used. CatalogError if unknown."""
    spec = catalog[op]
    if spec.unusable:
        raise GraphEditError(f"{op} cannot be added: {spec.unusable}.")
    return spec


def place_node(
    graph: Graph, catalog: Catalog, op: str, source: Port | None = None
) -> tuple[Graph, str]:
    """Add a node, fed by ``source`` at its first port that takes it, or by nothing yet.

    No other edge changes. Returns the graph and the node's id. Raises GraphEditError where no
    port takes ``source``.
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
    """Add a node at the end of the picture's way, or where nothing is to follow, on its own.

    What the graph does not give out yet, images and a reader's labels, it gives out from now on.
    """
    spec = usable_spec(catalog, op)
    if spec.inputs:
        images = list(TypedGraph(graph, catalog).images.values())
        ends = [port.node for port in images] or [n.id for n in reversed(chain(graph, catalog))]
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
    """Give out a node's image and labels, where the graph gives out none so far."""
    given = {port_kind(graph, catalog, port) for port in graph.outputs.values()}
    node = graph.node(added)
    for output in outputs_of(node, catalog[node.op]):
        if output.kind in ("image", "label") and output.kind not in given:
            graph = add_output(graph, catalog, Port(added, output.name))
    return _images_first(graph)


def _images_first(graph: Graph) -> Graph:
    """Outputs in the order in which a training loop takes them."""
    ordered = sorted(graph.outputs.items(), key=lambda item: item[0] != "images")
    return replace(graph, outputs=dict(ordered))


def insert_on_edge(graph: Graph, catalog: Catalog, op: str, edge: str) -> tuple[Graph, str]:
    """Put a new node into one edge. Raises GraphEditError where it does not fit there."""
    source, target, into = find_edge(graph, edge)
    spec = usable_spec(catalog, op)
    node = new_node(graph, catalog, op)
    placed = replace(graph, nodes=_after(graph, source.node, node))
    return _through(placed, catalog, Edge(source, target, into), node, spec), node.id


def insert_before(
    graph: Graph, catalog: Catalog, op: str, target: str, into: str
) -> tuple[Graph, str]:
    """Add a node that feeds an input or argument; an edge that is there is led through it.

    Returns the graph and the node's id. Raises GraphEditError where no output of it fits.
    """
    spec = usable_spec(catalog, op)
    node = new_node(graph, catalog, op)
    placed = graph.put(target, node, graph.node(target))
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
    """Take a node out of where it stands, heal the place, and put it into an edge.

    Raises GraphEditError where it does not fit there, and for a block.
    """
    node = graph.node(node_id)
    if node.bodies:
        raise GraphEditError(
            f"{node_id} is a block, which may have several inputs: connect its ports one by one."
        )
    spec = usable_spec(catalog, node.op)
    source, target, _ = find_edge(graph, edge)
    if node_id in (source.node, target):
        raise GraphEditError(f"{node_id} is an end of that edge already.")
    arguments = {name: port for name, port in node.inputs.items() if name in spec.args}
    healed = bypass_node(graph, catalog, node)
    freed = healed.replace_node(replace(node, inputs=arguments))
    edge_now = find_edge(freed, edge)
    return _through(freed, catalog, edge_now, freed.node(node_id), spec)


def _through(graph: Graph, catalog: Catalog, edge: Edge, node: Node, spec: OpSpec) -> Graph:
    """Lead an edge through a node that stands apart."""
    if not spec.outputs:
        raise GraphEditError(f"{spec.name} has no output: nothing could follow it.")
    into = _port_for(graph, catalog, edge.source, node, spec)
    graph = connect(graph, catalog, edge.source, node.id, into)
    out = Port(node.id, spec.outputs[0].name)
    if not edge.target:
        return set_output(graph, edge.input, out)
    return connect(graph, catalog, out, edge.target, edge.input)


def _after(graph: Graph, before: str, node: Node) -> tuple[Node, ...]:
    at = next((i for i, other in enumerate(graph.nodes, start=1) if other.id == before), 0)
    return (*graph.nodes[:at], node, *graph.nodes[at:])


def add_output(graph: Graph, catalog: Catalog, port: Port, name: str = "") -> Graph:
    """Make a node's output an output of the graph, named after its kind where no name is given."""
    usual = kind_name(port_kind(graph, catalog, port))
    return set_output(graph, name or free_id(graph, usual), port)


def kind_name(kind: PortKind) -> str:
    """What a batch of a kind is called: ``images``."""
    plural = {"image": "images", "label": "labels", "mask": "masks", "number": "numbers"}
    return "values" if kind == "any" else plural.get(kind, kind)
