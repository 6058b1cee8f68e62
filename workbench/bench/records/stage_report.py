"""What a run by stages found: the cost of each stage, and of single files. A record keeps it."""

from __future__ import annotations

import heapq
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from workbench.bench.measuring.config import decoding_only
from workbench.bench.measuring.measurement import rate_figure, rate_words
from workbench.catalog import load_catalog
from workbench.emit.script import script_of
from workbench.engine.build.pipelines import CompiledSource
from workbench.engine.protocol.exit_status import printable
from workbench.engine.protocol.registry import sendable, task
from workbench.engine.run.worker import Worker
from workbench.graph.model import Graph, Source
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import Datasets

# The files that decode slowest, and what each costs the batch that holds it.
#
# A batch is ready when its last image is: DALI hands the images of a batch to its threads, the
# largest first, and a file that takes far longer than the others leaves these idle (it blocks
# them). Each file is read and decoded by itself by one thread, through the graph's own decoder,
# several times; what counts is the least CPU time of these, which other processes change least.

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
def time_files(
    worker: Worker, graph: Graph, data: Datasets, seconds: float = LIMIT
) -> FileTimes | None:
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
        until = time.perf_counter() + min(LIMIT, seconds)
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


READ, DECODE, OPERATOR, COPY = "read", "decode", "operator", "copy"
CEILING = "ceiling: decoded batch cached"


@dataclass(frozen=True, slots=True)
class StageCost:
    """One stage; times are milliseconds for a batch, None where they were not measured.

    ``adds`` is what the prefix up to it takes more than the one before, and ``low`` to ``high`` the
    interval of that, of rounds side by side. ``alone`` is what the operator takes by itself, ``op``
    its name, empty for a stage that is none.
    """

    stage: str
    kind: str
    device: str
    adds: float | None
    alone: float | None
    op: str = ""
    low: float | None = None
    high: float | None = None
    exclusive: float | None = None
    """``adds`` with the noise taken out: none is below zero, and all together are the whole."""

    @property
    def is_nonnegative(self) -> bool:
        """Whether it was told from nothing: a difference below zero says only that it was not."""
        return self.adds is not None and self.adds >= 0

    @property
    def title(self) -> str:
        """The stage's name, and its operator's where that is another: ``color (color_twist)``."""
        return f"{self.stage} ({self.op})" if self.op not in ("", self.stage) else self.stage


@dataclass(frozen=True, slots=True)
class FunctionCost:
    """A function of the user: imgs/s of the graph with it and without it, None without a figure.

    ``adds`` is what a batch takes longer with it, in milliseconds, ``low`` to ``high`` the interval
    of that.
    """

    stage: str
    function: str
    adds: float | None = None
    low: float | None = None
    high: float | None = None
    rate: float | None = None
    without: float | None = None
    reason: str = ""
    """Why it was not measured."""
    frames: int = 0
    """As of ``Config``."""

    def words(self, total: float) -> str:
        """What it costs of a batch that takes ``total`` milliseconds."""
        name = f"{self.stage} (your function {self.function})"
        if self.adds is None or self.rate is None or self.without is None:
            return f"{name}: not measured without it, {self.reason}"
        spread = f"{self.low:.2f} to {self.high:.2f} ms"
        rates = f"{rate_words(self.rate, self.frames)} with it, "
        rates += f"{rate_figure(self.without, self.frames)} without"
        if (self.low or 0.0) <= 0:
            return f"{name}: no cost that could be told from nothing ({spread}); {rates}"
        return f"{name} takes {self.adds / total:.0%} of a batch's time ({spread}): {rates}"


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """The stages that a batch waits for, and what runs beside them.

    DALI works at one operator of each kind at a time (``OperatorConcurrency.BACKEND``): a thread
    reads ahead, and operators of the CPU, mixed decoders and operators of the GPU work at
    different batches at once. The kind that is busy longest sets the pace.
    """

    stages: tuple[str, ...]
    milliseconds: float
    beside: Mapping[str, float]
    """Milliseconds of a batch of each other kind, by its name."""

    def words(self, total: float) -> str:
        """For a batch that takes ``total`` milliseconds."""
        text = f"critical path: {' → '.join(self.stages)}, {self.milliseconds:.1f} ms of work for "
        text += f"a batch of {total:.1f} ms"
        beside = ", ".join(f"{name} ({ms:.1f} ms)" for name, ms in self.beside.items())
        return f"{text}; beside it {beside}" if beside else text


@dataclass(frozen=True, slots=True)
class StageReport:
    """Milliseconds for a batch: the whole, its stages, and what the operators alone leave over."""

    stages: tuple[StageCost, ...]
    total: float
    remainder: float | None
    ceiling: float | None
    """imgs/s with reading and decoding for nothing; None where it was not measured."""
    bottleneck: str
    """Empty where the run was too unstable to name one: ``advice`` says why."""
    advice: str
    functions: tuple[FunctionCost, ...] = ()
    critical: CriticalPath | None = None
    """None where it is not known, or the run was too unstable for a verdict."""
    files: FileTimes | None = None
    files_reason: str = ""
    """Why files were not timed one by one."""
    gain: float | None = None
    """How many times as fast it would be with reading and decoding for nothing, at most."""

    @property
    def path_words(self) -> tuple[str, ...]:
        """The critical path, what a cached source would bring, and the slowest files."""
        found = [self.critical.words(self.total)] if self.critical else []
        if self.gain is not None:
            found.append(f"with the decoded batch cached at most {self.gain:.2f} times as fast")
        if self.files is None:
            return (*found, *([f"slowest files: {self.files_reason}"] * bool(self.files_reason)))
        slowest = (
            f"{one.milliseconds:.1f} ms: {one.file}, a batch that holds it takes "
            f"{one.adds:.1f} ms longer"
            for one in self.files.slowest
        )
        return (*found, self.files.words(), *slowest)

    @property
    def function_words(self) -> tuple[str, ...]:
        """What each function of the user costs against the rest."""
        return tuple(cost.words(self.total) for cost in self.functions)


def stages_of(record: Mapping[str, Any]) -> StageReport | None:
    """The stages in a record's ``extra``, or None."""
    found = record.get("stages")
    if not found:
        return None
    return msgspec.convert(found, StageReport)
