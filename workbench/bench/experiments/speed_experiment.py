"""Define the base class of experiments, which measures a graph on data and creates a record.

An experiment defines what is measured: with ``entries`` if all configurations are measured
interleaved (``InterleavedExperiment``), with ``measure_all`` if there are several phases.
"""

from __future__ import annotations

import os
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from workbench.arguments import TEXT, require_choice, require_kind
from workbench.bench.measuring.config import (
    Config,
    ineffective_settings,
    unmeasurable_reason,
    with_config,
)
from workbench.bench.measuring.data_files import (
    CACHES,
    Cache,
    CacheState,
    Fingerprint,
    fingerprint,
    make_cache,
)
from workbench.bench.measuring.interleaved import NOT_YET, ConfigJobs, measure
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import MEASUREMENT, MeasurementConfig
from workbench.bench.measuring.worker_group import ReusableWorker
from workbench.bench.measuring.workload import ScriptJob
from workbench.bench.records.record import MISSING, Report, graph_hash
from workbench.catalog import load_catalog
from workbench.emit.script import script_of
from workbench.engine.file_checks.usable_data import UsableData
from workbench.engine.protocol.exit_status import is_file_fault, printable
from workbench.engine.protocol.progress import Progress, WorkerProgress
from workbench.engine.resources.gpu import Gpu, first_visible_gpu, shared_gpu_text
from workbench.engine.resources.machine import Machine, describe_machine
from workbench.errors import CancelledError, EngineError
from workbench.graph.execution.active import without_loose
from workbench.graph.execution.dataset_parameters import (
    datasets_as_read,
    parameters,
    require_datasets,
    require_numbering,
    with_datasets,
)
from workbench.graph.model import Graph
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import Data, Datasets, open_datasets, require_dataset

INTERRUPTED = "interrupted"
OWN_FILES = "data that the graph names"
"""Text used in place of the data folder if the graph's readers name their files themselves."""


class Prepared(NamedTuple):
    """Results of ``SpeedExperiment.prepare``."""

    machine: Machine
    fingerprint: Fingerprint
    cache: CacheState


class Options(TypedDict, total=False):
    """Keyword arguments that every experiment accepts in addition to its own parameters."""

    measurement_config: MeasurementConfig | None
    cache: Cache
    name: str


class Outcome(NamedTuple):
    """Rows of a record, and additional results."""

    rows: Sequence[Measurement]
    extra: Mapping[str, Any] = {}


def interrupted_rows(rows: Sequence[Measurement]) -> list[Measurement]:
    """Return the rows, with the interrupt as the reason of those without a result."""
    why = f"not measured: {INTERRUPTED}"
    return [
        row if row.rounds or row.reason not in ("", NOT_YET) else replace(row, reason=why)
        for row in rows
    ]


class SpeedExperiment(ABC):
    """Base class of experiments that measure a graph on some data and return a record.

    ``cancel`` may be called from any thread; ``run`` then raises CancelledError within 0.5 s.
    """

    kind = "bench"
    partial_report: Report | None = None
    """Results of the running experiment so far, updated after each round or setting."""
    current_config: Config | None = None
    prepared: Prepared
    """Result of ``prepare``, which must be called before measuring."""

    def __init__(
        self,
        graph: Graph,
        data: Data,
        *,
        measurement_config: MeasurementConfig | None = None,
        cache: Cache = "warm",
        name: str = "",
    ) -> None:
        where = type(self).__name__
        require_kind(f"{where}: name", name, TEXT)
        require_choice(f"{where}: cache", cache, CACHES)
        if measurement_config is not None:
            require_kind(f"{where}: measurement_config", measurement_config, MEASUREMENT)
        given, graph = open_datasets(data), without_loose(graph)
        wanted = parameters(graph.nodes)
        graph = graph if wanted.keys() - given.keys() else with_datasets(graph, given)
        self.resolved = ResolvedGraph(graph, load_catalog())
        """The graph to measure. If it has no faults, ``prepare`` removes nodes that do not run."""
        read = {name: given[name] for name in wanted if name in given}
        self.data: Datasets = datasets_as_read(self.graph, read)
        """Datasets of the graph's sources. There are none if the graph sets its files itself."""
        self.measurement_config = measurement_config or MeasurementConfig()
        self.name = name
        self._reads_data = bool(wanted)
        self.progress = WorkerProgress()
        """Progress callback for the run and its workers."""
        self.usable = UsableData(self.data, on_silence=self.progress.on_silence)
        """The data without bad files, and the list of bad files."""
        self._decoded_all = False
        self._shared = ""
        """Warning that other processes use the GPU, or an empty string if there are none."""
        self._cache: Cache = cache if self._reads_data else "as found"
        self._graph_hash = ""
        self.stop = threading.Event()

    @property
    def graph(self) -> Graph:
        return self.resolved.graph

    def cancel(self) -> None:
        """Cancel the run, which then raises CancelledError and ends all its processes."""
        self.stop.set()

    def run(self, on_progress: Progress = lambda share, text: None) -> Report:
        """Measure, and return the record. Raises DataError, EngineError and CancelledError."""
        self.prepare(on_progress)
        rows, extra = self.measure_all()
        self.progress(1.0, "done")
        return self.report(rows, **extra)

    @abstractmethod
    def measure_all(self) -> Outcome:
        """Measure all configurations. Called after ``prepare``."""

    def prepare(self, on_progress: Progress = lambda share, text: None) -> Prepared:
        """Inspect machine and data, and load the files into the page cache or evict them.

        Files with invalid headers are excluded. ``on_progress`` is called during this and all later
        steps. Raises DataError if the data cannot be used.
        """
        self.progress.listener = on_progress
        require_datasets(self.graph, self.data)
        for dataset in self.data.values():
            require_dataset(dataset)
        machine = describe_machine()
        if not self.resolved.stopping_faults:  # ``require_measurable`` reports the reason
            self.resolved = self.resolved.running
        if not machine.no_gpu and self._reads_data:
            self._shared = shared_gpu_text(Gpu(first_visible_gpu()))
        self.prepared = Prepared(machine, *self._prepare_data())
        self._graph_hash = graph_hash(self.graph)
        return self.prepared

    def _prepare_data(self) -> tuple[Fingerprint, CacheState]:
        """Return a fingerprint of the data files, and their state in the page cache."""
        if not self._reads_data:
            unknown = CacheState(self._cache, "the graph sets its own files")
            return Fingerprint(OWN_FILES), unknown
        self._exclude_bad(full=False)
        found = fingerprint(self.data, self.check_cancelled)
        return found, make_cache(self.data, self._cache, self.check_cancelled)

    def interrupted_report(self) -> Report | None:
        """Return the results before the run was interrupted, or None if there are none."""
        return self.report_so_far(self.partial_report.measurements if self.partial_report else ())

    def run_interruptibly(self, on_progress: Progress = lambda share, text: None) -> Report:
        """Call ``run``. After Ctrl-C, return the results so far.

        Raises KeyboardInterrupt if there are no results, and the errors of ``run``.
        """
        try:
            return self.run(on_progress)
        except KeyboardInterrupt:
            so_far = self.interrupted_report()
            if so_far is None:
                raise
            return so_far

    def report_so_far(self, rows: Sequence[Measurement], **extra: Any) -> Report | None:
        """Return the record of an interrupted run, or None if no row has a result."""
        if not any(row.rounds for row in rows):
            return None
        known = self.partial_report.extra if self.partial_report else {}
        return self.report(interrupted_rows(rows), **{**known, **extra, "interrupted": True})

    def check_cancelled(self) -> None:
        """Raise CancelledError if the run was cancelled."""
        if self.stop.is_set():
            raise CancelledError("Cancelled.")

    def require_measurable(self, *configs: Config) -> None:
        """Raise EngineError if one of these configurations cannot be measured."""
        for config in configs:
            resolved = with_config(self.resolved, config)
            if reason := unmeasurable_reason(resolved, self.prepared.machine):
                raise EngineError(reason.removeprefix("not measured: "))

    def script_job(self, graph: Graph, config: Config) -> ScriptJob:
        """Return a job that runs the script exported from a graph with a configuration."""
        source = script_of(with_config(self.resolved.for_graph(graph), config).sound())
        return ScriptJob(source, self.data, config.device, config.prefetch)

    def entry(self, config: Config, label: str = "", graph: Graph | None = None) -> ConfigJobs:
        """Return the measurement job of a configuration, by default for the experiment's graph."""
        found = self.prepared.fingerprint
        notes = ineffective_settings(config, found.formats)
        notes += (self._shared,) * bool(self._shared and config.device == "mixed")
        parts = config.workers * config.pipelines
        cores, threads = self.prepared.machine.cores, parts * config.threads
        if threads > 2 * cores and config.program == "DALI":
            notes += (
                f"{threads} threads for {cores} core{'s' * (cores != 1)}: most of them wait. Use "
                "fewer threads, or allow more cores",
            )
        if found.files and found.files < parts * config.batch_size:
            whose = {"processes": config.workers, "pipelines": config.pipelines}
            times = "".join(f"{n} {what} times " for what, n in whose.items() if n > 1)
            so = (
                "every batch is padded, and padding is not counted"
                if config.pipelines > 1
                else "files repeat within a batch"
            )
            notes += (
                f"{found.files} files, fewer than {times}a batch of {config.batch_size}: {so}",
            )
        return ConfigJobs(config, (self.script_job(graph or self.graph, config),), label, notes)

    def measure(
        self,
        entries: Sequence[ConfigJobs],
        on_progress: Progress,
        measurement_config: MeasurementConfig | None = None,
        best: float = 0.0,
        reusable: ReusableWorker | None = None,
    ) -> tuple[Measurement, ...]:
        """Measure entries interleaved, by default with the experiment's measurement config.

        ``best`` and ``reusable`` are passed to ``measure``. If a file crashes DALI's decoder, all
        files are decoded once to find that file, and the entries are measured again without it.
        """

        def once() -> tuple[Measurement, ...]:
            return measure(
                [self._on_usable_data(entry) for entry in entries],
                measurement_config or self.measurement_config,
                self.stop,
                on_progress,
                self._before_round(),
                self.on_rows,
                best,
                reusable,
            )

        rows = once()
        by_dali = [row for row, one in zip(rows, entries, strict=True) if one.decodes]
        if not self._decoded_all and any(is_file_fault(row.reason) for row in by_dali):
            on_progress(0.0, "looking for the file that cannot be decoded")
            if self._exclude_bad(full=True):
                rows = once()
        return rows

    def on_rows(self, rows: tuple[Measurement, ...]) -> None:
        """Publish the results so far. Called after each timed round."""
        self.publish_rows(rows)

    def publish_rows(self, rows: Sequence[Measurement], **extra: Any) -> None:
        """Set ``partial_report`` to these rows."""
        context = {"graph_sha256": self._graph_hash}
        self.partial_report = self._record(rows, context=context, extra=extra)

    def _record(self, rows: Sequence[Measurement], **fields: Any) -> Report:
        machine, found, cache = self.prepared
        return Report(
            self.graph.name,
            found.root,
            machine,
            tuple(rows),
            found,
            cache,
            self.measurement_config,
            self.kind,
            **fields,
        )

    def _exclude_bad(self, full: bool) -> bool:
        """Exclude bad files. Return True if more files are excluded than before."""
        self._decoded_all |= full
        more = self._reads_data and self.usable.exclude_bad(full, self.stop.is_set)
        require_numbering(self.graph.sources, self.usable.reduced)
        self.data = self.usable.datasets
        return more

    def _on_usable_data(self, entry: ConfigJobs) -> ConfigJobs:
        jobs: list[Any] = [*entry.jobs]
        on_data = (replace(job, data=self.data) if hasattr(job, "data") else job for job in jobs)
        return replace(entry, jobs=tuple(on_data))

    def _before_round(self) -> Callable[[], None] | None:
        if self._cache != "cold":
            return None
        return lambda: _ignore(make_cache(self.data, "cold", self.check_cancelled))

    def report(self, rows: Sequence[Measurement], **extra: Any) -> Report:
        """Return the record of the results, and end the experiment.

        Empty values in ``extra`` are omitted.
        """
        self.usable.close()
        files = self.prepared.fingerprint.files
        if self.prepared.cache.state == "cold" and files:
            rows = [_not_cold(row, files) for row in rows]
        extra["left_out"] = [
            {"file": printable(one.file), "reason": one.reason} for one in self.usable.excluded
        ]
        return self._record(
            rows,
            name=self.name,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            context={
                "workbench": _version(),
                "git": git_state(),
                "graph_sha256": self._graph_hash,
                "load_average": os.getloadavg()[0],
            },
            extra={name: value for name, value in extra.items() if value},
        )


class InterleavedExperiment(SpeedExperiment):
    """Base class of experiments that measure all configurations in one interleaved run."""

    def measure_all(self) -> Outcome:
        rows = self.measure(self.entries(), self.progress)
        return Outcome(rows, self.conclusions(rows))

    @abstractmethod
    def entries(self) -> Sequence[ConfigJobs]:
        """Return the measurement jobs, in the order of the record.

        Raises EngineError if they cannot be measured.
        """

    def conclusions(self, rows: Sequence[Measurement]) -> Mapping[str, Any]:
        """Return results to store in the record in addition to the rows."""
        return {}


def _not_cold(row: Measurement, files: int) -> Measurement:
    """Flag the row if a round read files more than once, because the second read is not cold."""
    if not any(one.samples > files for one in row.rounds):
        return row
    flag = f"not cold throughout: a round reads the {files} files more than once"
    return replace(row, flags=(*row.flags, flag))


def git_state() -> Any:
    """Return the workbench's git commit and whether files are modified, or ``MISSING``."""
    folder = Path(__file__).parents[3]
    with suppress(OSError, subprocess.SubprocessError):
        if (folder / ".git").exists():
            commit = _git(folder, "rev-parse", "HEAD").strip()
            return {"commit": commit, "dirty": bool(_git(folder, "status", "--porcelain"))}
    return MISSING


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout


def _version() -> str:
    from workbench import __version__

    return __version__


def _ignore(_: object) -> None:
    pass
