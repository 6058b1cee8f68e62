"""Add several nodes at once: templates of the catalogue, and snippets that the user saved.

A snippet is a part of a graph that a user saved under a name, to insert it into other graphs. It
has one image input and one image output. It is stored as a graph file, with the blocks, generators
and settings of its nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.catalog.templates import PLACE, SECOND, Template, TemplateNode
from workbench.errors import GraphEditError, GraphFormatError
from workbench.graph.control_flow.options import set_probability
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.compose import find_edge, with_outputs
from workbench.graph.edits.connect import connect, set_output
from workbench.graph.edits.edit import free_id, free_seed, ports_at, scoped
from workbench.graph.edits.fragment import add_nodes, common_scope, copy_fragment, with_generators
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import KIND_WORDS
from workbench.graph.storage.io import (
    dump_json,
    graph_from_json,
    graph_to_json,
    load_graph,
    parse_json,
)
from workbench.graph.types.devices import port_kind
from workbench.graph.types.shapes import infer_types

FORMAT = "dali-workbench-block"  # the former format name: saved files stay readable
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a graph that a user saved for reuse.

    ``fed`` lists the inputs that receive the image, as (node, input name); ``gives`` is the output.
    """

    name: str
    part: Graph
    fed: tuple[tuple[str, str], ...]
    gives: Port


def make_snippet(graph: Graph, catalog: Catalog, nodes: Collection[str], name: str) -> Snippet:
    """Create a snippet from nodes and the generators that feed only these nodes.

    Raises GraphEditError unless the nodes have exactly one image input and one image output, and
    for a name that is empty or longer than ``LONGEST_NAME``.
    """
    name = " ".join(name.split())
    if not 1 <= len(name) <= LONGEST_NAME:
        raise GraphEditError(
            f"The name of a snippet has 1 to {LONGEST_NAME} characters, but this one has "
            f"{len(name)}. Use another name."
        )
    if not nodes:
        raise GraphEditError("No node is selected. Select the nodes to save as a snippet.")
    graph = graph.at_scope(common_scope(graph, nodes))
    inside = with_generators(graph, nodes)
    edges = graph.edges
    crossing = [e for e in edges if (e.target in inside) != (e.source.node in inside)]
    into = [edge for edge in crossing if edge.target in inside]
    for edge in into:
        if port_kind(graph, catalog, edge.source) != "image":
            raise GraphEditError(
                f"{edge.target}.{edge.input} is connected to {edge.source}, which is not an "
                f"image. Select {edge.source.node!r} too, or set {edge.input!r} to a value."
            )
    sources = dict.fromkeys(edge.source for edge in into)
    if len(sources) != 1:
        found = " and ".join(map(str, sources)) or "nothing"
        raise GraphEditError(
            f"A snippet needs exactly one image input, but these nodes are connected to {found}. "
            "Select other nodes."
        )
    given_out = [port for port in graph.outputs.values() if port.node in inside]
    leaving = [edge.source for edge in crossing if edge.target not in inside]
    out = dict.fromkeys(leaving + given_out)
    given = [port for port in out if port_kind(graph, catalog, port) == "image"]
    if len(given) != 1 or len(out) != 1:
        found = ", ".join(map(str, out)) or "nothing"
        raise GraphEditError(
            f"A snippet needs exactly one image output, but these nodes output {found}. "
            "Select other nodes."
        )
    part = replace(load_graph(copy_fragment(graph, nodes)), name=name, outputs={})
    return Snippet(name, part, tuple((edge.target, edge.input) for edge in into), given[0])


def branch_snippet(
    graph: Graph, catalog: Catalog, snippet: Snippet, source: Port
) -> tuple[Graph, Port]:
    """Add a snippet with ``source`` as its input. Its nodes get unused ids and new seeds.

    Returns the graph and the snippet's output. Raises GraphEditError if ``source`` is not an image,
    and for operators that this DALI version lacks.
    """
    kind = port_kind(graph, catalog, source)
    if kind != "image":
        raise GraphEditError(
            f"The snippet {snippet.name!r} needs an image, but {source} outputs "
            f"{KIND_WORDS[kind]}. Add it after an image."
        )
    unknown = next((node.op for node in snippet.part.walk() if catalog.find(node.op) is None), None)
    if unknown is not None:
        raise GraphEditError(
            f"The snippet {snippet.name!r} uses {unknown}, which this DALI version lacks. Save it "
            "again without that node."
        )
    before = graph.nodes
    graph, renamed = add_nodes(graph, snippet.part)
    at = next((n for n, node in enumerate(before, start=1) if node.id == source.node), len(before))
    graph = replace(graph, nodes=(*before[:at], *graph.nodes[len(before) :], *before[at:]))
    for node, name in snippet.fed:
        fed = graph.node(renamed[node])
        graph = graph.replace_node(fed.fed({name: source}))
    return graph, Port(renamed[snippet.gives.node], snippet.gives.output)


def dump_snippet(snippet: Snippet) -> str:
    """Return the snippet as the text of a file."""
    return dump_json(
        {
            "format": FORMAT,
            "name": snippet.name,
            "fed": [f"{node}.{name}" for node, name in snippet.fed],
            "gives": str(snippet.gives),
            "graph": graph_to_json(snippet.part),
        }
    )


def load_snippet(text: str) -> Snippet:
    """Parse the text of a snippet file. Raises GraphFormatError if it is invalid."""
    data = parse_json(text)
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise GraphFormatError("This is not a snippet. Use a file of a saved snippet.")
    part = graph_from_json(data.get("graph"))
    fed = tuple(_place(part, place) for place in _list(data.get("fed")))
    node, output = _place(part, data.get("gives"))
    name = data.get("name")
    if not fed or not isinstance(name, str) or not name:
        raise GraphFormatError("The snippet has no name or no input. Save it again.")
    return Snippet(name[:LONGEST_NAME], part, fed, Port(node, output))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _place(part: Graph, text: Any) -> tuple[str, str]:
    node, _, name = str(text).rpartition(".")
    if not part.has(node) or not name:
        raise GraphFormatError(
            f"{str(text)[:60]!r} is not a port of the snippet, such as node.output."
        )
    return node, name


Part = Template | Snippet
"""Several nodes that are added together: a catalogue template or a user's snippet."""


@scoped("after")
def insert_template(
    graph: Graph, catalog: Catalog, template: Part, after: str, second: Port | None = None
) -> tuple[Graph, str]:
    """Insert a template after the image output of ``after``, in front of the output's consumers.

    ``second`` is the second image of a template that mixes two images. Returns the graph and the id
    of the node to select. Raises GraphEditError if the template does not fit there.
    """
    source = image_of(graph, catalog, template, after)
    before = ancestors(graph, [second]) if second else ()
    followed = [edge for edge in graph.consumers(source.node) if edge.target not in before]
    names = [name for name, port in graph.outputs.items() if port == source]
    graph, given, selected = _branch(graph, catalog, template, source, second)
    for edge in followed:
        if edge.source == source:
            fed = graph.node(edge.target)
            graph = graph.replace_node(fed.fed({edge.input: given}))
    for name in names:
        graph = set_output(graph, name, given)
    return with_outputs(graph, catalog, given.node), selected


def image_of(graph: Graph, catalog: Catalog, template: Part, node: str) -> Port:
    """Return the image output of a node. Raises GraphEditError if the node has none."""
    for port in ports_at(graph, catalog, node):
        if port_kind(graph, catalog, port) == "image":
            return port
    raise GraphEditError(
        f"{template.name!r} needs an image, but {node!r} outputs none. Add it after another node."
    )


def insert_template_on_edge(
    graph: Graph, catalog: Catalog, template: Part, edge: str
) -> tuple[Graph, str]:
    """Insert a template into one edge. Returns and raises the same as ``insert_template``."""
    source, target, into = find_edge(graph, edge)
    graph, given, selected = _branch(graph, catalog, template, source)
    if not target:
        return set_output(graph, into, given), selected
    return connect(graph, catalog, given, target, into), selected


def branch_template(
    graph: Graph, catalog: Catalog, template: Part, source: Port, second: Port | None = None
) -> tuple[Graph, str]:
    """Add a template with ``source`` as its input, without changing existing consumers.

    Returns the graph and the id of the node to select. Raises GraphEditError if the template mixes
    two images and ``second`` is missing.
    """
    graph, _, selected = _branch(graph, catalog, template, source, second)
    return graph, selected


def _branch(
    graph: Graph, catalog: Catalog, template: Part, source: Port, second: Port | None = None
) -> tuple[Graph, Port, str]:
    """Add a template; return the graph, the template's output port, and the node to select."""
    if isinstance(template, Snippet):
        graph, end = branch_snippet(graph, catalog, template, source)
        return graph, end, end.node
    if (kind := port_kind(graph, catalog, source)) != "image":
        raise GraphEditError(
            f"{template.name!r} needs an image, but {source} outputs {KIND_WORDS[kind]}. Add it "
            "after an image."
        )
    before, ports = graph, {PLACE: source}
    if template.mixes:
        if second is None:
            raise GraphEditError(f"{template.name!r} mixes two images. Choose the second one.")
        ports[SECOND] = second
    sized = _has_known_size(graph, catalog, source)
    for node in template.nodes:
        if node.unsized and sized:
            ports[node.id] = ports[node.inputs[0]]
            continue
        made = _node(graph, catalog, node, ports)
        graph = replace(graph, nodes=_inserted_after_inputs(graph, made))
        ports[node.id] = Port(made.id, catalog[made.op].outputs[0].name)
    end = ports[template.nodes[-1].id]
    if template.probability is None:
        return graph, end, ports[template.selects].node if template.selects else end.node
    added = [node.id for node in graph.nodes if not before.has(node.id)]
    whole, block = wrap_in_block(graph, catalog, added, passing={end: source})
    whole = set_probability(whole, block, template.probability)
    (output,) = next(iter(whole.node(block).bodies.values())).outputs
    return whole.at_scope(graph.scope), Port(block, output), block


def _inserted_after_inputs(graph: Graph, added: Node) -> tuple[Node, ...]:
    """Return the nodes with ``added`` inserted after the last of its sources, or at the end."""
    feeding = {port.node for port in added.inputs.values()}
    places = [at for at, node in enumerate(graph.nodes, start=1) if node.id in feeding]
    at = max(places, default=len(graph.nodes))
    return (*graph.nodes[:at], added, *graph.nodes[at:])


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


def _has_known_size(graph: Graph, catalog: Catalog, port: Port) -> bool:
    flow = infer_types(graph, catalog).get(port)
    return flow is not None and flow.shape is not None and None not in flow.shape[:2]
