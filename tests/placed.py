"""Every usable operator in a graph that runs, fed as the catalogue says."""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog import OpSpec, load_catalog
from workbench.graph import Graph, Port
from workbench.graph.edit import new_node, start_graph
from workbench.graph.feed import feed_node

CATALOG = load_catalog()
USABLE = [op for op in CATALOG.values() if op.unusable is None]


def placed(op: OpSpec, **settings: object) -> tuple[Graph, str]:
    """Reader, decoder and the operator, all that it gives given out; and the node's id.

    What it needs comes from the nearest output that fits, or from the node that the catalogue
    names.
    """
    graph = start_graph(CATALOG)
    if op.name.startswith("readers.") or op.name == "decoders.image":
        node_id = "reader" if op.name.startswith("readers.") else "decode"
    else:
        node = new_node(graph, CATALOG, op.name)
        graph = replace(graph, nodes=(*graph.nodes, node))
        graph, node_id = feed_node(graph, CATALOG, node.id), node.id
    outputs = {f"out_{output.name}": Port(node_id, output.name) for output in op.outputs}
    changed = replace(graph.settings, **settings) if settings else graph.settings  # type: ignore[arg-type]
    return replace(graph, outputs=outputs, settings=changed), node_id
