"""One app as `workbench app` starts it, for all tests of a door: what an attacker meets."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.ui.access.client import AppServer
from tests.ui.labserver import await_server, free_port

TOKEN = "a-token-of-this-test"
MARKUP = '<img src=x onerror="window.hacked=1">'


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory, photos: Path) -> Iterator[AppServer]:
    """With photos whose names are markup, and one that is a link out of the roots."""
    base = tmp_path_factory.mktemp("app")
    data, work, outside = (base / name for name in ("photos", "work", "outside"))
    for folder in (data / MARKUP, work, outside):
        folder.mkdir(parents=True)
    for number, photo in enumerate(sorted(photos.glob("cat/*.jpg"))[:3]):
        shutil.copy(photo, data / MARKUP / f"{number}{MARKUP}.jpg")
    shutil.copy(photo, outside / "secret.jpg")
    (data / MARKUP / "link.jpg").symlink_to(outside / "secret.jpg")
    (data / "way-out").symlink_to(outside)
    (work / "way-out").symlink_to(outside)
    (work / "way-out.json").symlink_to(outside / "new.json")
    with served(AppServer(free_port(), TOKEN, data, work, outside, base / "log")) as server:
        yield server


@contextmanager
def served(app: AppServer, *options: str) -> Iterator[AppServer]:
    """The app while it runs, in a process of its own."""
    with app.log.open("wb") as output:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "workbench.cli", "app", f"--port={app.port}"),
                *(f"--data={app.data}", f"--root={app.work}", "--no-browser", *options),
            ],
            cwd=app.work,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "DALI_WORKBENCH_TOKEN": app.token,
                "DALI_WORKBENCH_STATE": str(app.log.parent / "state"),
            },
            stdout=output,
            stderr=output,
        )
    try:
        await_server(f"{app.origin}/favicon.ico", lambda: process.poll() is None)
        yield app
        assert process.poll() is None, app.log.read_text()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
