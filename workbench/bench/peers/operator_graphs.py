"""One graph for each operator of a graph, behind the decoder, to be compared by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.node_order import ancestors, topological
from workbench.graph.model.ports import output_ports
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import image_outputs, is_decoder, is_generator

NOTHING = "nothing"
"""The graph that decodes, resizes and does nothing more: what the others are told from."""
DECODING = "decoding"
"""The one that only decodes: what operators that give images a size are told from."""
USUAL_SIZE = 256
"""Both sides of the images that an operator works on, unless it gives them a size itself."""
SIZES = frozenset({"random_resized_crop", "resize"})


def operator_graphs(resolved: ResolvedGraph) -> Mapping[str, Graph]:
    """By the operator's node: read, decode, resize to 256 x 256, and that operator with its draws.

    Operators that give images a size (``SIZES``) are not resized for. The first are ``decoding``,
    where there is one of those, and ``nothing``, which ends at the resize. Empty where the graph
    has not one decoder.
    """
    graph = resolved.graph
    needed = ancestors(graph, list(image_outputs(graph, resolved.catalog).values()))
    ordered = [node for node in topological(graph)[0] if node.id in needed]
    decoders = [node for node in ordered if is_decoder(resolved.spec(node))]
    if len(decoders) != 1:
        return {}
    decoded = output_ports(decoders[0], resolved.catalog[decoders[0].op])[0]
    head = [node for node in ordered if node.id in ancestors(graph, [decoded])]
    made = Node("to_256", "resize", {"size": (USUAL_SIZE, USUAL_SIZE)}, {"data": decoded})
    sized = output_ports(made, resolved.catalog["resize"])[0]
    found = {DECODING: _cut(graph, head, decoded)} if _gives_sizes(ordered) else {}
    found[NOTHING] = _cut(graph, [*head, made], sized)
    for node in ordered:
        if node in head or isinstance(node, Source) or is_generator(resolved.spec(node)):
            continue
        images = [name for name in node.inputs if name not in resolved.spec(node).args]
        start = decoded if node.op in SIZES else sized
        alone = replace(node, inputs={**node.inputs, **dict.fromkeys(images, start)})
        draws = [
            other
            for other in ordered
            if other.id in ancestors(graph, [p for n, p in node.inputs.items() if n not in images])
        ]
        between = [] if node.op in SIZES else [made]
        nodes = [*head, *(each for each in draws if each not in head), *between, alone]
        found[node.id] = _cut(graph, nodes, output_ports(alone, resolved.spec(node))[0])
    return found


def _gives_sizes(nodes: list[Node]) -> bool:
    return any(node.op in SIZES for node in nodes)


def base_of(op: str) -> str:
    """The graph that an operator's cost is told from."""
    return DECODING if op in SIZES else NOTHING


def _cut(graph: Graph, nodes: list[Node], output: Port) -> Graph:
    return replace(graph, nodes=tuple(nodes), outputs={"images": output})
