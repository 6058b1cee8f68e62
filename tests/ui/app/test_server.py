"""The web server without a browser: pages, their places, and the messages to them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock
from urllib.request import Request, urlopen

import panel as pn
import param
import pytest
from bokeh.document import Document
from bokeh.protocol import Protocol
from panel.io.state import set_curdoc, state

from tests.faults.hosts import workers
from tests.ui.hosts import small
from tests.ui.labserver import await_server, free_port
from tests.ui.screen import Make
from tests.ui.websocket_client import PageClient
from workbench.errors import GraphFormatError, SaveError, WorkbenchError
from workbench.roots import Roots
from workbench.ui import web
from workbench.ui.access.session_limit import SessionLimit
from workbench.ui.app.field_publisher import FieldPublisher
from workbench.ui.app.page_updates import in_one_message, scheduler
from workbench.ui.contract.components import COMPONENTS
from workbench.ui.web import (
    PARTS,
    Session,
    create_app,  # here: the browser tests' server puts its own there
    serve,
)

# The app without a browser.

HOST = "127.0.0.1"


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_params_are_made_from_the_table(component) -> None:  # type: ignore[no-untyped-def]
    part = PARTS[component.name]
    for field in component.fields:
        if field.direction == "python":
            assert field.name not in part.param
            continue
        default = part.param[field.name].default
        if field.direction == "show" and isinstance(field.default, list | dict):
            default = json.loads(default)
        assert default == field.default
        if field.choices:
            assert part.param[field.name].objects == list(field.choices)
        if isinstance(field.default, bytes):
            assert isinstance(part.param[field.name], param.Bytes)


def test_many_fields_are_sent_in_one_go() -> None:
    session = Session.__new__(Session)
    session.parts = {"bar": PARTS["bar"]()}
    session._lock, session._loaded, session._waiting = threading.Lock(), True, {}
    asked: list[None] = []
    session._schedule_apply = lambda: asked.append(None)
    for text in ("measured", "saved"):
        session.publish("bar", "message", text)
    session.publish("bar", "title", "train")
    assert session._waiting == {"bar": {"message": "saved", "title": "train"}}
    assert len(asked) == 1


def test_lists_and_dicts_travel_as_json_that_a_browser_reads() -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    session = Session.__new__(Session)
    session.parts = {"inspector": PARTS["inspector"]()}
    session._lock, session._loaded, session._waiting = threading.Lock(), False, {}
    session._document = None
    value = {"rows": [{"value": [float("nan"), 1.5, -float("inf")], "doc": "x\udc80é\u2028"}]}
    session.publish("inspector", "node", value)
    text = session._waiting["inspector"]["node"]
    assert text.isascii()
    assert json.loads(text, parse_constant=refuse) == {
        "rows": [{"value": ["nan", 1.5, "-inf"], "doc": "x\udc80é\u2028"}]
    }


def test_a_port_in_use_is_told_with_the_remedy(photos: Path) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(WorkbenchError, match=rf"Port {port} .* --port {port + 1}"):
            serve(photos, port=port)


def test_an_unknown_recipe_is_told_before_anything_is_served(photos: Path) -> None:
    with pytest.raises(GraphFormatError, match="simclr"):
        serve(photos, "simclrr")


def test_it_is_served_on_this_machine_only_and_asks_for_nothing_else(photos: Path) -> None:
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "workbench.cli", "app", f"--data={photos}", f"--port={port}"],
        env={**os.environ, "DALI_WORKBENCH_TOKEN": "of-sixteen-letters"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        url = f"http://{HOST}:{port}"
        await_server(f"{url}/favicon.ico", lambda: server.poll() is None)
        asked = Request(f"{url}/", headers={"Authorization": "token of-sixteen-letters"})
        with urlopen(asked) as answer:
            page = answer.read().decode()
        assert "<title>DALI Workbench</title>" in page
        addresses = [part.split('"')[0] for part in page.split('src="')[1:]]
        assert addresses
        assert not [address for address in addresses if "//" in address]
        listening = Path("/proc/net/tcp").read_text().splitlines()
        assert [line.split()[1] for line in listening if f":{port:04X} 00000000" in line] == [
            f"0100007F:{port:04X}"
        ]
    finally:
        server.send_signal(signal.SIGINT)
        printed, _ = server.communicate(timeout=30)
    assert f"DALI Workbench: {url}/?token=of-sixteen-letters\n" in printed
    assert "Traceback" not in printed


# A server's places, and what a plain request for a page costs.

PATIENCE = 180.0


def test_places_are_taken_and_given_back() -> None:
    limit = SessionLimit(2)
    assert [limit.acquire(), limit.acquire(), limit.acquire()] == [True, True, False]
    limit.release()
    assert limit.acquire()


def test_a_place_is_given_back_where_the_end_of_a_session_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends: list[Callable[[object], None]] = []
    session = MagicMock()
    session.model.close.side_effect = ValueError("broken data stream")
    monkeypatch.setattr(web, "Session", MagicMock(return_value=session))
    monkeypatch.setattr(type(pn.state), "on_session_destroyed", lambda _, end: ends.append(end))
    limit = SessionLimit(1)
    create_app(limit=limit, roots=Roots(()))
    assert not limit.acquire()
    with pytest.raises(ValueError, match="broken"):
        ends[0](None)
    assert limit.acquire()


@dataclass(frozen=True)
class App:
    """The web app in a process of its own."""

    url: str
    pid: int


@pytest.fixture
def app(photos: Path) -> Iterator[App]:
    """One with a single place."""
    port = free_port()
    options = ["--port", str(port), "--no-token", "--no-browser", "--max-sessions", "1"]
    command = [sys.executable, "-m", "workbench.cli", "app", "--data", str(photos), *options]
    with subprocess.Popen(command) as process:
        address = f"http://127.0.0.1:{port}/"
        await_server(f"{address}favicon.ico", lambda: process.poll() is None)
        yield App(address, process.pid)
        process.terminate()


def in_a_loop_of_its_own(visit: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """In another thread: that of the tests has Playwright's loop, where a browser runs."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(asyncio.wait_for(visit(), PATIENCE))).result()


@pytest.mark.thorough
def test_no_worker_before_a_page_connects_and_one_more_is_told(app: App) -> None:
    async def visit() -> None:
        page = PageClient(app.url)
        before = {process.pid for process in workers(app.pid)}
        assert "All places are taken" not in await page.html()
        assert {process.pid for process in workers(app.pid)} == before
        assert "--max-sessions 2" in await page.html()

    in_a_loop_of_its_own(visit)


@pytest.mark.thorough
def test_a_page_that_connects_has_a_picture(app: App) -> None:
    async def visit() -> None:
        page = PageClient(app.url)
        await page.open()
        await page.wait(lambda fields: ("preview", "picture") in fields, PATIENCE)
        await page.close()

    in_a_loop_of_its_own(visit)


# Messages between a page and Python, counted with a connection that only takes note.


class Connection:
    """As much of Bokeh's as sending needs."""

    def __init__(self) -> None:
        self.protocol = Protocol()
        self.sent: list[dict[str, Any]] = []
        self._socket = self

    def send_message(self, message: Any) -> None:
        changes = [each for each in message.content["events"] if each["kind"] == "ModelChanged"]
        self.sent.append({each["attr"]: each["new"] for each in changes})


class FakeSession:
    """The needed part of Bokeh's API, whose document the caller locks."""

    destroyed = False

    def __init__(self, document: Document) -> None:
        self.document, self.session = document, self
        self._pending_writes: list[Any] = []
        self.connection = Connection()
        self._subscribed_connections = {self.connection}

    async def with_locked_document(self, run: Any) -> None:
        run(self.document)


class Page:
    """A page with one component, as a browser has it."""

    def __init__(self) -> None:
        self.document: Any = Document()
        with set_curdoc(self.document):
            self.part: Any = PARTS["preview"]()
            self.model = self.part.get_root(self.document)
            self.document.add_root(self.model)
        self.session = FakeSession(self.document)
        self.document._session_context = weakref.ref(self.session)
        state._connected[self.document] = state._loaded[self.document] = True
        state._thread_id_[self.document] = threading.get_ident()
        self.heard: list[tuple[str, Any]] = []
        for name in ("mode", "outbox"):
            self.part.param.watch(lambda event: self.heard.append((event.name, event.new)), name)

    @property
    def sent(self) -> list[dict[str, Any]]:
        return self.session.connection.sent

    def apply(self, **fields: Any) -> None:
        with set_curdoc(self.document), in_one_message(self.document):
            self.part.param.update(**fields)


@pytest.fixture
def page() -> Iterator[Page]:
    page = Page()
    yield page
    page.document._session_context = None


def test_fields_go_in_one_message(page: Page) -> None:
    page.apply(stale="computing", ack=7, sample=3)
    (message,) = page.sent
    assert message == {"stale": "computing", "ack": 7, "sample": 3}


def test_what_python_sets_is_not_taken_for_the_pages(page: Page) -> None:
    received: list[dict[str, Any]] = []
    page.part._process_events = received.append
    page.apply(mode="augmented", stale="computing")
    assert page.sent == [{"mode": "augmented", "stale": "computing"}]
    assert received == []


def test_what_the_page_sets_is_taken_at_once_and_not_sent_back(page: Page) -> None:
    edit = {"n": 1, "view": "a", "do": "retry"}
    with set_curdoc(page.document):
        page.model.data.outbox = [edit]
        page.model.data.mode = "augmented"
    assert page.heard == [("outbox", [edit]), ("mode", "augmented")]
    assert page.sent == []


def test_any_thread_may_ask_for_an_update_until_the_page_is_gone(page: Page) -> None:
    threads: list[int] = []
    applied = asyncio.Event()

    def apply() -> None:
        threads.append(threading.get_ident())
        applied.set()

    async def main() -> int:
        schedule = scheduler(page.document, apply)
        asker = threading.Thread(target=schedule)
        asker.start()
        await asyncio.wait_for(applied.wait(), 30)
        asker.join()
        page.session.destroyed = True
        schedule()
        after = asyncio.Event()
        asyncio.get_running_loop().call_soon(after.set)
        await after.wait()
        return threading.get_ident()

    with ThreadPoolExecutor(1) as pool:  # in this thread Playwright's loop may run
        assert threads == [pool.submit(asyncio.run, main()).result()]


def publisher(
    present: dict[str, dict[str, Any]],
) -> tuple[FieldPublisher, list[tuple[str, str, Any]]]:
    told: list[tuple[str, str, Any]] = []
    return FieldPublisher(lambda *what: told.append(what), threading.RLock(), lambda: present), told


def test_only_what_has_changed_is_published() -> None:
    present: dict[str, dict[str, Any]] = {"bar": {"title": "a", "can_undo": False}}
    fields, told = publisher(present)
    fields.refresh()
    assert told == [("bar", "title", "a"), ("bar", "can_undo", False)]
    present["bar"]["title"] = "b"
    fields.refresh()
    assert told[2:] == [("bar", "title", "b")]


def test_a_field_that_has_no_value_yet_is_published_also_as_none() -> None:
    fields, told = publisher({})
    fields.show("preview", "closeup", None)
    fields.show("preview", "closeup", None)
    assert told == [("preview", "closeup", None)]


def test_what_the_browser_has_set_itself_is_not_echoed_but_put_right() -> None:
    present: dict[str, dict[str, Any]] = {"preview": {"seed": 7}}
    fields, told = publisher(present)
    fields.record_browser_value("preview", "seed", 7)
    fields.refresh()
    assert told == []
    fields.record_browser_value("preview", "seed", "seven")
    assert fields.browser_value("preview", "seed") == "seven"
    fields.refresh()
    assert told == [("preview", "seed", 7)]


def test_a_change_while_publishing_tells_nothing_that_is_out_of_date() -> None:
    present: dict[str, dict[str, Any]] = {"a": {"x": 1, "y": 1}}
    told: list[tuple[str, str, Any]] = []

    def publish(*what: Any) -> None:
        told.append(what)
        if what == ("a", "x", 1):
            present["a"] = {"x": 2, "y": 2}
            fields.refresh()

    fields = FieldPublisher(publish, threading.RLock(), lambda: present)
    fields.refresh()
    assert told == [("a", "x", 1), ("a", "x", 2), ("a", "y", 2)]


# The status line: faults, and whether edits are saved.


def test_it_follows_the_graph_and_says_what_is_kept(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = make(graph=small())
    assert screen["status", "faults"] == []
    assert screen["status", "speeds"] == []
    assert screen["status", "kept"]["state"] == "kept"
    model.act("canvas", {"do": "disconnect", "edges": ["flip:data"]})
    (fault,) = screen["status", "faults"]
    assert fault == screen["bar", "faults"][0]
    assert fault["node"] == "flip"
    model.act(
        "status", {"do": "fix", "node": "flip", "arg": fault["arg"], "fix": fault["fixes"][0]}
    )
    assert screen["status", "faults"] == []
    model.act("bar", {"do": "undo"})
    model.act("bar", {"do": "undo"})
    model.act("bar", {"do": "open", "text": screen["bar", "saved"]})
    assert screen["status", "kept"]["state"] == "waiting"
    model.act("bar", {"do": "shown", "opened": screen["bar", "opened"]})
    assert screen["status", "kept"]["text"] == "autosaved on this machine"

    def full(path: Path, text: str) -> Path:
        raise SaveError("The disk is full.")

    monkeypatch.setattr("workbench.ui.storage.autosave.write_text", full)
    model.act("bar", {"do": "title", "name": "one more"})
    screen.wait(lambda s: s["status", "kept"]["state"] == "not kept", "that it is told")
    assert screen["status", "kept"]["reason"] == "The disk is full."


def test_without_restore_nothing_is_kept(make: Make) -> None:
    _, screen = make(graph=small(), restore=False)
    assert screen["status", "kept"]["state"] == "off"
