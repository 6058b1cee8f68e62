"""The last measured speed of a graph, among the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from workbench.bench import Measurement, Report
from workbench.bench.analysis.grid import knobs_of
from workbench.bench.measuring.config import Config, config_of
from workbench.bench.records.record import WHOLE
from workbench.engine.resources.machine import Machine
from workbench.graph.model import Graph
from workbench.ui.contract.status_views import LastSpeed

OWN_SETTINGS = ("bench", "stages")
"""Kinds of a record whose rows have the settings that the graph had then. The others try many:
of these only the graph's present ones count."""


def last_speeds(
    records: Iterable[Report],
    graph: Graph,
    data: str,
    machine: Machine,
    graph_sha256: Callable[[], str],
) -> list[LastSpeed]:
    """imgs/s with mixed and with CPU decoding, each from the newest record that has it.

    ``records`` are the newest first. One that was made of another graph, of other data, on another
    machine or with other versions says nothing. ``graph_sha256`` is asked only where a record
    remains that may be of the graph.
    """
    found: dict[str, LastSpeed] = {}
    now = config_of(graph)
    for report in records:
        if (report.graph, report.data, report.machine) != (graph.name, data, machine):
            continue
        if report.context.get("graph_sha256") != graph_sha256():
            continue
        for row in report.measurements:
            if row.device not in found and _tells(row, report.kind, now):
                found[row.device] = _entry(row, report.created)
    return [found[device] for device in ("mixed", "cpu") if device in found]


def _tells(row: Measurement, kind: str, now: Config) -> bool:
    """Whether a row is of the whole pipeline, measured with care."""
    config = row.config
    if row.median is None or row.probe or config.regime != "pipeline":
        return False
    if config.program != "DALI" or config.workers != 1:
        return False
    if kind == "operators":  # no row of it is
        return False
    if kind == "stages":
        return row.name == WHOLE
    return kind in OWN_SETTINGS or knobs_of(config) == knobs_of(now)


def _entry(row: Measurement, when: str) -> LastSpeed:
    assert row.median is not None
    return {
        "device": row.device,
        "rate": row.median,
        "frames": row.config.frames,
        "when": when,
        "settings": row.config.settings.replace(", ", " · "),
        "unstable": row.unstable,
    }
