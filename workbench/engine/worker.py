"""The worker process: owns DALI, answers one call at a time, ends when its parent does.

Started by ``workbench.engine.process`` as ``python -m workbench.engine.worker FD FOLDER [BUDGET]``.
A call is a function of this package and its arguments; the function gets a ``Worker`` first.
Messages come as ``("call", number, task, arguments)`` and ``("stop", number)``.
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
from workbench.engine.exit_status import raise_oom_score
from workbench.engine.memory import MemoryUse, give_back_free, resident_bytes, thread_count
from workbench.engine.pipelines import is_out_of_memory, out_of_memory
from workbench.engine.runner import Runner
from workbench.engine.values import Memory
from workbench.errors import CancelledError, EngineError, WorkbenchError

_IDLE = 0.3
"""Seconds without a call after which there is time to tidy up."""
_TIDY_EACH = 100
"""Calls after which it is done in any case."""


class Worker:
    """What a task may use: the runner with all it kept, and a way to report progress."""

    def __init__(self, connection: Connection, budget: int | None = None) -> None:
        """``budget`` limits what the runner keeps, in bytes on each device."""
        self._connection = connection
        limits: dict[Memory, int] | None = (
            None if budget is None else {"cpu": budget, "gpu": budget}
        )
        self.runner = Runner(load_catalog(), report_running=self.report_running, budget=limits)
        self.kept: dict[Any, Any] = {}
        """What tasks keep between calls, dropped by ``release``."""
        self.running: tuple[str, ...] = ()
        """The nodes that this call began last."""
        self.number = 0
        """The number of this call."""

    def report(self, value: Any) -> None:
        """Send progress to the caller's ``on_report``."""
        self._connection.send(("report", value))

    def reply_error(self, error: WorkbenchError) -> None:
        """Answer the call that runs now with an error; the process must end after that."""
        self._connection.send(("error", error))

    def check_interrupt(self) -> None:
        """Where a call may end early: raises CancelledError if the caller gave it up."""
        while self._connection.poll():
            _, number, *_ = self._connection.recv()
            if number == self.number:
                raise CancelledError("Given up for a newer request.")

    def report_running(self, nodes: Sequence[str]) -> None:
        """Say which nodes run next: the last word before a crash. Checks for an interrupt."""
        self.check_interrupt()
        self.running = tuple(nodes)
        self._connection.send(("running", self.running))


Task = Callable[..., Any]
"""``task(worker, *arguments)``; a module-level function, sent by its name."""


def serve(connection: Connection, budget: int | None = None) -> None:
    """Answer calls until the other side closes."""
    worker = Worker(connection, budget)
    connection.send(("ready", None))
    untidy = 0
    while True:
        if untidy >= _TIDY_EACH or (untidy and not connection.poll(_IDLE)):
            give_back_free()
            untidy = 0
        try:
            kind, worker.number, *call = connection.recv()
        except EOFError:
            return
        if kind == "stop":
            continue  # for a call that ended in the meantime
        task, arguments = call
        worker.running = ()
        untidy += 1
        exhausted = False
        try:
            connection.send(("result", task(worker, *arguments)))
        except BrokenPipeError:
            return
        except Exception as error:
            connection.send(("error", _as_workbench_error(worker, error)))
            exhausted = is_out_of_memory(error)
        if exhausted:  # here, where no frame of the error holds arrays any more
            release(worker)


def _as_workbench_error(worker: Worker, error: Exception) -> WorkbenchError:
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


def memory_use(worker: Worker) -> MemoryUse:
    """Task: what is kept, of which budget."""
    store = worker.runner.store
    return MemoryUse(
        host=store.used["cpu"] + worker.runner.reader_bytes,
        host_budget=store.budget["cpu"],
        gpu=store.used["gpu"],
        gpu_budget=store.budget["gpu"],
        resident=resident_bytes(),
        threads=thread_count(),
    )


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
    raise_oom_score()
    parent = Connection(int(sys.argv[1]))
    watcher = end_with_parent(parent, sys.argv[2])
    serve(parent, int(sys.argv[3]) if len(sys.argv) > 3 else None)
    watcher.join()
