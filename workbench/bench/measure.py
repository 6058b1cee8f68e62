"""imgs/s of the exported script, on this machine, on this data.

The script that is measured is the one that is exported. Each device gets a fresh worker process;
five batches warm up, then rounds of at least one second and five batches are timed.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from workbench.catalog import load_catalog
from workbench.emit.script import emit_script
from workbench.emit.source import Source
from workbench.engine.encoded import refusal
from workbench.engine.folder import list_files, no_images, require_folder, unreadable
from workbench.engine.machine import Machine, describe_machine
from workbench.engine.pipelines import Compiled
from workbench.engine.process import Engine
from workbench.engine.reading import NO_FILES
from workbench.engine.worker import Worker
from workbench.errors import CancelledError, DataError, EngineError, WorkbenchError
from workbench.graph.check import check_graph
from workbench.graph.devices import infer_devices, is_decoder
from workbench.graph.model import DecodeDevice, Graph, ancestors

WARM_UP_BATCHES = 5
ROUNDS = 5
ROUND_SECONDS = 1.0
ROUND_BATCHES = 5
UNSTABLE = 0.1
"""Rounds whose coefficient of variation is above this were disturbed."""
SILENCE_LIMIT = 300.0
"""Seconds without a batch before the measurement counts as hung: the first one fills the queues."""
REPORT_EVERY = 0.5
"""Seconds between reports in a round. One takes 12 µs to send; the listener draws it, on the cores
that are being measured."""
LOOK_SECONDS = 5.0
"""Limit for a look at the data folder."""
LOOK_FILES = 20_000
NAMED_FILES = 3
FORMAT = "dali-workbench-bench"
VERSION = 1

Progress = Callable[[float, str], None]
"""Hears the share that is done, 0 to 1, and what is being done."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One configuration.

    ``imgs_per_s`` has one figure for each round; it is empty, and ``reason`` says why, where the
    configuration could not be measured.
    """

    device: DecodeDevice
    regime: Literal["pipeline"]
    batch_size: int
    threads: int
    prefetch: int
    imgs_per_s: tuple[float, ...] = ()
    reason: str = ""

    @property
    def median(self) -> float | None:
        """Median of the rounds in imgs/s, or None."""
        return statistics.median(self.imgs_per_s) if self.imgs_per_s else None

    @property
    def unstable(self) -> bool:
        """Whether the rounds differ by more than 10 % (coefficient of variation)."""
        rounds = self.imgs_per_s
        return len(rounds) > 1 and statistics.stdev(rounds) > UNSTABLE * statistics.mean(rounds)

    def to_json(self) -> dict[str, Any]:
        """The record: settings, and ``imgs_per_s`` with median, low, high and every round."""
        rounds = self.imgs_per_s
        return {
            "device": self.device,
            "regime": self.regime,
            "batch_size": self.batch_size,
            "threads": self.threads,
            "prefetch": self.prefetch,
            "imgs_per_s": {
                "median": self.median,
                "low": min(rounds, default=None),
                "high": max(rounds, default=None),
                "rounds": list(rounds),
            },
            "unstable": self.unstable,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """Measurements, and the machine, data and graph that they are about.

    ``files`` and ``size`` (bytes) are what the folder holds; None where counting takes too long.
    """

    graph: str
    data: str
    machine: Machine
    measurements: tuple[Measurement, ...]
    files: int | None = None
    size: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values, with format and version."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "graph": self.graph,
            "results": [measurement.to_json() for measurement in self.measurements],
            "machine": asdict(self.machine),
            "data": {"root": self.data, "files": self.files, "bytes": self.size},
        }


class Bench:
    """One measurement of a graph; ``cancel`` may be called from any thread."""

    def __init__(
        self,
        graph: Graph,
        data: str,
        devices: Sequence[DecodeDevice] = ("cpu", "mixed"),
        round_seconds: float = ROUND_SECONDS,
    ) -> None:
        self.graph = graph
        self.data = data
        self.devices = tuple(devices)
        self.round_seconds = round_seconds
        self._engine: Engine | None = None
        self._cancelled = threading.Event()

    def run(self, on_progress: Progress = lambda share, text: None) -> Report:
        """Measure every device in turn.

        A device that cannot be measured gives a Measurement with the reason. Raises DataError for
        the folder and CancelledError.
        """
        require_folder(self.data)
        machine = describe_machine()
        measurements = []
        for number, device in enumerate(self.devices):

            def progress(share: float, text: str, number: int = number) -> None:
                on_progress((number + share) / len(self.devices), text)

            measurements.append(self._measure(device, machine, progress))
        # Only now: to look at the files before would have them in memory for the measurement.
        files, size = folder_size(self.data)
        return Report(self.graph.name, self.data, machine, tuple(measurements), files, size)

    def cancel(self) -> None:
        """End the measurement; ``run`` raises CancelledError within 0.1 s."""
        self._cancelled.set()
        engine = self._engine
        if engine is not None:
            engine.cancel()

    def _go_on(self) -> None:
        if self._cancelled.is_set():
            raise CancelledError("Cancelled.")

    def _measure(self, device: DecodeDevice, machine: Machine, progress: Progress) -> Measurement:
        settings = self.graph.settings
        row = Measurement(
            device,
            "pipeline",
            settings.batch_size,
            settings.num_threads,
            settings.prefetch_queue_depth,
        )
        graph = replace(self.graph, settings=replace(settings, device=device))
        catalog = load_catalog()
        devices = infer_devices(graph, catalog)
        if machine.no_gpu and (device == "mixed" or set(devices.values()) != {"cpu"}):
            return replace(row, reason=f"not measured: {machine.no_gpu}")
        faults = check_graph(graph, catalog)
        if faults:
            return replace(row, reason=f"not measured: {faults[0]}")
        needed = ancestors(graph, list(graph.outputs.values()))
        if not any(is_decoder(catalog[graph.node(node).op]) for node in needed):
            return replace(row, reason="not measured: no output of the graph depends on a decoder")
        source = emit_script(graph, catalog)

        def on_report(report: tuple[float, str]) -> None:
            self._go_on()
            progress(report[0], f"{device}: {report[1]}")

        try:
            with Engine() as engine:
                self._engine = engine
                self._go_on()
                arguments = (source, self.data, device, self.round_seconds)
                rounds = engine.call(
                    time_rounds, *arguments, limit=SILENCE_LIMIT, on_report=on_report
                )
        except CancelledError:
            raise
        except EngineError as error:
            return replace(row, reason=f"not measured: {error}{self._bad_files()}")
        finally:
            self._engine = None
        return replace(row, imgs_per_s=tuple(rounds))

    def _bad_files(self) -> str:
        """Files that may be why, for DALI names none: `` for example a/b.jpg: ...``, or nothing."""
        bad: list[str] = []
        for entry, file in _look(self.data):
            self._go_on()
            try:
                reason = unreadable(entry) or refusal(Path(entry.path).read_bytes())
            except OSError as error:
                reason = error.strerror or str(error)
            if reason:
                bad.append(f"{file}: {reason}")
            if len(bad) == NAMED_FILES:
                break
        return f". Some files cannot be decoded, for example {'; '.join(bad)}" if bad else ""


def _look(data: str) -> Iterator[tuple[os.DirEntry[str], str]]:
    """The files that the script reads, with their paths in the folder, as far as time allows."""
    deadline = time.monotonic() + LOOK_SECONDS
    with suppress(DataError):
        for entry, file, _ in islice(list_files(data), LOOK_FILES):
            if time.monotonic() > deadline:
                return
            yield entry, file


def folder_size(data: str) -> tuple[int | None, int | None]:
    """Number and bytes of the files that the script reads; None where that takes over 5 s."""
    deadline = time.monotonic() + LOOK_SECONDS
    files = size = 0
    try:
        for entry, _, _ in list_files(data):
            files, size = files + 1, size + entry.stat().st_size
            if time.monotonic() > deadline:
                return None, None
    except (OSError, DataError):  # a folder that changes, or a link to nowhere
        return None, None
    return files, size


def time_rounds(
    worker: Worker, source: Source, data: str, device: str, round_seconds: float
) -> list[float]:
    """Task: run the script's pipeline and time it. Returns imgs/s of each round.

    ``run`` returns when a batch is ready on its device, so no further synchronising is needed.
    """
    compiled = Compiled(source)
    try:
        worker.report((0.0, "building"))
        pipe = compiled["build_pipeline"](data, device=device)
        for number in range(WARM_UP_BATCHES):
            pipe.run()
            worker.report((0.0, f"warming up, batch {number + 1} of {WARM_UP_BATCHES}"))
        rounds: list[float] = []
        while len(rounds) < ROUNDS:
            samples = batches = 0
            start = reported = time.perf_counter()
            while (seconds := time.perf_counter() - start) < round_seconds or (
                batches < ROUND_BATCHES
            ):
                samples += len(pipe.run()[0])
                batches += 1
                if (now := time.perf_counter()) - reported > REPORT_EVERY:
                    reported = now
                    share = len(rounds) + min((now - start) / max(round_seconds, 1e-9), 1.0)
                    worker.report((share / ROUNDS, f"round {len(rounds) + 1} of {ROUNDS}"))
            rounds.append(samples / seconds)
            worker.report((len(rounds) / ROUNDS, f"round {len(rounds)} of {ROUNDS}"))
        return rounds
    except WorkbenchError:
        raise
    except Exception as error:
        by_folder = "**find_files(data)" in source.text
        if by_folder and any(words in str(error) for words in NO_FILES):
            raise DataError(no_images(data)) from None
        raise compiled.error(error) from None
