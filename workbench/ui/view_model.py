"""The view-model: what both hosts show, and what happens when the user does something.

It knows no toolkit. A host gives it ``publish(component, field, value)``, called with every field
whose value has changed, and calls ``take`` and ``receive`` with what the browser sent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workbench.catalog import load_catalog
from workbench.engine.machine import describe_machine
from workbench.engine.memory_budget import shared_budget
from workbench.engine.process import Engine
from workbench.errors import CancelledError, DataError, GraphEditError, WorkbenchError
from workbench.graph.layout import Document, dump_document
from workbench.graph.model import Graph
from workbench.graph.sources import reading
from workbench.preview import Preview, PreviewRequest
from workbench.preview.share import share_sheet
from workbench.roots import Roots
from workbench.sources import Data
from workbench.ui.actions import (
    Action,
    OpenScope,
    Redo,
    Retry,
    SelectNode,
    Undo,
    bar,
    canvas,
    panels,
    parse_action,
    speed,
)
from workbench.ui.autosave import state_folder
from workbench.ui.auxiliary_views import AuxiliaryViews
from workbench.ui.components import ACTIONS
from workbench.ui.data_panel import DataPanel
from workbench.ui.document_edits import DocumentEdit, apply_document_edit
from workbench.ui.exports import Exports, save_file
from workbench.ui.field_edits import set_graph_field, step
from workbench.ui.field_values import constant_fields, graph_fields
from workbench.ui.graph_argument import GraphLike, to_graph
from workbench.ui.history import History
from workbench.ui.identity_memo import IdentityMemo
from workbench.ui.open_actions import open_document
from workbench.ui.output_paths import Output
from workbench.ui.page_heartbeat import PageHeartbeat
from workbench.ui.presenters import picture_bytes
from workbench.ui.previewer import Outcome, Previewer
from workbench.ui.selection import follow_graph, open_scope, select_node
from workbench.ui.session_actions import SessionActions
from workbench.ui.session_keeper import Claim, SessionKeeper, own_tab
from workbench.ui.share_job import ShareJob
from workbench.ui.speed import RunAction, SpeedPanel
from workbench.ui.state import (
    State,
    baselines_of,
    check,
    failure_of,
    first_choice,
    request_of,
)
from workbench.ui.suggestions import find_suggestions
from workbench.ui.verification_job import VerificationJob
from workbench.ui.view_actions import apply_view_action, set_view

Publish = Callable[[str, str, Any], None]
"""``publish(component, field, value)``: called from any thread, with the model's lock held."""


class ViewModel:
    """One workbench: a data folder, a graph with its history, and what is on the screen.

    Every method may be called from any thread. Nothing that the user does in the browser raises:
    what is wrong becomes ``bar.message``, a fault or a row's ``error``, and the last good picture
    stays.
    """

    def __init__(
        self,
        data: Data = ".",
        graph: GraphLike = None,
        publish: Publish = lambda component, field, value: None,
        *,
        roots: Roots | None = None,
        restore: bool = True,
        connected: bool = True,
        owner: str = "",
        claim: Claim = own_tab,
        cell: str | None = None,
    ) -> None:
        """``roots`` are the folders below which is opened and saved; None: anywhere.

        ``restore`` keeps the session on disk and brings back what its ``owner`` left; ``claim``
        says, for a page that comes with its tab, who the owner is. ``cell`` is the id of the
        notebook's cell that made the workbench, None where there is no notebook.

        Until it is ``connected`` it computes no picture: no worker starts for a page that is asked
        for and never shown.

        Raises GraphFormatError for a graph that cannot be read, and CatalogError without DALI. A
        folder that cannot be used is shown with the reason.
        """
        self.history = History(to_graph(graph))
        self.lock = threading.RLock()
        self.catalog = load_catalog()
        self.machine = describe_machine()
        self.engine = Engine(
            environment=roots.environment if roots is not None else None,
            memory=shared_budget(),
            on_silence=self._on_silence,
        )
        self._publish = publish
        self._roots = roots
        self._shown: dict[tuple[str, str], Any] = {}
        self._seen: dict[tuple[str, str], int] = {}
        self._memo = IdentityMemo()
        self._asked: PreviewRequest | None = None
        self._done: PreviewRequest | None = None
        self._closed = False
        self._connected = connected
        self._publishing = self._stale = False
        self.state = State(check(self.graph, self.catalog, self.machine, roots))
        self.state.selected = first_choice(self.graph, self.catalog)
        self.data_panel = DataPanel(data, self.lock, self._on_folder, self._roots)
        records = state_folder() / "records" if restore else None
        with self.lock:  # what threads find meanwhile waits until all is here
            self.speed = SpeedPanel(self.lock, self._refresh, self.machine, records)
            self.previewer = Previewer(self.engine, self._on_done, self._on_slow)
            self.auxiliary_views = AuxiliaryViews(
                self.previewer, self.catalog, self.lock, self._refresh
            )
            self.verification = VerificationJob(self.lock, self._refresh)
            self.share_job = ShareJob(self.engine, self._on_shared)
            self.exports = Exports(self.catalog)
            self.heartbeat = PageHeartbeat(lambda part, beat: publish(part, "beat", beat))
            keeper = SessionKeeper(self.history, self.state, self._say, claim) if restore else None
            self.sessions = SessionActions(self, keeper, cell)
            if owner:
                self.sessions.attach(owner)
            for component, fields in constant_fields(self.catalog, self.machine).items():
                for field, value in fields.items():
                    self._show(component, field, value)
            self.data_panel.scan()
            self._changed()

    def connect(self) -> None:
        """A page shows it from now on."""
        with self.lock:
            if not self._connected:
                self._connected = True
                self._changed()

    # What Python code asks for

    @property
    def graph(self) -> Graph:
        """The present graph."""
        return self.history.now

    @property
    def owner(self) -> str:
        """Whose the session is (see ``owner.py``); empty where nothing is kept."""
        return self.sessions.owner

    def set_graph(self, source: GraphLike) -> None:
        """Show another graph; undo leads back. Raises GraphFormatError."""
        graph = to_graph(source)
        with self.lock:
            if graph == self.graph:
                return
            if graph.settings.seed != self.graph.settings.seed:
                self.state.pinned = False
            self.history.push(graph)
            self.state.scope = ""
            self.state.selected = first_choice(graph, self.catalog)
            self._changed()

    def open_data(self, data: Data) -> str:
        """Show another data folder. Returns why it cannot be used, or empty.

        One that cannot be used does not take the place of one that can.
        """
        with self.lock:
            opened = DataPanel(data, self.lock, self._on_folder, self._roots)
            if opened.error and not self.data_panel.error:
                opened.close()
                reason = f"{opened.error} {self.data_panel.chip} stays open."
                self.data_panel.refuse(reason)
                self._refresh()
                return reason
            self.data_panel.close()
            self.data_panel = opened
            self.data_panel.scan()
            self.state.batch = 0
            self._changed()
            return opened.error

    def share(self, path: str | Path) -> Path:
        """Write the shared picture; ``.png`` is added where there is no suffix.

        Raises SaveError, and as ``preview_batch`` does.
        """
        with self.lock:
            text = dump_document(self.history.document)
            request = request_of(self.state, self.data_panel.datasets)
        output = Output(str(path), ".png", self._roots, overwrite=True)
        return output.write(share_sheet(self.engine, request, text))

    def rest(self) -> None:
        """End the worker and give its memory back; the next change starts a fresh one."""
        self.engine.end_worker()

    def close(self, *, leave_measurement: bool = False) -> None:
        """End the worker and the threads, for good. What is shown stays.

        With ``leave_measurement`` one that runs goes on, and the session's next page finds it.
        """
        self._closed = True
        self.heartbeat.close()
        self.sessions.close()
        self.data_panel.close()
        if leave_measurement:
            with self.lock:
                self.speed.leave()
        self.speed.cancel()
        self.verification.cancel()
        self.previewer.close()
        self.share_job.close()
        self.engine.close()

    # What the browser asks for

    def take(self, component: str, outbox: Any) -> None:
        """Carry out the entries of an outbox that are new, and acknowledge them."""
        with self.lock:
            last = self._shown.get((component, "ack"), 0)
            for message in outbox if isinstance(outbox, list) else ():
                if not isinstance(message, dict) or not isinstance(message.get("n"), int):
                    continue
                last = max(last, message["n"])
                view = component, str(message.get("view"))
                if message["n"] > self._seen.get(view, 0):
                    self._seen[view] = message["n"]
                    self._do(component, message)
            self._changed()
            self._show(component, "ack", last)

    def act(self, component: str, message: Mapping[str, Any]) -> None:
        """Carry out one action of the component's table."""
        with self.lock:
            self._do(component, message)
            self._changed()

    def receive(self, component: str, field: str, value: Any) -> str:
        """Take the value of a field that either side may set. Returns why not, or empty."""
        with self.lock:
            if self._shown.get((component, field)) == value:
                return ""
            self._shown[component, field] = value  # what the browser holds, right or wrong
            try:
                self._set(component, field, value)
                refused = ""
            except WorkbenchError as error:
                refused = str(error)
            self.state.message = refused
            self._changed()
            return refused

    def _do(self, component: str, message: Mapping[str, Any]) -> None:
        try:
            action = parse_action(component, ACTIONS.get(component, ()), message)
            said = self._carry_out(component, action)
        except WorkbenchError as error:
            said = str(error)
        if component == "code":
            self.state.code_message = said
        else:
            self.state.message = said

    def _carry_out(self, component: str, action: Action) -> str:
        """Returns what to tell the user."""
        state, document = self.state, self.history.document
        match action:
            case Undo() | Redo():
                return step(state, self.history, back=isinstance(action, Undo))
            case SelectNode(node=node):
                select_node(state, self.graph, node)
            case OpenScope(scope=scope):
                open_scope(state, self.graph, self.catalog, scope)
            case Retry() if self.data_panel.error:
                return self.open_data(self.data_panel.datasets)
            case Retry():
                self._asked = None
            case _ if isinstance(action, DocumentEdit):
                self.sessions.release()
                edited = apply_document_edit(state, document, self.catalog, action)
                self.history.push_document(edited.document, edited.group)
                state.selected = state.selected if edited.selected is None else edited.selected
                return edited.said
            case _ if isinstance(action, panels.ViewAction):
                before = state.batch, state.repeat
                shown = apply_view_action(state, document, action)
                after = state.batch, state.repeat
                self.history.push_document(shown, "", (before, after) if before != after else None)
            case _ if isinstance(action, bar.OpenAction):
                opened = open_document(action)
                if isinstance(action, bar.OpenText | bar.OpenPicture):
                    self.sessions.hold()
                return self.replace(opened)
            case canvas.FindConnectTargets() | canvas.FindCompatibleOps():
                find_suggestions(state, self.graph.at_scope(state.scope), self.catalog, action)
            case bar.Share():
                self._share()
            case _ if isinstance(action, bar.SessionAction):
                return self.sessions.carry_out(action)
            case bar.SaveGraph() | bar.ExportScript() | bar.DownloadScript() | panels.SaveCode():
                return save_file(state, document, self.catalog, action, self._roots)
            case panels.Verify():
                if state.checked.faults:
                    raise GraphEditError(f"Not compared: {state.checked.faults[0]}")
                self.verification.start(self.graph, self.data_panel.datasets)
            case panels.StopVerification():
                self.verification.cancel()
            case panels.OpenFolder():
                others = dict(self.data_panel.datasets)
                return self.open_data({**others, self.data_panel.parameter: action.path})
            case panels.CheckFolder():
                self.data_panel.check()
            case speed.Adopt():
                self.history.push(self.speed.adopt(action.record, self.graph))
            case _ if isinstance(action, RunAction):
                self.speed.do(action, self.graph, self.data_panel.datasets)
            case _:
                raise GraphEditError(f"{component} cannot do {type(action).__name__} yet.")
        return ""

    def replace(self, document: Document) -> str:
        """Show another document; undo leads back. Returns what to tell the user."""
        self.history.push_document(document)
        self.state.scope = ""
        self.state.selected = first_choice(document.graph, self.catalog)
        self.state.pinned = False
        name = document.graph.name
        return f"Opened {name if len(name) <= 60 else name[:57] + '...'}."

    def _share(self) -> None:
        document, faults = self.history.document, self.state.checked.faults
        reason = self.data_panel.error or (f"It cannot run here: {faults[0]}" if faults else "")
        request = None if reason else request_of(self.state, self.data_panel.datasets)
        self.share_job.start(document, request, reason)

    def _set(self, component: str, field: str, value: Any) -> None:
        taken = set_view(self.state, component, field, value) or (
            component == "speed" and self.speed.set(field, value)
        )
        if not taken:
            set_graph_field(self.state, self.history, self.machine, component, field, value)

    # What follows from it

    def _changed(self) -> None:
        """After any change of the graph or of what is to be seen of it."""
        state = self.state
        document = self.history.document
        if document is not state.shared_of:
            state.shared, state.shared_of = b"", document
        unread = self._follow_data()
        follow_graph(state, self.graph, self.catalog)
        self.sessions.follow()
        if state.checked.graph is not self.graph:
            state.checked = check(self.graph, self.catalog, self.machine, self._roots)
        if state.checked.source is not None:
            state.source, state.sound = state.checked.source, self.graph
        sound = not state.checked.faults and not self.data_panel.error and not unread
        differs = sound and state.mode == "difference"
        state.baselines = baselines_of(self.graph, self.catalog) if differs else []
        self.verification.follow(self.graph, self.data_panel.datasets)
        request = (
            request_of(state, self.data_panel.datasets)
            if sound and self._connected and not self._closed
            else None
        )
        if request is None or request != self._asked:
            self._asked = request
            self.previewer.ask(request)
            if request is None:
                self.auxiliary_views.drop_unseen(state)
        elif request == self._done:
            self.auxiliary_views.follow(state, request)
        self._refresh()

    def _follow_data(self) -> str:
        """Let the graph's sources be of the kind of the data. Returns why they cannot, or empty."""
        try:
            graph = reading(self.graph, self.data_panel.datasets)
        except DataError as error:
            self.state.message = str(error)
            return str(error)
        if graph is not self.graph:
            self.history.document = self.history.document.with_graph(graph)
        return ""

    def _on_folder(self, message: str | None) -> None:
        self.state.message = self.state.message if message is None else message
        self._refresh()

    def _on_shared(self, document: Document, outcome: bytes | WorkbenchError) -> None:
        with self.lock:
            if isinstance(outcome, WorkbenchError):
                self.state.message = str(outcome)
            elif document is self.state.shared_of:
                self.state.shared = outcome
            self._refresh()

    def _say(self, message: str) -> None:
        with self.lock:
            self.state.message = message
            self._refresh()

    def _on_slow(self) -> None:
        with self.lock:
            self.state.slow = self.previewer.running is not None
            self._refresh()

    def _on_silence(self, silent: bool) -> None:
        with self.lock:
            self.state.silent = silent
            self._refresh()

    def _on_done(self, request: PreviewRequest, outcome: Outcome) -> None:
        with self.lock:
            state = self.state
            state.slow = state.silent = False
            if isinstance(outcome, Preview):
                state.preview, state.picture = outcome, picture_bytes(outcome, request)
                state.failure, self._done = None, request
                self.data_panel.seen(request.data, f"{self.engine.pid} {outcome.folder}")
                self.auxiliary_views.follow(state, request)
                self.sessions.pictured(outcome)
            elif request is self._asked:
                self._asked = None  # so that the same may be asked for again
                self.auxiliary_views.follow(state, None)
                if not isinstance(outcome, CancelledError):
                    state.failure = failure_of(outcome)
            self._refresh()

    def _refresh(self) -> None:
        """Publish every field that has changed.

        Who is told may change something at once: then what is left to tell is out of date, and all
        is looked at anew.
        """
        with self.lock:
            self._stale = True
            if self._publishing:
                return
            self._publishing = True
            try:
                while self._stale:
                    self._stale = False
                    self._publish_changes()
            finally:
                self._publishing = False

    def _publish_changes(self) -> None:
        shown = graph_fields(self.state, self.history, self.catalog, self.data_panel, self._memo)
        shown["bar"] |= self.sessions.fields()
        shown["speed"] |= self.speed.fields(self.graph, self.data_panel.datasets)
        shown["code"] |= self.exports.fields(self.state, self.history.layout)
        auxiliary = self.auxiliary_views.fields(self.state, shown["preview"]["stale"])
        shown["preview"] |= auxiliary["preview"]
        shown["steps"] |= auxiliary["steps"]
        shown["preview"]["verification"] = self.verification.entry(
            self.graph, self.data_panel.datasets
        )
        for component, fields in shown.items():
            for field, value in fields.items():
                self._show(component, field, value)
                if self._stale:
                    return

    def _show(self, component: str, field: str, value: Any) -> None:
        key = component, field
        if key not in self._shown or self._shown[key] != value:
            self._shown[key] = value
            self._publish(component, field, value)
