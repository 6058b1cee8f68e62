"""What the speed panel may ask for."""

from __future__ import annotations

import msgspec

from workbench.ui.contract.actions.base import Action, Redo, SelectNode, Undo


class Measure(Action, tag="measure", frozen=True):
    """Begin a run."""

    what: str
    """compare, stages, rewrites, peers, threads or workers."""
    peers: list[str] = msgspec.field(default_factory=list)
    """The names of those that ``peers`` is to measure; none means all."""


class MeasureFused(Action, tag="measure_fused", frozen=True):
    """Measure an ``if`` against the one operator that does the same."""

    block: str


class StopFused(Action, tag="stop_fused", frozen=True):
    """End that measurement."""


class Tune(Action, tag="tune", frozen=True):
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


class Cancel(Action, tag="cancel", frozen=True):
    """Stop the run."""


class Adopt(Action, tag="adopt", frozen=True):
    """Give the graph the best setting of a record."""

    record: str


class TakeRewrites(Action, tag="take_rewrites", frozen=True):
    """Do what the optimiser proposes in a record."""

    record: str
    names: list[str]
    """Of the proposals; ``exact`` for those of that class; none means all."""


class OpenRecord(Action, tag="open", frozen=True):
    """Add a record from a file."""

    text: str
    name: str
    """Of its file."""


class ViewRecord(Action, tag="view", frozen=True):
    """Show a record in the part of its kind."""

    record: str


class RenameRecord(Action, tag="rename", frozen=True):
    """Give a record a name."""

    record: str
    to: str


class DeleteRecord(Action, tag="delete", frozen=True):
    """Keep a record no longer."""

    record: str


class ExportRecords(Action, tag="export", frozen=True):
    """Make a file of records."""

    kind: str
    """csv, json, png or svg."""
    ids: list[str]
    """Of CSV, none means all."""
    view: str = ""
    """The view that asks, as every entry of an outbox says."""


RecordAction = OpenRecord | ViewRecord | RenameRecord | DeleteRecord | ExportRecords
SpeedAction = (
    Measure | Tune | Cancel | RecordAction | Adopt | TakeRewrites | SelectNode | Undo | Redo
)  # fmt: skip
