"""What of a graph leads to some of its ports, also inside regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workbench.catalog.own_operators.regions import REGIONS
from workbench.graph.model import Body, Node, Port, Source
from workbench.graph.model.node_order import running_order


def needed_nodes(nodes: Sequence[Node], wanted: set[Port]) -> tuple[Node, ...]:
    """The nodes that lead to some ports; of regions what of their bodies does."""
    kept: dict[str, Node] = {}
    for node in reversed(running_order(tuple(nodes))[0]):
        used = {port.output for port in wanted if port.node == node.id}
        if not used and not isinstance(node, Source):
            continue
        kept[node.id] = _without_unused(node, used) if node.bodies else node
        wanted = wanted | set(kept[node.id].inputs.values())
    return tuple(kept[node.id] for node in nodes if node.id in kept)


def _without_unused(region: Node, used: set[str]) -> Node:
    bodies: dict[str, Body] = {}
    while True:
        taken: set[str] = set()
        for name, body in region.bodies.items():
            scope = region.scope(name)
            outputs = {out: port for out, port in body.outputs.items() if out in used}
            nodes = needed_nodes(body.nodes, set(outputs.values()))
            fed = [port for node in nodes for port in node.inputs.values()]
            own = {port.output for port in (*fed, *outputs.values()) if port.node == scope}
            takes = tuple(each for each in body.inputs if each in own)
            bodies[name] = replace(body, nodes=nodes, outputs=outputs, inputs=takes)
            taken |= own
        more = {name for body in region.bodies.values() for name in body.outputs} & taken - used
        if not (more and REGIONS[region.op].consecutive):
            break
        used = used | more
    every = {name for body in region.bodies.values() for name in body.inputs}
    gone = every - taken - used
    inputs = {name: port for name, port in region.inputs.items() if name not in gone}
    return replace(region, bodies=bodies, inputs=inputs)
