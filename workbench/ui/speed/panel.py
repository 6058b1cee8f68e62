"""Speed panel: starts measurements, stores their records, and shows messages."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from workbench.bench import Report
from workbench.bench.experiments.speed_experiment import SpeedExperiment
from workbench.bench.measuring.interleaved import format_duration
from workbench.engine.protocol.progress import NO_ANSWER
from workbench.engine.resources.machine import Machine
from workbench.errors import SaveError, WorkbenchError
from workbench.graph.model import Graph
from workbench.roots import Roots
from workbench.sources import Datasets
from workbench.ui.contract.encoding import pack_payload
from workbench.ui.contract.payloads import LastSpeed
from workbench.ui.contract.speed_payloads import EFFORTS, PARTS, FileHeader
from workbench.ui.jobs.background_task import (
    SHARED_QUEUE,
    BackgroundTask,
    OwnedTasks,
    SessionTask,
    TaskListener,
    run_in_background,
)
from workbench.ui.speed.chart_payloads import part_of
from workbench.ui.speed.fused_speed import FusedSpeed
from workbench.ui.speed.predictions import Prediction
from workbench.ui.speed.record_figures import Choice, RecordFigures
from workbench.ui.speed.record_payloads import is_drawable
from workbench.ui.speed.record_store import RecordStore, export_file


class SpeedPanel:
    """Measurements and records of a page. ``changed`` is called after every change.

    Call methods with the view model's lock held, except ``fields``. Errors of actions and
    measurements are displayed in ``message``, with ``failed`` set.
    """

    def __init__(
        self,
        lock: threading.RLock,
        changed: Callable[[], None],
        machine: Machine,
        folder: Path | None,
        roots: Roots | None = None,
    ) -> None:
        """Create a panel that stores records in ``folder``, or only for this session if it is None.

        Data files outside the ``roots`` are skipped.
        """
        self._roots = roots
        self.part = "compare"
        self.effort = "usual"
        self.overlay = ""
        self.selected_records: list[str] = []
        self.store = RecordStore(folder)
        self.machine = machine
        self._figures = RecordFigures(self.store, machine)
        self.task: SessionTask[ExperimentTask] = SessionTask(
            TaskListener(lock, changed, self._on_end), EXPERIMENTS
        )
        self._lock = lock
        self._changed = changed
        self._shown: dict[str, str] = {}
        """Id of the displayed record, by part of the panel."""
        self._what = ""
        self._opened: set[str] = set()
        self._said = ""
        self._said_of: tuple[str, Graph, Datasets] | None = None
        """Part, graph and data that the message belongs to; None until the message is displayed."""
        self._said_part: str | None = None
        self._unkept = ""
        """Reason why the record of the run cannot be stored, or "". It is appended to messages."""
        self._failed = False
        self._file = b""
        self._files = 0
        self._version = object()
        """Object that is replaced when records or their selection change (a cache key)."""
        self.fused = FusedSpeed(lock, changed, roots)
        self.predictions = {
            kind: Prediction(kind, lock, changed, roots) for kind in ("memory", "decoders")
        }
        self._load_new_records()

    def show_message(self, text: str, part: str | None = None, *, failed: bool = False) -> None:
        """Show a message in ``part``, or in the open part, until the graph or its data changes."""
        self._said, self._said_part, self._said_of, self._failed = text, part, None, failed

    def apply(self, act: Callable[[], str | None]) -> None:
        """Call ``act``, which applies an action of the panel and returns a message or None."""
        self._version = object()
        try:
            note = act()
            if note is not None:
                self.show_message(note)
        except WorkbenchError as error:
            self.show_message(str(error), failed=True)

    def set(self, field: str, value: Any) -> bool:
        """Set a field to a value from the browser. Return False if the panel has no such field."""
        match field, value:
            case "part", str() if value in PARTS:
                self.part = value
                if value == "records":
                    self._load_new_records()
            case "effort", str() if value in EFFORTS:
                self.effort = value
            case "overlay", str():
                self.overlay = value if self.store.get(value) else ""
            case "selected_records", list():
                known = [key for key in value if isinstance(key, str) and self.store.get(key)]
                self.selected_records = known[-2:]
            case _:
                return False
        self._version = object()
        return True

    @property
    def run(self) -> ExperimentTask | None:
        """The running measurement of the page, or None."""
        return self.task.running

    def cancel(self) -> None:
        """Stop the page's measurements. Earlier results and runs of other pages are unaffected."""
        self._cancel_own()
        self.task.cancel()

    def adopt_session(self, owner: str) -> None:
        """Attach to a session. A measurement started by an earlier page is shown and continues."""
        if (found := self.task.adopt_session(owner)) is not None:
            self._what = self.part = found.part
            self.store.add_found(self.store.read())
            self._version = object()
            found.listen(self.task.listener)

    def detach(self) -> None:
        """Detach the page from a measurement, which continues for later pages of the session."""
        self._cancel_own()
        self.task.detach()

    def _cancel_own(self) -> None:
        self.fused.cancel()
        for each in self.predictions.values():
            each.cancel()

    def start(self, part: str, make: Callable[[], SpeedExperiment]) -> str | None:
        """Start the measurement of a part, unless one is running. Return a message, or None."""
        if self.run is not None:
            return None
        experiment = make()
        experiment.usable.roots = self._roots
        self._what = self.part = part
        self._unkept = ""
        try:
            self.store.require_writable()
        except SaveError as error:  # the results are still shown
            self._unkept = f". The record cannot be stored: {error}"
        keep = RecordStore(self.store.folder).add
        self.task.start(ExperimentTask(experiment, part, self.task.listener, keep))
        return ""

    def _on_end(self, report: Report | None, error: str) -> None:
        run = self.task.last
        assert run is not None
        self.task.forget()
        self._version = object()
        failed, words = bool(error), error
        if report is None:
            if not error:
                shown = ". The figures are from an earlier run" if run.part in self._shown else ""
                words = f"Cancelled{shown}."
            # Cancellation is reported in the open part, a failure in its own part.
            self.show_message(words, run.part if error else None, failed=failed)
            return
        if report.extra.get("interrupted"):
            words = "Stopped early. The results up to this point are stored."
        try:
            key = self.store.add(report)
        except WorkbenchError as error:
            key = next(iter(self.store.records))
            failed, words = True, f"The record cannot be stored: {error}"
        self.show_message(words, run.part, failed=failed)
        if self.overlay == self._shown.get(run.part):
            self.overlay = ""
        self._shown[run.part] = key

    def add_report(self, report: Report) -> None:
        """Store a measurement made in a notebook cell, and display it. Acquires the lock.

        A measurement that was interrupted before it had a result for the pipeline is ignored.
        """
        if not is_drawable(report):
            return
        with self._lock:
            try:
                key = self.store.add(report)
            except WorkbenchError as error:
                key = next(iter(self.store.records))
                self.show_message(f"The record cannot be stored: {error}", failed=True)
            self._shown[part_of(report)] = key
            self._version = object()
        self._changed()

    def view(self, key: str, as_overlay: bool = False) -> None:
        """Open the part of the panel that shows a record, or add the record as an overlay."""
        part = part_of(self.store.require(key))
        self._opened.add(key)
        shown = self._shown.get(part)
        if as_overlay and part in ("compare", "peers") and shown and shown != key:
            self.overlay = key
        else:
            self._shown[part] = key
            self.overlay = "" if self.overlay == key else self.overlay
        self.part = part

    def export(self, kind: str, ids: Sequence[str], view: str) -> None:
        """Create a file of records in the background; the first picture takes seconds."""
        records = {key: self.store.require(key) for key in ids} or self.store.records

        def on_end(file: tuple[str, str, bytes] | None, error: str) -> None:
            if file is None:
                self.show_message(error, failed=True)
                return
            name, mime, content = file
            self._files += 1
            header: FileHeader = {"name": name, "mime": mime, "view": view[:40], "n": self._files}
            self._file = pack_payload(header, content)

        listener = TaskListener(self._lock, self._changed, on_end)
        run_in_background("export", lambda: export_file(kind, records), listener)

    def _load_new_records(self) -> None:
        folder = self.store.folder
        if folder is None or not folder.is_dir():
            return

        def on_end(found: dict[str, Report] | None, error: str) -> None:
            self.store.add_found(found or {})
            self._version = object() if found else self._version

        run_in_background(
            "records", self.store.read, TaskListener(self._lock, self._changed, on_end)
        )

    # What is shown

    def fields(self, graph: Graph, data: Datasets) -> dict[str, Any]:
        """Return all fields except the graph's settings, such as ``batch_size``."""
        run = self.run
        self._leave_dropped()
        choice = Choice(self.part, self._shown, self._opened, self.overlay, self.selected_records)
        if self._said_of is None:
            self._said_of = self._said_part or self.part, graph, data
        note = self._said if self._said_of == (self.part, graph, data) else ""
        figures = self._figures.of(self._version, choice, graph, data)
        if run is not None and run.experiment.partial_report is not None:
            so_far, now = run.experiment.partial_report, run.experiment.current_config
            partial = self._figures.partial(run.part, so_far, now, graph, data)
            figures = {**figures, run.part: partial}
        return {
            "running": run is not None,
            "what": run.part if run else self._what,
            "progress": run.share if run else 0.0,
            "message": run.text + self._unkept if run else note,
            "failed": False if run or not note else self._failed,
            "part": self.part,
            "effort": self.effort,
            "overlay": self.overlay,
            "selected_records": self.selected_records,
            "file": self._file,
            **{kind: each.view(graph, data) or {} for kind, each in self.predictions.items()},
            **figures,
        }

    def _leave_dropped(self) -> None:
        records = self.store.records
        self.overlay = self.overlay if self.overlay in records else ""
        self.selected_records = [key for key in self.selected_records if key in records]
        self._shown = {part: key for part, key in self._shown.items() if key in records}

    def last_speeds(self, graph: Graph, data: Datasets) -> list[LastSpeed]:
        """Return the last measured speeds of a graph, on the same data and this machine."""
        return self._figures.last_speeds(self._version, graph, data)


# Experiments of the speed panel in the background

TOO_EARLY = 0.1
"""Fraction of progress below which the remaining time is not estimated."""


NEARLY_DONE = 0.8
_LEFT = re.compile(", about [^,;]+ left")


class ExperimentTask(BackgroundTask[Report]):
    """Measurement that belongs to one part of the Speed panel."""

    def __init__(
        self,
        experiment: SpeedExperiment,
        part: str,
        listener: TaskListener[Report],
        store: Callable[[Report], object],
    ) -> None:
        """``store`` is called with the record if the task has no listener when it ends."""
        super().__init__("measurement", experiment, listener, SHARED_QUEUE)
        self.experiment = experiment
        self.part = part
        self._keep = store
        self._overdue: threading.Timer | None = None

    def store_result(self, result: Report) -> None:
        self._keep(result)

    def so_far(self) -> Report | None:
        """Return the results so far if the panel can display them, else None."""
        found = self.experiment.interrupted_report()
        return found if found is not None and is_drawable(found) else None

    def describe(self, share: float, text: str) -> str:
        """Return the text with the estimated remaining time."""
        if text == NO_ANSWER or not TOO_EARLY < share < 1:
            return text
        left = (time.monotonic() - self.began) * (1 / share - 1)
        if not _LEFT.search(text):
            text = f"{text}, about {format_duration(left)} left"
        if self._overdue is not None:
            self._overdue.cancel()
        self._overdue = threading.Timer(max(left, 1.0), self._report_overdue, (share, text))
        self._overdue.daemon = True
        self._overdue.start()
        return text

    def _report_overdue(self, share: float, text: str) -> None:
        """Replace the estimated remaining time in the text once it has passed without progress."""
        if self.outcome is None and self.text == text:
            late = "finishing" if share > NEARLY_DONE else "taking longer than estimated"
            self._notify(share, _LEFT.sub(f", {late}", text))


EXPERIMENTS: OwnedTasks[ExperimentTask] = OwnedTasks()
"""Running measurements of this process, and the last finished measurement of each session."""
