"""View model: the fields that both hosts show, and the handling of user actions.

The view model depends on no UI toolkit. A host passes ``publish(component, field, value)``, which
is called for every changed field, and calls ``handle_outbox`` and ``receive`` with values from the
browser.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from workbench.catalog import load_catalog
from workbench.engine.protocol.process import Engine
from workbench.engine.resources.machine import describe_machine
from workbench.engine.resources.memory_budget import shared_budget
from workbench.errors import CancelledError, DataError, WorkbenchError
from workbench.graph.fixes import Fix
from workbench.graph.model import Graph
from workbench.graph.storage.layout import Document, dump_document
from workbench.graph.variants.source_annotations import (
    describe_removed_outputs,
    with_opened,
    without_missing_targets,
)
from workbench.preview import PreviewRequest, PreviewResult
from workbench.preview.requests.share import share_sheet
from workbench.roots import Roots
from workbench.sources import Data
from workbench.ui.app.actions import ACTIONS
from workbench.ui.app.bar_actions import ShareImageJob
from workbench.ui.app.field_edits import REPORTED, set_graph_field, set_view
from workbench.ui.app.field_publisher import FieldPublisher, Fields, Publish, Together
from workbench.ui.app.field_values import constant_fields, graph_fields, running_work
from workbench.ui.app.page_heartbeat import PageHeartbeat
from workbench.ui.app.selection import follow_graph
from workbench.ui.app.session import Claim, ModelSession, reported_tab
from workbench.ui.contract.action import parse_action
from workbench.ui.contract.payloads import status_fields
from workbench.ui.data.data_panel import DataPanel
from workbench.ui.export.exports import Exports
from workbench.ui.export.output_paths import OutputPath
from workbench.ui.export.version_job import SessionVersions
from workbench.ui.jobs.background_results import BackgroundResults
from workbench.ui.jobs.previewer import Outcome, Previewer
from workbench.ui.preview.background_previews import BackgroundPreviews
from workbench.ui.preview.comparison_job import ComparedGraphs, ComparisonJob
from workbench.ui.preview.presenters import picture_bytes, start_entry
from workbench.ui.preview.verification_job import SessionVerification
from workbench.ui.results.panel import ResultsPanel
from workbench.ui.speed.panel import SpeedPanel
from workbench.ui.state.graph_argument import GraphLike, to_document, to_graph
from workbench.ui.state.history import History
from workbench.ui.state.identity_memo import IdentityMemo
from workbench.ui.state.view_state import (
    ViewState,
    baselines_of,
    check_before_run,
    failure_of,
    initial_selection,
    request_of,
    unread_fault,
    warnings_before_run,
)
from workbench.ui.storage.autosave import Autosave, state_folder
from workbench.ui.storage.saved_snippets import saved_snippets

SENDING = 0.001
"""Seconds to sleep so that the sending thread can acquire Python's GIL and send a picture before
other fields are computed. Without the sleep, the thread waits 5 ms (``sys.getswitchinterval``).
"""


class ViewModel:
    """One workbench: data, a graph with its history, and view settings.

    Thread-safe. User actions do not raise: an error is shown as ``bar.message``, as a fault, or as
    the ``error`` of a row, and the last valid picture remains.
    """

    def __init__(
        self,
        data: Data = ".",
        graph: GraphLike = None,
        publish: Publish = lambda component, field, value: None,
        *,
        together: Together = nullcontext,
        roots: Roots | None = None,
        restore: bool = True,
        connected: bool = True,
        owner: str = "",
        apply_kept: bool = True,
        claim: Claim = reported_tab,
        cell: str | None = None,
        picture_first: bool = False,
    ) -> None:
        """``roots`` are the folders below which files may be opened and saved; None means anywhere.

        ``restore`` enables autosave: the stored session of ``owner`` is restored, or only offered
        if ``apply_kept`` is False. ``claim`` returns the owner for the tab id sent by a page.
        ``cell`` is the id of the notebook cell that created the workbench; None outside notebooks.
        With ``picture_first``, a picture is published before all other fields.

        If ``connected`` is False, no picture is computed until ``connect`` is called, so no worker
        starts for a page that is requested but never displayed.

        Raises GraphFormatError for a graph that cannot be read, and CatalogError without DALI. If a
        data folder cannot be used, the reason is displayed.
        """
        self.history = History.of(to_document(graph))
        self.lock = threading.RLock()
        self.catalog = load_catalog()
        self.machine = describe_machine()
        self.engine = Engine(
            environment=roots.environment if roots is not None else None,
            memory=shared_budget(),
            on_silence=partial(self._on_worker, "silent"),
            on_wait=partial(self._on_worker, "waits_for"),
        )
        self._publisher = FieldPublisher(publish, self.lock, self._fields, together, self._refresh)
        self._picture_first = picture_first
        self.roots = roots
        self._seen: dict[tuple[str, str], int] = {}
        self._memo = IdentityMemo()
        self._asked: PreviewRequest | None = None
        self._done: PreviewRequest | None = None
        self.closed = self._rests_after_first = False
        self._shown_document = self.history.document
        """Last document that was displayed without an error."""
        self._connected = connected
        self.state = ViewState(check_before_run(self.graph, self.catalog, self.machine, roots))
        self.state.snippets = saved_snippets()
        self._has_example = graph is None
        """True if the workbench was opened with the example graph. The inspector explains it until
        a node is selected.
        """
        if not self._has_example:
            self.state.selected = initial_selection(self.graph, self.catalog)
        self.data_panel = DataPanel(data, self.lock, self._on_folder, self.roots)
        records = state_folder() / "records" if restore else None
        with self.lock:  # threads started meanwhile wait for the rest of the constructor
            self.speed = SpeedPanel(self.lock, self._refresh, self.machine, records, roots)
            self.previewer = Previewer(
                self.engine, self._on_done, self._on_slow, partial(self._on_worker, "making")
            )
            self.background = BackgroundResults(self.previewer, self.lock, self._refresh_soon)
            self.background_previews = BackgroundPreviews(self.background, self.catalog)
            self.verification = SessionVerification(self.lock, self._refresh, roots=roots)
            self.versions = SessionVersions(self.lock, self._refresh)
            self.share_image_job = ShareImageJob(
                self.engine, self.lock, self._refresh, self._on_shared
            )
            self.results = ResultsPanel(self.lock, self._refresh, follows=roots is None)
            self.exports = Exports(self.catalog)
            self.heartbeat = PageHeartbeat(lambda part, beat: publish(part, "beat", beat))
            autosave = Autosave(notify=self._on_folder) if restore else None
            self.sessions = ModelSession(self, autosave, claim, cell, roots)
            others = ComparedGraphs(self.history, self.sessions.find, self.sessions.recent)
            self.comparison = ComparisonJob(
                others, self.background, self.catalog, self.machine, roots
            )
            if owner:
                self.sessions.attach(owner, apply=apply_kept)
            for component, fields in constant_fields(self.catalog, self.machine, roots).items():
                for field, value in fields.items():
                    self._publisher.show(component, field, value)
            self.data_panel.scan()
            self.changed()

    def connect(self) -> None:
        """Start rendering, because a page now displays this workbench."""
        with self.lock:
            if not self._connected:
                self._connected = True
                self.changed()

    @property
    def graph(self) -> Graph:
        return self.history.now

    @property
    def owner(self) -> str:
        """Owner of the session (see ``owner.py``); empty if nothing is stored."""
        return self.sessions.owner

    def shown(self, component: str, field: str) -> Any:
        """Return the browser's value of a field; None if the field was not published yet."""
        return self._publisher.browser_value(component, field)

    def set_graph(self, source: GraphLike, group: str = "", data: Data | None = None) -> None:
        """Replace the graph, and the data if passed. Undo restores only the graph.

        Changes with the same ``group`` are undone together. Raises GraphFormatError for an invalid
        graph, and DataError for data that cannot be used; in both cases nothing changes.
        """
        graph = to_graph(source)
        with self.lock:
            if data is not None and (refused := self._replace_data(data)):
                raise DataError(refused)
            document = self.history.document.with_graph(graph)
            if not isinstance(source, Graph):
                document = replace(document, report=to_document(source).report)
            elif graph.name != self.graph.name:
                document = replace(document, report=None)
            if document == self.history.document:
                if data is not None:
                    self.changed()
                return
            if graph.settings.seed != self.graph.settings.seed:
                self.state.pinned = False
            if graph.name != self.graph.name:
                self.verification.forget()
            if graph.name != self.graph.name and not group:
                self.history.open(document)
                self.sessions.other_opened()
            else:
                self.history.push_document(document, group)
            if not all(map(graph.has, self.state.selected)):
                self.state.scope, self.state.selected = "", initial_selection(graph, self.catalog)
            self.changed()

    def open_data(self, data: Data) -> str:
        """Open ``data``. Return the reason if it cannot be used, else "".

        A usable dataset is not replaced by an unusable one.
        """
        with self.lock:
            if refused := self._replace_data(data):
                self._refresh()
                return refused
            self.changed()
            return self.data_panel.error

    def _replace_data(self, data: Data) -> str:
        """Replace the data. Return the reason if ``data`` was not opened, else ""."""
        opened = self.data_panel.opened(data)
        if opened is self.data_panel:
            return opened.view["refused"]
        self.data_panel.close()
        if not opened.reads(self.data_panel.datasets):
            self._clear_pictures()
            self.sessions.other_opened()
        self.data_panel = opened
        self.data_panel.scan()
        self.state.batch, self.state.shown_classes, self.state.marked = 0, [], []
        return ""

    def _clear_pictures(self) -> None:
        self.state.preview, self.state.picture, self.state.failure = None, b"", None
        self._done = None
        self.background_previews.clear(self.state)
        self.comparison.clear()

    def share(self, path: str | Path) -> Path:
        """Write the picture for sharing and return its path; ``.png`` is the default suffix.

        Raises SaveError, and the errors of ``preview_batch``.
        """
        with self.lock:
            text = dump_document(self.history.document)
            request = request_of(self.state, self.data_panel.datasets)
        output = OutputPath(str(path), ".png", self.roots, overwrite=True)
        return output.write(share_sheet(self.engine, request, text))

    def compare(self, source: GraphLike) -> None:
        """Compare the graph with ``source``. Raises GraphFormatError if ``source`` is invalid."""
        with self.lock:
            self.comparison.open(self.state, to_document(source))
            self.changed()

    @property
    def is_picture_due(self) -> bool:
        """True if the picture of the current graph was requested but has not arrived yet."""
        with self.lock:
            return self._asked is not None and self._asked != self._done

    def request_picture_again(self) -> None:
        """Request the picture at the next update, even if nothing has changed."""
        self._asked = None

    def follow_files(self, version: str) -> None:
        """Render again if the worker has read a newer ``version`` of the data files."""
        with self.lock:
            if self.data_panel.is_new(f"{self.engine.pid} {version}"):
                self.request_picture_again()
                self.changed()

    def release_worker(self) -> None:
        """End the worker once the first picture is rendered. The next change starts another one."""
        with self.lock:
            self._rests_after_first = self.state.preview is None and self._asked is not None
        if not self._rests_after_first:
            self.engine.end_worker()
            self.previewer.end_idle_threads()

    def close(self, *, leave_measurement: bool = False) -> None:
        """End the worker and all threads. The page keeps its content.

        With ``leave_measurement``, a running measurement continues, and the next page of the
        session attaches to it.
        """
        self.closed = True
        with ExitStack() as last_first:  # all are closed, even if one fails
            last_first.callback(self.engine.close)
            last_first.callback(self.share_image_job.close)
            last_first.callback(self.previewer.close)
            last_first.callback(self.verification.cancel)
            last_first.callback(self.versions.cancel)
            last_first.callback(self.speed.cancel)
            last_first.callback(self.results.close)
            if leave_measurement:
                last_first.callback(self._leave_measurement)
            last_first.callback(self.data_panel.close)
            last_first.callback(self.sessions.close)
            last_first.callback(self.heartbeat.close)
            last_first.callback(self._publisher.close)

    def _leave_measurement(self) -> None:
        with self.lock:
            self.speed.detach()
            self.verification.detach()
            self.versions.detach()

    def handle_outbox(self, component: str, outbox: Any) -> None:
        """Apply the new entries of a component's outbox, and acknowledge them."""
        with self.lock:
            before, last = self.graph.nodes, self._publisher.browser_value(component, "ack", 0)
            for message in outbox if isinstance(outbox, list) else ():
                if not isinstance(message, dict) or not isinstance(message.get("n"), int):
                    continue
                last = max(last, message["n"])
                view = component, str(message.get("view"))
                if message["n"] > self._seen.get(view, 0):
                    self._seen[view] = message["n"]
                    self._dispatch(component, message)
            same_nodes = [node.id for node in before] == [node.id for node in self.graph.nodes]
            self.changed(picture_first=self._picture_first and same_nodes)
            self._publisher.show(component, "ack", last)

    def act(self, component: str, message: Mapping[str, Any]) -> None:
        """Apply an action of a component and update all fields."""
        with self.lock:
            self._dispatch(component, message)
            self.changed()

    def receive(self, component: str, field: str, value: Any) -> str:
        """Handle a field that the browser has set. Return the reason if it is refused, else ""."""
        with self.lock:
            if self._publisher.browser_value(component, field) == value:
                return ""
            self._publisher.record_browser_value(component, field, value)
            try:
                self._set(component, field, value)
                refused = ""
            except WorkbenchError as error:
                refused = str(error)
            if refused or (component, field) not in REPORTED:
                self.state.message = refused
            self.changed()
            return refused

    def _dispatch(self, component: str, message: Mapping[str, Any]) -> None:
        try:
            known = ACTIONS.get(component, ())
            note = parse_action(component, known, message).apply(self) or ""
        except WorkbenchError as error:
            note = str(error)
        except Exception as error:
            note = self._report("The action failed", error)
        self.state.notify(component, note)

    def replace(self, document: Document, label: str = "") -> str:
        """Open another document and return a message. ``label`` names the edit for undo."""
        self.history.open(document, label)
        self.sessions.other_opened()
        self.verification.forget()
        self.state.scope, self.state.pinned = "", False
        self.state.shown_branches, self.state.shown_augmentations = [], []
        self.state.selected = initial_selection(document.graph, self.catalog)
        self.state.code_from_top = True
        name = document.graph.name
        return f"Opened {name if len(name) <= 60 else name[:57] + '...'}."

    def _set(self, component: str, field: str, value: Any) -> None:
        changed = set_view(self.state, component, field, value) or (
            component == "speed" and self.speed.set(field, value)
        )
        if not changed:
            set_graph_field(self.state, self.history, self.machine, component, field, value)

    def changed(self, *, picture_first: bool = False) -> None:
        """Update all fields. With ``picture_first``, a requested picture is published first."""
        self._show(partial(self._follow_change, picture_first))

    def _refresh(self) -> None:
        self._show(self._publisher.refresh)

    def _show(self, publish: Callable[[], object]) -> None:
        """Call ``publish``. If it fails, return to the last document that could be displayed."""
        with self.lock:
            try:
                waits = publish()
            except Exception as error:
                note = self._report("This graph cannot be shown", error)
                if self.history.document is self._shown_document:
                    self._publisher.show("bar", "message", note)
                    return
                self.sessions.set_aside(self.history.document)
                self.history.return_to(self._shown_document)
                self.state.scope, self.state.selected = "", []
                self.state.message = f"{note} The previous graph is shown again."
                waits = self._follow_change()
            if not waits:
                self._shown_document = self.history.document

    def _report(self, summary: str, error: Exception) -> str:
        logging.getLogger(__name__).exception("%s", summary)
        return f"{summary}: {type(error).__name__}: {str(error)[:200]}. This is a bug."

    def _follow_change(self, picture_first: bool = False) -> bool:
        """Start the work that a change requires. Return whether other fields wait for a picture."""
        state, document = self.state, self.history.document
        if document is not state.shared_of:
            state.shared, state.shared_of = b"", document
        unread = self._follow_data()
        state.follow_savable(self.graph, state.target, self.data_panel.dataset, state.skip_bad)
        follow_graph(state, self.graph, self.catalog)
        if not self.graph.nodes:
            self._clear_pictures()
        self.sessions.follow()
        if state.checked.graph is not self.graph:
            state.checked = check_before_run(self.graph, self.catalog, self.machine, self.roots)
        sound = not state.checked.faults and not self.data_panel.error and not unread
        differs = sound and state.mode == "difference"
        state.baselines = baselines_of(state.checked.running) if differs else []
        self.verification.follow(state.checked.active, self.data_panel.datasets)
        wanted = sound and self._connected and not self.closed
        request = request_of(state, self.data_panel.previewed) if wanted else None
        waits = picture_first and request is not None and request != self._asked
        if request is None or request != self._asked:
            self._asked = request
            self.previewer.request(request)
            if request is None:
                self.background_previews.drop_unseen(state)
        elif request == self._done:
            self.background_previews.follow(state, request)
        there = request if request == self._done else None
        self.comparison.follow(state, self.data_panel.datasets, there)
        self._follow_warnings()
        if waits:
            self._publisher.refresh_after_picture()
        else:
            self._publisher.refresh()
        return waits

    def _refresh_soon(self) -> None:
        """Publish changed fields, after a delay in which the page can paint the picture."""
        if self._picture_first:
            self._publisher.refresh_after_painting()
        else:
            self._refresh()

    def _follow_warnings(self) -> None:
        checked, facts = self.state.checked, self.data_panel.facts
        self.state.warnings = self._memo(warnings_before_run, checked, facts)

    def _follow_data(self) -> str:
        """Make the graph's sources read the open data. Return the reason if they cannot, or ""."""
        before, self.state.unread = self.state.unread, None
        data = self.data_panel.datasets
        if self.graph.datasets not in (None, data):  # other data was opened meanwhile
            present = replace(self.graph, datasets=data)
            self.history.document = self.history.document.with_graph(present)
        try:
            graph = with_opened(self.graph, data, self.catalog)
        except DataError as error:
            self.state.unread = unread_fault(self.graph, error)
            self.state.unread_fixes = self._without_missing_targets()
            if self.state.unread != before:
                self.state.message = str(error)
            return str(error)
        if graph is not self.graph:
            self.state.message = describe_removed_outputs(self.graph, graph) or self.state.message
            self.history.replace_present(self.history.document.with_graph(graph))
        self.data_panel.follow(graph)
        return ""

    def _without_missing_targets(self) -> tuple[Fix, ...]:
        """Return a fix that ignores annotations missing in the data, or () if it would not help."""
        data = self.data_panel.datasets
        graph = without_missing_targets(self.graph, data, self.catalog)
        return () if graph is None else (Fix("Read without the missing annotations", graph),)

    def _on_folder(self, message: str | None) -> None:
        with self.lock:
            self.state.message = self.state.message if message is None else message
            self._follow_warnings()
            indexed = self._asked and self._asked.data != self.data_panel.previewed
            (self.changed if indexed else self._refresh)()

    def _on_shared(self, document: Document, picture: bytes | None, error_text: str) -> None:
        if picture is None:
            self.state.message = error_text or self.state.message
        elif document is self.state.shared_of:
            self.state.shared = picture

    def _on_slow(self) -> None:
        self._on_worker("slow", self.previewer.running is not None)

    def _on_worker(self, field: str, value: bool | str) -> None:
        with self.lock:
            setattr(self.state, field, value)
            self._refresh()

    def _on_done(self, request: PreviewRequest, outcome: Outcome) -> None:
        with self.lock:
            state = self.state
            state.slow = state.silent = False
            state.waits_for = state.making = ""
            current = self.graph.nodes and self.data_panel.reads(request.data)
            if isinstance(outcome, PreviewResult) and not current:
                pass  # an empty graph or other data was opened meanwhile
            elif isinstance(outcome, PreviewResult):
                state.preview, state.picture = outcome, picture_bytes(outcome, request)
                if request is self._asked:  # else it can be of the graph that was open before
                    state.pictured = self.history.graph_number
                    self._publisher.show("preview", "rendering", False)
                self._publisher.show("preview", "picture", state.picture)  # the rest takes time
                if not self._picture_first:
                    time.sleep(SENDING)
                state.failure, self._done, state.started = None, request, True
                self.data_panel.count_if_changed(
                    request.data, f"{self.engine.pid} {outcome.folder}"
                )
                self.background_previews.follow(state, request)
                self.comparison.follow(state, self.data_panel.datasets, request)
                self.sessions.store_thumbnail(outcome)
            elif request is self._asked:
                self._asked = None  # so that the same request can be sent again
                self.background_previews.follow(state, None)
                if not isinstance(outcome, CancelledError):
                    shown = self._done is not None and self._done.graph != request.graph
                    undoable = shown and self.history.can_undo
                    state.failure = failure_of(outcome, self.graph, self.catalog, undoable=undoable)
            self._refresh_soon()
        if self._rests_after_first and (state.preview or state.failure):
            self._rests_after_first = not self.engine.end_if_idle()
            if not self._rests_after_first:
                self.previewer.end_idle_threads()

    def _fields(self) -> Fields:
        shown = graph_fields(self.state, self.history, self.catalog, self.data_panel, self._memo)
        shown["bar"] |= self.sessions.fields()
        example = self._has_example and not self.history.can_undo
        starts = example or not self.graph.nodes
        shown["inspector"]["start"] = start_entry(example) if starts else {}
        active, data = self.state.checked.active, self.data_panel.datasets
        rendering = "rendering" if shown["preview"]["rendering"] else ""
        stale, faults = shown["preview"]["stale"] or rendering, shown["bar"]["faults"]

        def measured() -> Fields:
            fused = self.speed.fused.entry(active, data)
            speeds = self.speed.last_speeds(active, data)
            return {
                "speed": self.speed.fields(active, data),
                "inspector": {"fused_speed": fused},
                "status": status_fields(faults, speeds, self.sessions.saved_state),
            }

        def compared() -> Fields:
            verification = self.verification.entry(active, data)
            return {"preview": self.comparison.fields(self.state) | {"verification": verification}}

        tasks = self.speed, self.verification, self.versions, self.data_panel
        shown["tabs"] |= {"work": running_work(*tasks)}
        parts: dict[str, Callable[[], Fields]] = {
            "speed": measured,
            "comparison": compared,
            "code": lambda: {
                "code": self.exports.fields(self.state, self.history.layout, self.data_panel)
                | {"version": self.versions.entry(active, data)}
            },
            "results": lambda: {"results": self.results.fields()},
            "background": lambda: self.background_previews.fields(self.state, stale),
        }
        for name, fields in parts.items():
            try:
                for component, values in fields().items():
                    shown[component] = {**shown.get(component, {}), **values}
            except Exception as error:  # the other parts stay usable
                shown["bar"]["message"] = self._report(f"{name} cannot be shown", error)
        return shown
