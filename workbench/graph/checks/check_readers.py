"""Check the features that a reader declares, and warn if outputs come from different readers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from workbench.graph.execution.dataset_parameters import is_sampled
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.faults import Fault
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import outputs_of
from workbench.graph.types.typed_graph import TypedGraph
from workbench.sources import NO_FACTS, DataFacts, load_source
from workbench.sources.record_features import TYPES, parse_feature

_PIXELS = ("image", "encoded")
_ANNOTATIONS = ("label", "boxes", "points", "mask")
_ORDERING = ("num_shards", "shard_id", "stick_to_shard", "pad_last_batch", "skip_empty")
"""Options other than shuffling that change the order of samples."""
_SHUFFLED_ALIKE = ("readers.file", "readers.numpy")
"""Readers whose order depends only on the seed and the number of samples."""


def unpaired_outputs(typed: TypedGraph) -> Iterator[Fault]:
    """Warn if two images, or an image and annotations, come from readers of different samples.

    There is no warning if the readers output the same samples in the same order, or if they read
    two data sets without shuffling.
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
        if first not in sources[name] and not _same_order(readers[first], readers[second]):
            yield Fault(
                second,
                "",
                f"the outputs {images[0]!r} and {name!r} come from two readers ({first}, "
                f"{second}), so sample k of one is not from the same file as sample k of the "
                "other",
                "Use one reader, unless the images are independent.",
                "readers",
            )
    for reader, names in unpaired.items():
        source = readers[reader]
        same = any(_same_order(source, readers[other]) for other in of_images)
        if same or not _reads_images(typed, source):
            continue
        yield Fault(
            reader,
            "",
            f"the outputs {' and '.join(map(repr, [images[0], *names]))} come from two readers "
            f"({min(sources[images[0]])}, {reader}), so they belong to different files",
            "Use one reader.",
            "readers",
        )


def length_warnings(graph: Graph, facts: Mapping[str, DataFacts]) -> Iterator[Fault]:
    """Warn if the outputs come from readers of data with different numbers of samples."""
    used = ancestors(graph, list(graph.outputs.values()))
    counted = [
        (source, found)
        for source in graph.sources
        if source.id in used and (found := facts.get(source.dataset, NO_FACTS)).count
        if source.finds_data and "sequence_length" not in load_source(source.kind).begins
        if "indices" not in source.args and not source.args.get("skip_empty")
    ]
    for source, found in counted[1:]:
        first, other = counted[0]
        if (found.count, found.more) != (other.count, other.more):
            counts = [f"{each.at_least}{each.count:,}" for each in (found, other)]
            yield Fault(
                source.id,
                "",
                f"it reads {counts[0]} samples, but {first.id} reads {counts[1]}, so their samples "
                "are combined differently in each epoch",
                "Use data with the same number of samples.",
                "lengths",
            )


def feature_faults(node: Node) -> Iterator[Fault]:
    """Report entries of ``features`` that do not consist of a name and a type."""
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


def _same_order(one: Source, other: Source) -> bool:
    """Return whether two readers output samples in the same order, from one dataset or from two."""
    separate = one.dataset != other.dataset or not (one.finds_data and other.finds_data)
    keys: list[tuple[object, ...]] = []
    for source in (one, other):
        options = {**source.args, **source.inputs}
        shuffled = options.pop("random_shuffle", is_sampled(source))
        if separate and not shuffled and not options.get("shuffle_after_epoch"):
            options = {name: value for name, value in options.items() if name in _ORDERING}
            keys.append((options, "", None))
        else:
            alike = separate and (is_sampled(source) or source.op in _SHUFFLED_ALIKE)
            keys.append((options, alike or source.kind, source.seed if shuffled else None))
    return keys[0] == keys[1]
