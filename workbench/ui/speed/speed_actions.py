"""Actions of the speed panel. The panel itself reports errors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from workbench.bench.measuring.config import adopt_config
from workbench.bench.records.charts import best_measurement
from workbench.bench.records.record import load_report
from workbench.errors import GraphEditError
from workbench.graph.model import Graph
from workbench.sources import Datasets
from workbench.ui.contract.action import Action
from workbench.ui.speed.chart_payloads import name_of
from workbench.ui.speed.experiment_factory import experiment_for, tuner_for
from workbench.ui.speed.panel import SpeedPanel
from workbench.ui.speed.record_payloads import require_drawable
from workbench.ui.speed.rewrites_view import take_rewrites

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel

LARGEST = 16_000_000
"""Characters of a record that is opened."""


class SpeedAction(Action, frozen=True):
    """An action of the panel alone, on the graph and data that are shown."""

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> str | None:
        """Returns a message for the panel, or None to keep the present one."""
        raise NotImplementedError

    def apply(self, model: ViewModel) -> None:
        graph, data = model.state.checked.active, model.data_panel.datasets
        model.speed.apply(lambda: self.act(model.speed, graph, data))


class Measure(SpeedAction, tag="measure", frozen=True):
    """Begin a run."""

    what: str
    """compare, stages, rewrites, peers, threads or workers."""
    peers: list[str] = msgspec.field(default_factory=list)
    """The names of those that ``peers`` is to measure; none means all."""
    seconds: float = 0.0
    """Time limit of ``rewrites``; 0: none."""

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> str | None:
        part = "scaling" if self.what in ("threads", "pipelines", "workers") else self.what
        effort, machine, limit = panel.effort, panel.machine, self.seconds or None
        return panel.start(
            part, lambda: experiment_for(self.what, graph, data, effort, machine, self.peers, limit)
        )


class Tune(SpeedAction, tag="tune", frozen=True):
    """Look for the best settings. Numbers are text, and empty means the usual ones."""

    search: str
    """tuner or all."""
    threads: str
    batches: str
    prefetch: str
    loads: str
    pipelines: str
    files: str
    """mapped, read or both."""
    memory: str
    """GiB; empty: 80 %."""
    seconds: float = 0.0
    """Time limit of the tuner; 0: none."""

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> str | None:
        given, limit = msgspec.structs.asdict(self), self.seconds or None
        return panel.start("tune", lambda: tuner_for(given, graph, data, panel.machine, limit))


class Cancel(SpeedAction, tag="cancel", frozen=True):
    """Stop the run."""

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> None:
        panel.cancel()


class MeasureFused(SpeedAction, tag="measure_fused", frozen=True):
    """Measure an ``if`` against the one operator that does the same."""

    block: str

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> None:
        panel.fused.start(self.block, graph, data)


class StopFused(SpeedAction, tag="stop_fused", frozen=True):
    """End that measurement."""

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> None:
        panel.fused.cancel()


class OpenRecord(SpeedAction, tag="open", frozen=True):
    """Add a record from a file."""

    text: str
    name: str
    """Of its file."""

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> str:
        if len(self.text) > LARGEST:
            raise GraphEditError(f"A record has at most {LARGEST:,} characters.")
        report = load_report(self.text)
        require_drawable(report)
        if not report.name and self.name:
            report = replace(report, name=self.name.removesuffix(".json")[:80])
        panel.view(panel.store.add(report), beside=True)
        return f"Opened {name_of(report)}."


class ViewRecord(SpeedAction, tag="view", frozen=True):
    """Show a record in the part of its kind."""

    record: str

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> str:
        panel.view(self.record)
        return ""


class RenameRecord(SpeedAction, tag="rename", frozen=True):
    """Give a record a name."""

    record: str
    to: str

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> str:
        panel.store.rename(self.record, self.to)
        return ""


class DeleteRecord(SpeedAction, tag="delete", frozen=True):
    """Keep a record no longer."""

    record: str

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> str:
        panel.store.drop(self.record)
        return ""


class ExportRecords(SpeedAction, tag="export", frozen=True):
    """Make a file of records."""

    kind: str
    """csv, json, png or svg."""
    ids: list[str]
    """Of CSV, none means all."""
    view: str = ""
    """The view that asks, as every entry of an outbox says."""

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> None:
        panel.export(self.kind, self.ids, self.view)


class GraphFromRecord(Action, frozen=True):
    """An edit that applies the result of a record; the panel reports it."""

    def edited(self, panel: SpeedPanel, graph: Graph) -> tuple[Graph, str]:
        """The graph and a message. Raises GraphEditError and EngineError."""
        raise NotImplementedError

    def apply(self, model: ViewModel) -> None:
        graph, said = self.edited(model.speed, model.graph)
        model.speed.show_message(said)
        model.history.push(graph)


class Adopt(GraphFromRecord, tag="adopt", frozen=True):
    """Give the graph the best setting of a record."""

    record: str

    def edited(self, panel: SpeedPanel, graph: Graph) -> tuple[Graph, str]:
        config = best_measurement(panel.store.require(self.record)).config
        kept = ""
        if config.device == "mixed" and panel.machine.no_gpu:
            kept = f" Images are still decoded on the CPU: {panel.machine.no_gpu}."
            config = replace(config, device=graph.settings.device)
        said = f"The graph now has {config.settings}; undo restores the previous settings.{kept}"
        return adopt_config(graph, config), said


class TakeRewrites(GraphFromRecord, tag="take_rewrites", frozen=True):
    """Do what the optimiser proposes in a record."""

    record: str
    names: list[str]
    """Of the proposals; ``exact`` for those of that class; none means all."""

    def edited(self, panel: SpeedPanel, graph: Graph) -> tuple[Graph, str]:
        after = take_rewrites(panel.store.require(self.record), graph, self.names)
        return after, "The graph is rewritten; undo restores the previous one."
