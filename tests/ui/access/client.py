"""What an attacker has: raw requests, and a websocket that sends what no page would."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import time
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

T = TypeVar("T")
PATIENCE = 120
"""Seconds for an answer on a busy machine; one that never comes is what is looked for."""


def run(attack: Coroutine[Any, Any, T]) -> T:
    """In a thread of its own, for that of the tests may be Playwright's loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, attack).result()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    text: str


@dataclass(frozen=True)
class AppServer:
    """An app, and the folders around it."""

    port: int
    token: str
    data: Path
    work: Path
    outside: Path
    log: Path

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def known(self) -> dict[str, str]:
        """The header of who has the token."""
        return {"Authorization": f"token {self.token}"}

    def ask(
        self, path: str, method: str = "GET", body: str | None = None, **headers: str
    ) -> Answer:
        """An answer to exactly this path; underscores in names of headers stand for dashes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode("utf-8", "replace"))
        finally:
            connection.close()

    def cookie(self) -> str:
        """That of a browser which was let in."""
        answer = self.ask(f"/?token={self.token}")
        return answer.headers["Set-Cookie"].partition(";")[0]

    def session_token(self) -> str:
        """What a page is given for its websocket."""
        found = re.search(r'"token":"([^"]+)"', self.ask("/", **self.known).text)
        assert found
        return found[1]

    @asynccontextmanager
    async def page(self) -> AsyncIterator[Page]:
        """A page without a browser."""
        headers = {"Origin": self.origin, **self.known}
        request = HTTPRequest(
            f"ws://127.0.0.1:{self.port}/ws", headers=headers, connect_timeout=PATIENCE
        )
        socket = await websocket_connect(request, subprotocols=["bokeh", self.session_token()])
        page = Page(socket)
        try:
            await page.answer("ACK")
            ready = {"type": "event", "name": "document_ready", "values": {"type": "map"}}
            await page.patch({"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": ready})
            yield page
        finally:
            socket.close()


class Page:
    """A websocket of Bokeh's protocol."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self._socket = socket
        self._sent = 0
        self._asked = 0
        self._known: dict[str, dict[str, Any]] = {}

    async def answer(self, *kinds: str) -> dict[str, Any]:
        """The content of the next message of one of these kinds."""
        while True:
            header, _, content = [json.loads(await self._read()) for _ in range(3)]
            for _ in range(2 * header.get("num_buffers", 0)):
                await self._read()
            if header["msgtype"] in kinds:
                return {"kind": header["msgtype"], **content}

    async def _read(self) -> str | bytes:
        found = await self._socket.read_message()
        assert found is not None, "the server closed the connection"
        return found

    async def send(self, kind: str, content: Any) -> None:
        self._sent += 1
        header = {"msgid": str(self._sent), "msgtype": kind}
        for part in (header, {}, content):
            await self._socket.write_message(json.dumps(part))

    async def write(self, part: str | bytes) -> None:
        """Send this and no more."""
        await self._socket.write_message(part, binary=isinstance(part, bytes))

    async def answered_or_closed(self) -> None:
        """Wait until the server has dealt with what was sent."""
        with suppress(AssertionError):
            await self.answer("ERROR")

    async def models(self) -> dict[str, dict[str, Any]]:
        """The ids and values of the app's components by name."""
        await self.send("PULL-DOC-REQ", {})
        document = await self.answer("PULL-DOC-REPLY")
        found: dict[str, dict[str, Any]] = {}

        def walk(value: Any) -> None:
            if isinstance(value, dict):
                name = value.get("name")
                if isinstance(name, str) and "id" in value and re.fullmatch(r"[A-Z][a-z]+1", name):
                    found[name[:-1].lower()] = {"id": value["id"], **value.get("attributes", {})}
                for item in value.values():
                    walk(item)
            elif isinstance(value, list):
                for item in value:
                    walk(item)

        walk(document)
        return found

    async def patch(self, *events: Mapping[str, Any]) -> str:
        """Send changes of the document. Returns OK or ERROR."""
        await self.send("PATCH-DOC", {"events": list(events)})
        return str((await self.answer("OK", "ERROR"))["kind"])

    async def set(self, model: Mapping[str, Any], field: str, value: Any) -> str:
        """Set a field of a component."""
        return await self.patch(
            {"kind": "ModelChanged", "model": {"id": model["id"]}, "attr": field, "new": value}
        )

    async def ask(self, name: str, entries: Sequence[Any]) -> dict[str, dict[str, Any]]:
        """Put entries into a component's outbox, numbered as a page numbers its own.

        Returns what the components are once all entries were taken.
        """
        numbered = []
        for entry in [*entries, {"do": "none"}]:
            self._asked += 1
            given = {"n": self._asked, "view": "forged"}
            numbered.append({**given, **entry} if isinstance(entry, dict) else entry)
        if name not in self._known:
            self._known = await self.models()
        await self.set(self._known[name], "outbox", numbered)
        deadline = time.monotonic() + PATIENCE
        while (models := await self.models())[name].get("ack", 0) < self._asked:
            assert time.monotonic() < deadline, f"{entries} were not taken"
        return models
