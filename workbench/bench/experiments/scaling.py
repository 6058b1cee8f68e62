"""Measure how speed scales with the number of threads, pipelines, processes and GPUs.

Each GPU has one process and one shard of the data, which the pipelines of the process divide among
themselves.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack, cast

from workbench.bench.experiments.speed_experiment import (
    InterleavedExperiment,
    Options,
    Outcome,
    Prepared,
    SpeedExperiment,
)
from workbench.bench.measuring.config import Config, config_of, sharded
from workbench.bench.measuring.interleaved import ConfigJobs
from workbench.bench.measuring.measurement import Measurement
from workbench.emit.templates.cores import cores_without_interrupts
from workbench.engine.protocol.progress import Progress
from workbench.engine.resources.gpu import Gpu, cuda_uuids
from workbench.engine.resources.machine import describe_machine, usable_cores
from workbench.errors import EngineError
from workbench.graph.model import DecodeDevice, Graph
from workbench.graph.model.bounds import SETTINGS
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import Data

Affinity = Literal["none", "split"]


class ThreadScalingExperiment(InterleavedExperiment):
    """Measure one process with 1 to N threads."""

    kind: str = "threads"

    def __init__(
        self,
        graph: Graph,
        data: Data,
        counts: Sequence[int] = (),
        device: DecodeDevice | None = None,
        **options: Unpack[Options],
    ) -> None:
        """``counts`` defaults to powers of two up to the machine's cores."""
        super().__init__(graph, data, **options)
        self.counts = tuple(counts) or self.default_counts()
        self.base = config_of(graph, device)

    def default_counts(self) -> tuple[int, ...]:
        """Return the powers of two below the number of cores, and the number of cores."""
        cores = usable_cores()
        powers = [2**power for power in range(12) if 2**power < cores]
        return (*powers, cores)

    def entries(self) -> list[ConfigJobs]:
        """Return one measurement job for each number of threads (or pipelines)."""
        configs = [replace(self.base, **cast(Any, {self.kind: count})) for count in self.counts]
        self.require_measurable(*configs)
        return [self.entry(config) for config in configs]


class PipelineScalingExperiment(ThreadScalingExperiment):
    """Measure one process with 1 to N pipelines, each with the graph's number of threads."""

    kind = "pipelines"

    def default_counts(self) -> tuple[int, ...]:
        """Return every number of pipelines from 1 to the maximum."""
        least, most = SETTINGS["pipelines"]
        return tuple(range(least, most + 1))


class ProcessScalingExperiment(SpeedExperiment):
    """Measure several processes that decode on the CPU in parallel, each on a shard of the data.

    With ``affinity`` "split", each process has an equal share of the cores.
    """

    kind = "workers"
    device: DecodeDevice = "cpu"
    unit = "process", "processes"
    """Noun for messages, in singular and plural."""

    def __init__(
        self,
        graph: Graph,
        data: Data,
        counts: Sequence[int] = (),
        pipelines: Sequence[int] = (),
        *,
        affinity: Affinity = "none",
        **options: Unpack[Options],
    ) -> None:
        """Measure each combination of a number of processes and a number of pipelines per process.

        ``counts`` defaults to 1, 2, 4, ... up to the maximum. ``pipelines`` defaults to the graph's
        number of pipelines.
        """
        super().__init__(graph, data, **options)
        self.counts = tuple(counts) or tuple(
            2**p for p in range(8) if 2**p <= self.default_maximum()
        )
        self.base = config_of(graph, self.device)
        self.pipelines = tuple(pipelines) or (self.base.pipelines,)
        self.affinity = affinity

    def default_maximum(self) -> int:
        """Return the default maximum number of processes: one per core."""
        return usable_cores()

    def measure_all(self) -> Outcome:
        """Measure all numbers of processes interleaved.

        If the machine is too small for a number of processes, its row has the reason. Raises
        EngineError if nothing can be measured, or if a reader cannot read a shard.
        """
        configs = [
            replace(self.base, workers=count, pipelines=pipelines)
            for pipelines in self.pipelines
            for count in self.counts
        ]
        self.require_measurable(*configs)
        if max(self.counts) > 1:
            _require_shards(self.resolved)
        able = [config for config in configs if not self.missing(config)]
        measured = self.measure([self.sharded_entry(config) for config in able], self.progress)
        rows = dict(zip(able, measured, strict=True))
        every = [rows.get(c) or Measurement(c, reason=self.missing(c)) for c in configs]
        return Outcome(every, {"affinity": self.affinity})

    def missing(self, config: Config) -> str:
        """Return the reason why this machine is too small for a configuration, or ""."""
        return ""

    def environments(self, count: int) -> tuple[dict[str, str], ...]:
        """Return extra environment variables for each of ``count`` processes, or ()."""
        return ()

    def cores(self, count: int) -> tuple[tuple[int, ...], ...]:
        """Return the cores of each of ``count`` processes with split affinity."""
        return split_cores(count)

    def sharded_entry(self, config: Config) -> ConfigJobs:
        """Return measurement jobs for parallel processes, each on a shard of the data."""
        count = config.workers
        jobs = tuple(
            self.script_job(sharded(self.graph, shard, count), config) for shard in range(count)
        )
        label = f"{count} {self.unit[count != 1]}"
        if len(self.pipelines) > 1:
            label += f" of {config.pipelines} pipeline{'s' * (config.pipelines != 1)}"
        entry = self.entry(config, label)
        cores = self.cores(count) if self.affinity == "split" else ()
        return replace(entry, jobs=jobs, environments=self.environments(count), cores=cores)


class GpuScalingExperiment(ProcessScalingExperiment):
    """Measure several GPUs in parallel, with one process and one shard of the data per GPU.

    The pipelines of a process divide its shard. With ``affinity`` "split", each process has an
    equal share of the cores without GPU interrupts, near its own GPU.
    """

    device = "mixed"
    unit = "GPU", "GPUs"

    def prepare(self, on_progress: Progress = lambda share, text: None) -> Prepared:
        """Prepare the experiment. Also raises EngineError if there is no GPU."""
        if reason := describe_machine().no_gpu:
            raise EngineError(
                f"Scaling across GPUs cannot be measured: {reason}. Measure across CPU "
                "processes instead (--processes 1,2)."
            )
        return super().prepare(on_progress)

    def default_maximum(self) -> int:
        """Return the number of GPUs."""
        return len(cuda_uuids())

    def missing(self, config: Config) -> str:
        gpus = len(cuda_uuids())
        if config.workers <= gpus:
            return ""
        return f"not measured: this machine has {gpus} GPU{'s' * (gpus != 1)}"

    def environments(self, count: int) -> tuple[dict[str, str], ...]:
        """Return variables that assign one GPU to each process, or () for one process."""
        if count == 1:
            return ()
        # Not MIG: CUDA shows a single instance.
        return tuple({"CUDA_VISIBLE_DEVICES": f"GPU-{uuid}"} for uuid in cuda_uuids()[:count])

    def cores(self, count: int) -> tuple[tuple[int, ...], ...]:
        """Return the cores of each process, without cores that handle interrupts.

        The cores are near the process's GPU, if the driver reports them.
        """
        shares = split_cores(count, cores_without_interrupts())
        return cores_near_gpus(shares, [Gpu(uuid).near_cores() for uuid in cuda_uuids()[:count]])


def _require_shards(resolved: ResolvedGraph) -> None:
    for source in resolved.graph.sources:
        if "num_shards" not in resolved.spec(source).args:
            raise EngineError(
                f"{source.id}: {source.op} cannot read a part of its data, as each of several "
                "processes would. Use 1 process."
            )


def split_cores(parts: int, usable: Collection[int] | None = None) -> tuple[tuple[int, ...], ...]:
    """Split cores (by default those of this process) into ``parts`` groups of equal size.

    Each group has at least one core. Cores of the same socket, and threads of the same physical
    core, are in the same group where possible.
    """
    cores = sorted(os.sched_getaffinity(0) if usable is None else usable, key=_core_position)
    size = max(1, len(cores) // parts)
    return tuple(tuple(cores[part * size % len(cores) :][:size]) for part in range(parts))


def cores_near_gpus(
    shares: Sequence[tuple[int, ...]], near: Sequence[Collection[int]]
) -> tuple[tuple[int, ...], ...]:
    """Reorder groups of cores so that group i is near GPU i, as far as possible.

    ``near`` contains the cores near each GPU.
    """
    left = list(shares)
    found = []
    for cores in near:
        best = max(left, key=lambda share: len({*share} & {*cores}))
        left.remove(best)
        found.append(best)
    return (*found, *left)


def _core_position(core: int, root: str = "/sys/devices/system/cpu") -> tuple[int, int, int]:
    topology = Path(root, f"cpu{core}", "topology")
    try:
        socket, physical = (
            int((topology / name).read_text(encoding="ascii"))
            for name in ("physical_package_id", "core_id")
        )
    except (OSError, ValueError):
        return 0, core, core
    return socket, physical, core
