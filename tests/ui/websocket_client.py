"""A page of the web app without a browser: what it holds, and edits, over Bokeh's websocket."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from workbench.ui.contract.components import COMPONENTS

_COMPONENTS = {component.name for component in COMPONENTS}
_TOKEN = re.compile(r'"token":\s*"([^"]+)"')
_READY = {
    "kind": "MessageSent",
    "msg_type": "bokeh_event",
    "msg_data": {
        "type": "event",
        "name": "document_ready",
        "values": {"type": "map", "entries": []},
    },
}


class PageClient:
    """One page. All of it runs in one asyncio loop."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._socket: WebSocketClientConnection | None = None
        self._ids: dict[str, str] = {}
        """Id of a model that holds fields -> its component."""
        self._number = 0
        self.fields: dict[tuple[str, str], Any] = {}
        """Component and field -> value, as JSON where it is a list or dict."""
        self.changed = asyncio.Condition()
        self._reader: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Fetch the page, connect, and say that it is shown."""
        found = _TOKEN.search(await self.html())
        assert found is not None, "the page has no token"
        address = self._url.replace("http", "ws", 1).rstrip("/") + "/ws"
        self._socket = await websocket_connect(
            HTTPRequest(
                address,
                headers={"Origin": self._url.rstrip("/")},
                request_timeout=300,
                connect_timeout=300,
            ),
            subprotocols=["bokeh", found[1]],
            max_message_size=2**28,
        )
        await self._receive()  # ACK
        await self._send("PULL-DOC-REQ", {})
        content = (await self._receive())[1]
        self._index(content)
        self._reader = asyncio.create_task(self._read())
        await self._patch(_READY)

    async def html(self) -> str:
        """The page as it is first served."""
        request = HTTPRequest(self._url, request_timeout=300, connect_timeout=300)
        return (await AsyncHTTPClient(max_clients=100).fetch(request)).body.decode()

    async def ask(self, component: str, **message: Any) -> None:
        """Ask for an action, as the component's outbox does."""
        (target,) = [key for key, name in self._ids.items() if name == component]
        self._number += 1
        entry = {**message, "n": self._number, "view": "test"}
        entries = [[key, value] for key, value in entry.items()]
        await self._patch(
            {
                "kind": "ModelChanged",
                "model": {"id": target},
                "attr": "outbox",
                "new": [{"type": "map", "entries": entries}],
            }
        )

    async def set(self, component: str, field: str, value: Any) -> None:
        """Set a field that either side may set."""
        (target,) = [key for key, name in self._ids.items() if name == component]
        self.fields[component, field] = value
        await self._patch(
            {"kind": "ModelChanged", "model": {"id": target}, "attr": field, "new": value}
        )

    async def wait(self, holds: Any, seconds: float) -> None:
        """Wait until the fields are so. Raises TimeoutError."""
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(lambda: holds(self.fields)), seconds)

    async def close(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
        if self._socket is not None:
            self._socket.close()

    def _index(self, content: Any) -> None:
        """Know the models that hold a component's fields, and those that are not the defaults."""
        for each in _objects(content):
            name = str(each.get("name", "")).rstrip("0123456789").lower()
            if each.get("type") == "object" and name in _COMPONENTS:
                self._ids[each["id"]] = name
                for field, value in each["attributes"].items():
                    self.fields[name, field] = value

    async def _read(self) -> None:
        while True:
            kind, content = await self._receive()
            if kind != "PATCH-DOC":
                continue
            async with self.changed:
                for event in content.get("events", ()):
                    model = event.get("model") or {}
                    component = self._ids.get(model.get("id", ""))
                    if component is not None:
                        self.fields[component, event["attr"]] = event.get("new")
                self.changed.notify_all()

    async def _patch(self, event: dict[str, Any]) -> None:
        await self._send("PATCH-DOC", {"events": [event]})

    async def _send(self, kind: str, content: Any) -> None:
        assert self._socket is not None
        self._number += 1
        header = {"msgid": str(self._number), "msgtype": kind, "num_buffers": 0}
        for part in (header, {}, content):
            await self._socket.write_message(json.dumps(part))

    async def _receive(self) -> tuple[str, Any]:
        assert self._socket is not None
        header = json.loads(await self._frame())
        await self._frame()
        content = json.loads(await self._frame())
        for _ in range(header.get("num_buffers", 0)):
            await self._frame()
            await self._frame()
        return str(header["msgtype"]), content

    async def _frame(self) -> str | bytes:
        assert self._socket is not None
        frame = await self._socket.read_message()
        if frame is None:
            raise EOFError("the server closed the page's connection")
        return frame


def _objects(value: Any) -> Any:
    """Every dict inside a JSON value."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item)
