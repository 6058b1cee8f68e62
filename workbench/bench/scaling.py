"""How speed grows with threads, with pipelines side by side, and with GPUs.

Each GPU has a process and a shard of the data, and each of its pipelines a part of that.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from workbench.bench.config import Config, config_of, sharded, with_config
from workbench.bench.data_fingerprint import Fingerprint
from workbench.bench.interleaved import ConfigJobs
from workbench.bench.measurement import Measurement
from workbench.bench.measurement_config import MeasurementConfig
from workbench.bench.page_cache import Cache
from workbench.bench.record import Report
from workbench.bench.speed_experiment import SpeedExperiment
from workbench.bench.workload import ScriptJob
from workbench.catalog import Catalog
from workbench.emit.cores import cores_without_interrupts
from workbench.emit.script import emit_script
from workbench.engine.gpu import cuda_uuids
from workbench.engine.machine import usable_cores
from workbench.engine.worker_progress import Progress
from workbench.graph.bounds import SETTINGS
from workbench.graph.model import DecodeDevice, Graph
from workbench.sources import Data

Affinity = Literal["none", "split"]


class ThreadScalingExperiment(SpeedExperiment):
    """One process with 1 to N threads."""

    kind: str = "threads"

    def __init__(
        self,
        graph: Graph,
        data: Data,
        counts: Sequence[int] = (),
        device: DecodeDevice | None = None,
        *,
        measurement_config: MeasurementConfig | None = None,
        cache: Cache = "warm",
        name: str = "",
    ) -> None:
        """Without ``counts``: powers of two up to the cores of the machine."""
        super().__init__(graph, data, measurement_config=measurement_config, cache=cache, name=name)
        self.counts = tuple(counts) or self.usual_counts()
        self.base = config_of(graph, device)

    def usual_counts(self) -> tuple[int, ...]:
        """What is measured where no counts are given."""
        cores = usable_cores()
        powers = [2**power for power in range(12) if 2**power < cores]
        return (*powers, cores)

    def run(self, on_progress: Progress = lambda share, text: None) -> Report:
        """Measure every count in turns. Raises DataError, EngineError and CancelledError."""
        catalog, machine, found, cache = self.prepare(on_progress)
        configs = [replace(self.base, **cast(Any, {self.kind: count})) for count in self.counts]
        self.require_measurable(configs, catalog, machine)
        self.begin(machine, found, cache)
        rows = self.measure([self.entry(c, catalog, found) for c in configs], self.progress)
        self.progress(1.0, "done")
        return self.report(rows, machine, found, cache)


class PipelineScalingExperiment(ThreadScalingExperiment):
    """One process with 1 to N pipelines, each with the graph's threads."""

    kind = "pipelines"

    def usual_counts(self) -> tuple[int, ...]:
        """As many as there may be."""
        least, most = SETTINGS["pipelines"]
        return tuple(range(least, most + 1))


class GpuScalingExperiment(SpeedExperiment):
    """One process a GPU, each with a shard of the data, all at once.

    ``affinity`` "split" gives each process an equal share of the cores for itself, of those that no
    GPU interrupts where GPUs decode. Without a GPU (device cpu) the same is measured with processes
    alone.
    """

    kind = "workers"

    def __init__(
        self,
        graph: Graph,
        data: Data,
        counts: Sequence[int] = (),
        device: DecodeDevice | None = None,
        *,
        affinity: Affinity = "none",
        measurement_config: MeasurementConfig | None = None,
        cache: Cache = "warm",
        name: str = "",
    ) -> None:
        """Without ``counts``: 1, 2, 4, ... up to the number of GPUs."""
        super().__init__(graph, data, measurement_config=measurement_config, cache=cache, name=name)
        gpus = len(cuda_uuids())
        self.counts = tuple(counts) or tuple(2**p for p in range(8) if 2**p <= max(1, gpus))
        self.base = config_of(graph, device)
        self.affinity = affinity

    def run(self, on_progress: Progress = lambda share, text: None) -> Report:
        """Measure every count in turns. One with too few GPUs has the reason.

        Raises DataError, EngineError and CancelledError.
        """
        catalog, machine, found, cache = self.prepare(on_progress)
        self.require_measurable([self.base], catalog, machine)
        gpus = len(cuda_uuids())
        configs = [replace(self.base, workers=count) for count in self.counts]
        able = [c for c in configs if self.base.device != "mixed" or c.workers <= gpus]
        entries = [self._sharded_entry(config, catalog, found) for config in able]
        self.begin(machine, found, cache)
        rows = dict(zip(able, self.measure(entries, self.progress), strict=True))
        there = f"not measured: this machine has {gpus} GPU{'s' * (gpus != 1)}"
        self.progress(1.0, "done")
        every = [rows.get(config) or Measurement(config, reason=there) for config in configs]
        return self.report(every, machine, found, cache, affinity=self.affinity)

    def _sharded_entry(self, config: Config, catalog: Catalog, found: Fingerprint) -> ConfigJobs:
        graph = with_config(self.graph, catalog, config)
        jobs = tuple(
            ScriptJob(
                emit_script(sharded(graph, shard, config.workers), catalog),
                self.data, config.device, config.prefetch,
            )
            for shard in range(config.workers)
        )  # fmt: skip
        words = f"{config.workers} process{'es' * (config.workers != 1)}"
        entry = replace(self.entry(config, catalog, found, words), jobs=jobs)
        if config.device == "mixed" and config.workers > 1:  # never MIG: CUDA shows one instance
            uuids = cuda_uuids()[: config.workers]
            environments = tuple({"CUDA_VISIBLE_DEVICES": f"GPU-{uuid}"} for uuid in uuids)
            entry = replace(entry, environments=environments)
        if self.affinity == "split":
            cores = cores_without_interrupts() if config.device == "mixed" else None
            entry = replace(entry, cores=split_cores(config.workers, cores))
        return entry


def split_cores(parts: int, usable: Collection[int] | None = None) -> tuple[tuple[int, ...], ...]:
    """Cores, those of this process by default, in so many runs of equal length, at least of one.

    Threads of one physical core stay together, and so do the cores of one socket.
    """
    cores = sorted(os.sched_getaffinity(0) if usable is None else usable, key=_where)
    size = max(1, len(cores) // parts)
    return tuple(tuple(cores[part * size % len(cores) :][:size]) for part in range(parts))


def _where(core: int, root: str = "/sys/devices/system/cpu") -> tuple[int, int, int]:
    """Socket, physical core and number of a core, as Linux tells them (sysfs, topology)."""
    topology = Path(root, f"cpu{core}", "topology")
    try:
        socket, physical = (
            int((topology / name).read_text(encoding="ascii"))
            for name in ("physical_package_id", "core_id")
        )
    except (OSError, ValueError):
        return 0, core, core
    return socket, physical, core
