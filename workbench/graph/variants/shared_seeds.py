"""Two graphs on the same photos and draws."""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.graph.edits.edit import free_seed
from workbench.graph.model import Graph, Node
from workbench.graph.variants.difference import with_ids_of


def with_seeds_of(graph: Graph, leading: Graph) -> Graph:
    """The graph with seed and batch size of another, and the seeds of the nodes that are in both.

    A node's draws depend on the graph's seed, its own, the batch and the batch size, and on no
    other node: so those in both draw the same. Nodes are the same where id and operator are. A node
    of ``graph`` alone whose seed one of those in both has gets another: else they would draw the
    same numbers.
    """
    settings = replace(
        graph.settings, seed=leading.settings.seed, batch_size=leading.settings.batch_size
    )
    paired = {node.id: leading.node(node.id).seed for node in graph.walk() if _has(leading, node)}
    taken = {seed for seed in paired.values() if seed is not None}
    made = replace(graph, settings=settings) if settings != graph.settings else graph
    for node_id, seed in paired.items():
        if made.node(node_id).seed != seed:
            made = made.replace_node(replace(made.node(node_id), seed=seed))
    for node in graph.walk():
        if node.id not in paired and node.seed in taken:
            made = made.replace_node(replace(made.node(node.id), seed=free_seed(made)))
    return made


def differing_random_nodes(one: Graph, other: Graph, catalog: Catalog) -> tuple[str, ...]:
    """Ids of the nodes that draw and are in one of the graphs only, or are another operator.

    One that has another id only draws alike.
    """
    one = with_ids_of(one, other)
    apart = [node.id for node in one.walk() if _draws(node, catalog) and not _has(other, node)]
    apart += [node.id for node in other.walk() if _draws(node, catalog) and not _has(one, node)]
    return tuple(dict.fromkeys(apart))


def _has(graph: Graph, node: Node) -> bool:
    return graph.has(node.id) and graph.node(node.id).op == node.op


def _draws(node: Node, catalog: Catalog) -> bool:
    spec = catalog.find(node.op)
    return spec is not None and spec.seeded and not spec.reads
