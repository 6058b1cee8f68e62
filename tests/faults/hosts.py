"""The three places where the workbench runs, as a fault meets them: processes of their own."""

from __future__ import annotations

import ast
import asyncio
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import psutil
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

from tests.ui.labserver import await_server, free_port
from tests.ui.websocket_client import PageClient

PATIENCE = 180.0


class Host(Protocol):
    """A workbench with a page or a widget, in a process of its own."""

    pid: int

    def ask(self, component: str, message: Mapping[str, Any]) -> None:
        """Ask for an action, as its page does."""

    def set(self, component: str, field: str, value: Any) -> None:
        """Set a field that either side may set."""

    def field(self, component: str, field: str) -> str:
        """What a field shows, as text."""

    def close(self) -> None: ...


def workers(pid: int) -> list[psutil.Process]:
    """Processes that a host, or a command, runs DALI in; the newest last."""
    found = []
    for process in psutil.Process(pid).children(recursive=True):
        try:
            words = process.cmdline()
        except psutil.Error:
            continue
        if "workbench.engine" in words or any("importlib.util" in word for word in words):
            found.append(process)
    return sorted(found, key=psutil.Process.create_time)


def environment(state: Path) -> dict[str, str]:
    return {**os.environ, "DALI_WORKBENCH_STATE": str(state)}


class KernelHost:
    """A widget in a kernel of Jupyter's, as JupyterLab starts it."""

    def __init__(self, data: Path, graph: Path, work: Path) -> None:
        manager: KernelManager
        client: BlockingKernelClient
        manager, client = start_new_kernel(cwd=str(work), env=environment(work / "state"))
        self._manager, self._client = manager, client
        self._printed = ""
        self.pid = int(manager.provisioner.pid)  # type: ignore[union-attr]
        self.run(
            f"import workbench as wb; w = wb.Workbench({str(data)!r}, {str(graph)!r}); m = w._model"
        )

    def run(self, code: str, value: str = "None", seconds: float = PATIENCE) -> Any:
        """Run a cell, then give the value of an expression."""
        expressions = {"value": f"repr({value})"}
        reply = self._client.execute(
            code, user_expressions=expressions, reply=True, timeout=seconds
        )["content"]
        assert reply["status"] == "ok", reply["evalue"]
        text = reply["user_expressions"]["value"]["data"]["text/plain"]
        return ast.literal_eval(ast.literal_eval(text))

    def printed(self) -> str:
        """What its cells have printed so far."""
        with suppress(queue.Empty):
            while True:
                message = self._client.get_iopub_msg(timeout=0)
                if message["msg_type"] == "stream":
                    self._printed += message["content"]["text"]
        return self._printed

    def ask(self, component: str, message: Mapping[str, Any]) -> None:
        self.run(f"m.act({component!r}, {dict(message)!r})")

    def set(self, component: str, field: str, value: Any) -> None:
        self.run(f"m.receive({component!r}, {field!r}, {value!r})")

    def field(self, component: str, field: str) -> str:
        shown = f"m.shown({component!r}, {field!r})"
        if field == "picture":
            shown = f"hash({shown})"
        return str(self.run("", f"str({shown})"))

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


class AppHost:
    """A page of the web app."""

    def __init__(self, data: Path, graph: Path, work: Path) -> None:
        port = free_port()
        command = ["app", "--data", str(data), "--graph", str(graph), "--port", str(port)]
        command += ["--no-token", "--no-browser"]
        self._server = subprocess.Popen(
            [sys.executable, "-m", "workbench.cli", *command],
            cwd=work,
            env=environment(work / "state"),
            stdout=subprocess.DEVNULL,
        )
        self.pid = self._server.pid
        url = f"http://127.0.0.1:{port}/"
        await_server(f"{url}favicon.ico", lambda: self._server.poll() is None)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._page = PageClient(url)
        self._await(self._page.open())

    def _await(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE)

    def ask(self, component: str, message: Mapping[str, Any]) -> None:
        self._await(self._page.ask(component, **message))

    def set(self, component: str, field: str, value: Any) -> None:
        self._await(self._page.set(component, field, value))

    def field(self, component: str, field: str) -> str:
        return str(self._page.fields.get((component, field), ""))

    def close(self) -> None:
        self._await(self._page.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._server.terminate()
        self._server.wait(30)


class Command:
    """A command in a shell."""

    def __init__(self, words: list[str], work: Path, before: str = "") -> None:
        """``before`` is run by the shell first: a ``ulimit``."""
        shell = ["bash", "-c", f'{before}\nexec "$@"', "bash"]
        self.process = subprocess.Popen(
            [*shell, sys.executable, "-m", "workbench.cli", *words],
            cwd=work,
            env=environment(work / "state"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.pid = self.process.pid
        self._printed: list[str] = []

    def lines(self) -> Iterator[str]:
        """What it prints, as it does."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._printed.append(line)
            yield line

    def end(self) -> tuple[int, str]:
        """Exit code, and all that it printed."""
        for _ in self.lines():
            pass
        return self.process.wait(PATIENCE), "".join(self._printed)
