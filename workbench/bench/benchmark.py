"""CPU against mixed decoding, decoding alone and the whole pipeline, and other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from workbench.arguments import NAMES, TEXT, checked, require_choice, require_kind
from workbench.bench.config import (
    REGIMES,
    Config,
    Regime,
    config_of,
    unmeasurable_reason,
    with_config,
)
from workbench.bench.context import gpu_command
from workbench.bench.interleaved import ConfigJobs
from workbench.bench.measurement import Measurement
from workbench.bench.measurement_config import MeasurementConfig
from workbench.bench.page_cache import Cache
from workbench.bench.peers import CONTROL, PEERS, add_peers, with_best_workers
from workbench.bench.pixels import compare_decoders
from workbench.bench.record import Report
from workbench.bench.speed_experiment import SpeedExperiment
from workbench.engine.progress_bar import with_progress_bar
from workbench.engine.worker_progress import Progress
from workbench.errors import ArgumentError
from workbench.graph.model import GRAPH, DecodeDevice, Graph
from workbench.sources import Data


class Benchmark(SpeedExperiment):
    """imgs/s of the exported script, with CPU and with mixed decoding.

    ::

        speed = wb.Benchmark(graph, "photos", devices=("cpu",))
        assert speed.devices == ("cpu",)

    ``run`` takes half a minute for each device and gives a ``Report``; ``cancel`` ends it from
    another thread. Raises ArgumentError for what is no graph, device, regime or library, and
    DataError for no data.
    """

    @checked(graph=GRAPH, name=TEXT)
    def __init__(
        self,
        graph: Graph,
        data: Data,
        devices: Sequence[DecodeDevice] = ("cpu", "mixed"),
        regimes: Sequence[Regime] = ("pipeline",),
        *,
        measurement_config: MeasurementConfig | None = None,
        cache: Cache = "warm",
        name: str = "",
        peers: Sequence[str] = (),
    ) -> None:
        """``peers`` names libraries to be measured at the same work (see ``bench.peers``).

        Then DALI's threads and each peer's workers are those that are fastest, and DALI's script
        is measured twice: the ratio of the two tells how far to trust the others.
        """
        choices = {"devices": ("cpu", "mixed"), "regimes": REGIMES, "peers": tuple(PEERS)}
        for what, given in (("devices", devices), ("regimes", regimes), ("peers", peers)):
            require_kind(f"Benchmark: {what}", given, NAMES)
            for each in _as_tuple(given):
                require_choice(f"Benchmark: {what}", each, choices[what])
            if not given and what != "peers":
                raise ArgumentError(f"Benchmark: {what} is empty. Give one or more.")
        super().__init__(graph, data, measurement_config=measurement_config, cache=cache, name=name)
        self.devices: tuple[DecodeDevice, ...] = _as_tuple(devices)
        self.regimes: tuple[Regime, ...] = _as_tuple(regimes)
        self.peers: tuple[str, ...] = _as_tuple(peers)

    def __repr__(self) -> str:
        what = f"{', '.join(self.devices)}; {', '.join((*self.regimes, *self.peers))}"
        return f"<benchmark of {self.graph.name}: {what}>"

    @with_progress_bar()
    def run(self, on_progress: Progress = lambda share, text: None) -> Report:
        """Measure every device and regime, in turns.

        A configuration that cannot be measured gives a Measurement with the reason. Raises
        DataError for the folder and CancelledError.

        ::

            speed = wb.Benchmark(graph, "photos", ["cpu"], measurement_config=COARSE_CONFIG)
            report = speed.run(lambda share, text: print(f"{share:.0%} {text}"))
            print(report.best, "imgs/s")
        """
        catalog, machine, found, cache = self.prepare(on_progress)
        rows: list[Measurement | None] = []
        entries: list[ConfigJobs] = []
        for regime in self.regimes:
            for device in self.devices:
                config = replace(config_of(self.graph, device), regime=regime)
                reason = unmeasurable_reason(
                    with_config(self.graph, catalog, config), catalog, machine
                )
                rows.append(Measurement(config, reason=reason) if reason else None)
                if reason:
                    continue
                if not self.peers or regime != "pipeline":
                    entries.append(self.entry(config, catalog, found))
                    continue

                def with_threads(threads: int, config: Config = config) -> ConfigJobs:
                    return self.entry(replace(config, threads=threads), catalog, found)

                words = f"DALI, {device}: threads"
                best, _ = with_best_workers(self, with_threads, machine.cores, words)
                again = replace(best, config=replace(best.config, program=CONTROL), notes=())
                entries += [best, again]
                rows.append(None)
        extra: dict[str, Any] = {}
        if self.peers and "pipeline" in self.regimes:
            added, refused, extra["peers"] = add_peers(
                self, self.peers, self.devices, catalog, machine
            )
            entries += added
            rows += [None] * len(added) + list(refused)
        self.begin(machine, found, cache, rows)
        how = self.measurement_config.half() if self.peers else self.measurement_config
        measured = iter(self.measure(entries, self.progress, how))
        rows = [row or next(measured) for row in rows]
        if {"cpu", "mixed"} <= {row.device for row in rows if row and row.rounds}:
            self.progress(0.99, "comparing the pixels of both decoders")
            extra["decoders"] = compare_decoders(self.graph, self.data, self.stop, self.progress)
        if "mixed" in self.devices and machine.no_gpu:
            extra["command"], extra["before"] = gpu_command(
                self.graph, self.regimes, bool(self.peers)
            )
        self.progress(1.0, "done")
        return self.report([row for row in rows if row], machine, found, cache, **extra)


def _as_tuple(given: Any) -> tuple[Any, ...]:
    """Several of something; one text is one of it."""
    return (given,) if isinstance(given, str) else tuple(given)
