"""Find sources for unconnected inputs: the nearest suitable output, or a new node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.catalog.spec import Catalog, Feed, OpSpec, PortKind, kind_fits
from workbench.graph.edits.edit import new_node, ports_at, scoped
from workbench.graph.execution.dataset_parameters import derived_arguments
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import output_ports
from workbench.graph.types.devices import port_kind


def unfed(node: Node, spec: OpSpec) -> list[str]:
    """Return the names of a node's required inputs and arguments that are not set."""
    ports = [p.name for p in spec.inputs if not p.optional and p.name not in node.inputs]
    given = node.args.keys() | node.inputs.keys() | derived_arguments(node)
    return ports + [a.name for a in spec.args.values() if a.required and a.name not in given]


@scoped("node_id")
def feed_node(graph: Graph, catalog: Catalog, node_id: str) -> Graph:
    """Connect required inputs to the node that the catalogue suggests, or to the nearest port.

    Inputs without a suitable source remain unconnected.
    """
    return _fed(graph, catalog, node_id, beside=graph.node(node_id))


def _fed(graph: Graph, catalog: Catalog, node_id: str, beside: Node) -> Graph:
    for into in unfed(graph.node(node_id), catalog[graph.node(node_id).op]):
        made = feed_from_new(graph, catalog, node_id, into)
        if made is None:
            ports = fitting_ports(graph, catalog, node_id, into, beside)
            source = next(ports, None)
            made = graph if source is None else feed_input(graph, catalog, source, node_id, into)
        graph = made
    return graph


def feed_of(spec: OpSpec, into: str) -> Feed | None:
    """Return the source that the catalogue suggests for an input or argument, if there is one."""
    if into in spec.args:
        return spec.args[into].feed
    return next((port.feed for port in spec.inputs if port.name == into), None)


def feed_from_new(graph: Graph, catalog: Catalog, node_id: str, into: str) -> Graph | None:
    """Add and connect the node that the catalogue suggests as the source of an input.

    Returns None if the catalogue has no suggestion.
    """
    node = graph.node(node_id)
    feed = feed_of(catalog[node.op], into)
    if feed is None:
        return None
    source = new_node(graph, catalog, feed.op)
    source = source.with_args(feed.args)
    grown = graph.substitute(node_id, source, node)
    grown = _fed(grown, catalog, source.id, beside=node)
    return feed_input(grown, catalog, Port(source.id, feed.output), node_id, into)


def fitting_ports(
    graph: Graph, catalog: Catalog, node_id: str, into: str, beside: Node | None = None
) -> Iterator[Port]:
    """Yield the ports of the right kind for an input, nearest first. Yield none for an argument.

    Sources of the node ``beside`` (by default the node itself) come first.
    """
    node = graph.node(node_id)
    spec = catalog[node.op]
    want = next((port.kind for port in spec.inputs if port.name == into), None)
    if want is None:
        return
    near = [p for name, p in (beside or node).inputs.items() if name not in spec.args]
    at = graph.nodes.index(node)
    for other in (*reversed(graph.nodes[:at]), *graph.nodes[at + 1 :]):
        near += output_ports(other, catalog.find(other.op))
    if graph.scope:
        near += ports_at(graph, catalog, graph.scope)
    for port in dict.fromkeys(near):
        fits = kind_fits(want, port_kind(graph, catalog, port)) and graph.owns(port)
        if (
            fits
            and _is_sensible(want, graph, catalog, port)
            and node_id not in ancestors(graph, [port])
        ):
            yield port


def _is_sensible(want: PortKind, graph: Graph, catalog: Catalog, port: Port) -> bool:
    """Return whether to suggest a port. Encoded data are suggested only for encoded inputs."""
    return want == "encoded" or port_kind(graph, catalog, port) != "encoded"


def feed_input(graph: Graph, catalog: Catalog, source: Port, node_id: str, into: str) -> Graph:
    """Connect a port to an input or argument, and remove conflicting arguments.

    The inputs stay in the order of the operator's ports.
    """
    node = graph.node(node_id)
    spec = catalog[node.op]
    removed = {into} | spec.conflicts_with(into)
    fed = node.without(removed).fed({into: source})
    order = [port.name for port in spec.inputs]
    places = {name: order.index(name) if name in order else len(order) for name in fed.inputs}
    inputs = dict(sorted(fed.inputs.items(), key=lambda item: places[item[0]]))
    return graph.replace_node(replace(fed, inputs=inputs))
