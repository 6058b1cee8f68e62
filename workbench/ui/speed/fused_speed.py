"""Compare the speed of an ``if`` block with that of an equivalent operator."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from workbench.bench import Measurement, Report
from workbench.bench.experiments.fused_speed import FusedSpeedExperiment
from workbench.bench.measuring.measurement_config import QUICK_CONFIG
from workbench.bench.measuring.stats import LEVEL, Interval
from workbench.graph.model import Graph
from workbench.roots import Roots
from workbench.sources import Datasets
from workbench.ui.contract.encoding import empty
from workbench.ui.contract.speed_payloads import FusedRow, FusedSpeedEntry
from workbench.ui.jobs.background_task import (
    SHARED_QUEUE,
    BackgroundTask,
    OwnedTasks,
    SessionTask,
    TaskListener,
)

NOTHING = empty(FusedSpeedEntry, state="none")


class FusedSpeed:
    """Last comparison of an ``if`` block with an equivalent operator, for one page.

    Closing the page stops the measurement. ``changed`` is called after every change. Call methods
    with the lock held.
    """

    def __init__(
        self, lock: threading.RLock, changed: Callable[[], None], roots: Roots | None = None
    ) -> None:
        listener: TaskListener[Report] = TaskListener(lock, changed, lambda found, wrong: None)
        self.task: SessionTask[BackgroundTask[Report]] = SessionTask(listener, OwnedTasks())
        self._roots = roots
        self._of: tuple[Graph, Datasets, str] | None = None

    def start(self, block: str, graph: Graph, data: Datasets) -> None:
        """Start measuring a valid graph on this data, unless a measurement is running."""
        if self.task.running is not None:
            return
        experiment = FusedSpeedExperiment(graph, data, block, measurement_config=QUICK_CONFIG)
        experiment.usable.roots = self._roots
        self._of = _unnamed(graph), data, block
        self.task.start(BackgroundTask("measurement", experiment, self.task.listener, SHARED_QUEUE))

    def cancel(self) -> None:
        """Stop the measurement if it is running."""
        self.task.cancel()

    def entry(self, graph: Graph, data: Datasets) -> FusedSpeedEntry:
        """Return the payload, marked as stale if the graph or its data changed afterwards."""
        task = self.task.last
        if task is None or self._of is None:
            return NOTHING
        stale = (_unnamed(graph), data) != self._of[:2]
        base: FusedSpeedEntry = {**NOTHING, "block": self._of[2], "stale": stale}
        if task.outcome is None:
            return {**base, "state": "running", "text": task.text, "share": task.share}
        found, wrong = task.outcome
        reason = next((row.reason for row in found.measurements if row.reason), "") if found else ""
        if found is None or reason:
            return {**base, "state": "failed" if wrong or reason else "stopped",
                    "text": wrong or reason or "stopped"}  # fmt: skip
        for row in found.measurements:
            if row.rounds:
                base["rows"] = [*base["rows"], _row(row)]
        measured = found.extra.get("fused_over_if")
        if isinstance(measured, list):
            base["ratio"] = Interval(*map(float, [*measured, LEVEL])).with_range
        return {**base, "state": "done"}


def _row(row: Measurement) -> FusedRow:
    return {"name": row.name, "figure": row.rate_text, "interval": row.spread_text}


def _unnamed(graph: Graph) -> Graph:
    return replace(graph, name="", about="")
