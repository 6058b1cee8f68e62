"""Work on a batch that is kept: the ceiling of a pipeline, and single operators.

Both run emitted source that is fed from outside, as the preview does. Runs inside the worker
process only.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.bench.measuring.config import nodes_after_decoders
from workbench.bench.measuring.workload import Workload
from workbench.catalog import load_catalog
from workbench.emit.preview.preview_stage import SAMPLE, emit_stage
from workbench.emit.templates.template_parts import has_regions
from workbench.engine.build.pipelines import CompiledSource
from workbench.engine.protocol.registry import sendable, task
from workbench.engine.run.runner import Runner
from workbench.engine.run.timing import empty_pipeline_time, time_node
from workbench.engine.run.worker import Worker
from workbench.graph.model import Graph
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import output_ports, used_inputs
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import Datasets


@sendable
@dataclass(frozen=True, slots=True)
class CachedBatchJob:
    """What lies behind the decoders, fed with one decoded batch again and again.

    As many pipelines take turns as in the graph.
    """

    graph: Graph
    data: Datasets

    def start(self) -> Workload:
        return _CachedWorkload(self)


class _CachedWorkload:
    def __init__(self, job: CachedBatchJob) -> None:
        graph, catalog, settings = job.graph, load_catalog(), job.graph.settings
        resolved = ResolvedGraph(graph, catalog)
        nodes = nodes_after_decoders(resolved)
        taps = [port for port in graph.outputs.values() if port.node in nodes]
        feeds = dict.fromkeys(
            port
            for node in graph.nodes
            if node.id in nodes
            for port in used_inputs(node, catalog)
            if port.node not in nodes
        )
        kept = Runner(catalog).run(graph, job.data, 0, settings.batch_size, list(feeds)).batches
        made = emit_stage(resolved, nodes, taps, {p: kept[p].device for p in feeds})
        self._compiled = CompiledSource(made.code)
        self._fed = {str(port): kept[port].data for port in made.feeds}
        if has_regions([graph.node(node) for node in nodes]):
            self._fed[str(SAMPLE)] = np.arange(settings.batch_size, dtype=np.int32)
        self._size = settings.batch_size
        uses_gpu = any(resolved.devices[node] != "cpu" for node in nodes)
        pipes = [
            self._compiled["stage"](
                settings.device, settings.seed, 0, {},
                batch_size=settings.batch_size, num_threads=settings.num_threads,
                device_id=0 if uses_gpu else None,
                prefetch_queue_depth=settings.prefetch_queue_depth,
            )
            for _ in range(settings.pipelines)
        ]  # fmt: skip
        for pipe in pipes:
            pipe.build()
            for _ in range(settings.prefetch_queue_depth):
                self._feed(pipe)
        self._turns = itertools.cycle(pipes)
        self.lead = len(pipes) * (settings.prefetch_queue_depth + 2)

    def _feed(self, pipe: Any) -> None:
        for name, batch in self._fed.items():
            pipe.feed_input(name, batch)

    def run(self) -> int:
        pipe = next(self._turns)
        try:
            pipe.run()
            self._feed(pipe)
        except Exception as error:
            raise self._compiled.error(error) from None
        return self._size


@task
def time_alone(
    worker: Worker, graph: Graph, data: Datasets, nodes: Sequence[str]
) -> dict[str, float]:
    """Task: milliseconds of each node by itself on the first batch, where it can be timed.

    Each has the threads of the graph's settings. Handing the batch in and out is taken off.
    """
    runner = worker.runner
    found: dict[str, float] = {}
    for node_id in nodes:
        node = graph.node(node_id)
        needed = ancestors(graph, list(node.inputs.values()))
        ports = [p for n in graph.nodes if n.id in needed | {node_id} for p in n.inputs.values()]
        taps = list(dict.fromkeys([*ports, *output_ports(node, runner.catalog[node.op])[:1]]))
        result = runner.run(graph, data, 0, graph.settings.batch_size, taps)
        spent = time_node(runner, result, node, graph.settings.num_threads).milliseconds
        if spent is not None:
            fed = list(node.inputs.values())[:1]
            found[node_id] = max(
                0.0, spent - sum(empty_pipeline_time(result.batches[port]) for port in fed)
            )
    return found
