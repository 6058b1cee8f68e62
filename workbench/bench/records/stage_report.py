"""Represent the results of a stage run in a record: costs of stages and of single files."""

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
from workbench.bench.measuring.measurement import rate_figure, rate_text
from workbench.catalog import load_catalog
from workbench.emit.script import script_of
from workbench.engine.build.pipelines import CompiledSource
from workbench.engine.protocol.exit_status import printable
from workbench.engine.protocol.registry import sendable, task
from workbench.engine.run.worker import Worker
from workbench.graph.model import DecodeDevice, Graph, Source
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import ORDER_OPTIONS, Datasets

# The files that decode slowest, and the time each adds to a batch.
#
# A batch is ready when its last image is: DALI distributes the images of a batch to its threads,
# largest first, and a file that takes far longer than the others leaves these idle. Each file is
# read and decoded several times by one thread, through the graph's own decoder; the minimum CPU
# time counts, which other processes affect least.

LIMIT = 10.0
"""Time limit in seconds for timing files. If it is reached, the remaining files are not timed."""
MOST = 5000
PASSES = 3
NAMED = 5
"""Maximum number of files named in a report."""
SLOW = 2.0
"""A file is slow if its decoding takes at least this multiple of the median."""
_DRAWS = 200


@sendable
@dataclass(frozen=True, slots=True)
class SlowFile:
    """Decoding time of a slow file, and the milliseconds by which it lengthens a batch."""

    file: str
    milliseconds: float
    adds: float


@sendable
@dataclass(frozen=True, slots=True)
class FileTimes:
    """Decoding times of the files. ``median`` is in milliseconds.

    ``blocked`` is the fraction of the threads' time spent waiting for the slowest image of a batch.
    """

    files: int
    median: float
    slow: int
    """Number of files that take ``SLOW`` times the median or more."""
    slowest: tuple[SlowFile, ...]
    blocked: float
    without_slow: float
    """Speed-up of decoding if the slow files took only the median time."""
    device: DecodeDevice = "cpu"
    """Device that decoded. With ``mixed``, the effect on a batch is unknown, because the GPU
    decodes several images at a time; ``adds`` and ``blocked`` are 0 and ``without_slow`` is 1.
    """

    def text(self) -> str:
        """Describe the times in one sentence, which may be followed by file names."""
        text = f"{self.files:,} files decoded separately: median {self.median:.2f} ms"
        if not self.slow:
            return f"{text}, none takes {SLOW:g} times that"
        text += f"; {self.slow:,} ({self.slow / self.files:.1%}) take {SLOW:g} times that or more"
        if self.device == "mixed":
            return f"{text} (one image at a time, mixed decoding)"
        return (
            f"{text}. If these took the median time, batches would decode {self.without_slow:.2f} "
            "times as fast. At the end of a batch, threads without an image are idle for "
            f"{self.blocked:.0%} of the time"
        )


def batch_time(times: Sequence[float], threads: int) -> float:
    """Return the time to process a batch, with the longest images first, on several threads."""
    free = [0.0] * threads
    for each in sorted(times, reverse=True):
        heapq.heapreplace(free, free[0] + each)
    return max(free)


def file_times(names: Sequence[str], times: Sequence[float], batch: int, threads: int) -> FileTimes:
    """Estimate the effect of slow files on random batches, from decoding times in milliseconds."""
    chance = random.Random(0)
    median = statistics.median(times)
    limit = SLOW * median
    usual = [min(each, median) if each >= limit else each for each in times]
    sampled = [chance.choices(range(len(times)), k=batch) for _ in range(_DRAWS)]
    spent = [batch_time([times[i] for i in each], threads) for each in sampled]
    capped = [batch_time([usual[i] for i in each], threads) for each in sampled]
    worked = sum(times[i] for each in sampled for i in each)
    order = sorted(range(len(times)), key=lambda index: -times[index])[:NAMED]
    named = []
    for index in (index for index in order if times[index] >= limit):
        added = statistics.fmean(
            batch_time([times[index], *(usual[i] for i in each[1:])], threads) - without
            for each, without in zip(sampled, capped, strict=True)
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


def gpu_file_times(names: Sequence[str], times: Sequence[float]) -> FileTimes:
    """Return the slowest files of mixed decoding, from wall times in milliseconds."""
    median = statistics.median(times)
    slow = sorted(
        (each for each in zip(times, names, strict=True) if each[0] >= SLOW * median), reverse=True
    )
    named = tuple(SlowFile(name, spent, 0.0) for spent, name in slow[:NAMED])
    return FileTimes(len(times), median, len(slow), named, 0.0, 1.0, "mixed")


@task
def time_files(
    worker: Worker, graph: Graph, data: Datasets, seconds: float = LIMIT
) -> FileTimes | None:
    """Task: decode each file separately, in the reader's order, and return the times.

    On the CPU they are CPU times, with mixed decoding wall times.

    Return None if DALI does not report the names of the files.
    """
    catalog, settings = load_catalog(), graph.settings
    alone = replace(settings, batch_size=1, num_threads=1, prefetch_queue_depth=1, pipelines=1)
    nodes = tuple(
        replace(node, args={k: v for k, v in node.args.items() if k not in ORDER_OPTIONS})
        if isinstance(node, Source)
        else node
        for node in graph.nodes
    )
    part = decoding_only(ResolvedGraph(replace(graph, settings=alone, nodes=nodes), catalog))
    compiled = CompiledSource(script_of(part.sound()))
    (pipe,) = compiled.build(data, settings.device)
    clock = time.process_time if settings.device == "cpu" else time.perf_counter
    sizes = [meta["epoch_size"] for meta in pipe.reader_meta().values()]
    count = min(MOST, *sizes)
    try:
        pipe.run()  # the first run builds what later ones reuse
        found: dict[str, float] = {}
        until = time.perf_counter() + min(LIMIT, seconds)
        for done in range(PASSES * count):
            worker.report(done / (PASSES * count))
            start = clock()
            outputs = pipe.run()
            spent = 1000 * (clock() - start)
            name = _name(outputs)
            if not name:
                return None
            found[name] = min(spent, found.get(name, spent))
            if time.perf_counter() > until:
                break
    except Exception as error:
        raise compiled.error(error) from None
    names, times = [printable(name) for name in found], list(found.values())
    if settings.device == "mixed":
        return gpu_file_times(names, times)
    return file_times(names, times, settings.batch_size, settings.num_threads)


def _name(outputs: Any) -> str:
    """Return the file name of the first sample of the first output, or "" if DALI reports none."""
    return str(outputs[0][0].source_info() or "")


READ, DECODE, OPERATOR, COPY = "read", "decode", "operator", "copy"
CEILING = "ceiling: decoded batch cached"


@dataclass(frozen=True, slots=True)
class StageCost:
    """Cost of one stage. Times are in milliseconds per batch, or None if not measured.

    ``adds`` is the time that the stage adds to the stages before it, with the interval ``low`` to
    ``high`` from adjacent rounds. ``alone`` is the time of the operator run alone. ``op`` is the
    operator's name, or empty for a stage that is not an operator.
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
    """``adds`` corrected for noise: not negative, and the sum over all stages is the total."""

    @property
    def is_nonnegative(self) -> bool:
        """True if the measured cost is not negative. A negative cost is noise."""
        return self.adds is not None and self.adds >= 0

    @property
    def title(self) -> str:
        """Name of the stage, with its operator if the names differ: ``color (color_twist)``."""
        return f"{self.stage} ({self.op})" if self.op not in ("", self.stage) else self.stage


@dataclass(frozen=True, slots=True)
class FunctionCost:
    """Cost of a user function: imgs/s of the graph with and without it, or None if not measured.

    ``adds`` is the additional time per batch in milliseconds, with the interval ``low`` to
    ``high``.
    """

    stage: str
    function: str
    adds: float | None = None
    low: float | None = None
    high: float | None = None
    rate: float | None = None
    without: float | None = None
    reason: str = ""
    """Reason why the function was not measured."""
    frames: int = 0
    """Number of frames per sample of a sequence, or 0 for images."""
    with_text: str = ""
    without_text: str = ""
    """``rate`` and ``without`` as text, ranges if not known within 3 %. Earlier records lack it."""

    def text(self, total: float) -> str:
        """Describe the cost relative to a batch of ``total`` milliseconds."""
        name = f"{self.stage} (your function {self.function})"
        if self.adds is None or self.rate is None or self.without is None:
            return f"{name}: not measured without it, {self.reason}"
        spread = f"{self.low:.2f} to {self.high:.2f} ms"
        with_it = self.with_text or rate_text(self.rate, self.frames)
        without = self.without_text or rate_figure(self.without, self.frames)
        rates = f"{with_it} with it, {without} without"
        if (self.low or 0.0) <= 0:
            return f"{name}: no significant cost ({spread}); {rates}"
        return f"{name} takes {self.adds / total:.0%} of a batch's time ({spread}): {rates}"


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """Stages that a batch waits for, and kinds of stages that run in parallel with them.

    DALI runs one operator of each kind at a time (``OperatorConcurrency.BACKEND``): a thread
    prefetches, and CPU operators, mixed decoders and GPU operators work on different batches
    simultaneously. The kind that is busy longest determines the speed.
    """

    stages: tuple[str, ...]
    milliseconds: float
    beside: Mapping[str, float]
    """Milliseconds per batch of each kind of stage that runs in parallel with the path, by name."""

    def text(self, total: float) -> str:
        """Describe the path for a batch of ``total`` milliseconds."""
        text = f"critical path: {' → '.join(self.stages)}, {self.milliseconds:.1f} ms of work for "
        text += f"a batch of {total:.1f} ms"
        beside = ", ".join(f"{name} ({ms:.1f} ms)" for name, ms in self.beside.items())
        return f"{text}; in parallel {beside}" if beside else text


@dataclass(frozen=True, slots=True)
class StageReport:
    """Result of a stage run in milliseconds per batch: the total, its stages, and the remainder."""

    stages: tuple[StageCost, ...]
    total: float
    remainder: float | None
    ceiling: float | None
    """Rate in imgs/s if reading and decoding took no time, or None if not measured."""
    bottleneck: str
    """Name of the slowest stage, or "" if the run was too unstable to name one (see ``advice``)."""
    advice: str
    functions: tuple[FunctionCost, ...] = ()
    critical: CriticalPath | None = None
    """Critical path, or None if unknown or if the run was too unstable."""
    files: FileTimes | None = None
    files_reason: str = ""
    """Reason why files were not timed separately, or an empty string if they were."""
    gain: float | None = None
    """Speed-up if reading and decoding took no time, or None if not measured."""
    gain_text: str = ""
    """``gain`` as text, a range if it is not known within 3 %. Earlier records lack it."""

    @property
    def path_texts(self) -> tuple[str, ...]:
        """Sentences on the critical path, the effect of a cached source, and the slowest files."""
        found = [self.critical.text(self.total)] if self.critical else []
        if self.gain is not None:
            gain = self.gain_text or f"{self.gain:.2f}"
            found.append(f"with the decoded batch cached at most {gain} times as fast")
        if self.files is None:
            return (*found, *([f"slowest files: {self.files_reason}"] * bool(self.files_reason)))
        slowest = (
            f"{one.milliseconds:.1f} ms: {one.file}"
            + f", a batch that contains it takes {one.adds:.1f} ms longer" * (one.adds > 0)
            for one in self.files.slowest
        )
        return (*found, self.files.text(), *slowest)

    @property
    def function_texts(self) -> tuple[str, ...]:
        """Sentences on the cost of each user function."""
        return tuple(cost.text(self.total) for cost in self.functions)


def stages_of(record: Mapping[str, Any]) -> StageReport | None:
    """Return the stage report in a record's ``extra``, or None if there is none."""
    found = record.get("stages")
    if not found:
        return None
    return msgspec.convert(found, StageReport)
