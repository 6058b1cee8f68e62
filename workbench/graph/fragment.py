"""Part of a graph as text: cut out, copied, pasted into the same or another notebook.

The text is a graph file without outputs, so a whole graph can be pasted too. Pasting runs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace

from workbench.errors import GraphFormatError
from workbench.graph.edit import free_id, free_seed
from workbench.graph.io import graph_to_json, load_graph
from workbench.graph.model import Graph, Port


def copy_fragment(graph: Graph, nodes: Collection[str]) -> str:
    """The nodes and the edges between them, with the generators that feed only them, as text."""
    wanted = set(nodes)
    for node in graph.nodes:
        fed = {edge.target for edge in graph.consumers(node.id)}
        if node.op.startswith("random.") and fed and fed <= wanted:
            wanted.add(node.id)
    part = replace(
        graph,
        outputs={},
        nodes=tuple(
            replace(n, inputs={k: p for k, p in n.inputs.items() if p.node in wanted})
            for n in graph.nodes
            if n.id in wanted
        ),
    )
    return json.dumps(graph_to_json(part), indent=2, ensure_ascii=False)


def paste_fragment(graph: Graph, text: str) -> tuple[Graph, tuple[str, ...]]:
    """Add the nodes of a text under free ids and with draws of their own.

    Returns the graph and the new ids. Operators that this DALI lacks come along as they are.
    Raises GraphFormatError for a text that is no graph.
    """
    part = load_graph(text)
    if not part.nodes:
        raise GraphFormatError("The text holds no nodes: there is nothing to paste.")
    renamed: dict[str, str] = {}
    for node in part.nodes:
        new_id = free_id(graph, node.id)
        renamed[node.id] = new_id
        seed = free_seed(graph) if node.seed is not None else None
        graph = replace(graph, nodes=(*graph.nodes, replace(node, id=new_id, seed=seed)))
    for new_id in renamed.values():
        node = graph.node(new_id)
        inputs = {
            k: Port(renamed[p.node], p.output) for k, p in node.inputs.items() if p.node in renamed
        }
        graph = graph.replace_node(replace(node, inputs=inputs))
    return graph, tuple(renamed.values())


def duplicate(graph: Graph, nodes: Collection[str]) -> tuple[Graph, tuple[str, ...]]:
    """Copy and paste in one step. Returns the graph and the new ids."""
    return paste_fragment(graph, copy_fragment(graph, nodes))
