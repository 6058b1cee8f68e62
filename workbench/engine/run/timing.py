"""Measure the time of each node alone, for the displayed batch.

A node runs alone in its own pipeline of generated code, with cached outputs as inputs: once to warm
up, then several times. The result is the median time of ``Pipeline.run``, which returns when the
batch is ready, also on a GPU. It includes the transfer of inputs and outputs, which
``empty_pipeline_time`` measures.

Used in the worker process only.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.engine.build.stage_pipeline import THREADS
from workbench.engine.resources.batch_store import Batch
from workbench.engine.run.runner import Result, Runner
from workbench.errors import PipelineError
from workbench.graph.model import Node, Source

_RUNS = 5
_ENOUGH = 0.03
"""Total measuring time in seconds after which no more runs start, even before ``_RUNS`` runs."""


@dataclass(frozen=True, slots=True)
class NodeTime:
    """Time of a node for the whole batch, or the reason why it was not measured."""

    milliseconds: float | None
    reason: str = ""


def time_node(runner: Runner, result: Result, node: Node, threads: int | None = None) -> NodeTime:
    """Measure the time of one node, by default with the number of threads of a preview.

    ``result`` must contain the node's inputs.
    """
    if isinstance(node, Source):
        return NodeTime(None, "it reads ahead in its own thread")
    stage = runner.stage(result.plan, [node], result.batches, threads)
    try:
        if not stage.built:
            stage.build()
        with stage.unchecked():
            spent = _median(lambda: stage.feed(result.batches), stage.run)
    except PipelineError as error:
        return NodeTime(None, str(error))
    if "mixed" in runner.catalog[node.op].devices:
        runner.cache_built(stage)
    return NodeTime(spent)


def empty_pipeline_time(batch: Batch) -> float:
    """Measure the time in milliseconds of a pipeline that only passes a batch through."""
    from nvidia.dali import fn, pipeline_def

    def through() -> Any:
        return fn.external_source(name="batch", device=batch.device, no_copy=True)

    pipe = pipeline_def(through)(
        batch_size=len(batch),
        num_threads=THREADS,
        device_id=0 if batch.device == "gpu" else None,
        prefetch_queue_depth=1,
    )
    pipe.build()
    return _median(lambda: pipe.feed_input("batch", batch.data), pipe.run)


def _median(prepare: Callable[[], object], run: Callable[[], object]) -> float:
    prepare()
    run()
    spent: list[float] = []
    while not spent or (len(spent) < _RUNS and sum(spent) < _ENOUGH):
        prepare()
        start = time.perf_counter()
        run()
        spent.append(time.perf_counter() - start)
    return statistics.median(spent) * 1000
