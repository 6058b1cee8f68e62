"""Templates of the catalogue put into a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.catalog.templates import PLACE, SECOND, Template, TemplateNode
from workbench.errors import GraphEditError
from workbench.graph.control_flow.options import set_probability
from workbench.graph.control_flow.wrap import wrap_in_block
from workbench.graph.edits.compose import find_edge, with_outputs
from workbench.graph.edits.connect import connect, set_output
from workbench.graph.edits.edit import free_id, free_seed, ports_at, scoped
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.node_order import ancestors
from workbench.graph.snippets.saved import Snippet, branch_snippet
from workbench.graph.types.devices import port_kind
from workbench.graph.types.shapes import infer_types

Part = Template | Snippet
"""What is put into a graph as one: of the catalogue, or saved by a person."""


@scoped("after")
def insert_template(
    graph: Graph, catalog: Catalog, template: Part, after: str, second: Port | None = None
) -> tuple[Graph, str]:
    """Put a template behind the image of the node ``after``: it takes all that left that port.

    ``second`` is the other image of a template that mixes two. Returns the graph and the id of the
    node that gives what comes out. Raises GraphEditError where it does not fit there.
    """
    source = image_of(graph, catalog, template, after)
    before = ancestors(graph, [second]) if second else ()
    followed = [edge for edge in graph.consumers(source.node) if edge.target not in before]
    names = [name for name, port in graph.outputs.items() if port == source]
    graph, given = _branch(graph, catalog, template, source, second)
    for edge in followed:
        if edge.source == source:
            fed = graph.node(edge.target)
            graph = graph.replace_node(fed.fed({edge.input: given}))
    for name in names:
        graph = set_output(graph, name, given)
    return with_outputs(graph, catalog, given.node), given.node


def image_of(graph: Graph, catalog: Catalog, template: Part, node: str) -> Port:
    """The image that a node gives. Raises GraphEditError where it gives none."""
    for port in ports_at(graph, catalog, node):
        if port_kind(graph, catalog, port) == "image":
            return port
    raise GraphEditError(f"{template.name} takes image, and {node} gives none. Add it later on.")


def insert_template_on_edge(
    graph: Graph, catalog: Catalog, template: Part, edge: str
) -> tuple[Graph, str]:
    """Put a template into one edge; otherwise as ``insert_template``."""
    source, target, into = find_edge(graph, edge)
    graph, given = _branch(graph, catalog, template, source)
    if not target:
        return set_output(graph, into, given), given.node
    return connect(graph, catalog, given, target, into), given.node


def _branch(
    graph: Graph, catalog: Catalog, part: Part, source: Port, second: Port | None = None
) -> tuple[Graph, Port]:
    if isinstance(part, Snippet):
        return branch_snippet(graph, catalog, part, source)
    graph, out = branch_template(graph, catalog, part, source, second)
    return graph, _output(graph, catalog, out)


def branch_template(
    graph: Graph, catalog: Catalog, template: Part, source: Port, second: Port | None = None
) -> tuple[Graph, str]:
    """Add a template that is fed by ``source``, beside what that feeds already.

    Raises GraphEditError for one that mixes two images where there is no ``second``.
    """
    if isinstance(template, Snippet):
        graph, given = branch_snippet(graph, catalog, template, source)
        return graph, given.node
    if port_kind(graph, catalog, source) != "image":
        kind = port_kind(graph, catalog, source)
        raise GraphEditError(f"{template.name} takes image, and {source} gives {kind}.")
    before, ports = graph, {PLACE: source}
    if template.mixes:
        if second is None:
            raise GraphEditError(f"{template.name} mixes two images. Choose the second one.")
        ports[SECOND] = second
    sized = _sized(graph, catalog, source)
    for node in template.nodes:
        if node.unsized and sized:
            ports[node.id] = ports[node.inputs[0]]
            continue
        made = _node(graph, catalog, node, ports)
        graph = replace(graph, nodes=_behind(graph, made))
        ports[node.id] = _output(graph, catalog, made.id)
    end = ports[template.nodes[-1].id]
    if template.probability is None:
        return graph, end.node
    added = [node.id for node in graph.nodes if not before.has(node.id)]
    whole, block = wrap_in_block(graph, catalog, added, passing={end: source})
    whole = set_probability(whole, block, template.probability)
    return whole.at_scope(graph.scope), block


def _behind(graph: Graph, made: Node) -> tuple[Node, ...]:
    """The nodes with a new one behind the last of those that feed it, or behind all."""
    feeding = {port.node for port in made.inputs.values()}
    places = [at for at, node in enumerate(graph.nodes, start=1) if node.id in feeding]
    at = max(places, default=len(graph.nodes))
    return (*graph.nodes[:at], made, *graph.nodes[at:])


def _node(graph: Graph, catalog: Catalog, node: TemplateNode, ports: Mapping[str, Port]) -> Node:
    spec = catalog[node.op]
    inputs = {spec.input(index).name: ports[name] for index, name in enumerate(node.inputs)}
    return Node(
        free_id(graph, node.id),
        node.op,
        node.args,
        {**inputs, **{arg: ports[name] for arg, name in node.feeds.items()}},
        seed=free_seed(graph) if spec.seeded else None,
    )


def _output(graph: Graph, catalog: Catalog, node_id: str) -> Port:
    node = graph.node(node_id)
    for body in node.bodies.values():
        return Port(node_id, next(iter(body.outputs)))
    return Port(node_id, catalog[node.op].outputs[0].name)


def _sized(graph: Graph, catalog: Catalog, port: Port) -> bool:
    """Whether all images at a port are known to have one size."""
    flow = infer_types(graph, catalog).get(port)
    return flow is not None and flow.shape is not None and None not in flow.shape[:2]
