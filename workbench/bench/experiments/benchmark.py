"""Compare CPU with mixed decoding, and DALI with other libraries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, TypedDict

from workbench.arguments import NAMES, TEXT, checked, require_choice, require_kind
from workbench.bench.experiments.compared_program import (
    ComparedExperiment,
    ComparedProgram,
    Control,
    search_workers,
)
from workbench.bench.experiments.peer_jobs import is_factory
from workbench.bench.experiments.peers import CONTROL, PEERS, compared_peers, peer_options
from workbench.bench.experiments.speed_experiment import Outcome
from workbench.bench.measuring.config import (
    REGIMES,
    Config,
    Regime,
    config_of,
    unmeasurable_reason,
    with_config,
)
from workbench.bench.measuring.data_files import HEADERS, Cache, choose_samples
from workbench.bench.measuring.interleaved import ConfigJobs
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.bench.measuring.pixels import compare_decoders
from workbench.bench.measuring.transfer import copied_bytes, copied_file_bytes
from workbench.bench.records.record import Report, gpu_command
from workbench.engine.protocol.progress import Progress, with_progress_bar
from workbench.engine.resources.machine import Machine, describe_machine
from workbench.errors import ArgumentError
from workbench.graph.model import GRAPH, DecodeDevice, Graph
from workbench.sources import Data

_SEARCH = 0.5
"""Fraction of the progress bar for the search for the best number of workers."""


class BenchOptions(TypedDict, total=False):
    """Keyword arguments of ``Benchmark`` other than graph and data."""

    devices: Sequence[DecodeDevice]
    regimes: Sequence[Regime]
    measurement_config: MeasurementConfig | None
    cache: Cache
    name: str
    peers: Sequence[str]


class Benchmark(ComparedExperiment):
    """Measure imgs/s of the exported script, with CPU and with mixed decoding.

    ::

        speed = wb.Benchmark(graph, "photos", devices=("cpu",))
        assert speed.devices == ("cpu",)

    ``run`` takes half a minute per device and returns a ``Report``; ``cancel`` stops ``run`` from
    another thread. Raises ArgumentError for an invalid graph, device, regime or library, and
    DataError without data.
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
        """``peers`` names other libraries to measure on the same work.

        With peers, the best number of DALI threads and of each peer's workers is searched first,
        and DALI's script is measured twice: the ratio of these two results shows how reliable the
        other ratios are.
        """
        choices = {"devices": ("cpu", "mixed"), "regimes": REGIMES, "peers": tuple(PEERS)}
        for what, given in (("devices", devices), ("regimes", regimes), ("peers", peers)):
            require_kind(f"Benchmark: {what}", given, NAMES)
            for each in _as_tuple(given):
                if what != "peers" or not is_factory(each):
                    require_choice(f"Benchmark: {what}", each, choices[what])
            if not given and what != "peers":
                known = ", ".join(choices[what])
                raise ArgumentError(f"Benchmark: {what} is empty. Use one or more of {known}.")
        super().__init__(graph, data, measurement_config=measurement_config, cache=cache, name=name)
        self.devices: tuple[DecodeDevice, ...] = _as_tuple(devices)
        self.regimes: tuple[Regime, ...] = _as_tuple(regimes)
        self.peers: tuple[str, ...] = _as_tuple(peers)
        self.is_bounded = bool(self.peers)
        """True if a configuration is ended at its time limit, even before the fewest rounds."""
        self._searching: ComparedProgram | None = None

    def __repr__(self) -> str:
        what = f"{', '.join(self.devices)}; {', '.join((*self.regimes, *self.peers))}"
        return f"<benchmark of {self.graph.name}: {what}>"

    @with_progress_bar()
    def run(self, on_progress: Progress = lambda share, text: None) -> Report:
        """Measure every device and regime, interleaved.

        A configuration that cannot be measured becomes a Measurement with the reason. Raises
        DataError if the data cannot be used, and CancelledError after ``cancel``.

        ::

            speed = wb.Benchmark(graph, "photos", ["cpu"], measurement_config=COARSE_CONFIG)
            report = speed.run(lambda share, text: print(f"{share:.0%} {text}"))
            print(report.best, "imgs/s")
        """
        return super().run(on_progress)

    def measure_all(self) -> Outcome:
        """Find the fastest number of workers of each program, then measure all interleaved."""
        machine = self.prepared.machine
        facts: dict[str, Any] = {}
        self._compared = self.programs(machine, facts)
        searching = [one for one in self._compared if one.searches]
        for place, one in enumerate(searching):
            part = self.progress.part(
                _SEARCH * place / len(searching), _SEARCH * (place + 1) / len(searching)
            )
            self._searching = one
            search_workers(self, one, machine.cores, part)
        self._searching = None
        in_time = [one for one in self._compared if one.has_time]
        self.measure_programs(
            in_time,
            self.progress.part(_SEARCH, 0.99) if searching else self.progress,
            self._config_in_turns([one for one in in_time if one.entry is not None]),
        )
        rows = [one.row() for one in self._compared]
        extra: dict[str, Any] = {"peers": facts, **self._copied()}
        for one in searching:
            if one.config.program in facts:
                facts[one.config.program]["workers"] = one.rates
        if {"cpu", "mixed"} <= {row.device for row in rows if row.rounds}:
            self.progress(0.99, "comparing the pixels of both decoders")
            extra["decoders"] = compare_decoders(
                self.graph, self.data, self.stop, self.progress, self._seconds
            )
        if machine.no_gpu and any(machine.no_gpu in row.reason for row in rows):
            extra["command"], extra["before"] = gpu_command(
                self.graph, self.regimes, peer_options(self.peers)
            )
        return Outcome(rows, extra)

    def _copied(self) -> dict[str, Any]:
        """Return what the whole pipeline copies to a GPU, or {} if only decoding was measured."""
        if "pipeline" not in self.regimes:
            return {}
        known = self.prepared.fingerprint
        files = choose_samples(self.data, known.files or 0, HEADERS, self.check_cancelled)
        mean, on_cpu = copied_file_bytes(files)
        size = known.mean_size if mean and not on_cpu else mean
        devices: tuple[DecodeDevice, ...] = ("cpu", "mixed")
        copied = {device: copied_bytes(self.resolved, device, size) for device in devices}
        return {"copied_bytes": copied, **({"cpu_decoded": (on_cpu, len(files))} if on_cpu else {})}

    def longest(self) -> float | None:
        """Return the time limit of ``run`` in seconds, or None if unlimited. No data is read.

        Unless ``is_bounded``, starting DALI's pipelines and measuring the minimum number of rounds
        may take longer.
        """
        limit = self.measurement_config.limit
        if limit is None:
            return None
        machine = describe_machine()
        programs = self.programs(machine, {})
        devices = [one.config.device for one in programs if not one.reason]
        count = len(devices) * self.measurement_config.processes
        return limit * (count + ({"cpu", "mixed"} <= set(devices)))

    def on_rows(self, rows: tuple[Measurement, ...]) -> None:
        """Publish the rows after a timed round or, during a search, store them as probe results."""
        if self._searching is not None:
            self._searching.tried |= {row.threads: row for row in rows if row.rounds}
            rows = ()
        super().on_rows(rows)

    def programs(self, machine: Machine, facts: dict[str, Any]) -> list[ComparedProgram]:
        """Return all programs to compare on a machine, in the order of the report.

        ``compared_peers`` adds versions and pixel differences to ``facts``.
        """
        programs: list[ComparedProgram] = []
        for regime in self.regimes:
            for device in self.devices:
                config = replace(config_of(self.graph, device), regime=regime)
                reason = unmeasurable_reason(with_config(self.resolved, config), machine)
                if reason:
                    programs.append(ComparedProgram(config, reason=reason))
                    continue

                def jobs(threads: int, config: Config = config) -> ConfigJobs:
                    return self.entry(replace(config, threads=threads))

                searches = bool(self.peers) and regime == "pipeline"
                programs.append(ComparedProgram(config, jobs, searches=searches))
                if searches:
                    programs.append(Control(replace(config, program=CONTROL), of=programs[-1]))
        if "pipeline" in self.regimes:
            programs += compared_peers(self, self.peers, self.devices, machine, facts)
        for one in programs:
            one.seconds = self._seconds
        return programs

    @property
    def _seconds(self) -> float:
        """Time limit in seconds for each program, or infinity if there is none."""
        limit = self.measurement_config.limit
        return math.inf if limit is None or not self.is_bounded else limit

    def _config_in_turns(self, usable_programs: Sequence[ComparedProgram]) -> MeasurementConfig:
        """Return the config for interleaved rounds, limited to the programs' remaining time."""
        if not usable_programs or math.isinf(self._seconds):
            return self.measurement_config
        return replace(
            self.measurement_config, limit=fmean(one.seconds_left for one in usable_programs)
        )


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
