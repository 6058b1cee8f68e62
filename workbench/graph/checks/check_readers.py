"""Faults of declared features, and warnings about outputs that come from different readers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from workbench.graph.execution.dataset_parameters import is_sampled
from workbench.graph.model import Node, Port, Source
from workbench.graph.model.faults import Fault
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import outputs_of
from workbench.graph.types.typed_graph import TypedGraph
from workbench.sources.record_features import TYPES, parse_feature

_PIXELS = ("image", "encoded")
_ANNOTATIONS = ("label", "boxes", "points", "mask")


def unpaired_outputs(typed: TypedGraph) -> Iterator[Fault]:
    """Warn if two images, or an image and annotations, come from readers of different samples.

    There is no warning if the readers output the same samples in the same order.
    """
    graph = typed.graph
    readers = {source.id: source for source in graph.sources}
    kinds = {name: typed.kind(port) for name, port in graph.outputs.items()}
    sources = {name: ancestors(graph, [port]) & {*readers} for name, port in graph.outputs.items()}
    images = [name for name, kind in kinds.items() if kind in _PIXELS and sources[name]]
    of_images = {reader for name in images for reader in sources[name]}
    unpaired: dict[str, list[str]] = defaultdict(list)
    for name, kind in kinds.items():
        if kind in _ANNOTATIONS and images and sources[name] and not sources[name] & of_images:
            for reader in sorted(sources[name]):
                unpaired[reader].append(name)
    for name in images[1:]:
        first, second = min(sources[images[0]]), min(sources[name])
        if first not in sources[name] and _order_key(readers[first]) != _order_key(readers[second]):
            yield Fault(
                second,
                "",
                f"{images[0]} and {name} come from two readers ({first}, {second}), so sample k of "
                "one is not from the same file as sample k of the other",
                "Use one reader, unless the images are independent.",
                "readers",
            )
    for reader, names in unpaired.items():
        source = readers[reader]
        same = any(_order_key(source) == _order_key(readers[other]) for other in of_images)
        if same or not _reads_images(typed, source):
            continue
        yield Fault(
            reader,
            "",
            f"{' and '.join([images[0], *names])} come from two readers "
            f"({min(sources[images[0]])}, {reader}), so they belong to different files",
            "Use one reader.",
            "readers",
        )


def feature_faults(node: Node) -> Iterator[Fault]:
    """Report texts in ``features`` that are not a name and a type."""
    texts = node.args.get("features")
    if node.op not in TYPES or not isinstance(texts, tuple):
        return
    if not texts:
        remedy = "Write a name and a type, such as 'image/encoded: image'."
        yield Fault(node.id, "features", "it is empty", remedy, "value")
    for text in texts:
        try:
            parse_feature(text, TYPES[node.op])
        except ValueError as error:
            words, _, remedy = str(error).rpartition(". ")
            yield Fault(node.id, "features", words, f"{remedy}.", "value")


def _reads_images(typed: TypedGraph, source: Source) -> bool:
    ports = [Port(source.id, output.name) for output in outputs_of(source, typed.spec(source))]
    return any(typed.kind(port) in _PIXELS for port in ports)


def _order_key(source: Source) -> tuple[object, ...]:
    """Return a key that is equal for readers that output the same samples in the same order."""
    options = {**source.args, **source.inputs}
    seed = source.seed if options.pop("random_shuffle", is_sampled(source)) else None
    return source.kind, source.dataset, options, seed
