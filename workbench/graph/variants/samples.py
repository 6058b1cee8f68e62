"""Outputs that say what each sample is, and the graph that shows such a sample again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from workbench.catalog.own_operators.auto_augment import AUTO_AUGMENT
from workbench.catalog.own_operators.own_code import OWN_CODE
from workbench.catalog.spec import Catalog, Value
from workbench.errors import GraphEditError, GraphError, GraphExportError
from workbench.graph.annotations.follower_dependencies import without_dependencies
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.types.devices import is_generator
from workbench.graph.types.typed_graph import TypedGraph
from workbench.graph.user_functions.function_source import undetermined

FILE = "file"
"""The output with the name of each sample's file."""
_INFO = "source_info"
_NAMING = {
    *("readers.file", "readers.image_masks", "readers.coco", "readers.numpy"),
    *("readers.webdataset", "readers.webdataset_boxes", "readers.webdataset_masks"),
    *("readers.tfrecord", "readers.tfrecord_boxes", "readers.mxnet"),
    *("readers.caffe", "readers.caffe2", "experimental.readers.video"),
}
"""Readers of which DALI tells what each sample was read from."""


def with_samples(typed: TypedGraph) -> Graph:
    """The graph with outputs for the file name of each sample and for its random values.

    A sample of an archive is named by the archive and its place there. The values have the ids of
    the nodes that draw them. Raises GraphExportError for a graph with several sources, for data of
    which DALI tells no names, and for an output with the id of such a node.
    """
    graph, readers = typed.graph, typed.graph.sources
    if len(readers) != 1:
        raise GraphExportError(
            f"{', '.join(each.id for each in readers)}: a sample of several sources has no one "
            "file name. Export without samples."
        )
    reader = readers[0]
    if reader.op not in _NAMING:
        raise GraphExportError(
            f"{reader.id}: DALI does not tell which file a sample of {reader.op} is. Read files or "
            "archives, or export without samples."
        )
    first = typed.spec(reader).outputs[0].name
    name = _free(graph, FILE)
    found, padded = f"{name}_of_sample", name  # padded with zeros: a batch is one array
    while graph.has(found):
        found += "_"
    made = (
        _fed(typed, Node(found, "get_property", {"key": _INFO}), Port(reader.id, first)),
        _fed(typed, Node(padded, "pad"), Port(found, "output")),
    )
    drawn = {each.id: Port(each.id, "output") for each in _generators(typed)}
    for each, port in drawn.items():
        if graph.outputs.get(each, port) != port:
            raise GraphExportError(f"{each}: an output has the name of this node. Rename it.")
    outputs = {**graph.outputs, name: Port(name, "output"), **drawn}
    return replace(graph, nodes=(*graph.nodes, *made), outputs=outputs)


def _fed(typed: TypedGraph, node: Node, port: Port) -> Node:
    return replace(node, inputs={typed.spec(node).inputs[0].name: port})


def hidden_draws(typed: TypedGraph) -> list[str]:
    """The nodes that draw or choose by themselves, or in a block: no output has their values."""
    return [node.id for node in _hidden(typed)]


def _hidden(typed: TypedGraph) -> Iterator[Node]:
    shown = {node.id for node in _generators(typed)}
    for node in typed.graph.walk():
        if node.id in shown or isinstance(node, Source):
            continue
        draws = node.seed is not None or bool(node.bodies) or node.op in AUTO_AUGMENT
        if draws or (node.op in OWN_CODE and undetermined(str(node.args.get("source", "")))):
            yield node


def file_names(graph: Graph) -> list[str]:
    """The outputs of ``with_samples`` that are names of files: bytes, padded with zeros."""
    found = []
    for name, port in graph.outputs.items():
        node = graph.node(port.node)
        fed = [graph.node(each.node) for each in node.inputs.values()]
        if node.op == "pad" and [each.args.get("key") for each in fed] == [_INFO]:
            found.append(name)
    return found


def without_drawn_outputs(typed: TypedGraph) -> Graph:
    """The graph without the outputs that are random values, as where nothing is drawn."""
    drawn = {node.id for node in _generators(typed)}
    graph = typed.graph
    kept = {name: port for name, port in graph.outputs.items() if port.node not in drawn}
    return replace(graph, outputs=kept) if kept else graph


def with_values(typed: TypedGraph, values: Mapping[str, Value]) -> Graph:
    """The graph in which numbers stand for its draws; ``values`` has them by node.

    Raises GraphError, which names the node, for a draw without a value, for a value without a
    draw, and for nodes that draw inside themselves: no value says what these did.
    """
    draws = {node.id: node for node in _generators(typed)}
    for name in values:
        if name not in draws:
            raise GraphError(f"{name}: no such node draws values. Those are {', '.join(draws)}.")
    for node in _hidden(typed):
        raise GraphError(
            f"{node.id}: {node.op} draws by itself or chooses what runs, so its sample cannot "
            "be shown again from values."
        )
    graph = without_dependencies(typed.graph)  # of followers: some are draws
    for name, draw in draws.items():
        if name not in values:
            raise GraphError(f"{name}: its value is missing. Give it as {{{name!r}: ...}}.")
        graph = with_fixed_draw(graph, typed.catalog, draw, values[name])
    return graph


def with_fixed_draw(graph: Graph, catalog: Catalog, draw: Node, value: Value) -> Graph:
    """The graph without a draw: a value stands in the arguments that it fed.

    Raises GraphEditError for a draw that is an output, or that feeds something else.
    """
    if any(port.node == draw.id for port in graph.outputs.values()):
        raise GraphEditError(f"{draw.id}: it is an output of the graph. Remove that output.")
    for edge in graph.consumers(draw.id):
        node = graph.node(edge.target)
        if edge.input not in catalog[node.op].args:
            raise GraphEditError(
                f"{node.id}: it computes with {draw.id}, for which no number can stand."
            )
        fixed = node.without({edge.input}).with_args({edge.input: value})
        graph = graph.replace_node(fixed)
    return replace(graph, nodes=tuple(node for node in graph.nodes if node.id != draw.id))


def _generators(typed: TypedGraph) -> Iterator[Node]:
    """The nodes outside of blocks that draw values for others."""
    nodes = (node for node in typed.graph.nodes if node.seed is not None)
    return (node for node in nodes if is_generator(typed.spec(node)))


def _free(graph: Graph, name: str) -> str:
    while graph.has(name) or name in graph.outputs:
        name += "_"
    return name
