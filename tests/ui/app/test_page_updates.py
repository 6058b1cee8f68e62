"""Messages between a page and Python, counted with a connection that only takes note."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from bokeh.document import Document
from bokeh.protocol import Protocol
from panel.io.state import set_curdoc, state

from workbench.ui.app.page_updates import in_one_message, scheduler
from workbench.ui.web import PARTS


class Connection:
    """As much of Bokeh's as sending needs."""

    def __init__(self) -> None:
        self.protocol = Protocol()
        self.sent: list[dict[str, Any]] = []
        self._socket = self

    def send_message(self, message: Any) -> None:
        changes = [each for each in message.content["events"] if each["kind"] == "ModelChanged"]
        self.sent.append({each["attr"]: each["new"] for each in changes})


class Session:
    """As much of Bokeh's, with its document locked by whoever asks."""

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
        self.session = Session(self.document)
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
