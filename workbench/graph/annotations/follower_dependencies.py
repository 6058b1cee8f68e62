"""Connect followers to the geometric operators that their image passes through.

A follower is a node that transforms annotations with their image. It gets additional inputs, which
exist only in the graph that runs, so that changing a geometric operator changes the annotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.catalog.extra_operators import CARRIERS, FOLLOWERS
from workbench.catalog.spec import Catalog
from workbench.graph.annotations.followers import follows, path_of
from workbench.graph.annotations.geometry import GeometryPath, GeometryStep
from workbench.graph.annotations.sides import numbered_pairs
from workbench.graph.edits.edit import free_id
from workbench.graph.model import Graph, Node, Port
from workbench.graph.types.typed_graph import TypedGraph

_THROUGH = "through_"


def with_dependencies(graph: Graph, catalog: Catalog) -> Graph:
    """Return the graph with each follower connected to the geometric operators that it depends on.

    If the image passes through blocks, carrier nodes before and inside the blocks pass the
    annotations to the follower.
    """
    followers = [node for node in graph.walk() if follows(node)]
    if not followers:
        return graph
    for node in followers:
        own = TypedGraph(graph, catalog).at_scope(graph.scope_of(node.id))
        graph = through_blocks(graph, node, path_of(own, node))
    for node in graph.walk():
        if follows(node) or node.op in CARRIERS:
            own = TypedGraph(graph, catalog).at_scope(graph.scope_of(node.id))
            taking = _with_inputs(own, node)
            graph = graph if taking is node else graph.replace_node(taking)
    return graph


def without_dependencies(graph: Graph) -> Graph:
    """Return the graph in which annotation followers have only their declared inputs."""
    for node in graph.nodes:
        if follows(node):
            graph = graph.replace_node(replace(node, inputs=_own_inputs(node)))
    return graph


def _own_inputs(node: Node) -> dict[str, Port]:
    return {name: port for name, port in node.inputs.items() if not name.startswith(_THROUGH)}


def _with_inputs(typed: TypedGraph, node: Node) -> Node:
    path = path_of(typed, node)
    own = _own_inputs(node)
    known = set(own.values())
    more = [port for port in path.inputs if port not in known] if path else []
    inputs = own | {f"{_THROUGH}{index}": port for index, port in enumerate(more)}
    return node if inputs == node.inputs else replace(node, inputs=inputs)


_STATES: Mapping[str, tuple[str, ...]] = {
    "follow_boxes": ("corners",),
    "follow_points": ("at", "seen"),
    "follow_masks": ("moved",),
    "follow_classes": ("labels",),
}
"""Names of a carrier's outputs, by follower operator. Carriers are nodes that pass a follower's
annotations into and out of blocks (``catalog/extra_operators/carriers.toml``).
"""
_WARPED = ("map",)
"""Carrier outputs for masks whose path is one affine map. The map is applied after all blocks."""
_WARPED_AND_CUT = ("map", "seen")
CARRIED_INPUTS = frozenset({"corners", "at", "moved", *_WARPED_AND_CUT})
"""Names of the follower inputs that are connected to carrier nodes."""


def through_blocks(graph: Graph, node: Node, path: GeometryPath | None) -> Graph:
    """Add carrier nodes that pass a follower's annotations through the blocks on ``path``."""
    scope = graph.scope_of(node.id)
    name = FOLLOWERS[node.op].inputs[0].name
    if path is None or path.blocked or name not in node.inputs:
        return graph
    if not any(step.bodies for step in path.steps):
        return graph
    state = _STATES[node.op]
    if node.op == "follow_masks" and path.in_one_warp:
        state = _WARPED_AND_CUT if path.reuses_cropped_region else _WARPED
    start = {"moved" if state == ("moved",) else name: node.inputs[name]}
    start = {} if state[0] == "map" else start
    if node.op == "follow_boxes" and "labels" in node.inputs and numbered_pairs(node):
        state, start = (*state, "labels"), {**start, "labels": node.inputs["labels"]}
    if node.args.get("tight") and "vertices" in node.inputs:
        start = {**start, "vertices": node.inputs["vertices"]}
    carried = _Carried(graph, node, state)
    given, before = carried.through(scope, path, start, path.start)
    return carried.graph.replace_node(node.fed({**given, "before": before}))


class _Carried:
    """Adds the carrier nodes that pass one follower's annotations through blocks."""

    def __init__(self, graph: Graph, follower: Node, state: tuple[str, ...]) -> None:
        self.graph = graph
        self.follower = follower
        self.state = state

    def through(
        self, scope: str, path: GeometryPath, ports: Mapping[str, Port], before: Port
    ) -> tuple[Mapping[str, Port], Port]:
        """Add carrier nodes along a path; return their ports and the image after the last block."""
        pending = ports.keys() != set(self.state)
        for step in path.steps:
            if not step.bodies:
                pending = True
                continue
            if pending:
                ports = self.carrier(f"to_{step.node.id}", scope, ports, before, step.before)
            ports, before, pending = self.block(step, ports), step.after, False
        return ports, before

    def carrier(
        self, name: str, scope: str, ports: Mapping[str, Port], before: Port, image: Port
    ) -> Mapping[str, Port]:
        """Add a carrier node that transforms annotations from the image ``before`` to ``image``."""
        op = "carry_map" if self.state[0] == "map" else f"carry_{self.follower.op[7:]}"
        args = {n: v for n, v in self.follower.args.items() if n in CARRIERS[op].args}
        if op == "carry_map":
            args["cuts"] = "seen" in self.state
        inputs = {**ports, "image": image, "before": before}
        node = Node(free_id(self.graph, f"{name}_{self.follower.id}"), op, args, inputs)
        body = self.graph.body_at(scope)
        self.graph = self.graph.replace_body(scope, replace(body, nodes=(*body.nodes, node)))
        return {name: Port(node.id, name) for name in self.state}

    def block(self, step: GeometryStep, ports: Mapping[str, Port]) -> Mapping[str, Port]:
        """Pass the annotations through a block; return the block's new outputs by name."""
        names = {name: f"{self.follower.id}_{name}" for name in self.state}
        for body_name, path in step.bodies.items():
            scope = step.node.scope(body_name)
            taken = {name: Port(scope, names[name]) for name in self.state}
            ends, before = self.through(scope, path, taken, path.start)
            if path.steps and not path.steps[-1].bodies:
                image = self.graph.body_at(scope).outputs[step.after.output]
                ends = self.carrier(scope.replace(".", "_"), scope, ends, before, image)
            body = self.graph.body_at(scope)
            outputs = {**body.outputs, **{names[name]: ends[name] for name in self.state}}
            body = replace(body, outputs=outputs, inputs=(*body.inputs, *names.values()))
            self.graph = self.graph.replace_body(scope, body)
        block = self.graph.node(step.node.id)
        inputs = {**block.inputs, **{names[name]: ports[name] for name in self.state}}
        self.graph = self.graph.replace_node(replace(block, inputs=inputs))
        return {name: Port(block.id, names[name]) for name in self.state}
