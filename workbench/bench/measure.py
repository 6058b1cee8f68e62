"""imgs/s of the exported script, on this machine, on this data.

The script that is measured is the one that is exported. Each device gets a fresh worker process;
five batches warm up, then rounds of at least one second and five batches are timed.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from workbench.catalog import load_catalog
from workbench.emit.script import emit_script
from workbench.emit.source import Source
from workbench.engine.machine import Machine, describe_machine
from workbench.engine.pipelines import Compiled
from workbench.engine.process import Engine
from workbench.engine.reading import NO_FILES, no_images, require_folder
from workbench.engine.worker import Worker
from workbench.errors import CancelledError, DataError, EngineError, WorkbenchError
from workbench.graph.check import check_graph
from workbench.graph.model import DecodeDevice, Graph

WARM_UP_BATCHES = 5
ROUNDS = 5
ROUND_SECONDS = 1.0
ROUND_BATCHES = 5
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
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """Measurements, and the machine, data and graph that they are about."""

    graph: str
    data: str
    machine: Machine
    measurements: tuple[Measurement, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values, with format and version."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "graph": self.graph,
            "results": [measurement.to_json() for measurement in self.measurements],
            "machine": asdict(self.machine),
            "data": {"root": self.data},
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
        return Report(self.graph.name, self.data, machine, tuple(measurements))

    def cancel(self) -> None:
        """End the measurement; ``run`` raises CancelledError within 0.1 s."""
        self._cancelled.set()
        if self._engine is not None:
            self._engine.cancel()

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
        if device == "mixed" and machine.no_gpu:
            return replace(row, reason=f"not measured: {machine.no_gpu}")
        graph = replace(self.graph, settings=replace(settings, device=device))
        faults = check_graph(graph, load_catalog())
        if faults:
            return replace(row, reason=f"not measured: {faults[0]}")
        source = emit_script(graph, load_catalog())

        def on_report(report: tuple[float, str]) -> None:
            self._go_on()
            progress(report[0], f"{device}: {report[1]}")

        try:
            with Engine() as engine:
                self._engine = engine
                self._go_on()
                arguments = (source, self.data, device, self.round_seconds)
                rounds = engine.call(time_rounds, *arguments, on_report=on_report)
        except CancelledError:
            raise
        except EngineError as error:
            return replace(row, reason=f"not measured: {error}")
        finally:
            self._engine = None
        return replace(row, imgs_per_s=tuple(rounds))


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
            start = time.perf_counter()
            while (seconds := time.perf_counter() - start) < round_seconds or (
                batches < ROUND_BATCHES
            ):
                samples += len(pipe.run()[0])
                batches += 1
            rounds.append(samples / seconds)
            worker.report((len(rounds) / ROUNDS, f"round {len(rounds)} of {ROUNDS}"))
        return rounds
    except WorkbenchError:
        raise
    except Exception as error:
        if NO_FILES in str(error):
            raise DataError(no_images(data)) from None
        raise compiled.error(error) from None
