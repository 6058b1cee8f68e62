"""Add outputs that identify each sample, and build the graph that reproduces one sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from workbench.catalog.extra_operators.auto_augment import AUTO_AUGMENT
from workbench.catalog.extra_operators.readers import DALI_READERS
from workbench.catalog.extra_operators.user_functions import OWN_CODE
from workbench.catalog.spec import Catalog, Value
from workbench.errors import GraphEditError, GraphError, GraphExportError
from workbench.graph.annotations.follower_dependencies import without_dependencies
from workbench.graph.execution.dataset_parameters import is_sampled
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.ports import outputs_of
from workbench.graph.types.devices import is_generator
from workbench.graph.types.typed_graph import TypedGraph
from workbench.graph.user_functions.function_source import undetermined

FILE = "file"
"""Name of the output with each sample's file name."""
_INFO = "source_info"
_NAMING = {
    *("readers.file", "readers.image_masks", "readers.coco", "readers.numpy"),
    *("readers.webdataset", "readers.webdataset_boxes", "readers.webdataset_masks"),
    *("readers.tfrecord", "readers.tfrecord_boxes", "readers.mxnet", *DALI_READERS),
    *("readers.caffe", "readers.caffe2", "experimental.readers.video"),
}
"""Readers for which DALI reports the file name of each sample."""


def with_samples(typed: TypedGraph) -> Graph:
    """Return the graph with additional outputs for each sample's file name and random values.

    A sample in an archive is named by the archive and its position. Outputs with random values have
    the ids of their nodes. Raises GraphExportError for a graph with several sources, for a reader
    that does not report file names, and if another output already has the id of such a node.
    """
    graph, readers = typed.graph, typed.graph.sources
    if len(readers) != 1:
        raise GraphExportError(
            f"{', '.join(each.id for each in readers)}: a sample of several sources has "
            "no unique file name. Export without samples."
        )
    reader = readers[0]
    if is_sampled(reader):
        raise GraphExportError(
            f"{reader.id}: DALI does not report the files of a reader with a sampler. Reset the "
            "sampler, or export without samples."
        )
    if reader.op not in _NAMING:
        raise GraphExportError(
            f"{reader.id}: DALI does not report the files that {reader.op} reads. Read files or "
            "archives, or export without samples."
        )
    first = outputs_of(reader, typed.spec(reader))[0].name
    name = _unused_name(graph, FILE)
    found, padded = f"{name}_of_sample", name  # padded with zeros: a batch is one array
    while graph.has(found):
        found += "_"
    made = (
        _fed(typed, Node(found, "get_property", {"key": _INFO}), Port(reader.id, first)),
        _fed(typed, Node(padded, "pad"), Port(found, "output")),
    )
    generators = {each.id: Port(each.id, "output") for each in _generators(typed)}
    for each, port in generators.items():
        if graph.outputs.get(each, port) != port:
            raise GraphExportError(
                f"{each}: an output has the same name as this node. Rename the output."
            )
    outputs = {**graph.outputs, name: Port(name, "output"), **generators}
    return replace(graph, nodes=(*graph.nodes, *made), outputs=outputs)


def _fed(typed: TypedGraph, node: Node, port: Port) -> Node:
    return replace(node, inputs={typed.spec(node).inputs[0].name: port})


def nodes_with_unseen_randomness(typed: TypedGraph) -> list[str]:
    """Return the ids of nodes whose random values are internal or inside blocks."""
    return [node.id for node in _hidden_random_nodes(typed)]


def _hidden_random_nodes(typed: TypedGraph) -> Iterator[Node]:
    shown = {node.id for node in _generators(typed)}
    for node in typed.graph.walk():
        if node.id in shown or isinstance(node, Source):
            continue
        is_random = node.seed is not None or bool(node.bodies) or node.op in AUTO_AUGMENT
        if is_random or (node.op in OWN_CODE and undetermined(str(node.args.get("source", "")))):
            yield node


def file_names(graph: Graph) -> list[str]:
    """Return the names of the file name outputs that ``with_samples`` added.

    The file names are bytes padded with zeros.
    """
    found = []
    for name, port in graph.outputs.items():
        node = graph.node(port.node)
        fed = [graph.node(each.node) for each in node.inputs.values()]
        if node.op == "pad" and [each.args.get("key") for each in fed] == [_INFO]:
            found.append(name)
    return found


def without_random_outputs(typed: TypedGraph) -> Graph:
    """Remove outputs of generators, so that the generators can be replaced by fixed values."""
    generators = {node.id for node in _generators(typed)}
    graph = typed.graph
    outputs = {name: port for name, port in graph.outputs.items() if port.node not in generators}
    return replace(graph, outputs=outputs) if outputs else graph


def with_values(typed: TypedGraph, values: Mapping[str, Value]) -> Graph:
    """Return the graph with generators replaced by the numbers in ``values``, by node id.

    Raises GraphError, with the node, for a missing value, for an unknown node, and for nodes with
    internal randomness, which values cannot reproduce.
    """
    generators = {node.id: node for node in _generators(typed)}
    for name in values:
        if name not in generators:
            known = f"Use one of: {', '.join(generators)}." if generators else "There is none."
            raise GraphError(f"{name!r} is not a generator of random values. {known}")
    for node in _hidden_random_nodes(typed):
        raise GraphError(
            f"{node.id}: {node.op} samples random values internally, so no value can reproduce "
            f"its output. Mute {node.id!r}."
        )
    graph = without_dependencies(typed.graph)  # for followers: some are random
    for name, generator in generators.items():
        if name not in values:
            raise GraphError(f"The value of {name!r} is missing. Pass it as {{{name!r}: ...}}.")
        graph = with_fixed_generator(graph, typed.catalog, generator, values[name])
    return graph


def with_fixed_generator(graph: Graph, catalog: Catalog, generator: Node, value: Value) -> Graph:
    """Remove a generator, and set the arguments that it feeds to a fixed value.

    Raises GraphEditError if the generator is an output, or feeds anything other than arguments.
    """
    if any(port.node == generator.id for port in graph.outputs.values()):
        raise GraphEditError(
            f"{generator.id!r} is an output of the graph, so its value cannot be fixed. Remove "
            "that output."
        )
    for edge in graph.consumers(generator.id):
        node = graph.node(edge.target)
        if edge.input not in catalog[node.op].args:
            raise GraphEditError(
                f"{generator.id!r} cannot be set to a number, because it also feeds the input "
                f"{edge.input!r} of {node.id!r}, which needs arrays. Connect {generator.id!r} to "
                "arguments only."
            )
        fixed = node.without({edge.input}).with_args({edge.input: value})
        graph = graph.replace_node(fixed)
    return replace(graph, nodes=tuple(node for node in graph.nodes if node.id != generator.id))


def _generators(typed: TypedGraph) -> Iterator[Node]:
    nodes = (node for node in typed.graph.nodes if node.seed is not None)
    return (node for node in nodes if is_generator(typed.spec(node)))


def _unused_name(graph: Graph, name: str) -> str:
    while graph.has(name) or name in graph.outputs:
        name += "_"
    return name
