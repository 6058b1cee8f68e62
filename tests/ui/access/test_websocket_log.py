"""Invalid messages are one line in the log; errors of the workbench have a traceback."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time

import pytest
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from tests.ui.access.client import PATIENCE, AppServer, run
from workbench.errors import WorkbenchError
from workbench.graph import load_recipe
from workbench.ui.access.websocket_log import MOST, OneLineFilter

pytestmark = pytest.mark.xdist_group("access")  # in one worker: one app for all of them


def message(kind: str, content: str = "{}", **header: object) -> list[str | bytes]:
    return [json.dumps({"msgid": "1", "msgtype": kind, **header}), "{}", content]


MALFORMED: list[list[str | bytes]] = [
    ["x" * 100_000, "{}", "{}"],
    ["[" * 5000, "{}", "{}"],
    ["[]", "{}", "{}"],
    [b"\xff\xfe"],
    message("NONE" * 300),
    message("ACK"),
    message("PATCH-DOC", "{"),
    message("PATCH-DOC", "[]"),
    message("PATCH-DOC", '{"events": [{"kind": "x"}]}'),
    message("PATCH-DOC", '{"events": [{"kind": "\\n\\nERROR: forged"}]}'),
    message("PATCH-DOC", json.dumps({"events": [{"kind": "y" * 10_000}]})),
    [*message("PATCH-DOC", num_buffers=2), "x", "y"],
    message("PUSH-DOC"),
    message("PUSH-DOC", '{"doc": {"roots": 1}}'),
]


@pytest.mark.parametrize(
    "messages", [MALFORMED[8:10], pytest.param(MALFORMED, marks=pytest.mark.thorough)]
)
def test_each_malformed_message_is_a_line_or_two(
    messages: list[list[str | bytes]], app: AppServer
) -> None:
    begin = app.log.stat().st_size

    async def attack() -> None:
        for parts in messages:
            async with app.page() as page:
                for part in parts:
                    await page.write(part)
                await page.answered_or_closed()
        for protocols in (["bokeh"], ["bokeh", "forged"], ["forged", app.session_token()]):
            await refused(app, protocols)

    run(attack())
    lines: list[str] = []
    end = time.monotonic() + PATIENCE
    while len(lines) < len(messages) + 3 and time.monotonic() < end:  # it writes behind its answer
        lines = app.log.read_bytes()[begin:].decode().splitlines()
    assert len(lines) >= len(messages) + 3
    assert [line for line in lines if not line.startswith(("ERROR:", "WARNING:"))] == []
    assert max(map(len, lines)) < MOST + 50
    assert len(lines) <= 2 * (len(messages) + 3)


async def refused(app: AppServer, protocols: list[str]) -> None:
    request = HTTPRequest(
        f"ws://127.0.0.1:{app.port}/ws", headers={"Origin": app.origin, **app.known}
    )
    socket = await websocket_connect(request, subprotocols=protocols)
    assert await asyncio.wait_for(socket.read_message(), PATIENCE) is None


def record(error: Exception, logger: str, text: str = "error\n handling %r") -> logging.LogRecord:
    try:
        raise error
    except Exception:
        return logging.LogRecord(
            logger, logging.ERROR, __file__, 1, text, ("a\nmessage",), sys.exc_info()
        )


def fault_of_ours() -> Exception:
    with pytest.raises(WorkbenchError) as raised:
        load_recipe("none such")
    return raised.value


@pytest.mark.parametrize(
    ("error", "logger", "kept"),
    [
        (RuntimeError("x"), "bokeh.server.protocol_handler", False),
        (fault_of_ours(), "bokeh.server.protocol_handler", True),
        (RuntimeError("x"), "tornado.application", True),
    ],
)
def test_which_tracebacks_are_kept(error: Exception, logger: str, kept: bool) -> None:
    found = record(error, logger)
    assert OneLineFilter().filter(found)
    assert (found.exc_info is not None) is kept
    assert ("\n" in found.getMessage()) is kept
