"""Build payloads of records and of a running measurement, and cache them by their inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.bench import Measurement, Report
from workbench.bench.measuring.config import Config, config_of
from workbench.bench.measuring.grid import knob_values
from workbench.bench.measuring.measurement import rate_unit
from workbench.bench.records.compare import compare_reports
from workbench.bench.records.record import WHOLE, graph_hash
from workbench.engine.resources.machine import Machine
from workbench.graph.model import Graph
from workbench.sources import Datasets, describe_datasets
from workbench.ui.contract.payloads import LastSpeed
from workbench.ui.contract.speed_payloads import RecordEntry
from workbench.ui.speed.chart_payloads import machine_text, measured_on, part_of
from workbench.ui.speed.experiment_factory import limits_of
from workbench.ui.speed.heatmap_view import running_view, tune_view
from workbench.ui.speed.record_payloads import (
    compare_view,
    comparison_view,
    partial_view,
    record_entry,
    view_of,
)
from workbench.ui.speed.record_store import RecordStore
from workbench.ui.speed.rewrites_view import rewrites_so_far, rewrites_view
from workbench.ui.state.identity_memo import IdentityMemo

FIGURES = ("compare", "stages", "rewrites", "tune", "scaling", "peers")
"""Parts of the panel that show records."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The open part of the panel, and the records that the user has selected for it."""

    part: str
    shown: Mapping[str, str]
    opened: Collection[str]
    """Ids of records that the user opened. They are displayed even for other graphs."""
    overlay: str
    selected: Sequence[str]


class RecordFigures:
    """Computes payloads of the records in a store, for this machine.

    Pass a new ``version`` whenever the records or the selection have changed, to clear the cache.
    """

    def __init__(self, store: RecordStore, machine: Machine) -> None:
        self._store = store
        self._machine = machine
        self._entries: dict[str, tuple[Report, RecordEntry]] = {}
        self._memo = IdentityMemo()
        self._choice = Choice("", {}, (), "", ())

    def of(self, version: object, choice: Choice, graph: Graph, data: Datasets) -> dict[str, Any]:
        """Return the fields that depend on records, graph and data."""
        self._choice = choice
        return self._memo(self._make_fields, version, graph, data)

    def _make_fields(self, version: object, graph: Graph, data: Datasets) -> dict[str, Any]:
        choice, records = self._choice, self._store.records
        shown_in = self._shown_in(choice, graph, data)
        shown = {*shown_in.values(), choice.overlay}
        found: dict[str, Any] = {
            "records": [
                {**self._entry(key, report), "shown": key in shown}
                for key, report in records.items()
            ],
            "comparison": {},
            "limits": limits_of(graph, self._machine),
            **{part: {} for part in FIGURES},
        }
        for part, key in shown_in.items():
            found[part] = self._figure(part, key, choice, graph, data)
        if len(choice.selected) == 2:
            (one, first), (two, second) = ((key, records[key]) for key in choice.selected)
            found["comparison"] = comparison_view(
                measured_on(one, first), measured_on(two, second), compare_reports(first, second)
            )
        return found

    def _shown_in(self, choice: Choice, graph: Graph, data: Datasets) -> dict[str, str]:
        """Return the id of the record displayed in each part for this graph and data.

        This is the record that the user opened or measured, unless it was measured for another
        graph. If there is no such record, the open part shows the newest record of this graph,
        data and machine.
        """
        records = self._store.records
        shown = {
            part: key
            for part, key in choice.shown.items()
            if key in choice.opened or not self._is_of_another(records[key], graph)
        }
        if choice.part in FIGURES and choice.part not in shown:
            for key, report in records.items():
                alike = (report.graph, report.machine) == (graph.name, self._machine)
                if not alike or part_of(report) != choice.part:
                    continue
                if report.data == describe_datasets(data) and not self._is_edited(report, graph):
                    shown[choice.part] = key
                    break
        return shown

    def _is_edited(self, report: Report, graph: Graph) -> bool:
        return report.context.get("graph_sha256") != self._graph_hash(graph)

    def _is_of_another(self, report: Report, graph: Graph) -> bool:
        return report.graph != graph.name and self._is_edited(report, graph)

    def _entry(self, key: str, report: Report) -> RecordEntry:
        known = self._entries.get(key)
        if known is None or known[0] is not report:
            known = report, record_entry(key, report, machine_text(self._machine))
            self._entries[key] = known
        return known[1]

    def _figure(self, part: str, key: str, choice: Choice, graph: Graph, data: Datasets) -> Any:
        report = self._store.records[key]
        earlier = self._changes_since_text(report, graph, data)
        if part == "tune":
            own = config_of(graph, report.measurements[0].device)
            return tune_view(measured_on(key, report, earlier), report, own)
        if part == "rewrites":
            sought = graph if choice.part == part else None  # slow, so only for the visible part
            return rewrites_view(measured_on(key, report, earlier), report, sought)
        other = self._store.get(choice.overlay)
        if part in ("compare", "peers") and other is not None and part_of(other) == part:
            there = measured_on(choice.overlay, other, self._changes_since_text(other, graph, data))
            return compare_view(measured_on(key, report, earlier), report, (there, other))
        return view_of(key, report, earlier, [node.id for node in graph.nodes])

    def partial(
        self, part: str, report: Report, now: Config | None, graph: Graph, data: Datasets
    ) -> Any:
        """Return the payload of a running measurement."""
        return self._memo(self._make_partial, part, report, now, graph, data)

    def _make_partial(
        self, part: str, report: Report, now: Config | None, graph: Graph, data: Datasets
    ) -> Any:
        earlier = self._changes_since_text(report, graph, data)
        if part == "tune":
            return running_view(measured_on("", report, earlier), report, config_of(graph), now)
        if part == "rewrites":
            return rewrites_so_far(report, graph, earlier)
        return partial_view(report, earlier, [node.id for node in graph.nodes])

    def last_speeds(self, version: object, graph: Graph, data: Datasets) -> list[LastSpeed]:
        """Return the last measured speeds of a graph, on the same data and this machine."""
        return self._memo(self._make_speeds, version, graph, data)

    def _make_speeds(self, version: object, graph: Graph, data: Datasets) -> list[LastSpeed]:
        records, where = self._store.records.values(), describe_datasets(data)
        return last_speeds(records, graph, where, self._machine, lambda: self._graph_hash(graph))

    def _changes_since_text(self, report: Report, graph: Graph, data: Datasets) -> str:
        """Describe what has changed since a record was measured; "" if nothing has."""
        found = []
        known = report.context.get("graph_sha256")
        if report.graph != graph.name:
            found.append(f"another graph, {report.graph}")
        elif known is None:
            found.append("graph not recorded")
        elif known != self._graph_hash(graph):
            found.append("the graph has been edited since")
        if report.measurements and report.kind not in ("sweep", "tune"):
            config, now = report.measurements[0].config, config_of(graph)
            if report.kind in ("threads", "pipelines"):
                config = replace(config, **{report.kind: getattr(now, report.kind)})
            if _settings(config) != _settings(now):
                found.append(f"other settings: the graph now has {now.settings}")
        if report.machine != self._machine:
            found.append("another machine or other versions")
        elif report.data != describe_datasets(data):
            found.append(f"other data, {report.data}")
        return "; ".join(found)

    def _graph_hash(self, graph: Graph) -> str:
        return self._memo(graph_hash, graph)


def _settings(config: Config) -> tuple[object, ...]:
    known = config.batch_size, config.threads, config.prefetch, config.pipelines
    return *known, config.executor, config.dont_use_mmap


# Last measured speed of a graph

OWN_SETTINGS = ("bench", "stages")
"""Kinds of records that were measured with the graph's settings.

Records of other kinds contain many settings; only their rows with the graph's current settings are
used.
"""


def last_speeds(
    records: Iterable[Report],
    graph: Graph,
    data: str,
    machine: Machine,
    graph_sha256: Callable[[], str],
) -> list[LastSpeed]:
    """Return the imgs/s with mixed and with CPU decoding, each from the newest matching record.

    ``records`` are sorted newest first. Records of another graph, other data, another machine or
    other versions do not match. ``graph_sha256`` is only called if a record may match.
    """
    found: dict[str, LastSpeed] = {}
    now = config_of(graph)
    for report in records:
        if (report.graph, report.data, report.machine) != (graph.name, data, machine):
            continue
        if report.context.get("graph_sha256") != graph_sha256():
            continue
        for row in report.measurements:
            if row.device not in found and _is_complete(row, report.kind, now):
                found[row.device] = _entry(row, report.created)
    return [found[device] for device in ("mixed", "cpu") if device in found]


def _is_complete(row: Measurement, kind: str, now: Config) -> bool:
    """Return whether a row measured the whole pipeline with the current settings ``now``."""
    config = row.config
    if row.median is None or row.probe or config.regime != "pipeline":
        return False
    if config.program != "DALI" or config.workers != 1:
        return False
    if kind == "operators":  # operators have no such row
        return False
    if kind == "stages":
        return row.name == WHOLE
    return kind in OWN_SETTINGS or knob_values(config) == knob_values(now)


def _entry(row: Measurement, when: str) -> LastSpeed:
    return {
        "device": row.device,
        "figure": f"{row.figure} {rate_unit(row.config.frames)}",
        "when": when,
        "settings": row.config.settings.replace(", ", " · "),
        "unstable": row.unstable,
    }
