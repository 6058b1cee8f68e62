"""How long an attack on one page of the web app keeps another page waiting."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable

import psutil
import pytest

from benchmarks.conftest import Table
from tests.ui.access.client import AppServer, Page, run
from tests.ui.access.conftest import app  # noqa: F401
from tests.ui.access.test_attacks import FORGED, hostile_graph, hostile_places, save
from workbench.graph import dump_graph, load_recipe

MOST = 1.0
"""Maximum seconds of the server's own work, and of the wait on an idle machine."""
LOADED = 10
"""Factor by which a wait may be longer on a loaded machine."""
NODES = 20_000
REQUESTS = 200
QUIET = 5.0
"""Seconds without an attack."""

Attack = Callable[[AppServer, Page], Awaitable[object]]


async def forged(server: AppServer, page: Page) -> None:
    """Saves to many paths, and messages that no page sends."""
    await page.ask("bar", [each for place in hostile_places(server) for each in save(place)])
    for name in ("bar", "canvas", "inspector", "preview", "speed", "code", "data"):
        await page.ask(name, FORGED)


async def document(_: AppServer, page: Page) -> None:
    """Changes of the document that name missing objects."""
    bar = (await page.models())["bar"]
    change = {"kind": "ModelChanged", "model": {"id": bar["id"]}, "attr": "title"}
    for value in (
        {"type": "ndarray", "dtype": "object", "shape": [9**9], "order": "little"},
        {"type": "object", "name": "subprocess.Popen", "attributes": {"args": ["id"]}},
        "x" * 10**7,
        [[]] * 10**5,
    ):
        await page.patch({**change, "new": value})


async def graphs(server: AppServer, page: Page) -> None:
    """Graphs too large, too deep, and with names too long."""
    whole = json.loads(dump_graph(load_recipe("rotate-jitter")))
    large = {**whole, "nodes": [{**whole["nodes"][0], "id": f"n{i}"} for i in range(NODES)]}
    long = {**hostile_graph(server), "name": "x" * 10**6, "about": "\u202e" * 10**6}
    for text in ("[" * 10**6, json.dumps(large), json.dumps(long)):
        await page.ask("bar", [{"do": "open", "text": text}])


async def requests(server: AppServer, _: Page) -> None:
    """Unauthenticated requests for many paths, thirty at once."""
    turns = asyncio.Semaphore(30)

    async def one(number: int) -> None:
        place = ("/", "/ws", "/login", f"/?token={number}", "/static/../../etc/passwd")[number % 5]
        async with turns:
            await asyncio.to_thread(
                server.ask, place, Host=("127.0.0.1", "evil.example")[number % 2]
            )

    await asyncio.gather(*map(one, range(REQUESTS)))


def server_of(served: AppServer) -> psutil.Process:
    """The server's process, a child of this one."""
    every = psutil.Process().children()
    (found,) = (each for each in every if f"--port={served.port}" in each.cmdline())
    return found


@pytest.mark.parametrize("attack", [None, forged, document, graphs, requests])
def test_another_page_waits_for_no_attack(
    attack: Attack | None,
    app: AppServer,  # noqa: F811
    table: Table,
) -> None:
    server = server_of(app)
    waits: list[float] = []
    busy: list[float] = []
    """CPU seconds of the server in each phase, which other load does not change."""

    async def both() -> None:
        async with app.page() as page, app.page() as other:
            bar = (await other.models())["bar"]
            begun = attack(app, page) if attack else asyncio.sleep(QUIET)
            going = asyncio.ensure_future(begun)
            while not going.done() or not waits:
                began, spent = time.monotonic(), sum(server.cpu_times()[:2])
                await other.set(bar, "outbox", [])
                waits.append(time.monotonic() - began)
                busy.append(sum(server.cpu_times()[:2]) - spent)
                await asyncio.sleep(0.01)
            await going

    run(both())
    name = attack.__name__ if attack else "nobody attacks"
    row = table.add(f"another page's answer: {name}", waits, "s", f"longest {max(waits):.3f}")
    table.add(f"of it the server's own work: {name}", busy, "s", f"longest {max(busy):.3f}")
    print(f"\n{row}")
    assert max(busy) <= MOST
    assert max(waits) <= LOADED * MOST
