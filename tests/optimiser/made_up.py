"""The optimiser without measuring or running: rates by name, pixels by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.bench.fakes import measured
from tests.graph.rewrites.laws import start
from workbench.bench.measuring.interleaved import ConfigJobs
from workbench.bench.measuring.measurement import Measurement
from workbench.errors import CancelledError
from workbench.graph import Graph
from workbench.graph.rewrites import load_rewrites
from workbench.optimiser.difference import Difference, SamplingError, WorstSample
from workbench.optimiser.experiment import OptimisationExperiment

SAME = Difference(24)
NEAR = Difference(24, 9.0, 0.5, 47.0, 0.8, worst=(WorstSample(0, 3, "a/b.jpg", "images", 41.0),))
FAR = Difference(24, 90.0, 12.0, 21.0, 0.1)


def slow_graph() -> Graph:
    """Colour before a crop, as two operators: exact, and near behind it."""
    graph = start().contrast(contrast=1.1).brightness(brightness=0.9).crop(crop=(50, 50))
    return graph.with_settings(batch_size=4, num_threads=1)


NAMES = ("colour-after-crop", "crop-in-decoder", "colour-into-twist")
"""What finds a place there, in the order in which it is tried."""
TRIED = (*NAMES, "colour-after-resize", "cast-into-normalize")
"""The rewrites that most tests search with; one test searches with all of them."""


def make_up(
    monkeypatch: pytest.MonkeyPatch,
    rates: Mapping[str, float],
    pixels: Callable[[str], Difference] = lambda name: NEAR if "twist" in name else SAME,
    tried: Collection[str] = TRIED,
    memory: Mapping[str, int] | None = None,
) -> list[list[str]]:
    """Rates by names of rows or rewrites, 100 for others; returns what was measured together.

    Placements, which depend on the machine, are tried where they are named alone.
    """
    seen: list[list[str]] = []

    def fake(
        entries: Sequence[ConfigJobs],
        config: Any,
        stop: Any,
        on_progress: Any,
        before_round: Any,
        on_rows: Any,
        *_: Any,
    ) -> tuple[Any, ...]:
        seen.append([entry.name for entry in entries])
        rows = tuple(_row(entry, _rate(rates, entry.name)) for entry in entries)
        if memory is not None:
            rows = tuple(replace(row, host_bytes=memory.get(row.name, 1000)) for row in rows)
        on_rows(rows)
        if stop.is_set():
            raise CancelledError("Cancelled.")
        return rows

    def refused(self: OptimisationExperiment, engine: Any, step: Any) -> str:
        from workbench.bench.records.record import graph_hash

        self._compared[graph_hash(step.graph)] = pixels(step.name)
        return compared(self, engine, step)

    compared = OptimisationExperiment._refusal_reason
    monkeypatch.setattr(OptimisationExperiment, "_refusal_reason", refused)
    unknown = SamplingError(None, "made up")
    monkeypatch.setattr(OptimisationExperiment, "_measured_sampling", lambda *_: unknown)
    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", fake)
    of_cpu = {
        name: one for name, one in load_rewrites().items() if name in tried and not one.needs_gpu
    }
    monkeypatch.setattr("workbench.optimiser.experiment.load_rewrites", lambda: of_cpu)
    return seen


def _rate(rates: Mapping[str, float], name: str) -> float:
    """By the whole name, or by the last rewrite of a sequence."""
    return rates.get(name, rates.get(name.rpartition(", ")[2], 100.0))


def _row(entry: ConfigJobs, rate: float) -> Measurement:
    if not rate:
        return Measurement(entry.config, reason="not measured: it ended", label=entry.label)
    return replace(measured(rate, entry.label), config=entry.config)
