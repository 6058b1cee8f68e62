"""Measuring that is made up, for what is about settings and not about speed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.bench.fakes import measured, rate_of_config
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.interleaved import ConfigJobs
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.errors import CancelledError


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> list[list[Config]]:
    """Replace measuring; return which entries were measured together."""
    seen: list[list[Config]] = []

    def fake(
        entries: Sequence[ConfigJobs],
        measurement_config: MeasurementConfig,
        stop: threading.Event,
        *_: Any,
    ) -> tuple:
        if stop.is_set():
            raise CancelledError("Cancelled.")
        seen.append([entry.config for entry in entries])
        return tuple(
            Measurement(e.config, reason="not measured: Out of memory", label=e.label)
            if e.config.batch_size == 128
            else replace(measured(rate_of_config(e.config), e.label), config=e.config)
            for e in entries
        )

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", fake)
    return seen
