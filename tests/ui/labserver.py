"""A real JupyterLab, or Notebook 7, for the browser tests: a server, and notebooks run in it."""

from __future__ import annotations

import ast
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from playwright.sync_api import Page

if TYPE_CHECKING:
    from jupyter_client.blocking.client import BlockingKernelClient

_SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/extensionmanager-extension:plugin": {"enabled": False},
}
_READY = """() => {
  const panel = window.jupyterapp?.shell.currentWidget;
  const kernel = panel?.sessionContext?.session?.kernel;
  return panel?.context.isReady && panel.sessionContext.isReady
    && kernel?.connectionStatus === "connected" && kernel.status === "idle";
}"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def await_server(url: str, lives: Callable[[], bool] = lambda: True) -> None:
    """Return when a server answers."""
    deadline = time.monotonic() + 180
    while True:
        try:
            urlopen(url, timeout=10).close()
            return
        except (URLError, ConnectionError, TimeoutError):
            assert lives(), f"The server of {url} ended at its start"
            assert time.monotonic() < deadline, f"{url} did not answer within 180 s"


APPS = {
    "jupyterlab": ("LabApp", "lab/tree/{}?reset"),
    "notebook": ("JupyterNotebookApp", "notebooks/{}"),
}
"""Module of a host of notebooks -> its name in options, and where it opens a file."""


class LabServer:
    """JupyterLab, or Notebook 7, on a free port of 127.0.0.1, all its files below ``folder``."""

    def __init__(self, folder: Path, dark: bool = False, module: str = "jupyterlab") -> None:
        app, self._place = APPS[module]
        self.work = folder / "work"
        self._runtime = folder / "runtime"
        self.state = folder / "state"
        """What kernels keep of edits; ``forget`` empties it."""
        settings = folder / "settings"
        for path in (self.work, self._runtime, settings, folder / "config"):
            path.mkdir(parents=True)
        themes = {"theme": "JupyterLab Dark" if dark else "JupyterLab Light"}
        overrides = {**_SETTINGS, "@jupyterlab/apputils-extension:themes": themes}
        for plugin, values in overrides.items():
            package, _, name = plugin.partition(":")
            path = settings / package / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values))
        self.port = free_port()
        self._log = (folder / "lab.log").open("wb")
        self._server = subprocess.Popen(
            [
                *(sys.executable, "-m", module, "--no-browser", "--allow-root"),
                f"--ServerApp.port={self.port}",
                "--ServerApp.ip=127.0.0.1",
                "--ServerApp.port_retries=0",
                "--IdentityProvider.token=",
                "--ServerApp.disable_check_xsrf=True",
                f"--ServerApp.root_dir={self.work}",
                "--expose-app-in-browser",
                "--LabApp.extension_manager=readonly",
                f"--{app}.user_settings_dir={settings}",
                f"--{app}.workspaces_dir={folder / 'workspaces'}",
            ],
            env={
                **os.environ,
                "JUPYTER_RUNTIME_DIR": str(self._runtime),
                "JUPYTER_CONFIG_DIR": str(folder / "config"),
                "IPYTHONDIR": str(folder / "ipython"),
                "DALI_WORKBENCH_STATE": str(self.state),
            },
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        self._client: BlockingKernelClient | None = None
        await_server(f"{self.url}/api", lambda: self._server.poll() is None)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def open(self, page: Page, cells: Sequence[str], name: str = "test.ipynb") -> None:
        """Write a notebook, open it and begin to run all its cells."""
        source = [
            {
                "cell_type": "code",
                "metadata": {},
                "source": cell,
                "outputs": [],
                "execution_count": None,
                "id": f"cell{number}",
            }
            for number, cell in enumerate(cells)
        ]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = {
            "cells": source,
            "metadata": {"kernelspec": kernel},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (self.work / name).write_text(json.dumps(notebook))
        self.reopen(page, name)
        page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")

    def reopen(self, page: Page, name: str = "test.ipynb") -> None:
        """Open a notebook as it was saved, and wait for its kernel."""
        page.goto(f"{self.url}/{self._place.format(name)}")
        page.wait_for_function(_READY)

    def evaluate(self, expression: str) -> Any:
        """What an expression is in the newest kernel, which a second client asks for."""
        if self._client is None:
            # Not above: a machine that is there for its GPU records the web app without Jupyter.
            from jupyter_client.blocking.client import BlockingKernelClient

            files = sorted(self._runtime.glob("kernel-*.json"), key=lambda p: p.stat().st_mtime)
            self._client = BlockingKernelClient(connection_file=str(files[-1]))
            self._client.load_connection_file()
            self._client.start_channels()
            self._client.wait_for_ready(timeout=60)
        asked = {"it": f"__import__('json').dumps({expression})"}
        reply = self._client.execute_interactive("", user_expressions=asked, timeout=60)
        answer = reply["content"]["user_expressions"]["it"]
        assert answer["status"] == "ok", answer
        return json.loads(ast.literal_eval(answer["data"]["text/plain"]))

    def end_kernels(self) -> None:
        """Shut down every session, so that the next notebook gets a fresh kernel."""
        if self._client is not None:
            self._client.stop_channels()
            self._client = None
        with urlopen(f"{self.url}/api/sessions") as answer:
            sessions = json.load(answer)
        for session in sessions:
            urlopen(Request(f"{self.url}/api/sessions/{session['id']}", method="DELETE")).close()

    def forget(self) -> None:
        """Remove the edits that ended kernels have kept."""
        shutil.rmtree(self.state, ignore_errors=True)

    def close(self) -> None:
        self.end_kernels()
        self._server.terminate()
        self._server.wait(20)
        self._log.close()

    def __enter__(self) -> LabServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
