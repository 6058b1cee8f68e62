"""Other names for nodes and outputs: both become variables in the exported code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.errors import GraphEditError
from workbench.graph.model import Graph, Node, Port, is_name
from workbench.graph.model.scoped import scoped

LONGEST = 80


@scoped("old")
def rename_node(graph: Graph, old: str, new: str) -> Graph:
    """Give a node another id. Raises GraphEditError for one that is taken or no Python name."""
    graph.node(old)
    _require_free(graph, new)
    nodes = renamed_nodes(graph.nodes, {old: new})
    return replace(graph, nodes=nodes, outputs=renamed_ports(graph.outputs, {old: new}))


def renamed_nodes(nodes: Sequence[Node], names: Mapping[str, str]) -> tuple[Node, ...]:
    """Nodes with other ids, old -> new, also those inside blocks and wherever ids are named."""
    return tuple(
        replace(
            node,
            id=names.get(node.id, node.id),
            inputs=renamed_ports(node.inputs, names),
            bodies={
                name: replace(
                    body,
                    nodes=renamed_nodes(body.nodes, names),
                    outputs=renamed_ports(body.outputs, names),
                )
                for name, body in node.bodies.items()
            },
        )
        for node in nodes
    )


def renamed_ports(ports: Mapping[str, Port], names: Mapping[str, str]) -> dict[str, Port]:
    """Ports of nodes and scopes, with the nodes' other ids."""

    def renamed(place: str) -> str:
        block, dot, body = place.rpartition(".")
        return f"{names.get(block, block)}.{body}" if dot else names.get(place, place)

    return {key: Port(renamed(port.node), port.output) for key, port in ports.items()}


def rename_output(graph: Graph, old: str, new: str) -> Graph:
    """Give an output of the graph another name, in the same place."""
    if old not in graph.outputs:
        raise GraphEditError(f"The graph has no output {old!r}.")
    _require_free(graph, new)
    outputs = {new if name == old else name: port for name, port in graph.outputs.items()}
    return replace(graph, outputs=outputs)


def _require_free(graph: Graph, name: str) -> None:
    if len(name) > LONGEST:
        raise GraphEditError(f"A name of {len(name)} characters is too long; {LONGEST} will do.")
    if not is_name(name):
        raise GraphEditError(
            f"{name[:60]!r} is not a Python name. Use letters, digits and '_', no digit first."
        )
    if graph.whole.has(name) or name in graph.outputs:
        raise GraphEditError(f"{name!r} is taken. Names of nodes and outputs are used once.")
