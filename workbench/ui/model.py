"""The view-model: what both hosts show, and what happens when the user does something.

It knows no toolkit. A host gives it ``publish(component, field, value)``, called with every field
whose value has changed, and calls ``take`` and ``receive`` with what the browser sent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.catalog import load_catalog
from workbench.engine.machine import describe_machine
from workbench.engine.process import Engine
from workbench.errors import CancelledError, GraphEditError, WorkbenchError
from workbench.files import write_text
from workbench.graph.edit import set_setting
from workbench.graph.io import dump_graph, load_graph
from workbench.graph.model import Graph
from workbench.graph.recipes import load_recipe
from workbench.preview import Preview, PreviewRequest
from workbench.ui.edits import EDITS, Message, text_of
from workbench.ui.folder import Folder
from workbench.ui.history import History
from workbench.ui.present import picture_bytes
from workbench.ui.previewer import Outcome, Previewer
from workbench.ui.screen import constant_fields, graph_fields
from workbench.ui.sources import GraphSource, to_graph, writable_path
from workbench.ui.speed import Speed
from workbench.ui.state import (
    MOST_BATCH,
    MOST_TILES,
    State,
    check,
    failure_of,
    first_choice,
    request_of,
)

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
        data: str | Path = ".",
        graph: GraphSource = None,
        publish: Publish = lambda component, field, value: None,
        *,
        confined: bool = False,
    ) -> None:
        """``confined`` lets files be written by plain name in the working folder only.

        Raises GraphFormatError for a graph that cannot be read, and CatalogError without DALI. A
        folder that cannot be used is shown with the reason.
        """
        self.history = History(to_graph(graph))
        self.lock = threading.RLock()
        self.catalog = load_catalog()
        self.machine = describe_machine()
        self.engine = Engine()
        self._publish = publish
        self._confined = confined
        self._shown: dict[tuple[str, str], Any] = {}
        self._seen: dict[tuple[str, str], int] = {}
        self._asked: PreviewRequest | None = None
        self._closed = False
        self.state = State(check(self.graph, self.catalog, self.machine))
        self.folder = Folder(str(data), self.lock, self._on_folder)
        self.speed = Speed(self.lock, self._refresh)
        self.previewer = Previewer(self.engine, self._on_done, self._on_slow)
        with self.lock:
            for component, fields in constant_fields(self.catalog, self.machine).items():
                for field, value in fields.items():
                    self._show(component, field, value)
            self.folder.scan()
            self._changed()

    # What Python code asks for

    @property
    def graph(self) -> Graph:
        """The present graph."""
        return self.history.now

    def set_graph(self, source: GraphSource) -> None:
        """Show another graph; undo leads back. Raises GraphFormatError."""
        graph = to_graph(source)
        with self.lock:
            self.history.push(graph)
            self._changed()

    def open_data(self, data: str | Path) -> None:
        """Show another data folder; one that cannot be used is shown with the reason."""
        with self.lock:
            self.folder.close()
            self.folder = Folder(str(data), self.lock, self._on_folder)
            self.folder.scan()
            self.state.batch = 0
            self._changed()

    def rest(self) -> None:
        """End the worker and give its memory back; the next change starts a fresh one."""
        self.engine.close()

    def close(self) -> None:
        """End the worker and the threads. What is shown stays."""
        self._closed = True
        self.folder.close()
        self.speed.cancel()
        self.previewer.close()
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

    def act(self, component: str, message: Message) -> None:
        """Carry out one action of the component's table."""
        with self.lock:
            self._do(component, message)
            self._changed()

    def receive(self, component: str, field: str, value: Any) -> None:
        """Take the value of a field that either side may set."""
        with self.lock:
            if self._shown.get((component, field)) == value:
                return
            self._shown[component, field] = value  # what the browser holds, right or wrong
            try:
                self._set(field, value)
                self.state.message = ""
            except WorkbenchError as error:
                self.state.message = str(error)
            self._changed()

    def _do(self, component: str, message: Message) -> None:
        try:
            said = self._carry_out(component, str(message.get("do")), message)
        except WorkbenchError as error:
            said = str(error)
        if component == "code":
            self.state.code_message = said
        else:
            self.state.message = said

    def _carry_out(self, component: str, action: str, message: Message) -> str:
        """Returns what to tell the user."""
        state = self.state
        if (edit := EDITS.get((component, action))) is not None:
            graph, selected = edit(self.graph, self.catalog, message)
            self.history.push(graph, str(message.get("group") or ""))
            state.selected = state.selected if selected is None else selected
            return ""
        match component, action:
            case _, "undo":
                return "" if self.history.undo() else "There is nothing to undo."
            case _, "redo":
                return "" if self.history.redo() else "There is nothing to redo."
            case "bar", "recipe":
                return self._replace(load_recipe(text_of(message, "name")))
            case "bar", "open":
                return self._replace(load_graph(text_of(message, "text")))
            case "bar", "save":
                return self._write(text_of(message, "path"), ".json", dump_graph(self.graph))
            case ("bar", "export") | ("code", "save"):
                if state.checked.source is None:
                    raise GraphEditError(f"Not exported: {state.checked.faults[0]}")
                return self._write(text_of(message, "path"), ".py", state.checked.source.text)
            case "bar", "select":
                state.selected = text_of(message, "node")
            case "speed", "measure":
                self.speed.start(self.graph, self.folder.data)
            case "speed", "cancel":
                self.speed.cancel()
            case "data", "open":
                self.open_data(text_of(message, "path"))
                return self.folder.error
            case "data", "check":
                self.folder.check()
            case _:
                raise GraphEditError(f"{component} has no action {action!r}.")
        return ""

    def _replace(self, graph: Graph) -> str:
        self.history.push(graph)
        self.state.selected = ""
        return f"Opened {graph.name}."

    def _write(self, path: str, suffix: str, text: str) -> str:
        return f"Saved {write_text(writable_path(path, suffix, self._confined), text)}"

    def _set(self, field: str, value: Any) -> None:
        state = self.state
        if isinstance(value, bool):
            raise GraphEditError(f"{field} cannot be {value}.")
        match field, value:
            case "selected", str():
                state.selected = value
            case "tab", "preview" | "speed" | "code" | "data":
                state.tab = value
            case "mode", "original" | "augmented" | "both":
                state.mode = value
            case "batch", int():
                if not 0 <= value <= MOST_BATCH:
                    raise GraphEditError(f"batch {value}: 0 to {MOST_BATCH} can be shown.")
                state.batch = value
            case "tiles", int():
                state.tiles = min(MOST_TILES, max(4, value))
            case "device", "mixed" if self.machine.no_gpu:
                raise GraphEditError(f"Mixed decoding needs a GPU: {self.machine.no_gpu}.")
            case "device", "cpu" | "mixed":
                self.history.push(set_setting(self.graph, device=value))
            case "seed" | "batch_size" | "threads", int():
                name = "num_threads" if field == "threads" else field
                graph = set_setting(self.graph, **{name: value})
                self.history.push(graph, self.history.burst(name))
            case _:
                raise GraphEditError(f"{field} cannot be {value!r}.")

    # What follows from it

    def _changed(self) -> None:
        """After any change of the graph or of what is to be seen of it."""
        state = self.state
        if state.checked.graph is not self.graph:
            state.checked = check(self.graph, self.catalog, self.machine)
        if state.checked.source is not None:
            state.source = state.checked.source
        if not self.graph.has(state.selected):
            state.selected = first_choice(self.graph, self.catalog)
        sound = not state.checked.faults and not self.folder.error
        request = request_of(state, self.folder.data) if sound and not self._closed else None
        if request is None or request != self._asked:
            self._asked = request
            self.previewer.ask(request)
        self._refresh()

    def _on_folder(self, message: str | None) -> None:
        self.state.message = self.state.message if message is None else message
        self._refresh()

    def _on_slow(self) -> None:
        with self.lock:
            self.state.slow = self.previewer.running is not None
            self._refresh()

    def _on_done(self, request: PreviewRequest, outcome: Outcome) -> None:
        with self.lock:
            state = self.state
            state.slow = False
            if isinstance(outcome, Preview):
                state.preview, state.picture = outcome, picture_bytes(outcome)
                state.failure = None
            elif request is self._asked:
                self._asked = None  # so that the same may be asked for again
                if not isinstance(outcome, CancelledError):
                    state.failure = failure_of(outcome, self.graph, self.catalog)
            self._refresh()

    def _refresh(self) -> None:
        """Publish every field that has changed."""
        with self.lock:
            shown = graph_fields(self.state, self.history, self.catalog, self.folder)
            shown["speed"] |= self.speed.fields()
            for component, fields in shown.items():
                for field, value in fields.items():
                    self._show(component, field, value)

    def _show(self, component: str, field: str, value: Any) -> None:
        key = component, field
        if key not in self._shown or self._shown[key] != value:
            self._shown[key] = value
            self._publish(component, field, value)
