"""Actions of the Speed panel. The panel displays their errors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

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
from workbench.ui.speed.rewrites_view import with_rewrites

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel

LARGEST = 16_000_000
"""Maximum number of characters of a record that can be opened."""


class SpeedAction(Action, frozen=True):
    """Base class of actions that use the panel, the current graph and the data."""

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> str | None:
        """Apply the action. Return a message for the panel, or None to keep the current message."""
        raise NotImplementedError

    def apply(self, model: ViewModel) -> None:
        graph, data = model.state.checked.active, model.data_panel.datasets
        model.speed.apply(lambda: self.act(model.speed, graph, data))


class Measure(SpeedAction, tag="measure", frozen=True):
    """Start a measurement."""

    what: str
    """Kind of measurement: compare, stages, rewrites, peers, threads, pipelines or workers."""
    peers: list[str] = msgspec.field(default_factory=list)
    """Names of the peers to measure; empty for all."""
    seconds: float = 0.0
    """Time limit of ``rewrites`` in seconds; 0 for no limit."""
    objective: str = "speed"
    """What ``rewrites`` should improve: ``speed`` or ``memory``."""

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> str | None:
        part = "scaling" if self.what in ("threads", "pipelines", "workers") else self.what
        given = graph, data, panel.effort, panel.machine, self.peers
        limit, objective = self.seconds or None, self.objective
        return panel.start(part, lambda: experiment_for(self.what, *given, limit, objective))


class Tune(SpeedAction, tag="tune", frozen=True):
    """Search for the fastest settings. Empty texts select the default values."""

    search: str
    """``tuner`` to try promising settings, or ``all`` to try every setting of the grid."""
    threads: str
    batches: str
    prefetch: str
    loads: str
    pipelines: str
    files: str
    """How the reader reads files: ``mapped``, ``read`` or both."""
    memory: str
    """Memory limit in GiB; empty for 80 % of the memory."""
    seconds: float = 0.0
    """Time limit of the tuner in seconds; 0 for no limit."""

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> str | None:
        given, limit = msgspec.structs.asdict(self), self.seconds or None
        return panel.start("tune", lambda: tuner_for(given, graph, data, panel.machine, limit))


class Predict(SpeedAction, tag="predict", frozen=True):
    """Predict from the headers of the data, or stop the running prediction."""

    what: Literal["memory", "decoders"]

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> None:
        panel.predictions[self.what].start(graph, data)


class Cancel(SpeedAction, tag="cancel", frozen=True):
    """Stop the running measurement."""

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> None:
        panel.cancel()


class MeasureFused(SpeedAction, tag="measure_fused", frozen=True):
    """Compare the speed of an ``if`` block with that of an equivalent operator."""

    block: str

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> None:
        panel.fused.start(self.block, graph, data)


class StopFused(SpeedAction, tag="stop_fused", frozen=True):
    """Stop the measurement of an ``if`` block."""

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> None:
        panel.fused.cancel()


class OpenRecord(SpeedAction, tag="open", frozen=True):
    """Open a record from a file."""

    text: str
    name: str

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> str:
        if len(self.text) > LARGEST:
            raise GraphEditError(
                f"The record has {len(self.text):,} characters; at most {LARGEST:,} are allowed."
            )
        report = load_report(self.text)
        require_drawable(report)
        if not report.name and self.name:
            report = replace(report, name=self.name.removesuffix(".json")[:80])
        panel.view(panel.store.add(report), as_overlay=True)
        return f"Opened {name_of(report)}."


class ViewRecord(SpeedAction, tag="view", frozen=True):
    """Show a record in the part of the panel that fits its kind."""

    record: str

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> str:
        panel.view(self.record)
        return ""


class RenameRecord(SpeedAction, tag="rename", frozen=True):
    """Rename a record."""

    record: str
    to: str

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> str:
        panel.store.rename(self.record, self.to)
        return ""


class DeleteRecord(SpeedAction, tag="delete", frozen=True):
    """Delete a record."""

    record: str

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> str:
        panel.store.drop(self.record)
        return ""


class ExportRecords(SpeedAction, tag="export", frozen=True):
    """Export records to a file."""

    kind: str
    """File type: csv, json, png or svg."""
    ids: list[str]
    """Ids of the records; empty for all records (CSV only)."""
    view: str = ""
    """Id of the view that requests the file, as in every outbox entry."""

    def act(self, panel: SpeedPanel, graph: Graph, data: Datasets) -> None:
        panel.export(self.kind, self.ids, self.view)


class RecordEdit(Action, frozen=True):
    """Base class of edits that apply the result of a record. The panel displays the message."""

    def edited(self, panel: SpeedPanel, graph: Graph) -> tuple[Graph, str]:
        """Return the edited graph and a message, or raise GraphEditError or EngineError."""
        raise NotImplementedError

    def apply(self, model: ViewModel) -> None:
        graph, note = self.edited(model.speed, model.graph)
        model.speed.show_message(note)
        model.history.push(graph)


class Adopt(RecordEdit, tag="adopt", frozen=True):
    """Change the graph's settings to the best setting of a record."""

    record: str

    def edited(self, panel: SpeedPanel, graph: Graph) -> tuple[Graph, str]:
        config = best_measurement(panel.store.require(self.record)).config
        reason = ""
        if config.device == "mixed" and panel.machine.no_gpu:
            reason = f" Images are still decoded on the CPU: {panel.machine.no_gpu}."
            config = replace(config, device=graph.settings.device)
        note = f"The graph now has {config.settings}; undo restores the previous settings.{reason}"
        return adopt_config(graph, config), note


class ApplyRewrites(RecordEdit, tag="take_rewrites", frozen=True):
    """Apply rewrites that a record proposes."""

    record: str
    names: list[str]
    """Names of the rewrites, or ``exact`` for all exact ones; empty for all rewrites."""

    def edited(self, panel: SpeedPanel, graph: Graph) -> tuple[Graph, str]:
        after = with_rewrites(panel.store.require(self.record), graph, self.names)
        return after, "The graph was rewritten; undo restores the previous one."
