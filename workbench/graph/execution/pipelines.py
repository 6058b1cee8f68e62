"""Split a graph into several pipelines that run in parallel in one process.

The pipelines output batches in turn: batch k overall is batch ``k // n`` of pipeline ``k % n``.
Each pipeline reads its own shard and has its own seed, so that every sample occurs once per epoch.
One pipeline leaves a fifth to a third of a GPU's JPEG engines idle; several use more of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from workbench.catalog.spec import Value
from workbench.graph.execution.dataset_parameters import is_sampled
from workbench.graph.model import Graph, Source
from workbench.graph.model.faults import Fault
from workbench.graph.model.graph import changed_settings
from workbench.graph.types.devices import device_of
from workbench.graph.types.typed_graph import TypedGraph

SHARD_SEED = 100_000
"""Difference between the seeds of consecutive shards, large enough for independent values."""
_WHOLE = {"shard_id": 0, "num_shards": 1}
"""Shard arguments of a reader that reads all data."""
_EPOCH_SEED = "shuffle_after_epoch_seed"


def single_pipelines(graph: Graph) -> tuple[Graph, ...]:
    """Return one graph per pipeline, each with its own shard. A single pipeline is unchanged.

    If the reader already reads a shard, that shard is divided further.
    """
    count = graph.settings.pipelines
    if count == 1:
        return (graph,)
    return tuple(_on_shard(graph, shard, count) for shard in range(count))


def pipeline_of_batch(graph: Graph, batch: int) -> tuple[Graph, int]:
    """Return the graph of the pipeline that outputs a batch, and the index of the batch in it."""
    pipelines = single_pipelines(graph)
    return pipelines[batch % len(pipelines)], batch // len(pipelines)


def several_pipelines(first: Graph, count: int) -> Graph:
    """Return the graph that runs as ``count`` pipelines. ``first`` is the graph of shard 0."""
    if count == 1:
        return first
    shards = {"shard_id": 0, "num_shards": count, "pad_last_batch": True}
    nodes = []
    for node in first.nodes:
        own = {name: node.args.get(name, _WHOLE.get(name)) for name in shards}
        if isinstance(node, Source) and own == shards:
            args = {name: value for name, value in node.args.items() if name not in shards}
            node = replace(node, args=args)
        nodes.append(node)
    return replace(
        first, nodes=tuple(nodes), settings=changed_settings(first.settings, {"pipelines": count})
    )


def without_shard(graph: Graph, arguments: Collection[str]) -> Graph:
    """Remove the reader arguments in ``arguments`` whose values mean that there is one shard."""
    only: Mapping[str, Value] = {**_WHOLE, "pad_last_batch": True}
    nodes = []
    for node in graph.nodes:
        if isinstance(node, Source):
            args = {n: v for n, v in node.args.items() if n not in arguments or v != only[n]}
            node = replace(node, args=args)
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


def pipeline_faults(typed: TypedGraph) -> Iterator[Fault]:
    """Report why the pipelines of a graph cannot run in parallel."""
    graph = typed.graph
    count = graph.settings.pipelines
    if not isinstance(count, int) or count < 2:  # another type is a fault of the setting
        return
    for source in graph.sources:
        spec = typed.catalog.find(source.op)
        if spec is not None and "num_shards" not in spec.args:
            yield Fault(
                source.id,
                "",
                f"{source.op} cannot read a shard of its data, which {count} pipelines require",
                "Set pipelines to 1.",
            )


def executor_faults(typed: TypedGraph) -> Iterator[Fault]:
    """Report CPU nodes after GPU nodes, which only DALI's dynamic executor supports."""
    graph, devices = typed.graph, typed.devices
    if graph.settings.executor == "dynamic":
        return
    for node in graph.walk():
        behind = next((p for p in node.inputs.values() if device_of(devices, p) != "cpu"), None)
        if behind is not None and devices[node.id] == "cpu":
            words = (
                f"it runs on the CPU after {behind.node}, which runs on the GPU: the "
                f"{graph.settings.executor} executor does not support that"
            )
            yield Fault(node.id, "", words, "Set the executor to dynamic.", "setting", "executor")


def _on_shard(graph: Graph, shard: int, shards: int) -> Graph:
    settings = graph.settings
    seed = settings.seed + SHARD_SEED * shard
    return replace(
        graph,
        settings=changed_settings(settings, {"seed": seed, "pipelines": 1}),
        nodes=tuple(
            _sharded_reader(node, shard, shards, settings.seed)
            if isinstance(node, Source)
            else node
            for node in graph.nodes
        ),
    )


def _sharded_reader(source: Source, shard: int, shards: int, seed: int) -> Source:
    """Return the reader restricted to one shard, padded as in the exported code."""
    own, all_own = (source.args.get(name, usual) for name, usual in _WHOLE.items())
    assert isinstance(own, int)
    assert isinstance(all_own, int)
    args = {
        "shard_id": shards * own + shard,
        "num_shards": shards * all_own,
        "pad_last_batch": True,
    }
    if source.args.get("shuffle_after_epoch") and _EPOCH_SEED not in source.args:
        args[_EPOCH_SEED] = seed + (source.seed or 0)  # the same for all shards
    if is_sampled(source):  # the same order for all shards
        source = replace(source, seed=(source.seed or 0) - SHARD_SEED * shard)
    return source.with_args(args)
