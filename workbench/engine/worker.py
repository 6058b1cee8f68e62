"""The worker process: owns DALI, answers one call at a time, ends when its parent does.

Started by ``workbench.engine.process`` as ``python -m workbench.engine.worker FD FOLDER``. A call
is a function of this package and its arguments; the function gets a ``Worker`` first.
"""

from __future__ import annotations

import gc
import os
import select
import shutil
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from workbench.catalog import load_catalog
from workbench.engine.pipelines import is_out_of_memory, out_of_memory
from workbench.engine.runner import Runner
from workbench.errors import EngineError, WorkbenchError


class Worker:
    """What a task may use: the runner with all it kept, and a way to report progress."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.runner = Runner(load_catalog(), announce=self._announce)
        self.kept: dict[Any, Any] = {}
        """What tasks keep between calls, dropped by ``release``."""
        self.running: tuple[str, ...] = ()
        """The nodes that this call began last."""

    def report(self, value: Any) -> None:
        """Send progress to the caller's ``on_report``."""
        self._connection.send(("report", value))

    def _announce(self, nodes: Sequence[str]) -> None:
        self.running = tuple(nodes)
        self._connection.send(("running", self.running))


Task = Callable[..., Any]
"""``task(worker, *arguments)``; a module-level function, sent by its name."""


def serve(connection: Connection) -> None:
    """Answer calls until the other side closes."""
    worker = Worker(connection)
    connection.send(("ready", None))
    while True:
        try:
            task, arguments = connection.recv()
        except EOFError:
            return
        worker.running = ()
        exhausted = False
        try:
            connection.send(("result", task(worker, *arguments)))
        except BrokenPipeError:
            return
        except Exception as error:
            connection.send(("error", _told(worker, error)))
            exhausted = is_out_of_memory(error)
        if exhausted:  # here, where no frame of the error holds arrays any more
            release(worker)


def _told(worker: Worker, error: Exception) -> WorkbenchError:
    """The error as the user is told it."""
    if isinstance(error, WorkbenchError):
        return error
    if is_out_of_memory(error):
        return EngineError(out_of_memory(worker.running))
    detail = "".join(traceback.format_exception(error, limit=-3))
    return EngineError(f"The worker failed: {type(error).__name__}: {error}\n{detail}")


def release(worker: Worker) -> None:
    """Task: drop all that was kept."""
    worker.runner.forget()
    worker.kept.clear()
    gc.collect()


def end_with_parent(connection: Connection, folder: str) -> threading.Thread:
    """When the other side is gone, also in the midst of a call: remove ``folder`` and end."""

    def watch() -> None:
        poll = select.poll()
        poll.register(connection.fileno(), 0)  # hang-ups are reported without being asked for
        poll.poll()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


if __name__ == "__main__":
    parent = Connection(int(sys.argv[1]))
    watcher = end_with_parent(parent, sys.argv[2])
    serve(parent)
    watcher.join()
