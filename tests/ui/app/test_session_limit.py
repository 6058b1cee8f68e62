"""A server's places, and what a plain request for a page costs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import panel as pn
import pytest

from tests.faults.hosts import workers
from tests.ui.labserver import await_server, free_port
from tests.ui.websocket_client import PageClient
from workbench.roots import Roots
from workbench.ui import web
from workbench.ui.access.session_limit import SessionLimit
from workbench.ui.web import (
    create_app,  # here: the browser tests' server puts its own there
)

PATIENCE = 180.0


def test_places_are_taken_and_given_back() -> None:
    limit = SessionLimit(2)
    assert [limit.take(), limit.take(), limit.take()] == [True, True, False]
    limit.give_back()
    assert limit.take()


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
    assert not limit.take()
    with pytest.raises(ValueError, match="broken"):
        ends[0](None)
    assert limit.take()


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
