"""Taking nodes out, with the chain healed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from workbench.catalog.spec import Catalog, kind_fits
from workbench.graph.connect import refusal
from workbench.graph.devices import port_kind
from workbench.graph.edit import reset_arg, without_idle_generators
from workbench.graph.model import Edge, Graph, Node, Port
from workbench.graph.scoped import scoped


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
    graph = heal_around(graph, catalog, node)
    rest = tuple(other for other in graph.nodes if other.id != node_id)
    return without_idle_generators(replace(graph, nodes=rest), catalog, node)


def heal_around(graph: Graph, catalog: Catalog, node: Node) -> Graph:
    """The graph in which ``node`` feeds nothing: what it fed is fed by what feeds it."""
    spec = catalog.find(node.op)
    feeding = [
        port
        for name, port in node.inputs.items()
        if (spec is None or name not in spec.args) and graph.gives(port)
    ]
    for edge in graph.consumers(node.id):
        graph = _joined(graph, catalog, edge, feeding)
    outputs = {}
    for name, port in graph.outputs.items():
        source: Port | None = port
        if port.node == node.id:
            source = _replacement(graph, catalog, port, feeding)
        if source is not None:
            outputs[name] = source
    return replace(graph, outputs=outputs)


def _joined(graph: Graph, catalog: Catalog, edge: Edge, feeding: list[Port]) -> Graph:
    target = graph.node(edge.target)
    spec = catalog.find(target.op)
    argument = spec is not None and edge.input in spec.args
    given = port_kind(graph, catalog, edge.source)
    others = {name: port for name, port in target.inputs.items() if name != edge.input}
    cut = graph.replace_node(replace(target, inputs=others))
    for port in feeding:
        # an edge that was refused already stays so: what fed it gets no better by another node
        same = not argument and port_kind(graph, catalog, port) == given
        if spec is None or same or refusal(cut, catalog, port, target.id, edge.input) is None:
            return graph.replace_node(replace(target, inputs={**target.inputs, edge.input: port}))
    return reset_arg(graph, catalog, target.id, edge.input) if argument else cut


def _replacement(graph: Graph, catalog: Catalog, gone: Port, feeding: list[Port]) -> Port | None:
    """What can stand in an output's place: a port of its kind, else an image, which is seen."""
    wanted = port_kind(graph, catalog, gone)
    kinds = {port: port_kind(graph, catalog, port) for port in feeding}
    fitting = [port for port, kind in kinds.items() if kind_fits(wanted, kind)]
    images = [port for port, kind in kinds.items() if kind == "image"]
    return next(iter(fitting + images), None)
