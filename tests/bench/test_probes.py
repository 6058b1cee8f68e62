"""Probes one after the other: in whose worker, against which rate, and when there are enough."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.bench.fakes import measured
from workbench.bench.analysis.tuning_time import TuningTime
from workbench.bench.experiments.tune import NOTHING_MORE, TIME_UP, Probes
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import (
    GPU_PROBE_CONFIG,
    PROBE_CONFIG,
    MeasurementConfig,
)
from workbench.bench.measuring.worker_group import KeptWorker
from workbench.engine.protocol.worker_progress import Progress


def nobody(share: float, text: str) -> None:
    """Hears of no progress."""


def test_each_is_measured_against_the_best_so_far() -> None:
    seen: list[tuple[MeasurementConfig, float]] = []

    def measure(
        config: Config, how: MeasurementConfig, _: Progress, best: float, __: KeptWorker
    ) -> Measurement:
        seen.append((how, best))
        return replace(measured(100.0 * config.threads), config=config)

    probes = Probes(measure, 16, TuningTime(None))
    for threads, device in ((2, "cpu"), (1, "cpu"), (4, "mixed")):
        probes.probe(Config(device, threads=threads), nobody)  # type: ignore[arg-type]
    assert seen == [(PROBE_CONFIG, 0.0), (PROBE_CONFIG, 200.0), (GPU_PROBE_CONFIG, 200.0)]
    assert [row.label for row in probes.rows] == ["probe 1", "probe 2", "probe 3"]
    assert probes.enough() == ""


def test_one_that_fails_in_a_worker_of_others_is_tried_in_a_fresh_one() -> None:
    reused = iter((False, True, False, False))

    def measure(
        config: Config, how: MeasurementConfig, _: Progress, best: float, kept: KeptWorker
    ) -> Measurement:
        kept.reused = next(reused)
        if kept.reused or config.threads == 8:
            return Measurement(config, reason="Out of memory")
        return measured(100.0)

    probes = Probes(measure, 16, TuningTime(None))
    rows = [probes.probe(Config(threads=threads), nobody) for threads in (1, 2, 8)]
    assert [row.reason for row in rows] == ["", "", "Out of memory"]
    assert next(reused, None) is None, "one that fails in a fresh one is not tried again"


def test_full_engines_and_the_time_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    time = TuningTime(None)
    row = measured(40_000.0, device="mixed")

    def measure(*_: object) -> Measurement:
        return row

    probes = Probes(measure, 16, time)
    monkeypatch.setattr(time, "is_up_for_probes", lambda: True)
    assert probes.enough() == "", "one probe at least"
    probes.probe(Config("mixed"), nobody)
    assert probes.enough() == TIME_UP
    row = replace(row, jpeg_busy=98.0)
    probes.probe(Config("mixed"), nobody)
    assert probes.enough() == NOTHING_MORE
    probes.close()
