"""What remedies are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from workbench.catalog.spec import Catalog, Value
from workbench.graph.edits.remove import remove_nodes
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.faults import Fault


@dataclass(frozen=True, slots=True)
class Fix:
    """A remedy: what a button says, and the graph it leads to."""

    label: str
    graph: Graph


FixCandidate = tuple[str, Callable[[], Graph | None]]
"""A label, and what makes the graph; None where it turns out not to be possible."""


def removal(graph: Graph, catalog: Catalog, node_id: str) -> FixCandidate:
    """Take the node out and join what fed it to what it fed."""
    return f"Remove {node_id}", lambda: remove_nodes(graph, catalog, [node_id])


def with_arg(graph: Graph, node: Node, name: str, value: Value) -> Graph:
    """With a fixed value in the place of whatever gave the argument."""
    inputs = {key: port for key, port in node.inputs.items() if key != name}
    return graph.replace_node(replace(node, args={**node.args, name: value}, inputs=inputs))


def without_inputs(graph: Graph, node: Node, *names: str) -> Graph:
    """Without values and links of arguments and inputs."""
    return graph.replace_node(
        replace(
            node,
            args={key: value for key, value in node.args.items() if key not in names},
            inputs={key: port for key, port in node.inputs.items() if key not in names},
        )
    )


def with_node_between(
    graph: Graph, node: Node, into: str, new: Node, port: str, output: str
) -> Graph:
    """With a new node on the edge into ``into``, which enters it at ``port``."""
    placed = replace(new, inputs={port: node.inputs[into]})
    fed = replace(node, inputs={**node.inputs, into: Port(new.id, output)})
    nodes: list[Node] = []
    for other in graph.nodes:
        nodes += [placed, fed] if other is node else [other]
    return replace(graph, nodes=tuple(nodes))


def node_of(graph: Graph, fault: Fault) -> Node:
    """The node that a fault names."""
    return graph.node(fault.node)


def short_value_text(value: Value) -> str:
    """A value on a button: short, lists without brackets."""
    items = value if isinstance(value, tuple) else (value,)
    text = ", ".join(f"{i:g}" if isinstance(i, float) else str(i) for i in items)
    return text if len(text) <= 30 else text[:27] + "..."
