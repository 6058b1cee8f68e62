"""Taking nodes out, with the chain healed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from workbench.catalog.spec import Catalog, kind_fits
from workbench.graph.edits.connect import connection_refusal
from workbench.graph.edits.edit import reset_arg, without_idle_generators
from workbench.graph.model import Edge, Graph, Node, Port
from workbench.graph.model.scoped import scoped
from workbench.graph.types.devices import port_kind
from workbench.graph.types.typed_graph import TypedGraph


def remove_nodes(graph: Graph, catalog: Catalog, ids: Collection[str]) -> Graph:
    """Take nodes out and join what fed them to what they fed, where that is no new fault.

    Generators that fed only them go too. An output that nothing can give any more goes as well.
    Raises GraphEditError for an id that the graph does not have.
    """
    nodes = [graph.node(node_id) for node_id in ids]
    for node_id in (node.id for node in nodes):
        if graph.whole.has(node_id):  # else a generator that went with its node
            graph = _removed(graph, catalog, node_id)
    return graph


@scoped("node_id")
def _removed(graph: Graph, catalog: Catalog, node_id: str) -> Graph:
    node = graph.node(node_id)
    graph = bypass_node(graph, catalog, node)
    rest = tuple(other for other in graph.nodes if other.id != node_id)
    return without_idle_generators(replace(graph, nodes=rest), catalog, node)


def bypass_node(graph: Graph, catalog: Catalog, node: Node) -> Graph:
    """The graph in which ``node`` feeds nothing: what it fed is fed by what feeds it."""
    feeding = _feeding(graph, catalog, node)
    for edge in graph.consumers(node.id):
        graph = _joined(graph, catalog, edge, _passing_first(node, edge.source.output, feeding))
    outputs = {}
    for name, port in graph.outputs.items():
        source: Port | None = port
        if port.node == node.id:
            passing = _passing_first(node, port.output, feeding)
            source = _replacement(graph, catalog, port, passing)
        if source is not None:
            outputs[name] = source
    return replace(graph, outputs=outputs)


def _feeding(graph: Graph, catalog: Catalog, node: Node) -> dict[str, Port]:
    """By input what a node works on: not what feeds an argument, or decides in a block."""
    spec = catalog.find(node.op)
    others = {*spec.args, *(port.name for port in spec.inputs if node.bodies)} if spec else set()
    return {
        name: port for name, port in node.inputs.items() if name not in others and graph.gives(port)
    }


def _passing_first(node: Node, output: str, feeding: Mapping[str, Port]) -> list[Port]:
    """What feeds a node, first that which a body of a block passes on as this output."""
    passed = [
        port.output
        for name, body in node.bodies.items()
        if (port := body.outputs.get(output)) is not None and port.node == node.scope(name)
    ]
    names = [name for name in (*passed, output) if node.bodies and name in feeding]
    return list(dict.fromkeys(feeding[name] for name in (*names, *feeding)))


def _joined(graph: Graph, catalog: Catalog, edge: Edge, feeding: Sequence[Port]) -> Graph:
    target = graph.node(edge.target)
    spec = catalog.find(target.op)
    argument = spec is not None and edge.input in spec.args
    given = port_kind(graph, catalog, edge.source)
    others = {name: port for name, port in target.inputs.items() if name != edge.input}
    cut = graph.replace_node(replace(target, inputs=others))
    typed = TypedGraph(cut, catalog)
    for port in feeding:
        # an edge that was refused already stays so: what fed it gets no better by another node
        same = not argument and port_kind(graph, catalog, port) == given
        if spec is None or same or connection_refusal(typed, port, target.id, edge.input) is None:
            return graph.replace_node(target.fed({edge.input: port}))
    return reset_arg(graph, catalog, target.id, edge.input) if argument else cut


def _replacement(
    graph: Graph, catalog: Catalog, gone: Port, feeding: Sequence[Port]
) -> Port | None:
    """What can stand in an output's place: a port of its kind, else an image, which is seen."""
    wanted = port_kind(graph, catalog, gone)
    kinds = {port: port_kind(graph, catalog, port) for port in feeding}
    fitting = [port for port, kind in kinds.items() if kind_fits(wanted, kind)]
    images = [port for port, kind in kinds.items() if kind == "image"]
    return next(iter(fitting + images), None)
