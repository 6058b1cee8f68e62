"""Estimate the files, disk space and time of a version before it is rendered."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from workbench.engine.resources.machine import usable_cores
from workbench.sources import Datasets, Sample
from workbench.versions.formats import load_format
from workbench.versions.outputs import plan_roles
from workbench.versions.plan import VersionPlan
from workbench.versions.planning import write_inputs
from workbench.versions.processes import (
    ask_worker,
    duration_text,
    require_workers,
    size_text,
    usual_workers,
)
from workbench.versions.records import WORK, SampleRecord

_MACHINES = (1, 8, 64)


@dataclass(frozen=True, slots=True)
class VersionEstimate:
    """The size of a version, and the time to render it on this machine and on several.

    ``bytes_per_sample`` and ``seconds_per_sample`` were measured in one worker process with the
    cores that it will have; the seconds are 0 if the data have too few samples.
    """

    samples: int
    shards: int
    files: int
    bytes_per_sample: float
    record_bytes: float
    seconds_per_sample: float
    workers: int

    def lines(self) -> list[str]:
        """Return the estimate as lines."""
        size = self.samples * self.bytes_per_sample
        found = [
            f"{self.samples:,} samples in {self.shards:,} shard{'s' * (self.shards != 1)}, "
            f"{self.files:,} files",
            f"about {size_text(size)} ({size_text(self.bytes_per_sample)} per sample), and "
            f"{size_text(self.samples * self.record_bytes)} for the manifest",
        ]
        if not self.seconds_per_sample:
            return [*found, "The time is unknown: the data have less than two batches."]
        rate = self.workers / self.seconds_per_sample
        times = [
            f"{machines} machine{'s' * (machines > 1)} {duration_text(self.time_on(machines))}"
            for machines in _MACHINES
        ]
        return [*found, f"about {rate:,.0f} samples/s on this machine: {', '.join(times)}"]

    def time_on(self, machines: int) -> float:
        """Return the seconds on a number of machines like this one, for whole shards."""
        at_once = machines * self.workers
        rounds = -(-self.shards // at_once)
        return rounds * self.samples / self.shards * self.seconds_per_sample


def _pictures(plan: VersionPlan, graph: str) -> int:
    roles = plan_roles(plan, graph)
    return len(roles.images) + len(roles.masks)


def estimate_version(
    plan: VersionPlan, samples: Sequence[Sample], data: Datasets, workers: int | None
) -> VersionEstimate:
    """Measure a few batches in a temporary folder, and return the estimate for the whole plan."""
    require_workers(workers)
    workers = workers or usual_workers()
    with tempfile.TemporaryDirectory(prefix="workbench-estimate-") as place:
        (Path(place) / WORK).mkdir()
        write_inputs(Path(place), plan, samples, data)
        found = ask_worker(
            Path(place), next(plan.tasks()), "measure", max(1, usable_cores() // workers)
        )
    tasks = list(plan.tasks())
    total = sum(each.samples * (each.copies + each.originals) for each in plan.splits)
    files = len(tasks)
    if load_format(plan.format).file_per_picture:
        files = sum(
            each.samples * (each.copies * _pictures(plan, each.graph) + each.originals)
            for each in plan.splits
        )
    digest = "0" * 64
    record = SampleRecord("k" * 32, "s" * 24, digest, 1, {"png": digest}, {"png": "p" * 48})
    size = len(msgspec.json.encode(record)) + 1
    return VersionEstimate(
        total,
        len(tasks),
        files + len(tasks) + 1,
        found["bytes"],
        size,
        found["seconds"],
        min(workers, len(tasks)),
    )
