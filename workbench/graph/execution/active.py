"""Compute the active part of a graph, which has no muted and no loose nodes.

A muted node remains in the file and on the canvas; ``remove_nodes`` removes it from the active
graph. A loose node is a node that no output of the graph, or of its body, depends on.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.graph.annotations.follower_dependencies import with_dependencies
from workbench.graph.annotations.followers import follows, path_of
from workbench.graph.edits.compose import remove_nodes
from workbench.graph.edits.edit import free_id
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.frozen_dict import FrozenDict
from workbench.graph.model.node_order import topological
from workbench.graph.model.ports import output_ports
from workbench.graph.types.typed_graph import TypedGraph


def active_graph(graph: Graph, catalog: Catalog) -> Graph:
    """Return the part of a graph that is run, exported and measured.

    If the whole graph is active, the same object is returned. If nothing can replace the output of
    a muted node, the result has a fault: an output without a source, or an unconnected input.
    """
    return with_dependencies(without_loose(without_muted(graph, catalog)), catalog)


def with_step_followers(graph: Graph, catalog: Catalog) -> Graph:
    """Return the active part of the graph, with annotation followers for every intermediate image.

    The added followers are only for previews of single steps, and no output depends on them. None
    are added after a block, because they would make the block run again.
    """
    graph = without_loose(without_muted(graph, catalog))
    made: dict[tuple[str, str], str] = {}
    for node in graph.nodes:
        path = path_of(TypedGraph(graph, catalog), node) if follows(node) else None
        if path is None or path.blocked or node.op in ("follow_labels", "follow_classes"):
            continue
        for step in path.steps[:-1]:
            if step.bodies:
                break
            name = free_id(graph, f"{node.id}_on_{step.node.id}")
            own = {k: port for k, port in node.inputs.items() if k not in ("polygons", "places")}
            args = {arg: value for arg, value in node.args.items() if arg != "covered"}
            between = replace(node, id=name, args=args, inputs={**own, "image": step.after})
            graph = replace(graph, nodes=(*graph.nodes, between))
            made[node.id, step.node.id] = name
    for (follower, step_id), name in made.items():
        given = graph.node(follower).inputs
        boxes = made.get((given["places"].node, step_id)) if "places" in given else None
        if boxes:  # key points are removed with the boxes of the same step
            bound = {"polygons": given["polygons"], "places": Port(boxes, "places")}
            graph = graph.replace_node(graph.node(name).fed(bound))
    return with_dependencies(graph, catalog)


def without_muted(graph: Graph, catalog: Catalog) -> Graph:
    """Return the graph without muted nodes. Outputs whose source was removed remain listed."""
    muted = muted_nodes(graph)
    if not muted:
        return graph
    bypassed = remove_nodes(graph, catalog, muted)
    return _with_lost_outputs(graph, bypassed)


def without_loose(graph: Graph) -> Graph:
    """Return the graph without nodes on which no output depends (loose nodes).

    If no output depends on a source, all sources are preserved.
    """
    nodes = _needed_nodes(graph.nodes, graph.outputs.values())
    if graph.sources and not any(isinstance(node, Source) for node in nodes):
        nodes = (*graph.sources, *nodes)
    return graph if nodes == graph.nodes else replace(graph, nodes=nodes)


def muted_nodes(graph: Graph) -> tuple[str, ...]:
    """Return the ids of the muted nodes, including nodes inside blocks."""
    return tuple(node.id for node in graph.walk() if node.muted)


def unused_nodes(graph: Graph) -> frozenset[str]:
    """Return the ids of nodes that no output depends on, excluding nodes inside unused blocks."""
    left = without_loose(graph)
    if left is graph:
        return frozenset()
    return frozenset(
        node.id
        for scope, body in graph.bodies()
        if _has_body(left, scope)
        for node in body.nodes
        if not left.has(node.id)
    )


def with_loose_outputs(
    active: Graph, graph: Graph, catalog: Catalog, faulty: Collection[str]
) -> Graph:
    """Add the nodes of ``graph`` that no output depends on to its active part, as outputs.

    The result is used to preview single nodes. It excludes readers, and muted and ``faulty`` nodes
    with their consumers. ``active`` is returned unchanged if there are no such nodes.
    """
    for node in topological(graph)[0]:
        spec = catalog.find(node.op)
        inside = {each.id for each in Graph(nodes=(node,)).walk()}
        stays = active.has(node.id) or node.muted or isinstance(node, Source) or spec is None
        if stays or not inside.isdisjoint(faulty):
            continue
        if spec is not None and all(active.has(port.node) for port in node.inputs.values()):
            outputs = {f"{port.node} {port.output}": port for port in output_ports(node, spec)}
            nodes = (*active.nodes, node)
            active = replace(active, nodes=nodes, outputs={**active.outputs, **outputs})
    return active


def set_muted(graph: Graph, nodes: Collection[str], muted: bool) -> Graph:
    """Mute or unmute nodes. Raises GraphEditError for an unknown id."""
    for node_id in nodes:
        graph = graph.replace_node(replace(graph.node(node_id), muted=muted))
    return graph


def _has_body(graph: Graph, scope: str) -> bool:
    block, _, name = scope.rpartition(".")
    return not scope or (graph.has(block) and name in graph.node(block).bodies)


def _needed_nodes(nodes: tuple[Node, ...], outputs: Collection[Port]) -> tuple[Node, ...]:
    """Return the nodes that the outputs depend on, or all nodes if there are no outputs.

    Unneeded nodes inside blocks are removed too.
    """
    by_id = {node.id: node for node in nodes}
    found: set[str] = set()
    waiting = [port.node for port in outputs]
    while waiting:
        node_id = waiting.pop()
        if node_id in by_id and node_id not in found:
            found.add(node_id)
            waiting += [port.node for port in by_id[node_id].inputs.values()]
    if not found:  # no outputs, which is a fault of its own
        found = set(by_id) if not _passes_inputs_through(nodes, outputs) else found
    return tuple(_reached_inside(node) for node in nodes if node.id in found)


def _passes_inputs_through(nodes: Collection[Node], outputs: Collection[Port]) -> bool:
    """Return whether a body outputs only its own inputs, so that its nodes are not needed."""
    return bool(outputs) and all("." in port.node for port in outputs)


def _reached_inside(node: Node) -> Node:
    if not node.bodies:
        return node
    bodies = {
        name: replace(body, nodes=_needed_nodes(body.nodes, body.outputs.values()))
        for name, body in node.bodies.items()
    }
    return replace(node, bodies=bodies)


def _with_lost_outputs(graph: Graph, bypassed: Graph) -> Graph:
    """Restore outputs that ``bypassed`` lacks, so that their missing sources are reported."""
    for scope, body in graph.bodies():
        if not _has_body(bypassed, scope):
            continue
        left = bypassed.body_at(scope)
        if body.outputs.keys() != left.outputs.keys():
            outputs = {name: left.outputs.get(name, port) for name, port in body.outputs.items()}
            bypassed = bypassed.replace_body(scope, replace(left, outputs=FrozenDict(outputs)))
    return bypassed
