"""A reverse proxy that strips the prefix of its paths, as jupyter-server-proxy does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler
from tornado.websocket import WebSocketClientConnection, WebSocketHandler, websocket_connect

_HOP_BY_HOP = {"connection", "content-length", "transfer-encoding", "keep-alive", "upgrade"}


class _Http(RequestHandler):
    def set_default_headers(self) -> None:
        for name in ("Content-Type", "Date", "Server"):  # the app's are forwarded
            self.clear_header(name)

    async def _forward(self, path: str) -> None:
        query = f"?{self.request.query}" if self.request.query else ""
        headers = self.request.headers.copy()
        for name in _HOP_BY_HOP & {name.lower() for name in headers}:
            del headers[name]
        request = HTTPRequest(
            f"http://127.0.0.1:{self.settings['app_port']}/{path}{query}",
            self.request.method or "GET",
            headers,
            self.request.body if self.request.method == "POST" else None,
            follow_redirects=False,
            decompress_response=False,
            request_timeout=120,
        )
        answer = await AsyncHTTPClient().fetch(request, raise_error=False)
        self.set_status(answer.code, answer.reason)
        for name, value in answer.headers.get_all():
            if name.lower() not in _HOP_BY_HOP:
                self.add_header(name, value)
        if answer.body:
            self.write(answer.body)

    async def get(self, path: str | None) -> None:
        await self._forward(path or "")

    async def post(self, path: str | None) -> None:
        await self._forward(path or "")


class _Websocket(WebSocketHandler):
    _app: WebSocketClientConnection

    async def prepare(self) -> None:
        offered = self.request.headers.get("Sec-Websocket-Protocol", "").split(",")
        headers = {
            name: self.request.headers[name]
            for name in ("Host", "Origin", "Cookie")
            if name in self.request.headers
        }
        request = HTTPRequest(f"ws://127.0.0.1:{self.settings['app_port']}/ws", headers=headers)
        self._app = await websocket_connect(
            request,
            on_message_callback=self._to_browser,
            subprotocols=[name.strip() for name in offered],
        )

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        return self._app.selected_subprotocol

    def _to_browser(self, message: str | bytes | None) -> None:
        if message is None:
            self.close()
        elif self.ws_connection:
            self.write_message(message, binary=isinstance(message, bytes))

    def on_message(self, message: str | bytes) -> None:
        self._app.write_message(message, binary=isinstance(message, bytes))

    def on_close(self) -> None:
        self._app.close()


@contextmanager
def reverse_proxy(app_port: int) -> Iterator[str]:
    """Serve the app of this machine below a prefix that it does not know. Yields the address."""
    prefix = f"/proxy/{app_port}"
    (socket,) = bind_sockets(0, "127.0.0.1")
    started, loops = threading.Event(), []

    async def serve() -> None:
        application = Application(
            [(rf"{prefix}/ws", _Websocket), (rf"{prefix}(?:/(.*))?", _Http)], app_port=app_port
        )
        server = HTTPServer(application)
        server.add_socket(socket)
        stop = asyncio.Event()
        loops.append((asyncio.get_running_loop(), stop))
        started.set()
        await stop.wait()
        server.stop()
        await server.close_all_connections()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert started.wait(60)
        yield f"http://127.0.0.1:{socket.getsockname()[1]}{prefix}"
    finally:
        for loop, stop in loops:
            loop.call_soon_threadsafe(stop.set)
        thread.join(60)
        assert not thread.is_alive()
