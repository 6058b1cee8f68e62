"""Copy and paste parts of a graph as text, within a notebook or between notebooks.

The text is a graph file, so a whole graph can be pasted too. Pasting does not run anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError, GraphFormatError
from workbench.graph.edits.edit import free_id, free_seed, renamed_nodes
from workbench.graph.model import Graph, Node, Port, block_of
from workbench.graph.storage.io import dump_graph, load_graph
from workbench.graph.types.devices import port_kind


def copy_fragment(graph: Graph, nodes: Collection[str]) -> str:
    """Return nodes as text, with their edges, outputs, and generators without other consumers."""
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
    """Return the ids of the nodes and of all generators that feed only these nodes."""
    wanted = set(nodes)
    fed: dict[str, set[str]] = {}
    for edge in graph.edges:
        fed.setdefault(edge.source.node, set()).add(edge.target)
    random = {node.id for node in graph.nodes if node.op.startswith("random.")}
    return wanted | {node for node, targets in fed.items() if node in random and targets <= wanted}


def with_own_generators(graph: Graph, nodes: Collection[str]) -> set[str]:
    """Return the same ids as ``with_generators``, except generators that are graph outputs."""
    given = {port.node for port in graph.outputs.values()} - set(nodes)
    return with_generators(graph, nodes) - given


def paste_fragment(graph: Graph, text: str, scope: str = "") -> tuple[Graph, tuple[str, ...]]:
    """Paste the nodes of a text into the body ``scope``. They get unused ids and new seeds.

    If the graph has no outputs, the outputs in the text are added too. Returns the graph and the
    new ids. Operators that this DALI version lacks are pasted unchanged. Raises GraphFormatError if
    the text is not a graph.
    """
    part = load_graph(text)
    if not part.nodes:
        raise GraphFormatError("The text contains no nodes. Copy some nodes first.")
    if scope and part.sources:
        raise GraphEditError(
            f"{part.sources[0].id!r} is a reader, which cannot be inside a block. Paste it next "
            f"to {block_of(scope)!r}, and connect its outputs to the block."
        )
    graph, renamed = add_nodes(graph.at_scope(scope), part)
    return graph.whole, tuple(renamed.values())


def add_nodes(graph: Graph, part: Graph) -> tuple[Graph, dict[str, str]]:
    """Add the nodes of ``part`` with unused ids and seeds.

    Returns the graph and a mapping from old to new ids.
    """
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
    """Return the scope of the nodes. Raises GraphEditError if they are in different bodies."""
    scopes = {graph.scope_of(node) for node in nodes} or {""}
    if len(scopes) > 1:
        raise GraphEditError("These nodes are in several bodies. Select nodes of one body.")
    return scopes.pop()


def duplicate(
    graph: Graph, catalog: Catalog, nodes: Collection[str]
) -> tuple[Graph, tuple[str, ...]]:
    """Duplicate nodes. A copy of a chain with one input and one output is inserted after the chain.

    Other copies have the same sources as the originals. Returns the graph and the new ids.
    """
    part = load_graph(copy_fragment(graph, nodes))
    graph = graph.at_scope(common_scope(graph, nodes))
    copied, renamed = add_nodes(graph, part)
    ends = _single_input_and_output(graph, catalog, renamed)
    for old, new in renamed.items():
        outer = {k: p for k, p in graph.node(old).inputs.items() if p.node not in renamed}
        if ends is not None:
            outer = {k: ends[1] if p == ends[0] else p for k, p in outer.items()}
        node = copied.node(new)
        copied = copied.replace_node(replace(node, inputs={**outer, **node.inputs}))
    if ends is not None:
        copied = _routed_through_copy(copied, ends[1], renamed)
    return copied.whole, tuple(renamed.values())


def _single_input_and_output(
    graph: Graph, catalog: Catalog, nodes: Collection[str]
) -> tuple[Port, Port] | None:
    """Return the only input port and the only output port of the nodes.

    Returns None if there are more or fewer, or if the two ports are of different kinds.
    """
    entering, leaving = set(), {port for port in graph.outputs.values() if port.node in nodes}
    for edge in graph.edges:
        inside = edge.source.node in nodes, edge.target in nodes
        spec = catalog.find(graph.node(edge.target).op)
        if inside == (True, False):
            leaving.add(edge.source)
        elif inside == (False, True) and (spec is None or edge.input not in spec.args):
            entering.add(edge.source)
    if len(entering) != 1 or len(leaving) != 1:
        return None
    source, given = entering.pop(), leaving.pop()
    kinds = {port_kind(graph, catalog, port) for port in (source, given)}
    return (source, given) if len(kinds) == 1 else None


def _routed_through_copy(graph: Graph, original: Port, renamed: Mapping[str, str]) -> Graph:
    """Connect the consumers of ``original`` to its copy, and move copies after the originals."""
    twin = Port(renamed[original.node], original.output)
    own = {*renamed, *renamed.values()}
    nodes = [
        node
        if node.id in own
        else replace(node, inputs={k: twin if p == original else p for k, p in node.inputs.items()})
        for node in graph.nodes
    ]
    copies = [node for node in nodes if node.id in renamed.values()]
    rest = [node for node in nodes if node.id not in renamed.values()]
    at = max(place for place, node in enumerate(rest, start=1) if node.id in renamed)
    outputs = {name: twin if port == original else port for name, port in graph.outputs.items()}
    return replace(graph, nodes=(*rest[:at], *copies, *rest[at:]), outputs=outputs)
