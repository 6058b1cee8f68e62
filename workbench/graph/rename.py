"""Other names for nodes and outputs: both become variables in the exported code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.errors import GraphEditError
from workbench.graph.model import Graph, Port, is_name

LONGEST = 80


def rename_node(graph: Graph, old: str, new: str) -> Graph:
    """Give a node another id. Raises GraphEditError for one that is taken or no Python name."""
    graph.node(old)
    _require_free(graph, new)

    def moved(ports: Mapping[str, Port]) -> dict[str, Port]:
        return {k: Port(new, p.output) if p.node == old else p for k, p in ports.items()}

    nodes = tuple(
        replace(node, id=new if node.id == old else node.id, inputs=moved(node.inputs))
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes, outputs=moved(graph.outputs))


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
    if graph.has(name) or name in graph.outputs:
        raise GraphEditError(f"{name!r} is taken. Names of nodes and outputs are used once.")
