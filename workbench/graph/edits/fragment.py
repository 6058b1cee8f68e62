"""Part of a graph as text: cut out, copied, pasted into the same or another notebook.

The text is a graph file, so a whole graph can be pasted too. Pasting runs nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from workbench.errors import GraphEditError, GraphFormatError
from workbench.graph.edits.edit import free_id, free_seed, renamed_nodes
from workbench.graph.model import Graph, Node, Port, block_of
from workbench.graph.storage.io import dump_graph, load_graph


def copy_fragment(graph: Graph, nodes: Collection[str]) -> str:
    """The nodes, the edges between them, their outputs, and the generators that feed only them."""
    graph = graph.at_scope(common_scope(graph, nodes))
    wanted = with_generators(graph, nodes)
    part = replace(
        graph,
        enclosing=None,
        outputs={name: port for name, port in graph.outputs.items() if port.node in wanted},
        nodes=tuple(
            replace(n, inputs={k: p for k, p in n.inputs.items() if p.node in wanted})
            for n in graph.nodes
            if n.id in wanted
        ),
    )
    return dump_graph(part)


def with_generators(graph: Graph, nodes: Collection[str]) -> set[str]:
    """The nodes, and the generators that feed only them."""
    wanted = set(nodes)
    fed: dict[str, set[str]] = {}
    for edge in graph.edges:
        fed.setdefault(edge.source.node, set()).add(edge.target)
    drawn = {node.id for node in graph.nodes if node.op.startswith("random.")}
    return wanted | {node for node, targets in fed.items() if node in drawn and targets <= wanted}


def with_own_generators(graph: Graph, nodes: Collection[str]) -> set[str]:
    """The nodes, and the generators that feed only them and are not given out: these can move."""
    given = {port.node for port in graph.outputs.values()} - set(nodes)
    return with_generators(graph, nodes) - given


def paste_fragment(graph: Graph, text: str, scope: str = "") -> tuple[Graph, tuple[str, ...]]:
    """Add the nodes of a text under free ids and with draws of their own, into the body ``scope``.

    Into a graph that gives nothing out, the outputs come along. Returns the graph and the new ids.
    Operators that this DALI lacks come along as they are. Raises GraphFormatError for a text that
    is no graph.
    """
    part = load_graph(text)
    if not part.nodes:
        raise GraphFormatError("The text holds no nodes: there is nothing to paste.")
    if scope and part.sources:
        raise GraphEditError(
            f"{part.sources[0].id} reads, and a reader stands outside all blocks. Paste it beside "
            f"{block_of(scope)}, and lead what it reads in."
        )
    graph, renamed = add_nodes(graph.at_scope(scope), part)
    return graph.whole, tuple(renamed.values())


def add_nodes(graph: Graph, part: Graph) -> tuple[Graph, dict[str, str]]:
    """The graph with another's nodes, under free ids and with free seeds, and each new id."""
    keep_outputs = not graph.outputs
    taken = graph
    renamed: dict[str, str] = {}
    seeds: dict[str, int] = {}
    for node in part.walk():
        new_id = renamed[node.id] = free_id(taken, node.id)
        if node.seed is not None:
            seeds[new_id] = free_seed(taken)
        fresh = Node(new_id, node.op, seed=seeds.get(new_id))
        taken = replace(taken, nodes=(*taken.nodes, fresh))
    known = {node.id for node in part.nodes}
    own = tuple(
        replace(node, inputs={k: p for k, p in node.inputs.items() if p.node in known})
        for node in part.nodes
    )
    added = _reseeded(renamed_nodes(own, renamed), seeds)
    graph = replace(graph, nodes=(*graph.nodes, *added))
    renamed = {node.id: renamed[node.id] for node in part.nodes}
    if keep_outputs:
        outputs = {
            name: Port(renamed[port.node], port.output)
            for name, port in part.outputs.items()
            if port.node in renamed and not graph.has(name)
        }
        graph = replace(graph, outputs=outputs)
    return graph, renamed


def _reseeded(nodes: Sequence[Node], seeds: Mapping[str, int]) -> tuple[Node, ...]:
    return tuple(
        replace(
            node,
            seed=seeds.get(node.id),
            bodies={
                name: replace(body, nodes=_reseeded(body.nodes, seeds))
                for name, body in node.bodies.items()
            },
        )
        for node in nodes
    )


def common_scope(graph: Graph, nodes: Collection[str]) -> str:
    """The scope in which the nodes stand. Raises GraphEditError where they stand in several."""
    scopes = {graph.scope_of(node) for node in nodes} or {""}
    if len(scopes) > 1:
        raise GraphEditError("These nodes stand in several bodies. Choose nodes of one.")
    return scopes.pop()


def duplicate(graph: Graph, nodes: Collection[str]) -> tuple[Graph, tuple[str, ...]]:
    """Copies of the nodes beside them, fed by what feeds the originals.

    Returns the graph and the new ids.
    """
    part = load_graph(copy_fragment(graph, nodes))
    graph = graph.at_scope(common_scope(graph, nodes))
    copied, renamed = add_nodes(graph, part)
    for old, new in renamed.items():
        outer = {k: p for k, p in graph.node(old).inputs.items() if p.node not in renamed}
        node = copied.node(new)
        copied = copied.replace_node(replace(node, inputs={**outer, **node.inputs}))
    return copied.whole, tuple(renamed.values())
