"""The files that decode slowest, and what each costs the batch that holds it.

A batch is ready when its last image is: DALI hands the images of a batch to its threads, the
largest first, and a file that takes far longer than the others leaves these idle (it blocks them).
Each file is read and decoded by itself by one thread, through the graph's own decoder, several
times; what counts is the least CPU time of these, which other processes change least.
"""

from __future__ import annotations

import heapq
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.bench.measuring.config import decoding_only
from workbench.catalog import load_catalog
from workbench.emit.script import script_of
from workbench.engine.build.pipelines import CompiledSource
from workbench.engine.protocol.exit_status import printable
from workbench.engine.protocol.registry import sendable, task
from workbench.engine.run.worker import Worker
from workbench.graph.model import Graph, Source
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import Datasets

LIMIT = 10.0
"""Seconds for the files: of more than fit into them the first are timed."""
MOST = 5000
PASSES = 3
NAMED = 5
"""Files that are named."""
SLOW = 2.0
"""A file that takes so many times the median of all is slow."""
_DRAWS = 200


@sendable
@dataclass(frozen=True, slots=True)
class SlowFile:
    """A file, its milliseconds, and those that it adds to a batch in the place of a usual one."""

    file: str
    milliseconds: float
    adds: float


@sendable
@dataclass(frozen=True, slots=True)
class FileTimes:
    """What timing the files found; ``median`` in milliseconds.

    ``blocked`` is the share of the threads' time that they wait for the slowest image of a batch.
    """

    files: int
    median: float
    slow: int
    """How many take ``SLOW`` times the median or more."""
    slowest: tuple[SlowFile, ...]
    blocked: float
    without_slow: float
    """How many times as fast batches would decode if slow files took as long as the median."""

    def words(self) -> str:
        """In a sentence; the files come after it."""
        text = f"{self.files:,} files decoded one by one: median {self.median:.2f} ms"
        if not self.slow:
            return f"{text}, none takes {SLOW:g} times that"
        share = self.slow / self.files
        return (
            f"{text}; {self.slow:,} ({share:.1%}) take {SLOW:g} times that or more. Threads wait "
            f"{self.blocked:.0%} of their time for the slowest image of a batch; without these "
            f"files batches would decode {self.without_slow:.2f} times as fast"
        )


def batch_time(times: Sequence[float], threads: int) -> float:
    """When the last of some images is done: the longest first, each to the thread that is free."""
    free = [0.0] * threads
    for each in sorted(times, reverse=True):
        heapq.heapreplace(free, free[0] + each)
    return max(free)


def file_times(names: Sequence[str], times: Sequence[float], batch: int, threads: int) -> FileTimes:
    """What files of these milliseconds mean for random batches of them. ``times`` is not empty."""
    chance = random.Random(0)
    median = statistics.median(times)
    limit = SLOW * median
    usual = [min(each, median) if each >= limit else each for each in times]
    drawn = [chance.choices(range(len(times)), k=batch) for _ in range(_DRAWS)]
    spent = [batch_time([times[i] for i in each], threads) for each in drawn]
    capped = [batch_time([usual[i] for i in each], threads) for each in drawn]
    worked = sum(times[i] for each in drawn for i in each)
    order = sorted(range(len(times)), key=lambda index: -times[index])[:NAMED]
    named = []
    for index in (index for index in order if times[index] >= limit):
        added = statistics.fmean(
            batch_time([times[index], *(usual[i] for i in each[1:])], threads) - without
            for each, without in zip(drawn, capped, strict=True)
        )
        named.append(SlowFile(names[index], times[index], max(0.0, added)))
    return FileTimes(
        len(times),
        median,
        sum(each >= limit for each in times),
        tuple(named),
        max(0.0, 1 - worked / (threads * sum(spent))),
        sum(spent) / sum(capped),
    )


@task
def time_files(worker: Worker, graph: Graph, data: Datasets) -> FileTimes | None:
    """Task: each file through the reader and the decoders by itself, in the reader's order.

    None where no file can be named. On the CPU only.
    """
    catalog, settings = load_catalog(), graph.settings
    alone = replace(
        settings, batch_size=1, num_threads=1, prefetch_queue_depth=1, pipelines=1, device="cpu"
    )
    nodes = tuple(
        replace(node, args={**node.args, "random_shuffle": False})
        if isinstance(node, Source) and "random_shuffle" in catalog[node.op].args
        else node
        for node in graph.nodes
    )
    part = decoding_only(ResolvedGraph(replace(graph, settings=alone, nodes=nodes), catalog))
    compiled = CompiledSource(script_of(part.sound()))
    (pipe,) = compiled.build(data, "cpu")
    sizes = [meta["epoch_size"] for meta in pipe.reader_meta().values()]
    count = min(MOST, *sizes)
    try:
        pipe.run()  # the first builds what later ones reuse
        found: dict[str, float] = {}
        until = time.perf_counter() + LIMIT
        for done in range(PASSES * count):
            worker.report(done / (PASSES * count))
            start = time.process_time()
            outputs = pipe.run()
            spent = 1000 * (time.process_time() - start)
            name = _name(outputs)
            if not name:
                return None
            found[name] = min(spent, found.get(name, spent))
            if time.perf_counter() > until:
                break
    except Exception as error:
        raise compiled.error(error) from None
    return file_times(
        [printable(name) for name in found],
        list(found.values()),
        settings.batch_size,
        settings.num_threads,
    )


def _name(outputs: Any) -> str:
    """The file that the first output's first sample was read from; empty where DALI has no name."""
    return str(outputs[0][0].source_info() or "")
