"""From the end of a server or a kernel to "offline" on the screen; the goal is 2 s.

Recorded, not judged. ``SIGSTOP`` leaves the connection open, so only silence indicates it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.conftest import Table
from tests.ui.app.test_browser_offline import AppProcess
from tests.ui.hosts import PATIENCE, LabHost, await_picture, small
from workbench.graph import dump_graph

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

RUNS = 5
GOAL = "to reach: 2000"


@pytest.fixture
def app(photos: Path, tmp_path: Path) -> Iterator[AppProcess]:
    graph = tmp_path / "start.json"
    graph.write_text(dump_graph(small()))
    app = AppProcess(photos, graph)
    yield app
    app.kill()


def told(page: Page, since: float) -> float:
    """Milliseconds until the page shows that it is offline."""
    page.locator("[data-wb=offline]:visible").first.wait_for(timeout=PATIENCE)
    return 1000 * (time.perf_counter() - since)


def test_the_server_of_a_page(app: AppProcess, page: Page, table: Table) -> None:
    page.goto(app.link)
    await_picture(page)
    offline = page.locator("[data-wb=offline]:visible")
    killed, stopped = [], []
    for _ in range(RUNS):
        began = time.perf_counter()
        app.send(signal.SIGSTOP)
        stopped.append(told(page, began))
        app.send(signal.SIGCONT)
        expect(offline).to_have_count(0, timeout=PATIENCE)
    for _ in range(RUNS):
        began = time.perf_counter()
        app.kill()
        killed.append(told(page, began))
        app.start()
        page.goto(app.link)
        await_picture(page)
    table.add("panel: server killed, until the page says so", killed, "ms", GOAL)
    table.add("panel: server stopped, until the page says so", stopped, "ms", GOAL)


def test_the_kernel_of_a_widget(lab: LabHost, photos: Path, table: Table) -> None:
    page = lab.page
    lab.open(photos, small(), "import os")
    await_picture(page)
    kernel = lab.server.evaluate("os.getpid()")
    stopped = []
    for _ in range(RUNS):
        began = time.perf_counter()
        os.kill(kernel, signal.SIGSTOP)
        stopped.append(told(page, began))
        os.kill(kernel, signal.SIGCONT)
        expect(page.locator("[data-wb=offline]:visible")).to_have_count(0, timeout=PATIENCE)
    began = time.perf_counter()
    os.kill(kernel, signal.SIGKILL)
    killed = told(page, began)
    table.add("lab: kernel stopped, until the widget says so", stopped, "ms", GOAL)
    table.add("lab: kernel killed, until the widget says so", [killed], "ms", GOAL)
