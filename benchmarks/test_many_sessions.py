"""Sixty pages of one server: none fails, and active ones do not wait for idle ones."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from benchmarks.conftest import Table
from tests.ui.labserver import await_server, free_port
from tests.ui.websocket_client import PageClient
from workbench.engine.resources.process_memory import private_bytes

SESSIONS = 60
GIB = 8
ACTIVE = 10
"""Number of pages that are active, one after another, while the others are idle."""
CHANGES = 6
"""Number of changes per page: the first may restart a worker."""
WAIT = 0.3
PATIENCE = 400.0


class WorkerMemory:
    """The memory of all workers of a process, sampled continuously."""

    def __init__(self, pid: int) -> None:
        self._server = psutil.Process(pid)
        self._over = threading.Event()
        self.totals: list[int] = []
        self.counts: list[int] = []
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._over.wait(0.5):
            workers = self._server.children()
            total = 0
            for worker in workers:
                with suppress(psutil.Error):
                    total += private_bytes(worker.pid)
            self.totals.append(total)
            self.counts.append(len(workers))

    @contextmanager
    def watched(self) -> Iterator[WorkerMemory]:
        self._thread.start()
        try:
            yield self
        finally:
            self._over.set()
            self._thread.join()


@pytest.mark.timeout(1800)
def test_sixty_sessions_on_one_machine(photos: Path, tmp_path: Path, table: Table) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    command = ["app", "--data", str(photos), "--port", str(port), "--memory", str(GIB)]
    command += ["--no-token", "--no-browser"]
    server = subprocess.Popen(
        [sys.executable, "-m", "workbench.cli", *command, "--max-sessions", str(SESSIONS)],
        env={**os.environ, "DALI_WORKBENCH_STATE": str(tmp_path)},
        stdout=subprocess.DEVNULL,
    )
    try:
        await_server(f"{url}favicon.ico", lambda: server.poll() is None)
        with WorkerMemory(server.pid).watched_paths() as memory:
            pages, first, later, cold, refused = asyncio.run(work(url))
        server_mb = private_bytes(server.pid) / 2**20
    finally:
        server.terminate()
        server.wait(60)
    table.add(f"first picture, {SESSIONS} pages at once", first, "s")
    row = table.add("a change, the others rest", later, "s", f"to reach: {WAIT}")
    table.add("the first change of a page", cold, "s")
    table.add("all workers together", [total / 2**30 for total in memory.totals], "GiB")
    table.add("workers at a time", [float(count) for count in memory.counts], "")
    table.add("the server's own memory", [server_mb], "MB")
    print(f"\nmost: {max(memory.totals) / 2**30:.2f} GiB, {max(memory.counts)} workers")
    assert pages == SESSIONS
    assert refused, "one more is told that all places are taken"
    assert max(memory.totals) <= GIB * 2**30
    assert row.median <= WAIT


async def work(url: str) -> tuple[int, list[float], list[float], list[float], bool]:
    """Pages with a picture, and seconds to the first, of later changes, and of the first change."""
    pages = [PageClient(url) for _ in range(SESSIONS)]
    began = time.monotonic()

    async def start(page: PageClient) -> float:
        await page.open()
        await page.wait(is_ready, PATIENCE)
        return time.monotonic() - began

    first = list(await asyncio.gather(*map(start, pages)))
    later: list[float] = []
    cold: list[float] = []
    for number in range(ACTIVE):
        page = pages[number * SESSIONS // ACTIVE]
        for change in range(CHANGES):
            seconds = await changed(page, 1 + change)
            (later if change else cold).append(seconds)
    one_more = PageClient(url)
    refused = "All places are taken" in await one_more.html()
    good = sum(is_ready(page.fields) for page in pages)
    for page in pages:
        await page.close()
    return good, first, later, cold, refused


async def changed(page: PageClient, value: int) -> float:
    """Seconds from an edit to its picture."""
    before = page.fields["preview", "picture"]
    began = time.monotonic()
    await page.ask("inspector", do="set", node="rotate", arg="fill_value", value=value)
    await page.wait(lambda fields: fields["preview", "picture"] != before, 60)
    return time.monotonic() - began


def is_ready(fields: dict[tuple[str, str], object]) -> bool:
    return '"ready"' in str(fields.get(("bar", "status"))) and ("preview", "picture") in fields
