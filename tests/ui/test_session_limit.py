"""A server's places, and what a plain request for a page costs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.faults.hosts import workers
from tests.ui.labserver import await_server, free_port
from tests.ui.websocket_client import PageClient
from workbench.ui import web
from workbench.ui.access import AccessPolicy
from workbench.ui.session_limit import SessionLimit

PATIENCE = 60.0


def test_places_are_taken_and_given_back() -> None:
    limit = SessionLimit(2)
    assert [limit.take(), limit.take(), limit.take()] == [True, True, False]
    limit.give_back()
    assert limit.take()


@pytest.fixture
def url(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An app with a single place."""
    monkeypatch.setenv("DALI_WORKBENCH_STATE", str(tmp_path))
    port, access = free_port(), AccessPolicy(token="")
    server = web.start_server(photos, None, port, access, threaded=True, max_sessions=1)
    address = access.url(port)
    await_server(f"{address}favicon.ico")
    yield address
    loop = server.asyncio_loop
    loop.call_soon_threadsafe(loop.stop)
    server.join(timeout=30)


def in_a_loop_of_its_own(visit: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """In another thread: that of the tests has Playwright's loop, where a browser runs."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(asyncio.wait_for(visit(), PATIENCE))).result()


@pytest.mark.thorough
def test_no_worker_before_a_page_connects_and_one_more_is_told(url: str) -> None:
    async def visit() -> None:
        page = PageClient(url)
        before = {process.pid for process in workers(psutil.Process().pid)}
        assert "All places are taken" not in await page.html()
        assert {process.pid for process in workers(psutil.Process().pid)} == before
        assert "--max-sessions 2" in await page.html()

    in_a_loop_of_its_own(visit)


def test_a_page_that_connects_has_a_picture(url: str) -> None:
    async def visit() -> None:
        page = PageClient(url)
        await page.open()
        await page.wait(lambda fields: ("preview", "picture") in fields, PATIENCE)
        await page.close()

    in_a_loop_of_its_own(visit)
