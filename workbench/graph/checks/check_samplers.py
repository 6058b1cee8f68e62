"""Check the samplers of sources."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.errors import DataError
from workbench.graph.execution.dataset_parameters import is_sampled, parameter_of, source_kind
from workbench.graph.model import Graph, Source
from workbench.graph.model.faults import Fault
from workbench.sources import load_source

_ORDERS = ("random", "sequential")
_MOST_NAMED = 5
"""Maximum number of class numbers in a message."""


def sampler_faults(graph: Graph) -> Iterator[Fault]:
    """Report samplers that the data or other nodes of the graph do not support."""
    for source in filter(is_sampled, graph.sources):
        yield from _option_faults(source)
        kind = load_source(source.kind) if source.kind else None
        by_class = "weights" if "weights" in source.args else "sampler"
        if kind is not None and kind.targets and source.args.get(by_class) not in (None, *_ORDERS):
            words = f"samples of its data ({kind.about}) do not have one class each"
            remedy = "Use sample_weights, or sampler='random'."
            yield Fault(source.id, by_class, words, remedy, "sampler")
        if parameter_of(source) is None:
            words = "a sampler needs the data as a parameter, but arguments name the files"
            yield Fault(source.id, "", words, "Reset these arguments, and open the files as data.")
            continue
        try:
            source_kind(source)
        except DataError as error:
            yield Fault(source.id, "", str(error).rstrip("."), "Or reset the sampler.")
        for other in graph.sources:
            if not is_sampled(other) and other.dataset == source.dataset and other.finds_data:
                words = f"it has a sampler, but {other.id!r} reads the same data without one"
                remedy = f"Use a sampler for both, for example sampler='random' for {other.id!r}."
                yield Fault(source.id, "", words, remedy)
    sampled = {source.id for source in graph.sources if is_sampled(source)}
    for node in graph.walk():
        read = next((port.node for port in node.inputs.values() if port.node in sampled), "")
        if node.op == "get_property" and read:
            words = (
                f"DALI does not report the files that {read!r} reads, because this reader has a "
                "sampler"
            )
            yield Fault(node.id, "", words, f"Remove {node.id!r}, or reset the sampler.")


def _option_faults(source: Source) -> Iterator[Fault]:
    args = source.args
    for name in ("weights", "sample_weights"):
        if name in args and not any(_elements(source, name)):
            words = "every weight is 0, so that no sample can be drawn"
            yield Fault(source.id, name, words, "Use a weight above 0.", "sampler")
        if name in args and args.get("sampler") == "sequential":
            words = "a sequential sampler has no weights"
            yield Fault(
                source.id, name, words, f"Reset {name!r}, or set 'sampler' to random.", "sampler"
            )
    if "indices" in args and not _elements(source, "indices"):
        remedy = "Use at least one sample, or reset 'indices'."
        yield Fault(source.id, "indices", "it is empty", remedy, "sampler")


def _elements(source: Source, name: str) -> tuple[object, ...]:
    value = source.args.get(name, ())
    return value if isinstance(value, tuple) else (value,)


def sampler_warnings(graph: Graph) -> Iterator[Fault]:
    """Warn about classes that are never read, and about epochs shorter than a batch."""
    for source in filter(is_sampled, graph.sources):
        never = [at for at, each in enumerate(_elements(source, "weights")) if not each]
        if never:
            more = " and others" * (len(never) > _MOST_NAMED)
            named = ", ".join(map(str, never[:_MOST_NAMED])) + more
            words = f"the weight of class {named} is 0: its samples are never read"
            remedy = "Use a weight above 0 to read them."
            yield Fault(source.id, "weights", words, remedy, "sampling")
        if source.args.get("sampler") == "sequential" and source.args.get("random_shuffle"):
            words = "the samples are read in order: random_shuffle has no effect with this sampler"
            remedy = "Use sampler='random', or reset random_shuffle."
            yield Fault(source.id, "random_shuffle", words, remedy, "sampling")
        size = source.args.get("num_samples")
        if size is None and "indices" in source.args:
            repeats = source.args.get("repeats", 1)
            size = len(_elements(source, "indices")) * (repeats if isinstance(repeats, int) else 1)
        batch = graph.settings.batch_size
        if isinstance(size, int) and size < batch:
            words = (
                f"an epoch has {size:,} sample{'s' * (size != 1)}, fewer than a batch of {batch}"
            )
            remedy = f"Use a batch size of {size} or less, or a larger num_samples."
            yield Fault(source.id, "num_samples", words, remedy, "sampling")
